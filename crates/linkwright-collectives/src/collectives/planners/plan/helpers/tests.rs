use super::*;
use crate::collectives::check;
use crate::collectives::plan::Links;
use crate::collectives::planners::certificate::verify;
use crate::system::test_support::alone;

fn pairs_apart(system: &System) -> Vec<[usize; 2]> {
    let pairs = (0..8).flat_map(|b| (0..b).map(move |a| [a, b]));
    let is_apart = |pair: &[usize; 2]| LinkGraph::new(system, pair, LinkClass::Fabric).is_err();
    pairs.filter(is_apart).collect()
}

/// Blink's authors measured 2.6 to 2.9 times for these pairs.
#[test]
fn one_helper_gives_pairs_of_v100s_without_a_link_what_blink_measured() {
    let system = alone("dgx1-v100");
    let pairs = pairs_apart(&system);
    assert_eq!(pairs.len(), 12);
    for pair in pairs {
        let question = Question::new(&system, &pair, Collective::AllReduce);
        let without = plan(&Packing, &question.over(Links::Host)).unwrap();
        let others: Vec<usize> = (0..8).filter(|gpu| !pair.contains(gpu)).collect();
        let one = |helper: &usize| plan_with_helpers(&question, &[*helper]).ok();
        let alone: Vec<Plan> = others.iter().filter_map(one).collect();
        assert!(!alone.is_empty(), "{pair:?}");
        let all = plan_with_helpers(&question, &others).unwrap();
        println!(
            "{pair:?} PCIe {} one helper {:?} all {} {:?}",
            without.rate,
            alone.iter().map(|plan| plan.rate.0 as f64 / 1e9).collect::<Vec<_>>(),
            all.rate,
            all.taken(&system).unwrap()
        );
    }
}

#[test]
fn plans_with_helpers_are_sound_and_proved() {
    let system = alone("dgx1-v100");
    for gpus in [vec![0, 5], vec![1, 4, 6], vec![0, 5, 6]] {
        let helpers: Vec<usize> = (0..8).filter(|gpu| !gpus.contains(gpu)).collect();
        for collective in [
            Collective::AllReduce,
            Collective::Broadcast { root: 1 },
            Collective::Reduce { root: 0 },
            Collective::AllGather,
            Collective::ReduceScatter,
            Collective::Gather { root: 1 },
            Collective::Scatter { root: 0 },
        ] {
            let question = Question::new(&system, &gpus, collective);
            let plan = plan_with_helpers(&question, &helpers).unwrap();
            check(&plan.schedule).unwrap();
            let Some(claim) = plan.claim(&system) else { continue };
            let certificate = plan.certificate(&system);
            println!("{gpus:?} {collective:?} {} {:?}", plan.rate, plan.optimum);
            if let Some(certificate) = certificate {
                assert_eq!(verify(&system, &certificate, &claim), Ok(()));
            }
            let taken = plan.taken(&system).unwrap();
            assert!(
                taken
                    .iter()
                    .all(|it| it.share > 0.0 && it.share <= it.most && it.most <= 1.0 + 1e-9),
                "{taken:?}"
            );
        }
    }
}

#[test]
fn helpers_that_are_none_are_refused() {
    let system = alone("dgx1-v100");
    let question = Question::new(&system, &[0, 5], Collective::AllReduce);
    for (helpers, why) in [
        (&[0][..], "is the job's own"),
        (&[1, 1], "is named twice"),
        (&[8], "is none of the system's"),
    ] {
        let refused = plan_with_helpers(&question, helpers).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    let pairs = Question::new(&system, &[0, 5], Collective::AllToAll);
    assert!(plan_with_helpers(&pairs, &[1]).is_err());
}
