//! A shared system's day: the queue, the allocations, the plans and what the jobs do, from the first arrival to
//! the last end.
//!
//! It plays the paper's mix of 300 jobs on a DGX-1V as fluids and, at 100 iterations a job, as
//! flows. It also plays jobs of up to five GPUs on 64 servers of eight in a fat-tree as fluids.
//! They number 500 to 5,000 and come twice as fast as one server's would for each. `cargo bench
//! --bench scenario` measures processor time of the user, median of 5, and the most memory of the
//! process until then. A name runs one of them: `cargo bench --bench scenario -- flow`.

use std::fs::read_to_string;
use std::hint::black_box;
use std::ops::ControlFlow;

use linkwright::allocation::{BandwidthModel, PreparedMachine, policy};
use linkwright::collectives::plan::planners;
use linkwright::scenario::{Files, read_network};
use linkwright::simulation::cluster::{Cluster, Fidelity};
use linkwright::simulation::played::{IterationSettings, PlannerChoice, PlayedOutcome, play};
use linkwright::simulation::{Job, MixOptions, ServerChoice, Sharing, generate};
use linkwright::system::BandwidthProfile;
use linkwright::units::Picoseconds;
use linkwright_bench::user_seconds;

const REPEATS: usize = 5;

/// Describes a fat-tree of 64 DGX-1Vs with all their interfaces.
const POD: &str = "kind = \"fat-tree\"\nmachine = \"dgx1-v100\"\nservers = 64";

fn cluster(text: &str, fidelity: Fidelity) -> Cluster {
    let network = read_network("<bench>", text).expect("the settings are right");
    let cluster = network.build("<bench>", &Files::default()).expect("the preset is right");
    Cluster { fidelity, ..cluster }
}

/// Makes the paper's mix. Its jobs arrive in that mean time or at once.
fn mix(count: u32, mean_interarrival: Option<Picoseconds>, iterations: Option<u64>) -> Vec<Job> {
    let options =
        MixOptions { count, max_gpus: 5, seed: 7, mean_interarrival, ..MixOptions::default() };
    let mut jobs = generate(&options).expect("a mix");
    for job in &mut jobs {
        job.iterations = iterations.unwrap_or(job.iterations);
    }
    jobs
}

fn played(cluster: &Cluster, planner: &str, jobs: &[Job]) -> PlayedOutcome {
    let prepare = |server| {
        PreparedMachine::new(server, BandwidthProfile::Mapa, BandwidthModel::Sound)
            .expect("a preset")
    };
    let machines: Vec<_> =
        cluster.system.kinds().iter().map(|kind| prepare(kind.server())).collect();
    let sharing = Sharing {
        servers: ServerChoice::Pack,
        ..Sharing::new(&machines, policy("preserve").expect("a policy"))
    };
    let planner = PlannerChoice::named(planner, &planners()).expect("a planner");
    play(cluster, (planner, IterationSettings::default()), sharing, jobs, &mut |_| {
        ControlFlow::Continue(())
    })
    .expect("jobs end")
}

/// The most memory that the process had, in MB.
fn most_memory() -> u64 {
    let text = read_to_string("/proc/self/status").expect("the kernel says");
    let line = text.lines().find(|line| line.starts_with("VmHWM")).expect("a line");
    line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("kilobytes") / 1_000
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let lone = |fidelity| cluster("machine = \"dgx1-v100\"", fidelity);
    let mut cases: Vec<(String, Cluster, &str, Vec<Job>)> = Vec::new();
    for planner in ["packing", "nccl-ring", "nccl-classic"] {
        let case = format!("fluid 300 jobs, {planner}");
        cases.push((case, lone(Fidelity::Fluid), planner, mix(300, None, None)));
        let case = format!("flow 300 jobs of 100 iterations, {planner}");
        cases.push((case, lone(Fidelity::Flow), planner, mix(300, None, Some(100))));
    }
    for count in [500, 1_000, 2_000, 5_000] {
        let interarrival = Some(Picoseconds(2_000_000_000_000));
        let case = format!("pod {count} jobs on 64 servers");
        let jobs = mix(count, interarrival, None);
        cases.push((case, cluster(POD, Fidelity::Fluid), "packing", jobs));
    }
    for (name, cluster, planner, jobs) in cases {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            continue;
        }
        let mut times: Vec<f64> = (0..REPEATS)
            .map(|_| {
                let start = user_seconds();
                black_box(played(&cluster, planner, &jobs));
                user_seconds() - start
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let plans = played(&cluster, planner, &jobs).plans;
        let (median, each) = (times[REPEATS / 2], times[REPEATS / 2] / jobs.len() as f64 * 1e6);
        let memory = most_memory();
        println!("{name:42} {median:7.2} s {each:9.1} us a job, {plans:4} plans, {memory:5} MB");
    }
}
