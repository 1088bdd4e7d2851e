use proptest::prelude::*;

use super::*;
use crate::collectives::nccl::baselines::NcclBaseline;
use crate::collectives::planners::plan::{plan_for_size, planners, timed_plan_within};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::{choose_chunk, protocol_as};
use crate::system::test_support::{alone, on_one_switch};
use crate::system::{System, presets};

fn fastest(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    size: Bytes,
) -> Result<(Plan, Vec<Tried>), PlanError> {
    let question = Question::new(system, gpus, collective);
    let by = |planner: &'static dyn Planner, within| {
        timed_plan_within(planner, &question, (size, within))
    };
    plan_fastest(&planners(), &question, size, None, &by)
}

fn time_of(system: &System, plan: &Plan, size: Bytes) -> Picoseconds {
    let schedule = &plan.schedule;
    let costs = protocol_as(schedule, schedule.protocol, system).unwrap();
    choose_chunk(schedule, system, size, &costs).unwrap().0.time
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// On any GPUs of any preset, at any size, no NCCL is faster.
    #[test]
    fn no_nccl_is_faster(
        preset in 0..presets::NAMES.len(),
        servers in 1_u32..3,
        chosen in proptest::collection::btree_set(0_usize..32, 2..7),
        which in 0_usize..6,
        power in 3_u32..29,
    ) {
        let name = presets::NAMES[preset];
        let system = if servers > 1 { on_one_switch(name, servers, 200) } else { alone(name) };
        let count = system.gpus() as usize;
        let mut gpus: Vec<usize> = chosen.into_iter().map(|gpu| gpu % count).collect();
        gpus.sort_unstable();
        gpus.dedup();
        prop_assume!(gpus.len() > 1);
        let root = gpus.len() - 1;
        let collective = [
            Collective::AllReduce,
            Collective::AllGather,
            Collective::ReduceScatter,
            Collective::AllToAll,
            Collective::Broadcast { root },
            Collective::Reduce { root },
        ][which];
        let size = Bytes(1 << power);
        let Ok((plan, tried)) = fastest(&system, &gpus, collective, size) else {
            return Ok(());
        };
        let time = time_of(&system, &plan, size);
        for baseline in [NcclBaseline::Ring, NcclBaseline::Tree, NcclBaseline::Classic] {
            let question = Question::new(&system, &gpus, collective);
            let planned = plan_for_size(&baseline, &question, size);
            let Ok(mut other) = planned else { continue };
            // Of rings and trees NCCL chooses the protocol itself.
            let chosen = [other.schedule.protocol];
            let is_classic = baseline == NcclBaseline::Classic;
            for protocol in if is_classic { baseline.protocols() } else { &chosen } {
                other.schedule.protocol = *protocol;
                prop_assert!(time <= time_of(&system, &other, size), "{} on {name}", baseline.name());
            }
        }
        let names: Vec<&str> = tried.iter().map(|tried| &*tried.algorithm).collect();
        prop_assert!(planners().names().iter().all(|name| names.contains(name)));
        // The first of the trials tells the plan that was taken.
        prop_assert_eq!(names[0], &*plan.algorithm);
        let is_its_time = matches!(tried[0].trial, Trial::Timed { time: told, .. } if told == time);
        prop_assert!(is_its_time, "{:?} and {}", tried[0], time);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Losers are left out, and the fastest is found as by trying all.
    #[test]
    fn what_is_left_out_is_not_the_fastest_of_all(
        preset in 0..presets::NAMES.len(),
        servers in 1_u32..4,
        chosen in proptest::collection::btree_set(0_usize..32, 2..6),
        which in 0_usize..4,
        powers in proptest::collection::vec(3_u32..29, 1..3),
    ) {
        let name = presets::NAMES[preset];
        let system = if servers > 1 { on_one_switch(name, servers, 200) } else { alone(name) };
        let count = system.gpus() as usize;
        let mut gpus: Vec<usize> = chosen.into_iter().map(|gpu| gpu * 7 % count).collect();
        gpus.sort_unstable();
        gpus.dedup();
        prop_assume!(gpus.len() > 1);
        let collective = [
            Collective::AllReduce,
            Collective::ReduceScatter,
            Collective::AllToAll,
            Collective::Broadcast { root: gpus.len() - 1 },
        ][which];
        let question = Question::new(&system, &gpus, collective);
        let (mut all, mut known) = (AllCandidates::default(), KnownTimes::default());
        for power in powers {
            let size = Bytes(1 << power);
            let Ok((plan, tried)) = fastest(&system, &gpus, collective, size) else {
                return Ok(());
            };
            let is_timed = |tried: &Tried| !matches!(tried.trial, Trial::Hopeless { .. });
            prop_assert!(tried.iter().all(is_timed), "few GPUs are all timed");
            let (found, timing) = all.fastest(&question, size, &mut known).unwrap();
            prop_assert_eq!(timing.time, time_of(&system, &plan, size));
            prop_assert_eq!(found, plan);
        }
    }
}

/// Stars and rules that know nothing of the links are bounded on many GPUs, and never played. Trees that take
/// seconds to plan are not planned.
#[test]
fn what_cannot_win_on_many_gpus_is_not_played() {
    let system = on_one_switch("hgx-h100", 3, 400);
    let gpus: Vec<usize> = (0..24).collect();
    let (_, tried) = fastest(&system, &gpus, Collective::AllReduce, Bytes(64 << 20)).unwrap();
    let of = |name: &str| &tried.iter().find(|it| it.algorithm == name).unwrap().trial;
    for name in ["one-hop", "mpi-binary-tree", "mpi-binomial-tree", "mpi-recursive-doubling"] {
        assert!(matches!(of(name), Trial::Hopeless { .. }), "{name}: {:?}", of(name));
    }
    assert!(matches!(of("blink"), Trial::Refused(_)), "{:?}", of("blink"));
    for name in ["packing", "nccl-ring", "nccl-tree"] {
        assert!(!matches!(of(name), Trial::Refused(_)), "{name}: {:?}", of(name));
    }
}

#[test]
fn a_bound_is_no_more_than_the_time() {
    let system = on_one_switch("dgx-a100", 9, 200);
    let gpus: Vec<usize> = (0..72).collect();
    let size = Bytes(1 << 10);
    for collective in
        [Collective::AllReduce, Collective::AllGather, Collective::Broadcast { root: 5 }]
    {
        let (plan, tried) = fastest(&system, &gpus, collective, size).unwrap();
        let best = time_of(&system, &plan, size);
        for Tried { algorithm, trial } in tried {
            let Trial::Hopeless { least } = trial else { continue };
            assert!(least >= best, "{collective}: {algorithm}");
            let planner = planners().get(&algorithm).unwrap();
            let planned = plan_for_size(planner, &Question::new(&system, &gpus, collective), size);
            let Ok(mut other) = planned else { continue };
            for protocol in planner.protocols() {
                other.schedule.protocol = *protocol;
                let time = time_of(&system, &other, size);
                assert!(time >= least, "{collective}: {algorithm} {time} {least}");
            }
        }
    }
}

#[test]
fn a_barrier_is_planned_by_a_rule() {
    let system = alone("dgx-a100");
    let (plan, tried) = fastest(&system, &[0, 1, 2], Collective::Barrier, Bytes(8)).unwrap();
    assert!(planners().get(&plan.algorithm).unwrap().is_rule());
    assert!(tried.iter().any(|tried| matches!(tried.trial, Trial::Refused(_))));
    let refused = fastest(&system, &[0, 99], Collective::AllReduce, Bytes(8));
    assert!(matches!(refused, Err(PlanError::Links(_))));
}
