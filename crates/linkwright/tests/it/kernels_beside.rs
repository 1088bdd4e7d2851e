//! Kernels in the memory of GPUs are jobs of a scenario. Alone they take as long as by themselves. They are slower where a
//! neighbour sends over their links.

use std::ops::ControlFlow;
use std::sync::Arc;

use linkwright::memory::{self, GpuOptions};
use linkwright::network::{RouteClass, wires};
use linkwright::program::{CollectiveKind, CopyDirection, Operation, Program, RankBuilder};
use linkwright::runtime::ProgramJob;
use linkwright::scenario::{Files, Given, PlayedScenario, ReadyJobs, Run, Scenario, play};
use linkwright::simulation::cluster::{
    ClusterKernel, CollectiveMethod, KernelChoices, KernelSource,
};
use linkwright::system::presets::preset;
use linkwright::system::{System, gpus};
use linkwright::units::{Bytes, Picoseconds};

/// Gives the times of all jobs of a scenario.
fn times(text: &str) -> Vec<Picoseconds> {
    let given = Given { file: "s.toml".to_owned(), text: text.to_owned(), ..Given::default() };
    let scenario = Scenario::read(&given).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let built = scenario.build(&Files::new()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    match play(&scenario, &built, Run::default(), &mut |_| ControlFlow::Continue(())) {
        Ok(PlayedScenario::Programs(played)) => {
            played.outcome.jobs.jobs.iter().map(|job| job.time()).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// Holds a kernel on GPUs of a machine, and how they share memory.
#[derive(Debug, Clone, Copy)]
struct Case {
    machine: &'static str,
    gpus: &'static [u32],
    kernel: (&'static str, u64),
    memory: &'static str,
}

impl Case {
    /// The scenario's text, which other jobs may follow.
    fn text(&self) -> String {
        let Self { machine, gpus, kernel: (kernel, size), memory } = self;
        format!(
            "fidelity = \"packet\"\nsystem.server = \"{machine}\"\n[[job]]\nkernel = \"{kernel}\"\n\
             ranks = {}\nmapping = {gpus:?}\n\
             parameters = {{ size = {size}, preset = \"r9-nano\", memory = \"{memory}\" }}\n",
            gpus.len()
        )
    }

    /// Gives the time of the same by `linkwright gpu run`.
    fn by_itself(&self) -> Picoseconds {
        let system = System::of_server(Arc::new(preset(self.machine).unwrap()));
        let ends = wires::between(&system, self.gpus).unwrap();
        let choices = KernelChoices { memory: self.memory.to_owned(), ..KernelChoices::default() };
        let options = choices.options(self.gpus.len() as u32).unwrap();
        let options = GpuOptions { between: Some(&ends.wires), ..options };
        let (name, size) = (self.kernel.0.to_owned(), self.kernel.1);
        let model = gpus::find_inside("r9-nano").unwrap().clone();
        let source = KernelSource::Benchmark { name, size };
        let kernel = ClusterKernel { source, model, choices };
        let hierarchy = kernel.model.hierarchy().unwrap();
        let workload = kernel.workload(hierarchy.page, options.gpus).unwrap();
        memory::run(hierarchy, &workload, &options, None).unwrap().time
    }
}

const NVLINK: &[u32] = &[0, 3];
const PCIE: &[u32] = &[0, 5];

#[test]
fn a_kernel_alone_takes_the_time_of_a_run_of_gpus_where_no_buffer_fills() {
    for (machine, gpus) in
        [("dgx1-v100", NVLINK), ("dgx1-v100", PCIE), ("hgx-h100", NVLINK), ("8x-rtx-4090", PCIE)]
    {
        for memory in ["rdma", "hmg", "g-tsc", "zero-copy", "unified"] {
            for kernel in [("mt", 128), ("conv", 128), ("fir", 4096), ("bfs", 256)] {
                let case = Case { machine, gpus, kernel, memory };
                let [by_itself, here] = [case.by_itself(), times(&case.text())[0]];
                let ratio = here.0 as f64 / by_itself.0 as f64;
                assert!((ratio - 1.0).abs() < 0.02, "{case:?}: {by_itself} and {here}");
            }
        }
    }
}

/// Without peer access all that GPUs write to one another is on its way through the memory of a CPU, at once.
#[test]
fn a_buffer_that_fills_holds_a_kernel_back_at_its_gpu() {
    let case =
        Case { machine: "8x-rtx-4090", gpus: PCIE, kernel: ("relu", 65_536), memory: "rdma" };
    let by_itself = case.by_itself().0 as f64;
    let ratio = |packets: u32| {
        let buffers = format!("system.network.buffer_packets = {packets}\n");
        times(&format!("{buffers}{}", case.text()))[0].0 as f64 / by_itself
    };
    let [shallow, few, deep] = [1, 2, 1024].map(ratio);
    assert!((deep - 1.0).abs() < 0.02, "{deep}");
    assert!(shallow > few && few > 1.5, "{shallow} {few}");
}

/// Which of a kernel's neighbours there are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Neighbour {
    None,
    /// Copies to and from the hosts of GPUs below the kernel's own PCIe switches.
    Copies,
    /// Has the other six GPUs reduce around a ring of NVLinks.
    Ring,
}

/// The time of a stencil over remote memory on GPUs 0 and 5 of a DGX-1V, which no NVLink joins.
fn stencil(neighbour: Neighbour) -> Picoseconds {
    let text = "fidelity = \"packet\"\nsystem.server = \"dgx1-v100\"\n\
                system.network.packet_size = \"256 B\"\n[[job]]\nkernel = \"conv\"\nranks = 2\n\
                mapping = [0, 5]\n[job.parameters]\nsize = 128\npreset = \"r9-nano\"\n\
                distribution = \"first\"\nremote = [\"input\"]\n";
    let given = Given { file: "s.toml".to_owned(), text: text.to_owned(), ..Given::default() };
    let built = Scenario::read(&given).unwrap().build(&Files::new()).unwrap();
    let ReadyJobs::Programs(jobs) = &built.work else { panic!("programs") };
    let mut jobs = vec![jobs[0].on(vec![0, 5])];
    let program = |ranks: u32, operations: &[Operation]| {
        let mut rank = RankBuilder::default();
        for operation in operations {
            rank.run(*operation);
        }
        let ranks = vec![rank.finish(); ranks as usize];
        let communicators = vec![(0..ranks.len() as u32).collect()];
        let (name, regions) = ("neighbour".to_owned(), Vec::new());
        Arc::new(Program { name, communicators, regions, ranks })
    };
    let (size, route) = (Bytes(8 << 20), RouteClass::Any);
    let kind = CollectiveKind::AllReduce;
    match neighbour {
        Neighbour::None => {}
        Neighbour::Copies => {
            let copies = [CopyDirection::HostToDevice, CopyDirection::DeviceToHost]
                .map(|direction| Operation::Copy { direction, size, route });
            jobs.push(ProgramJob::new(&program(2, &copies), vec![1, 4]));
        }
        Neighbour::Ring => {
            let reduce = Operation::Collective { kind, root: 0, communicator: 0, size };
            jobs.push(ProgramJob::new(&program(6, &[reduce]), vec![1, 2, 6, 4, 7, 3]));
        }
    }
    let ring = CollectiveMethod::named(kind, "ring").unwrap();
    let mut cluster = built.cluster;
    cluster.collectives.chosen.insert(kind, ring);
    let outcome = cluster.replay(&jobs, &mut (), &mut |_| ControlFlow::Continue(())).unwrap();
    // The neighbour is there as long as the kernel is.
    let times: Vec<_> = outcome.jobs.jobs.iter().map(|job| job.time()).collect();
    assert!(times.iter().all(|time| *time >= times[0]), "{times:?}");
    times[0]
}

#[test]
fn a_kernel_is_slower_beside_copies_over_its_links_and_not_beside_others() {
    let alone = stencil(Neighbour::None);
    assert_eq!(stencil(Neighbour::Ring), alone);
    let beside = stencil(Neighbour::Copies);
    assert!(beside.0 as f64 > 1.2 * alone.0 as f64, "{alone} and {beside}");
}

/// Gives the error of a scenario, or of building it.
fn refused(text: &str) -> String {
    let given = Given { file: "s.toml".to_owned(), text: text.to_owned(), ..Given::default() };
    let built = Scenario::read(&given).and_then(|read| read.build(&Files::new()));
    built.expect_err(text).to_string()
}

#[test]
fn what_no_kernel_can_be_is_refused_where_it_stands() {
    let job = |more: &str| {
        format!(
            "[[job]]\nkernel = \"fir\"\nranks = 2\nmapping = [0, 3]\nparameters = {{ {more} }}\n"
        )
    };
    let on = |head: &str, more: &str| {
        refused(&format!("system.server = \"dgx1-v100\"\n{head}{}", job(more)))
    };
    let inside = "preset = \"r9-nano\"";
    for (error, expected) in [
        (
            on("fidelity = \"flow\"\n", inside),
            "s.toml:4:10: a kernel sends lines of 64 bytes, which are packets, and the fidelity is `flow`: `fir`; write `fidelity = \"packet\"`",
        ),
        (
            on("fidelity = \"fluid\"\n", inside),
            "s.toml:4:10: a kernel sends lines of 64 bytes, which are packets, and the fidelity is `fluid`: `fir`; write `fidelity = \"packet\"`",
        ),
        (
            on("pcie.arbitration = \"qos\"\n", inside),
            "s.toml:4:10: a kernel has virtual channels of its own, and so has `[pcie]`: `fir`; remove `[pcie]`, or the kernel",
        ),
        (
            on("", ""),
            "s.toml:3:10: nothing says what lies inside the GPUs of `dgx1-v100`: the file of `v100-sxm2-16gb` has no [hierarchy]: `fir`",
        ),
        (
            on("", "preset = \"v100\""),
            "s.toml:6:25: the GPU model `v100-sxm2-16gb` has no section [hierarchy] in \
             system/gpus/v100-sxm2-16gb.toml: `\"v100\"`",
        ),
        (
            on("", "preset = \"r9-nano\", size = 100"),
            "s.toml:6:43: a size of 100 does not divide into the work-groups of fir: `100`",
        ),
        (
            on("", "preset = \"r9-nano\", sise = 100"),
            "s.toml:6:43: unknown parameter: `100`; did you mean `size`?",
        ),
        (
            on("", "preset = \"r9-nano\", memory = \"tsm-wt-c-rc\""),
            "s.toml:3:10: `tsm-wt-c-rc` needs a memory that GPUs share, but the machine's links \
             lead to none: `fir`; use rdma, hmg, g-tsc, zero-copy, unified",
        ),
        (
            on("", "preset = \"r9-nano\", memory = \"rmda\""),
            "s.toml:6:45: there is no memory system `rmda`; use one of rdma, tsm-wb-nc-rc, tsm-wt-nc-rc, tsm-wt-c-rc, tsm-wt-c-sc, tsm-wt-c-rc-printed, tsm-wt-c-sc-printed, hmg, mesi, g-tsc, zero-copy, unified",
        ),
        (
            on("", "preset = \"r9-nano\", remote = [\"input\"]"),
            "s.toml:6:45: under `unified`, no buffer is remote to all GPUs that run a kernel: \
             `[\"input\"]`; use the distribution `first`",
        ),
        (
            on("", "preset = \"r9-nano\", distribution = \"first\", remote = [\"inptu\"]"),
            "s.toml:3:10: there is no buffer `inptu`: `fir`; did you mean `input`? use one of input, output, taps, history",
        ),
        (
            on("", "preset = \"r9-nano\", read_lease = 0"),
            "s.toml:6:14: the read lease cannot be 0, since no copy could be read: `{ preset = \
             \"r9-nano\", read_lease = 0 }`; give 1 or more",
        ),
        (
            on("jobs.generate.count = 3\n", inside),
            "s.toml:4:10: a kernel sends lines of 64 bytes, which are packets, and the fidelity is `flow`: `fir`; write `fidelity = \"packet\"`",
        ),
        (
            refused("system.server = \"dgx1-v100\"\n[[job]]\nkernel = \"fri\"\nranks = 2\n"),
            "s.toml:3:10: unknown benchmark: `\"fri\"`; use one of aes, atax, bfs, bicg",
        ),
        (
            refused("system.server = \"dgx1-v100\"\n[[job]]\nkernel = \"fir\"\n"),
            "s.toml:3:10: a kernel without `ranks`: `\"fir\"`; write how many GPUs run it, such as `ranks = 2`",
        ),
        (
            refused(
                "system.server = \"dgx1-v100\"\nsystem.servers = 2\nsystem.network.kind = \"single-switch\"\n[[job]]\nkernel = \"fir\"\nranks = 2\nmapping = [0, 8]\nparameters = { preset = \"r9-nano\" }\n",
            ),
            "s.toml:5:10: `node0/GPU0` cannot read single lines of the memory of `node1/GPU0`: \
             they are in two servers: `fir`; use GPUs of one server",
        ),
        (
            refused(
                "system.server = \"dgx1-v100\"\n[[job]]\nkernel = \"fir\"\nranks = 2\nparameters = { preset = \"r9-nano\", size = 68719476736 }\n",
            ),
            "s.toml:5:43: a size of 68719476736 is too large for fir: `68719476736`; use a \
             multiple of 256 up to 4294967296, such as 4294967296",
        ),
        (on("", "preset = \"r9-nano\", size = 4294967296"), "s.toml:3:10: the buffers take "),
    ] {
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
}

#[test]
fn a_kernel_runs_as_often_as_its_job_says() {
    let case = Case { machine: "dgx1-v100", gpus: NVLINK, kernel: ("mt", 64), memory: "hmg" };
    let once = times(&case.text())[0];
    let thrice = times(&case.text().replace("ranks", "iterations = 3\nranks"))[0];
    assert_eq!(thrice.0, 3 * once.0);
}
