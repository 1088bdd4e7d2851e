use super::*;
use crate::collectives::check;
use crate::collectives::nccl::baselines::NcclBaseline;
use crate::collectives::planners::plan::{
    Blink, OneHop, Packing, Planner, Question, plan, plan_for_size,
};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::execute::{ExecuteOptions, Reduction, execute, reference};
use crate::collectives::schedule::time::{NcclProtocol, Timing, choose_chunk, protocol_of};
use crate::system::test_support::alone;
use crate::system::{System, Wiring};

const MILLISECOND: Picoseconds = Picoseconds(1_000_000_000);

fn timed(machine: &System, plan: &Plan, size: Bytes) -> Timing {
    let costs = NcclProtocol {
        peer_access_switch: MILLISECOND,
        ..protocol_of(&plan.schedule, machine).unwrap()
    };
    choose_chunk(&plan.schedule, machine, size, &costs).unwrap().0
}

#[test]
fn a_long_broadcast_gains_what_the_equation_says_and_a_short_one_stays_on_nvlink() {
    let machine = alone("dgx1-v100");
    let gpus: Vec<usize> = (0..8).collect();
    let wiring = Wiring::of_system(&machine);
    let broadcast = Collective::Broadcast { root: 0 };
    for algorithm in [&Packing as &dyn Planner, &Blink] {
        let alone = plan(algorithm, &Question::new(&machine, &gpus, broadcast).over(Links::Fabric))
            .unwrap();
        let hybrid = |size| {
            plan_hybrid(algorithm, &Question::new(&machine, &gpus, broadcast), size, MILLISECOND)
                .unwrap()
        };
        let sized = |size| {
            plan_for_size(
                algorithm,
                &Question::new(&machine, &gpus, broadcast).over(Links::Fabric),
                size,
            )
            .unwrap()
        };
        let over_both = |plan: &Plan| plan.has_host_beside_fabric(&machine).unwrap();
        let size = Bytes(512 << 20);
        let both = hybrid(size);
        assert!(over_both(&both) && !over_both(&alone));
        let fast = reached_rate(&alone.schedule, &wiring).unwrap().0 as f64;
        let host =
            plan(algorithm, &Question::new(&machine, &gpus, broadcast).over(Links::Host)).unwrap();
        let slow = reached_rate(&host.schedule, &wiring).unwrap().0 as f64;
        let total = size.0 as f64;
        let expected = (total + 1e-3 * slow) / (slow + fast) * fast / total;
        let found = timed(&machine, &both, size).time.as_seconds()
            / timed(&machine, &sized(size), size).time.as_seconds();
        assert!((expected - found).abs() < 0.02 && found < 1.0, "{expected} {found}");
        let short = hybrid(Bytes(1 << 20));
        assert_eq!((&short.schedule, short.notes.len()), (&sized(Bytes(1 << 20)).schedule, 1));
        assert!(!over_both(&short));
    }
}

#[test]
fn no_hybrid_is_slower_than_the_best_on_nvlink() {
    let machine = alone("dgx1-v100");
    let mut faster = 0;
    for gpus in [&[0, 1][..], &[1, 4, 5, 6], &[0, 1, 2, 3, 4, 5, 6, 7]] {
        for name in ["broadcast", "all-reduce", "gather"] {
            let collective = Collective::named(name, 1).unwrap();
            for algorithm in [&Packing as &dyn Planner, &Blink] {
                for size in [1, 64, 512].map(|mebibytes| Bytes(mebibytes << 20)) {
                    let links = Links::Fabric;
                    let best = plan_for_size(
                        algorithm,
                        &Question::new(&machine, gpus, collective).over(links),
                        size,
                    );
                    let best = timed(&machine, &best.unwrap(), size).time;
                    let found = plan_hybrid(
                        algorithm,
                        &Question::new(&machine, gpus, collective),
                        size,
                        MILLISECOND,
                    )
                    .unwrap();
                    let is_hybrid = found.has_host_beside_fabric(&machine).unwrap();
                    let time = timed(&machine, &found, size).time;
                    let holds = if is_hybrid { time < best } else { time == best };
                    assert!(holds, "{name} {gpus:?} {size}: {time} and {best}");
                    faster += usize::from(is_hybrid);
                }
            }
        }
    }
    assert!(faster >= 9, "PCIe helped in {faster} cases only");
}

#[test]
fn every_collective_along_trees_checks_and_executes() {
    let machine = alone("dgx1-v100");
    let gpus = [0, 1, 2, 3, 4];
    for name in Collective::NAMES {
        let collective = Collective::named(name, 2).unwrap();
        for algorithm in [&Packing as &dyn Planner, &Blink, &OneHop] {
            let size = Bytes(4 << 30);
            let found = plan_hybrid(
                algorithm,
                &Question::new(&machine, &gpus, collective),
                size,
                MILLISECOND,
            );
            let found = match found {
                Err(PlanError::Unsupported { .. }) => continue,
                found => found.unwrap(),
            };
            let schedule = &found.schedule;
            check(schedule).unwrap_or_else(|fault| panic!("{name}: {fault}"));
            let input = |rank: usize| {
                let count = collective.input_shards(5, rank) * 1_009;
                (0..count).map(|at| (rank * 100_003 + at * 7 + 1) as i64).collect()
            };
            let inputs: Vec<Vec<i64>> = (0..5).map(input).collect();
            let expected = reference(collective, &inputs, Reduction::Sum).unwrap();
            let options = ExecuteOptions { piece: 512, ..ExecuteOptions::default() };
            assert!(execute(schedule, inputs, Reduction::Sum, &options).unwrap() == expected);
        }
    }
}

#[test]
fn degenerate_cases_say_what_they_do() {
    let machine = alone("dgx1-v100");
    let hybrid = |gpus: &[usize], algorithm, size| {
        let size = Bytes(size);
        plan_hybrid(
            algorithm,
            &Question::new(&machine, gpus, Collective::AllReduce),
            size,
            MILLISECOND,
        )
    };
    let apart = hybrid(&[1, 4, 6], &Packing, 1 << 30).unwrap();
    assert!(apart.notes[0].contains("over PCIe"), "{:?}", apart.notes);
    let empty = hybrid(&[0, 1], &Packing, 0).unwrap();
    assert!(empty.notes[0].contains("all data goes over NVLink"), "{:?}", empty.notes);
    let baseline = &NcclBaseline::Ring;
    let error = hybrid(&[0, 1], baseline, 1 << 30).unwrap_err();
    assert!(error.to_string().contains("packing, blink"), "{error}");
}
