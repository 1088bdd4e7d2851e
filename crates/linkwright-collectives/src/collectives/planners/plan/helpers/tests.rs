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

#[test]
fn pairs_of_v100s_without_a_link_get_one_by_helpers() {
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
        // One link there and one on, or two of each; PCIe 3.0 has 15.754 GB/s.
        assert_eq!(without.rate, Bandwidth(15_754_000_000));
        let known = |plan: &Plan| [25_000_000_000, 50_000_000_000].contains(&plan.rate.0);
        assert!(alone.iter().all(known), "{pair:?}");
        // All links of both lead somewhere.
        let all = plan_with_helpers(&question, &others).unwrap();
        assert_eq!((all.rate, all.optimum), (Bandwidth(150_000_000_000), Some(all.rate)));
        assert_eq!(all.helpers(&system), others);
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
            let (claim, certificate) = (plan.claim(&system), plan.certificate(&system));
            let (claim, certificate) = (claim.unwrap(), certificate.unwrap());
            assert_eq!(verify(&system, &certificate, &claim), Ok(()), "{gpus:?} {collective}");
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
