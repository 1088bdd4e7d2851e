//! Tests the parts of a played job's iteration: copies from hosts, GPUs of their own speed, and
//! gradients in buckets.

use linkwright::allocation::{Pattern, PatternShape};
use linkwright::collectives::plan::planners;
use linkwright::simulation::cluster::Fidelity;
use linkwright::simulation::played::{GpuSpeed, IterationSettings, Iterations, PlannerChoice};
use linkwright::simulation::{Job, JobRecord, QueueDiscipline, ServerChoice, SimulationError};
use linkwright::training::{Network, Training, Workload, model_of};
use linkwright::units::{Bandwidth, Bytes, Picoseconds};

use crate::played::{cluster, job, played_by, played_with};

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
        assert!(error.contains("is not known; name a known GPU model"), "{error}");
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
        assert!(error.contains("has no model, so its speed and memory are not known"), "{error}");
    }
}

#[test]
fn buckets_that_would_be_too_many_are_refused() {
    let tiny = IterationSettings { bucket: Some(Bytes(999_999)), ..plain() };
    let error = played("dgx1-v100", Fidelity::Flow, tiny, &[job("a", "gmm", 2, 1)]).unwrap_err();
    assert!(error.to_string().contains("give 1 MB or more"), "{error}");
}

/// Gives a job a millisecond of computing and 16 MB to exchange in an iteration.
fn exchanging(name: &str, gpus: u32, iterations: u64) -> Job {
    let compute_per_iteration = Some(Picoseconds(1_000_000_000));
    let bytes_per_iteration = Some(Bytes(16_000_000));
    Job { compute_per_iteration, bytes_per_iteration, ..job(name, "vgg-16", gpus, iterations) }
}

#[test]
fn a_pattern_of_copies_is_played_as_the_formula_says() {
    let edges = "0-1:1 1-2:4 2-3:3/1 0-3:0/2";
    let pattern = |shape| Job { pattern: shape, ..exchanging("a", 4, 3) };
    let own = exchanging("a", 4, 3).with_edges(Pattern::read_edges(4, edges).unwrap());
    let shapes = [PatternShape::Chain, PatternShape::Star, PatternShape::AllToAll];
    let jobs: Vec<Job> = shapes.map(pattern).into_iter().chain([own]).collect();
    for machine in ["dgx1-v100", "hgx-h100", "4x-l40s-pcie"] {
        for job in &jobs {
            for fidelity in EVERY {
                let jobs = std::slice::from_ref(job);
                let record = &played(machine, fidelity, plain(), jobs).unwrap()[0];
                let bandwidth = record.sound_bandwidth.unwrap();
                let bandwidth = Bandwidth((bandwidth * 1e9).round() as u64);
                let wanted = job.run_time(bandwidth).unwrap().as_seconds();
                let off = record.finish.as_seconds() / wanted - 1.0;
                let context = (machine, job.pattern, fidelity, bandwidth);
                // Packets have headers and wait for one another at switches. On PCIe a GPU's copies leave by one port, and the
                // fullest channel idles meanwhile.
                let most = match (fidelity, machine) {
                    (Fidelity::Packet, "4x-l40s-pcie") => 0.3,
                    (Fidelity::Packet, _) => 0.08,
                    _ => 0.01,
                };
                assert!((-0.01..most).contains(&off), "{context:?}: {off}");
            }
        }
    }
}

/// Whether iterations pass or are played, jobs that copy along edges end at the same times beside one another.
#[test]
fn iterations_of_copies_pass_as_they_are_played() {
    let cluster = cluster("machine = \"4x-l40s-pcie\"", Fidelity::Flow);
    let chain = |name: &str, arrival| Job {
        pattern: PatternShape::Chain,
        arrival: Picoseconds(arrival),
        ..exchanging(name, 3, 9)
    };
    let pair = Job { arrival: Picoseconds(1), ..exchanging("ring", 2, 20) };
    let alone = Job { name: "alone".into(), gpus: 1, ..pair.clone() };
    let jobs = [chain("a", 0), alone, chain("b", 5_000_000_000), pair];
    let choices = (ServerChoice::FirstFit, QueueDiscipline::Fifo);
    let settings = (PlannerChoice::named("nccl-ring", &planners()).unwrap(), copying());
    let of = |iterations| {
        played_by(iterations, choices, &cluster, settings, "baseline", &jobs).unwrap().records
    };
    assert_eq!(of(Iterations::All), of(Iterations::Unlike));
}

#[test]
fn edges_between_servers_are_messages() {
    let text = "kind = \"fat-tree\"\nlevels = 2\nradix = 8\nleaves = 8\nmachine = \"dgx1-v100\"\nservers = 2";
    let star = Job { pattern: PatternShape::Star, ..exchanging("star", 12, 2) };
    let jobs = [star, exchanging("ring", 2, 2)];
    let choices = (ServerChoice::FirstFit, QueueDiscipline::Fifo);
    let settings = (PlannerChoice::named("nccl-ring", &planners()).unwrap(), plain());
    let times = EVERY.map(|fidelity| {
        let cluster = cluster(text, fidelity);
        let records = played_with(choices, &cluster, settings, "baseline", &jobs).unwrap().records;
        assert_eq!(records[0].parts.len(), 2);
        records[0].finish.as_seconds()
    });
    // The hub sends four times 16 MB to the other server and gets as much, over one interface.
    assert!(times.iter().all(|time| (time / times[1] - 1.0).abs() < 0.1), "{times:?}");
    assert!(times[1] > 2.0 * 4.0 * 16e6 / 25e9, "{times:?}");
}
