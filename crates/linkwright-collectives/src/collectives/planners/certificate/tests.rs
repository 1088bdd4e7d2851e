use proptest::prelude::*;

use super::*;
use crate::collectives::plan::{Blink, Links, NvlsPlanner, Packing, Plan, Planner, Question, plan};
use crate::system::System;
use crate::system::presets::NAMES;
use crate::system::test_support::{alone, on_one_switch};

fn collectives(root: usize) -> [Collective; 8] {
    [
        Collective::Broadcast { root },
        Collective::Reduce { root },
        Collective::Gather { root },
        Collective::Scatter { root },
        Collective::AllReduce,
        Collective::AllGather,
        Collective::ReduceScatter,
        Collective::AllToAll,
    ]
}

/// Gives the plans with an optimum, of all collectives.
fn plans(system: &System, gpus: &[usize], links: Links) -> Vec<Plan> {
    let planners = [&Packing as &dyn Planner, &NvlsPlanner, &Blink];
    let asked = collectives(gpus.len() / 2).into_iter().flat_map(|collective| {
        let question = Question::new(system, gpus, collective).over(links);
        planners.iter().filter_map(move |planner| plan(*planner, &question).ok())
    });
    asked.filter(|plan| plan.optimum.is_some()).collect()
}

/// Gives sets of GPUs of a server with `count` GPUs.
fn sets(count: usize) -> Vec<Vec<usize>> {
    let some: [&[usize]; 4] = [&[0, 1], &[1, 4, 5, 6], &[0, 2, 3, 5, 7], &[0, 1, 2, 3, 4, 6]];
    let mut sets: Vec<Vec<usize>> = some.map(<[usize]>::to_vec).to_vec();
    sets.push((0..count.min(16)).collect());
    sets.retain(|gpus| gpus.len() > 1 && gpus.iter().all(|gpu| *gpu < count));
    sets
}

#[test]
fn every_optimum_on_a_server_has_a_certificate() {
    let mut proved = 0;
    for name in NAMES {
        let system = alone(name);
        for gpus in sets(system.gpus() as usize) {
            for plan in
                [Links::Fabric, Links::Host].map(|links| plans(&system, &gpus, links)).concat()
            {
                let certificate = plan.certificate(&system);
                let told = (plan.schedule.collective, &plan.algorithm, plan.links);
                let certificate = certificate.unwrap_or_else(|| panic!("{name} {gpus:?} {told:?}"));
                let claim = plan.claim(&system).unwrap();
                assert_eq!(verify(&system, &certificate, &claim), Ok(()));
                proved += 1;
            }
        }
    }
    assert!(proved > 900, "{proved}");
}

#[test]
fn optima_across_servers_have_certificates() {
    let (mut proved, mut open) = (0, 0);
    for (name, servers) in [("dgx-a100", 2), ("hgx-h100", 3), ("dgx1-v100", 2)] {
        let system = on_one_switch(name, servers, 200);
        for gpus in [(0..16).collect(), vec![0, 8], vec![0, 1, 8, 9], vec![0, 1, 2, 8, 9]] {
            for plan in plans(&system, &gpus, Links::Auto) {
                match plan.certificate(&system) {
                    Some(certificate) => {
                        assert_eq!(
                            verify(&system, &certificate, &plan.claim(&system).unwrap()),
                            Ok(())
                        );
                        proved += 1;
                    }
                    // Pairs of GPUs share a PCIe switch by halves, which no cut of links says.
                    None => {
                        assert_eq!((name, gpus.len()), ("dgx-a100", 16));
                        open += 1;
                    }
                }
            }
        }
    }
    assert!(proved > 50 && open < 8, "{proved} proved, and {open} not");
}

fn of(machine: &str, gpus: &[usize], collective: Collective) -> (System, Certificate, Claim) {
    let system = alone(machine);
    let question = Question::new(&system, gpus, collective);
    let plan = plan(&Packing, &question).unwrap();
    let certificate = plan.certificate(&system).unwrap();
    let claim = plan.claim(&system).unwrap();
    (system, certificate, claim)
}

#[test]
fn a_broken_certificate_is_refused_in_ten_ways() {
    let cases = [
        of("dgx1-v100", &[1, 4, 5, 6], Collective::AllReduce),
        of("dgx1-v100", &[0, 1, 2, 3, 4, 6], Collective::AllToAll),
        of("dgx1-v100", &[0, 1, 2, 3], Collective::Broadcast { root: 1 }),
        of("dgx-a100", &[0, 1, 2, 3], Collective::AllGather),
        of("dgx-a100", &[0, 1, 2], Collective::Scatter { root: 2 }),
    ];
    for (system, whole, claim) in cases {
        let refused = |breaks: &dyn Fn(&mut Certificate)| {
            let mut broken = whole.clone();
            breaks(&mut broken);
            assert_ne!(broken, whole, "nothing is broken");
            let refusal = verify(&system, &broken, &claim).expect_err("it is broken");
            assert!(!refusal.to_string().is_empty());
            refusal
        };
        let first = whole.crossing[0];
        let (from, to) = (first.from, first.to);
        let sums = |c: &mut Certificate| {
            let each = c.crossing.iter();
            c.capacity = each.map(|it| u128::from(it.bandwidth) * u128::from(it.weight)).sum();
            c.bound = quotient(c.capacity, c.need).unwrap();
        };
        // Another collective, another job, other links.
        let collective = if claim.collective == Collective::Scan {
            Collective::Barrier
        } else {
            Collective::Scan
        };
        assert_eq!(refused(&|c| c.collective = collective), Refusal::Other("collective"));
        assert_eq!(refused(&|c| c.gpus.reverse()), Refusal::Other("set of GPUs"));
        assert_eq!(refused(&|c| c.links = LinkClass::Host), Refusal::Other("class of links"));
        // A link that is left out, or there twice, or wider, or not there.
        let missing = refused(&|c| {
            c.crossing.remove(0);
            sums(c);
        });
        let is_weighed = matches!(whole.proof, Proof::Weights { .. });
        assert!(is_weighed || missing == Refusal::Missing(from, to), "{missing}");
        let twice = refused(&|c| {
            c.crossing.push(first);
            sums(c);
        });
        assert_eq!(twice, Refusal::Extra(from, to));
        let wide = refused(&|c| {
            c.crossing[0].bandwidth -= 1;
            sums(c);
        });
        assert_eq!(
            wide,
            Refusal::Bandwidth { from, to, is: first.bandwidth, listed: first.bandwidth - 1 }
        );
        let unknown = refused(&|c| {
            c.crossing.push(CutLink { from: 1 << 20, ..first });
            sums(c);
        });
        assert_eq!(unknown, Refusal::Extra(1 << 20, to));
        // Sums and quotients.
        assert_eq!(refused(&|c| c.capacity -= 1), Refusal::Capacity);
        assert_eq!(refused(&|c| c.need.bytes += 1), Refusal::Need);
        assert_eq!(refused(&|c| c.bound.0 -= 1), Refusal::Bound);
        // Links that count twice or not at all; a device in two places; nothing on a side.
        let heavy = refused(&|c| {
            c.crossing[0].weight += 1;
            sums(c);
        });
        assert!(is_weighed || heavy == Refusal::Weight(from, to), "{heavy}");
        let improper = refused(&|c| match &mut c.proof {
            Proof::Cut { side } => side.clear(),
            Proof::Parts { parts } => parts[0].clear(),
            Proof::InSwitch => unreachable!(),
            Proof::Weights { distances } => distances[0].iter_mut().for_each(|it| it.1 += 1),
        });
        assert!(
            !matches!(improper, Refusal::Capacity | Refusal::Need | Refusal::Bound),
            "{improper}"
        );
        if let Proof::Cut { .. } | Proof::Parts { .. } = whole.proof {
            let twice = refused(&|c| match &mut c.proof {
                Proof::Cut { side } => side.push(side[0]),
                Proof::Parts { parts } => {
                    let again = parts[0][0];
                    parts[1].push(again);
                }
                _ => unreachable!(),
            });
            assert!(matches!(twice, Refusal::Twice(_)), "{twice}");
        }
        // A true bound that is another than the optimum, and a rate above it.
        let other = Claim { optimum: Bandwidth(claim.optimum.0 / 2), ..claim.clone() };
        assert!(matches!(verify(&system, &whole, &other), Err(Refusal::Optimum { .. })));
        let fast = Claim { rate: Bandwidth(claim.rate.0 * 2), ..claim.clone() };
        assert_eq!(verify(&system, &whole, &fast), Err(Refusal::Rate));
        // Reductions in switches are bound by no parts.
        if matches!(whole.proof, Proof::Parts { .. }) {
            let in_switch = Claim { is_in_switch: true, ..claim.clone() };
            assert_eq!(verify(&system, &whole, &in_switch), Err(Refusal::Kind("parts")));
        }
    }
}

/// The least of capacity over need of all cuts, by brute force on a DGX-1V.
fn least_cut(links: &[(usize, usize, u64)], ranks: usize, collective: Collective) -> f64 {
    let need = |set: usize| {
        let (near, all) = (f64::from(set.count_ones()), ranks as f64);
        let has = |rank: usize| set >> rank & 1 == 1;
        let part = match collective {
            Collective::Broadcast { root } => f64::from(u8::from(has(root))),
            Collective::Reduce { root } => f64::from(u8::from(!has(root))),
            Collective::Scatter { root } if has(root) => (all - near) / all,
            Collective::Gather { root } if !has(root) => near / all,
            Collective::AllGather => near / all,
            Collective::ReduceScatter => (all - near) / all,
            _ => 0.0,
        };
        Some(part).filter(|part| *part > 0.0)
    };
    let capacity = |set: usize| -> f64 {
        let crossing = links.iter().filter(|(a, b, _)| (set >> a ^ set >> b) & 1 == 1);
        crossing.map(|(_, _, capacity)| *capacity as f64).sum()
    };
    let bounds = (1..(1 << ranks) - 1).filter_map(|set| Some(capacity(set) / need(set)?));
    bounds.fold(f64::INFINITY, f64::min)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_cut_of_a_dgx1v_is_tighter(picked in 3_usize..256, root in 0_usize..8) {
        let system = alone("dgx1-v100");
        let gpus: Vec<usize> = (0..8).filter(|gpu| picked >> gpu & 1 == 1).collect();
        prop_assume!(gpus.len() > 1);
        for collective in collectives(root % gpus.len()) {
            let question = Question::new(&system, &gpus, collective).over(Links::Fabric);
            let Ok(plan) = plan(&Packing, &question) else { continue };
            let certificate = plan.certificate(&system).unwrap();
            if matches!(collective, Collective::AllReduce | Collective::AllToAll) {
                continue;
            }
            let wiring = crate::system::Wiring::of_gpus(&system, &gpus);
            let graph = super::super::link_graph::LinkGraph::whole(&wiring, &gpus, &[], LinkClass::Fabric);
            let least = least_cut(&graph.links, gpus.len(), collective);
            prop_assert!((certificate.bound.0 as f64 - least).abs() < 1.0);
        }
    }
}
