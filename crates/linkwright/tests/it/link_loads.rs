//! Adds up the loads of links: all that enters a switch leaves it, at every fidelity.

use std::collections::BTreeMap;

use linkwright::collectives::plan::planners;
use linkwright::network::{InnerCounts, LinkLoads};
use linkwright::simulation::cluster::Fidelity;
use linkwright::simulation::played::{IterationSettings, Iterations, PlannerChoice, PlayedOutcome};
use linkwright::simulation::{Job, QueueDiscipline, ServerChoice};
use linkwright::system::{DeviceKind, System};

use crate::played::{cluster, job, played_by};

/// Lists a fat-tree, another that is narrow above its leaves, and a ring of rings.
const FABRICS: [&str; 3] = [
    "kind = \"fat-tree\"\nradix = 8\nlevels = 2\nleaves = 6",
    "kind = \"fat-tree\"\nradix = 8\nlevels = 2\nleaves = 4\ntapering = 3",
    "kind = \"torus\"\ndimensions = [3, 2]\nnodes_per_switch = 4",
];

fn of_jobs(fabric: &str, fidelity: Fidelity, iterations: Iterations) -> (System, PlayedOutcome) {
    let cluster = cluster(&format!("{fabric}\nmachine = \"dgx1-v100\"\nservers = 6"), fidelity);
    let jobs: Vec<Job> = [("a", 20), ("b", 12), ("c", 10), ("d", 3)]
        .map(|(name, gpus)| job(name, "googlenet", gpus, 6))
        .to_vec();
    let planner = PlannerChoice::named("nccl-ring", &planners()).unwrap();
    let settings = IterationSettings { host_copies: true, ..IterationSettings::default() };
    let choices = (ServerChoice::FirstFit, QueueDiscipline::Fifo);
    let played = played_by(iterations, choices, &cluster, (planner, settings), "preserve", &jobs);
    ((*cluster.system).clone(), played.unwrap())
}

/// Counts the bytes that enter each device and leave it, and its links.
fn through(system: &System, loads: &LinkLoads) -> BTreeMap<usize, (u64, u64, u64)> {
    let mut found: BTreeMap<usize, (u64, u64, u64)> = BTreeMap::new();
    for (channel, bytes) in &loads.channels {
        let (link, bytes) = (system.channel(*channel), bytes.iter().sum::<u64>());
        let of = found.entry(link.to).or_default();
        (of.0, of.2) = (of.0 + bytes, of.2 + 1);
        let of = found.entry(link.from).or_default();
        (of.1, of.2) = (of.1 + bytes, of.2 + 1);
    }
    found
}

/// Interfaces, leaves and spines pass on what they get, to the byte for each link.
#[test]
fn what_enters_a_switch_leaves_it() {
    for fabric in FABRICS {
        for fidelity in [Fidelity::Fluid, Fidelity::Flow, Fidelity::Packet] {
            let (system, played) = of_jobs(fabric, fidelity, Iterations::Unlike);
            assert_ne!(played.loads.inner, InnerCounts::Nothing);
            let mut passed: BTreeMap<DeviceKind, u64> = BTreeMap::new();
            for (device, (entered, left, links)) in through(&system, &played.loads) {
                let kind = system.device_kind(device);
                if matches!(kind, DeviceKind::Nic | DeviceKind::NetworkSwitch) {
                    let name = system.device_name(device);
                    assert!(
                        entered.abs_diff(left) <= links,
                        "{name}: {entered} and {left} {fabric} {fidelity:?}"
                    );
                    *passed.entry(kind).or_default() += entered;
                }
            }
            let [nics, switches] =
                [DeviceKind::Nic, DeviceKind::NetworkSwitch].map(|it| passed[&it]);
            // All crosses a leaf, and some a spine and another leaf.
            assert!(switches > nics / 2 * 11 / 10, "{nics} and {switches}: {fabric} {fidelity:?}");
        }
    }
}

/// Iterations that are not played carry as much as those that are, and fluids as much as flows.
#[test]
fn what_passes_unplayed_is_counted() {
    let of = |fidelity, iterations| of_jobs(FABRICS[0], fidelity, iterations).1.loads;
    let all = of(Fidelity::Flow, Iterations::All);
    for other in [of(Fidelity::Flow, Iterations::Unlike), of(Fidelity::Fluid, Iterations::All)] {
        assert_eq!(all.channels.len(), other.channels.len());
        for (channel, _) in &all.channels {
            let (one, other) = (all.of(*channel) as f64, other.of(*channel) as f64);
            assert!((one / other - 1.0).abs() < 1e-4, "{channel}: {one} and {other}");
        }
    }
}

/// A dragonfly's routing leads around links that are loaded: flows do not know which.
#[test]
fn what_is_not_counted_is_not_zero() {
    let dragonfly = "kind = \"dragonfly\"\nnodes_per_switch = 2\nswitches_per_group = 4\nglobal_links_per_switch = 1";
    let of = |fidelity| of_jobs(dragonfly, fidelity, Iterations::Unlike).1.loads.inner;
    assert_eq!(of(Fidelity::Flow), InnerCounts::Nothing);
    assert_eq!(of(Fidelity::Packet), InnerCounts::All);
}
