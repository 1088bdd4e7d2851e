//! A `[[job]]` whose program is a kernel: a benchmark of `linkwright gpu run`, or a file of a kernel of one's own.
//!
//! ```toml
//! [[job]]
//! kernel = "conv"                    # or a file, such as "halo.kernel"
//! ranks = 2                          # the GPUs that run it
//! mapping = [0, 3]
//! parameters = { size = 256, preset = "r9-nano", distribution = "first", remote = ["input"] }
//! ```

use std::sync::Arc;

use super::demand;
use super::fields::{Fields, FileName};
use super::files::{Files, text_of};
use super::source::Place;
use crate::diagnostic::{Diagnosis, InputError, Named, closest};
use crate::memory::kernel::benchmarks::Benchmark;
use crate::memory::kernel::recorded;
use crate::memory::{Distribution, DramTiming, memory_system};
use crate::runtime::GpuKernel;
use crate::simulation::cluster::{ClusterKernel, Fidelity, KernelChoices, KernelSource, inside_of};
use crate::system::System;
use crate::system::gpus::{self, GpuModel};

/// Lists what `parameters` may hold.
const PARAMETERS: [&str; 10] = [
    "size",
    "preset",
    "memory",
    "distribution",
    "remote",
    "dram",
    "read_lease",
    "write_lease",
    "timestamp_bits",
    "code",
];

/// Runs on the GPUs of a job.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    /// Names a benchmark, and gives its size.
    Benchmark { name: &'static str, size: u64 },
    /// Names a file of a kernel of one's own.
    File(FileName),
}

/// Says what lies inside the GPUs.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Inside {
    /// The file of the machine's own GPUs says it.
    Own,
    /// The file of a model that Linkwright has says it.
    Named(&'static GpuModel),
    /// A file of one's own says it.
    File(FileName),
}

/// Runs a kernel on a number of GPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelJob {
    pub(super) what: What,
    pub(super) inside: Inside,
    /// Counts the GPUs of the job.
    pub(super) ranks: u32,
    choices: KernelChoices,
    /// Says where errors of it point.
    place: Place,
}

impl KernelJob {
    /// The job in a table that may have `kernel`; None where it has not.
    pub(super) fn read(fields: &Fields<'_>) -> Result<Option<Self>, InputError> {
        let Some(name) = fields.optional::<String>("kernel")? else { return Ok(None) };
        let others = ["program", "goal", "trace", "main_loop", "gpu", "train", "workload"];
        if let Some(other) = others.iter().find(|other| fields.has(other)) {
            let problem = format!("`{other}` beside a kernel");
            let remedy = format!("remove `{other}` or `kernel`");
            return Err(fields.refuse(other, &problem, remedy));
        }
        if fields.has("computation_scale") {
            let problem = "a scale of computation beside a kernel, which runs by its GPUs' cycles";
            let remedy = "remove it; `parameters.preset` says how fast the GPUs are";
            return Err(fields.refuse("computation_scale", problem, remedy));
        }
        let Some(ranks) = demand::ranks(fields)? else {
            let remedy = "write how many GPUs run it, such as `ranks = 2`";
            return Err(fields.refuse("kernel", "a kernel without `ranks`", remedy));
        };
        let of = fields.table("parameters")?;
        if let Some(key) = of.keys().find(|key| !PARAMETERS.contains(key)) {
            let near = closest(key, &PARAMETERS);
            let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
            let remedy = format!("{near}a kernel takes {}", PARAMETERS.join(", "));
            return Err(of.refuse(key, "unknown parameter", remedy));
        }
        let what = match Benchmark::from_name(&name) {
            Ok(benchmark) => {
                let asked = of.optional::<i64>("size")?.map(i128::from);
                let size = asked.map_or(Ok(benchmark.small_size()), |size| benchmark.checked(size));
                let size = size.map_err(|error| of.refuse_as("size", error, ""))?;
                What::Benchmark { name: benchmark.name(), size }
            }
            // A benchmark has no dot in its name, and a file has.
            Err(error) if !name.contains('.') => {
                let remedy = format!("{}, or a file, such as \"own.kernel\"", error.instead);
                return Err(fields.refuse("kernel", "unknown benchmark", remedy));
            }
            Err(_) => {
                if of.has("size") {
                    let problem = "a size of a kernel of one's own, which has the size of its file";
                    return Err(of.refuse("size", problem, "remove it, or name a benchmark"));
                }
                What::File(FileName { name, place: fields.place("kernel") })
            }
        };
        let inside = match of.optional::<String>("preset")? {
            None => Inside::Own,
            Some(name) if name.ends_with(".toml") => {
                Inside::File(FileName { name, place: of.place("preset") })
            }
            Some(name) => Inside::Named(
                gpus::find_inside(&name).map_err(|error| of.refuse_as("preset", error, ""))?,
            ),
        };
        let choices = choices(&of, ranks)?;
        Ok(Some(Self { what, inside, ranks, choices, place: fields.place("kernel") }))
    }

    /// The files that it needs.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileName> {
        let what = match &self.what {
            What::File(file) => Some(file),
            What::Benchmark { .. } => None,
        };
        let inside = match &self.inside {
            Inside::File(file) => Some(file),
            Inside::Own | Inside::Named(_) => None,
        };
        what.into_iter().chain(inside)
    }

    /// Gives the name that it has where nobody gave it another.
    pub(super) fn natural_name(&self) -> &str {
        match &self.what {
            What::Benchmark { name, .. } => name,
            What::File(file) => file.stem(".kernel"),
        }
    }

    /// Refuses a network without packets, and one whose PCIe bus has classes of its own.
    pub(super) fn check_network(
        &self,
        scenario: &str,
        (fidelity, has_bus): (Fidelity, bool),
    ) -> Result<(), InputError> {
        let refuse = |problem: &str, remedy| {
            Err(self.place.refuse(scenario, problem, self.natural_name(), remedy))
        };
        if fidelity != Fidelity::Packet {
            let problem = format!(
                "a kernel sends lines of 64 bytes, which are packets, and the fidelity is `{}`",
                fidelity.name()
            );
            return refuse(&problem, "write `fidelity = \"packet\"`");
        }
        if has_bus {
            let problem = "a kernel has virtual channels of its own, and so has `[pcie]`";
            return refuse(problem, "remove `[pcie]`, or the kernel");
        }
        Ok(())
    }

    /// Makes the kernel for the GPUs of its ranks.
    pub(super) fn kernel(
        &self,
        scenario: &str,
        files: &Files,
        (system, gpus): (&System, &[u32]),
    ) -> Result<Arc<ClusterKernel>, InputError> {
        let refuse =
            |told: Diagnosis| self.place.refuse_as(scenario, told, self.natural_name(), "");
        let source = match &self.what {
            What::Benchmark { name, size } => {
                KernelSource::Benchmark { name: (*name).to_owned(), size: *size }
            }
            What::File(file) => {
                let kernel = recorded::read(&file.name, text_of(scenario, file, files)?)?;
                KernelSource::Recorded(Arc::new(kernel))
            }
        };
        let model = match &self.inside {
            Inside::Own => inside_of(system, gpus).map_err(refuse)?,
            Inside::Named(model) => (*model).clone(),
            Inside::File(file) => gpus::read(&file.name, text_of(scenario, file, files)?)?,
        };
        let kernel = ClusterKernel { source, model, choices: self.choices.clone() };
        kernel.prepare(system, gpus).map_err(refuse)?;
        Ok(Arc::new(kernel))
    }
}

/// Reads how GPUs share memory, each choice at its key.
fn choices(of: &Fields<'_>, ranks: u32) -> Result<KernelChoices, InputError> {
    let absent = KernelChoices::default();
    let name = |key: &str, absent: &str| of.or(key, absent.to_owned());
    let memory = name("memory", &absent.memory)?;
    memory_system(&memory).map_err(|error| of.refuse_as("memory", error, ""))?;
    let [read, write, bits] = absent.leases;
    let choices = KernelChoices {
        memory,
        distribution: of
            .choice::<Distribution>("distribution")?
            .map_or(absent.distribution, |it| it.name().to_owned()),
        remote: of.or("remote", Vec::new())?,
        dram: of.choice::<DramTiming>("dram")?.map_or(absent.dram, |it| it.name().to_owned()),
        leases: [
            of.or("read_lease", read)?,
            of.or("write_lease", write)?,
            of.or("timestamp_bits", bits)?,
        ],
        code: of.or("code", absent.code)?,
    };
    let refuse = |key: &'static str| move |told: Diagnosis| of.refuse_as(key, told, "");
    let options = choices.options(ranks).map_err(refuse("parameters"))?;
    if !choices.remote.is_empty() {
        crate::memory::can_be_remote(&options)
            .map_err(|error| of.refuse_as("remote", error, ""))?;
    }
    Ok(choices)
}
