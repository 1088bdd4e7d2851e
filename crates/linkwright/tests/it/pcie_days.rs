//! Tests a PCIe bus in a day of jobs that copy their images, in packets, as flows and as fluids.

use linkwright::collectives::plan::planners;
use linkwright::network::pcie::{First, PcieArbitration, PcieSettings};
use linkwright::simulation::cluster::Fidelity;
use linkwright::simulation::played::{IterationSettings, PlannerChoice};
use linkwright::simulation::{Job, QueueDiscipline, ServerChoice};
use linkwright::units::Bytes;
use proptest::prelude::*;

use crate::played::{cluster, job, played_with};

const EVERY: [Fidelity; 3] = [Fidelity::Fluid, Fidelity::Flow, Fidelity::Packet];

const TURNS: PcieSettings = of(PcieArbitration::RoundRobin, First::Small);
const SMALL: PcieSettings = of(PcieArbitration::Throughput, First::Small);
const LARGE: PcieSettings = of(PcieArbitration::Throughput, First::Large);
const QOS: PcieSettings = of(PcieArbitration::Qos, First::Small);

const fn of(arbitration: PcieArbitration, first: First) -> PcieSettings {
    PcieSettings { arbitration, first, ..PcieSettings::DEFAULT }
}

/// How long each job takes, in seconds.
fn times(
    machine: &str,
    (fidelity, bus): (Fidelity, Option<PcieSettings>),
    (planner, host_copies): (&str, bool),
    jobs: &[Job],
) -> Vec<f64> {
    let mut cluster = cluster(&format!("machine = \"{machine}\""), fidelity);
    cluster.settings.pcie = bus;
    let settings = IterationSettings { host_copies, ..IterationSettings::default() };
    let choices = (ServerChoice::FirstFit, QueueDiscipline::Fifo);
    let planned = (PlannerChoice::named(planner, &planners()).unwrap(), settings);
    let records = played_with(choices, &cluster, planned, "baseline", jobs).unwrap().records;
    records.iter().map(|it| it.finish.as_seconds() - it.start.as_seconds()).collect()
}

fn on_the_tree(fidelity: Fidelity, bus: PcieSettings, workloads: &[&str]) -> Vec<f64> {
    let named = workloads.iter().enumerate();
    let jobs: Vec<Job> =
        named.map(|(index, workload)| job(&index.to_string(), workload, 1, 3)).collect();
    times("pcie-tree-4", (fidelity, Some(bus)), ("nccl-ring", true), &jobs)
}

/// Copies that share one link end one after another where some go first, and jobs compute while others copy.
#[test]
fn arbiters_act_on_days_at_every_fidelity() {
    let workloads = ["alexnet", "alexnet", "googlenet", "vgg-16"];
    let of =
        |fidelity| [TURNS, SMALL, LARGE, QOS].map(|bus| on_the_tree(fidelity, bus, &workloads));
    let every = EVERY.map(of);
    for ([turns, small, large, qos], fidelity) in every.iter().zip(EVERY) {
        // The large copies overlap in turns for ever, and not once one of them has gone first.
        assert!(small[0] < 0.96 * turns[0] && small[1] < 0.96 * turns[1], "{fidelity:?}");
        // The smallest waits for the others where the large go first.
        assert!(large[3] > small[3], "{fidelity:?}: {large:?} {small:?}");
        assert!(qos.iter().zip(turns).all(|(qos, turns)| *qos < 1.01 * turns), "{fidelity:?}");
    }
    let [fluid, flow, packet] = every;
    let off = |of: &[f64], from: &[f64]| {
        let each = of.iter().zip(from).map(|(of, from)| (of / from - 1.0).abs());
        each.fold(0.0, f64::max)
    };
    for rival in 0..4 {
        // Among packets, those of small copies are let through when they have waited for long.
        let most = if rival == 2 { 0.06 } else { 0.002 };
        assert!(off(&flow[rival], &packet[rival]) < most, "{flow:?}\n{packet:?}");
        // Of few iterations, what the first one takes counts.
        assert!(off(&fluid[rival], &flow[rival]) < 0.03, "{fluid:?}\n{flow:?}");
    }
}

/// The definition of a packet counts at every fidelity, for copies. Collectives take as long alone
/// as without a bus.
#[test]
fn a_bus_is_the_same_at_every_fidelity() {
    let alone = [job("a", "alexnet", 1, 1)];
    let headers = PcieSettings { payload: Bytes(64), ..TURNS };
    for fidelity in EVERY {
        let time = |bus: Option<PcieSettings>, host_copies| {
            times("pcie-tree-4", (fidelity, bus), ("nccl-ring", host_copies), &alone)[0]
        };
        let computed = time(None, false);
        let copied = |bus| time(Some(bus), true) - computed;
        // 280 bytes for 256 of data, and 88 for 64.
        let ratio = copied(headers) / copied(TURNS);
        assert!((ratio / (88.0 / 64.0 * 256.0 / 280.0) - 1.0).abs() < 0.01, "{fidelity:?} {ratio}");
        let rate = alone[0].work().unwrap().copied_per_iteration().0 as f64 / copied(TURNS) / 1e9;
        assert!((12.6..12.8).contains(&rate), "{fidelity:?}: {rate} GB/s");
        let without = time(None, true) - computed;
        assert!((copied(TURNS) / without - 1.0).abs() < 0.01, "{fidelity:?}: {without}");
        assert_eq!(copied(TURNS), copied(SMALL));
        assert_eq!(copied(TURNS), copied(QOS));
    }
    let several = [job("a", "vgg-16", 3, 2)];
    for fidelity in [Fidelity::Fluid, Fidelity::Flow] {
        let of = |bus| times("dgx1-v100", (fidelity, bus), ("nccl-classic", false), &several)[0];
        for bus in [TURNS, SMALL, LARGE, QOS] {
            assert!((of(Some(bus)) / of(None) - 1.0).abs() < 1e-6, "{fidelity:?}");
        }
    }
}

/// The largest copies have a deadline where a bus heeds one, and small ones may not hold them up beyond it.
#[test]
fn deadlines_are_kept_that_small_copies_would_break() {
    let workloads = ["alexnet", "googlenet", "googlenet", "googlenet"];
    for fidelity in EVERY {
        let strict = PcieSettings { deadline: 1_050, ..QOS };
        let [small, qos] = [SMALL, strict].map(|bus| on_the_tree(fidelity, bus, &workloads)[0]);
        assert!(qos < small, "{fidelity:?}: {qos} {small}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Whoever goes first: no job is faster beside others than alone.
    #[test]
    fn no_job_gains_by_company(
        workloads in prop::collection::vec(prop::sample::select(
            &["alexnet", "googlenet", "resnet-50", "vgg-16"][..],
        ), 2..5),
        bus in prop::sample::select(&[TURNS, SMALL, LARGE, QOS][..]),
        fidelity in prop::sample::select(&[Fidelity::Fluid, Fidelity::Flow][..]),
    ) {
        let beside = on_the_tree(fidelity, bus, &workloads);
        for (workload, beside) in workloads.iter().zip(beside) {
            let alone = on_the_tree(fidelity, bus, &[workload])[0];
            prop_assert!(beside >= alone * (1.0 - 1e-9), "{workload}: {beside} beside, {alone} alone");
        }
    }
}
