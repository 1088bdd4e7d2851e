//! What an iteration of a played job is made of: copies from hosts, GPUs of their own speed, and gradients in buckets.

use linkwright::collectives::plan::planners;
use linkwright::simulation::cluster::Fidelity;
use linkwright::simulation::played::{GpuSpeed, IterationSettings, PlannerChoice};
use linkwright::simulation::{Job, JobRecord, QueueDiscipline, ServerChoice, SimulationError};
use linkwright::training::{Network, Training, Workload, model_of};
use linkwright::units::Bytes;

use crate::played::{cluster, job, played_with};

const EVERY: [Fidelity; 3] = [Fidelity::Fluid, Fidelity::Flow, Fidelity::Packet];

fn played(
    machine: &str,
    fidelity: Fidelity,
    settings: IterationSettings,
    jobs: &[Job],
) -> Result<Vec<JobRecord>, SimulationError> {
    let cluster = cluster(&format!("machine = \"{machine}\""), fidelity);
    let settings = (PlannerChoice::named("nccl-ring", &planners()).unwrap(), settings);
    let choices = (ServerChoice::FirstFit, QueueDiscipline::Fifo);
    played_with(choices, &cluster, settings, "baseline", jobs).map(|outcome| outcome.records)
}

/// How long each job takes, in seconds.
fn times(machine: &str, fidelity: Fidelity, settings: IterationSettings, jobs: &[Job]) -> Vec<f64> {
    let records = played(machine, fidelity, settings, jobs).unwrap();
    records.iter().map(|it| it.finish.as_seconds() - it.start.as_seconds()).collect()
}

fn plain() -> IterationSettings {
    IterationSettings::default()
}

fn copying() -> IterationSettings {
    IterationSettings { host_copies: true, ..plain() }
}

#[test]
fn images_take_what_the_bus_gives() {
    let alex = Workload::find("alexnet").unwrap();
    let size = alex.copied_per_iteration().0 as f64;
    assert_eq!(size, 57.0 * 227.0 * 227.0 * 12.0);
    for fidelity in EVERY {
        let extra = |gpus| {
            let jobs = [job("a", "alexnet", gpus, 1)];
            let [with, without] = [copying(), plain()]
                .map(|settings| times("dgx1-v100", fidelity, settings, &jobs)[0]);
            with - without
        };
        // A GPU alone has 16 lanes of PCIe 3 to its host, and two behind one switch have half of them.
        let (alone, both) = (extra(1), extra(2));
        let rate = size / alone / 1e9;
        assert!((9.0..15.8).contains(&rate), "{fidelity:?}: {rate} GB/s");
        assert!((both / alone - 2.0).abs() < 0.05, "{fidelity:?}: {both} s of {alone} s");
    }
}

#[test]
fn jobs_that_copy_over_one_switch_slow_one_another() {
    let jobs = ["a", "b"].map(|name| {
        let mut job = job(name, "alexnet", 1, 20);
        job.sensitive = false;
        job
    });
    for fidelity in EVERY {
        let alone = times("dgx1-v100", fidelity, copying(), &jobs[..1])[0];
        let both = times("dgx1-v100", fidelity, copying(), &jobs);
        assert!(both.iter().all(|time| *time > 1.02 * alone), "{fidelity:?}: {both:?} of {alone}");
        let flow = times("dgx1-v100", Fidelity::Flow, copying(), &jobs);
        for (one, other) in both.iter().zip(flow) {
            assert!((one / other - 1.0).abs() < 0.05, "{fidelity:?}: {one} s and {other} s");
        }
    }
}

#[test]
fn faster_gpus_compute_faster_and_unknown_ones_are_refused() {
    let own = IterationSettings { gpu_speed: GpuSpeed::Own, ..plain() };
    let jobs = [job("a", "gmm", 1, 10)];
    for fidelity in EVERY {
        let time = |machine, settings| times(machine, fidelity, settings, &jobs)[0];
        assert_eq!(time("dgx1-v100", own), time("dgx1-v100", plain()));
        // 19.5 of an A100 to 15.7 TFLOP/s of a V100.
        let faster = time("dgx-a100", plain()) / time("dgx-a100", own);
        assert!((faster - 19.5 / 15.7).abs() < 1e-9, "{fidelity:?}: {faster}");
        let error = played("pcie-tree-4", fidelity, own, &jobs).unwrap_err().to_string();
        assert!(error.contains("is not known; name a GPU model"), "{error}");
    }
}

#[test]
fn buckets_hide_what_is_reduced_behind_what_is_computed() {
    let bucket = |size| IterationSettings { bucket: Some(Bytes(size)), ..plain() };
    let jobs = [job("a", "resnet-50", 4, 4)];
    let compute = Workload::find("resnet-50").unwrap().compute_per_iteration().as_seconds();
    let of = |fidelity| {
        let time = |settings| times("pcie-tree-4", fidelity, settings, &jobs)[0] / 4.0;
        [plain(), bucket(1 << 40), bucket(25_000_000)].map(time)
    };
    let flow = of(Fidelity::Flow);
    for fidelity in EVERY {
        let [at_the_end, whole, cut] = of(fidelity);
        assert_eq!(at_the_end, whole, "{fidelity:?}: one bucket holds all");
        assert!(cut < 0.97 * whole && cut > compute, "{fidelity:?}: {cut} s of {whole} s");
        let off = cut / flow[2] - 1.0;
        assert!(off.abs() < 0.05, "{fidelity:?} is off from flows by {off}");
    }
}

#[test]
fn a_network_takes_what_its_layers_do_on_the_gpus_of_the_server() {
    let network = Network::find("resnet-50").unwrap();
    let job = |gpus| {
        let workload = Workload::of_network(network, 16);
        Job { iterations: 2, ..Job::new("a", &workload, gpus) }
    };
    let computed = |machine: &str, gpus: u32| {
        let system = cluster(&format!("machine = \"{machine}\""), Fidelity::Flow).system;
        let training = Training::usual(network, 16 * u64::from(gpus));
        let turns = training.turns(model_of(&system, 0).unwrap(), gpus as usize).unwrap();
        turns.computed().as_seconds()
    };
    assert!(computed("dgx-a100", 4) < 0.8 * computed("dgx1-p100", 4));
    for fidelity in EVERY {
        let time = |machine, gpus| times(machine, fidelity, plain(), &[job(gpus)])[0] / 2.0;
        for machine in ["dgx1-v100", "dgx-a100"] {
            assert!((time(machine, 1) / computed(machine, 1) - 1.0).abs() < 1e-9, "{fidelity:?}");
            // All but the last bucket is reduced while others are computed.
            let exposed = time(machine, 4) / computed(machine, 4) - 1.0;
            assert!((0.0..0.05).contains(&exposed), "{fidelity:?} on {machine}: {exposed}");
        }
        let error = played("pcie-tree-4", fidelity, plain(), &[job(2)]).unwrap_err().to_string();
        assert!(error.contains("is not known, and with it neither its speed"), "{error}");
    }
}

#[test]
fn buckets_that_would_be_too_many_are_refused() {
    let tiny = IterationSettings { bucket: Some(Bytes(999_999)), ..plain() };
    let error = played("dgx1-v100", Fidelity::Flow, tiny, &[job("a", "gmm", 2, 1)]).unwrap_err();
    assert!(error.to_string().contains("ask for 1 MB or more"), "{error}");
}
