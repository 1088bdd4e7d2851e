use super::*;
use crate::collectives::planners::plan::{Plan, Question, plan};
use crate::collectives::schedule::Relay;
use crate::collectives::schedule::time::{protocol_of, time};
use crate::system::test_support::{alone, on_one_switch};
use crate::units::{Bandwidth, Bytes};

fn planned(machine: &str, gpus: &[usize], collective: Collective, baseline: NcclBaseline) -> Plan {
    let machine = alone(machine);
    plan(&baseline, &Question::new(&machine, gpus, collective)).unwrap()
}

const WHOLE: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

#[test]
fn six_rings_of_a_dgx1v_carry_six_links() {
    let found = planned("dgx1-v100", &WHOLE, Collective::AllReduce, NcclBaseline::Classic);
    assert_eq!(found.schedule.channels.len(), 6);
    // Every byte crosses each GPU's links 2 (n - 1) / n times.
    let expected = 6.0 * 25e9 * 8.0 / 14.0;
    assert!((found.rate.0 as f64 / expected - 1.0).abs() < 1e-6, "{}", found.rate);
    let chains =
        planned("dgx1-v100", &WHOLE, Collective::Broadcast { root: 5 }, NcclBaseline::Ring);
    assert_eq!(chains.rate, Bandwidth::gigabytes_per_second(150));
    assert!(chains.trees.iter().all(|tree| tree.root() == 5 && tree.depth() == 7));
}

#[test]
fn chains_of_a_dgx1v_load_both_directions() {
    let found = planned("dgx1-v100", &WHOLE, Collective::AllReduce, NcclBaseline::Tree);
    assert_eq!(found.trees.len(), 6);
    assert_eq!(found.rate, Bandwidth::gigabytes_per_second(75));
}

#[test]
fn a_relayed_hop_takes_both_links_and_is_said() {
    let found = planned("dgx1-v100", &[0, 1, 4], Collective::AllReduce, NcclBaseline::Ring);
    let relays = &found.schedule.channels[0].relays;
    assert_eq!(*relays, [Relay { from: 1, to: 2, through: 0 }]);
    assert!(found.notes[0].contains("1 to 4 through 0"), "{:?}", found.notes);
    assert!((found.rate.0 as f64 - 25e9 * 3.0 / 4.0).abs() < 1.0, "{}", found.rate);
    let classic = planned("dgx1-v100", &[0, 1, 4], Collective::AllReduce, NcclBaseline::Classic);
    assert_eq!(classic.links, LinkClass::Host);
    assert!(classic.notes[0].contains("nccl-classic") && classic.rate < found.rate);
}

#[test]
fn every_collective_is_planned_and_timed_or_refused_with_a_remedy() {
    let machine = on_one_switch("dgx1-v100", 3, 100);
    let jobs: [&[usize]; 5] =
        [&[0, 1], &[1, 4, 6, 3], &[0, 1, 2, 8, 9, 10], &[2, 8, 17], &[0, 1, 2, 8, 9, 10, 11, 20]];
    for gpus in jobs {
        for baseline in [NcclBaseline::Classic, NcclBaseline::Ring, NcclBaseline::Tree] {
            for name in Collective::NAMES {
                let collective = Collective::named(name, 1).unwrap();
                let algorithm = &baseline;
                match plan(algorithm, &Question::new(&machine, gpus, collective)) {
                    Ok(found) => {
                        let costs = protocol_of(&found.schedule, &machine).unwrap();
                        let (size, chunk) = (Bytes(1 << 20), Bytes(1 << 18));
                        time(&found.schedule, &machine, size, chunk, &costs).unwrap();
                    }
                    Err(PlanError::Unsupported { remedy, .. })
                        if matches!(collective, Collective::Barrier | Collective::Scan) =>
                    {
                        assert!(remedy.starts_with("mpi-"));
                    }
                    Err(PlanError::Unsupported { remedy, .. }) => {
                        assert!(remedy.contains("nccl-ring") && baseline != NcclBaseline::Ring);
                    }
                    Err(error) => panic!("{gpus:?} {name} {baseline:?}: {error}"),
                }
            }
        }
    }
}

#[test]
fn trees_between_servers_share_the_network() {
    let machine = on_one_switch("dgx-a100", 4, 200);
    let gpus: Vec<usize> = (0..32).collect();
    let algorithm = &NcclBaseline::Tree;
    let found = plan(algorithm, &Question::new(&machine, &gpus, Collective::AllReduce)).unwrap();
    for tree in &found.trees {
        let entering = |server: usize| {
            let ranks = server * 8..server * 8 + 8;
            let outside = |rank: &usize| tree.parent[*rank].is_some_and(|up| !ranks.contains(&up));
            ranks.clone().filter(outside).count()
        };
        let entries: usize = (0..4).map(entering).sum();
        assert_eq!((entries, tree.outward().len()), (3, 32));
    }
    assert_eq!(found.links, LinkClass::Network);
}

#[test]
fn nvlink_alone_is_refused_where_there_is_no_ring() {
    let machine = alone("dgx1-v100");
    let algorithm = &NcclBaseline::Classic;
    let error = plan(
        algorithm,
        &Question::new(&machine, &[0, 1, 4], Collective::AllReduce).over(Links::Fabric),
    );
    assert_eq!(error.unwrap_err(), PlanError::NoRing { algorithm: "nccl-classic" });
}

#[test]
fn a_plan_for_amds_gpus_says_that_rccl_runs() {
    let found = planned("mi300x-8", &WHOLE, Collective::AllReduce, NcclBaseline::Ring);
    assert!(found.notes.iter().any(|note| note.contains("it is RCCL that runs")));
    let found = planned("dgx-a100", &WHOLE, Collective::AllReduce, NcclBaseline::Ring);
    assert!(found.notes.iter().all(|note| !note.contains("RCCL")));
}
