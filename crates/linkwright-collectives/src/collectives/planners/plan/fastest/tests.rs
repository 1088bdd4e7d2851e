use super::*;
use crate::collectives::Collective;
use crate::collectives::planners::plan::sized::plans_of;
use crate::collectives::planners::plan::{Packing, Planner, Question};
use crate::collectives::schedule::time::{choose_chunk_on, link_bytes};
use crate::system::System;
use crate::system::test_support::{alone, on_one_switch};

/// One plan after the other with all protocols, as the rule says.
fn by_trying_all(plans: &[Plan], wiring: &Wiring, size: Bytes) -> (Plan, Timing) {
    let mut best: Option<(Plan, Timing)> = None;
    for plan in plans {
        let routes = resources(wiring);
        let loads = link_bytes(&plan.schedule, &routes).unwrap();
        let times = loads.iter().zip(routes.capacities());
        let busiest = times.map(|(load, most)| load / most.0 as f64).fold(0.0, f64::max);
        let launch_by = |protocol: &Protocol| {
            protocol_for(&plan.schedule, *protocol, wiring).launch.as_seconds()
        };
        let launch = Packing.protocols().iter().map(launch_by).fold(f64::INFINITY, f64::min);
        let near = NEAR * (launch + size.0 as f64 * busiest);
        if best.as_ref().is_some_and(|(_, timing)| timing.time.as_seconds() <= near) {
            continue;
        }
        for protocol in Packing.protocols().iter().rev() {
            let mut plan = plan.clone();
            plan.schedule.protocol = *protocol;
            let costs = protocol_on(&plan.schedule, wiring);
            let timing = choose_chunk_on(&plan.schedule, wiring, size, &costs).unwrap().0;
            if best.as_ref().is_none_or(|(_, known)| timing.time < known.time) {
                best = Some((plan, timing));
            }
        }
    }
    best.unwrap()
}

fn is_as_by_trying_all(system: &System, gpus: &[usize], sizes: &[u64]) {
    let (wiring, known) = (Wiring::of_gpus(system, gpus), &mut KnownTimes::default());
    for collective in [Collective::AllReduce, Collective::Broadcast { root: 0 }] {
        let plans = plans_of(&Packing, &Question::new(system, gpus, collective)).unwrap();
        for size in sizes {
            let size = Bytes(*size);
            let found = fastest_of(
                (&plans, Packing.protocols()),
                &wiring,
                (size, None),
                Picoseconds(0),
                known,
            )
            .unwrap()
            .into_timed();
            let wanted = by_trying_all(&plans, &wiring, size);
            assert_eq!(found, wanted, "{collective} of {size} on {gpus:?} of {}", system.name());
            // Now all is known, down to what each link carries.
            let again = fastest_of(
                (&plans, Packing.protocols()),
                &wiring,
                (size, None),
                Picoseconds(0),
                known,
            )
            .unwrap()
            .into_timed();
            assert_eq!(again, wanted, "{collective} of {size} on {gpus:?} of {}", system.name());
        }
    }
}

#[test]
fn what_is_left_out_is_not_the_fastest() {
    let server = alone("dgx1-v100");
    for gpus in [&[0, 1][..], &[0, 2, 3], &[1, 2, 3, 6, 7], &[0, 1, 2, 3]] {
        is_as_by_trying_all(&server, gpus, &[131_072, 6_553_600]);
    }
    let pair = on_one_switch("dgx1-v100", 2, 100);
    for gpus in [&[0, 8][..], &[0, 2, 3, 9], &[0, 3, 8, 11, 12]] {
        is_as_by_trying_all(&pair, gpus, &[1_000, 9_533_827]);
    }
}
