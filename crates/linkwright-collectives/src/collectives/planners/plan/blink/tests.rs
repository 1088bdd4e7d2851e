use crate::collectives::Collective;
use crate::collectives::planners::plan::{Blink, Plan, PlanError, Question, plan};
use crate::system::test_support::{alone, on_one_switch};

fn blink(machine: &str, gpus: &[usize], collective: Collective) -> Plan {
    plan(&Blink, &Question::new(&alone(machine), gpus, collective)).unwrap()
}

#[test]
fn a_dgx1v_broadcast_takes_six_trees_of_one_link_each() {
    let all: Vec<usize> = (0..8).collect();
    let found = blink("dgx1-v100", &all, Collective::Broadcast { root: 0 });
    assert_eq!(found.trees.len(), 6, "the paper's example");
    assert!(found.trees.iter().all(|tree| tree.chunks == 1));
    assert_eq!((found.rate.0, found.optimum), (150_000_000_000, Some(found.rate)));
    assert!(found.notes.is_empty());
}

#[test]
fn an_all_reduce_uses_its_trees_in_both_directions() {
    let all: Vec<usize> = (0..8).collect();
    let found = blink("dgx1-v100", &all, Collective::AllReduce);
    assert!(found.trees.iter().all(|tree| tree.root() == 0));
    assert_eq!(found.rate.0, 75_000_000_000, "three links' worth, of 24/7 that would be possible");
}

#[test]
fn every_subset_reaches_most_of_the_broadcast_s_optimum() {
    for subset in (0_usize..256).filter(|subset| subset.count_ones() >= 2) {
        let gpus: Vec<usize> = (0..8).filter(|gpu| subset >> gpu & 1 == 1).collect();
        let found = blink("dgx1-v100", &gpus, Collective::Broadcast { root: 1 });
        let Some(optimum) = found.optimum else { continue };
        assert!(found.rate.0 as f64 >= 0.945 * optimum.0 as f64, "{gpus:?}: {}", found.rate);
    }
}

#[test]
fn without_nvlink_trees_go_over_pcie_and_on_nvswitch_they_have_one_hop() {
    let found = blink("pcie-tree-4", &[0, 1, 2, 3], Collective::Broadcast { root: 0 });
    assert!(found.rate.as_gigabytes_per_second() > 12.0, "{}", found.rate);
    let found = blink("dgx-a100", &[0, 1, 2, 3], Collective::AllReduce);
    assert_eq!(found.trees.len(), 4);
    assert!(found.trees.iter().all(|tree| tree.depth() == 1));
}

#[test]
fn what_blink_does_not_do_is_refused_with_what_does() {
    let machine = alone("dgx1-v100");
    for collective in [Collective::AllGather, Collective::ReduceScatter, Collective::AllToAll] {
        let error = plan(&Blink, &Question::new(&machine, &[0, 1, 2], collective));
        let Err(PlanError::Unsupported { remedy, .. }) = error else { panic!("{error:?}") };
        assert!(remedy.contains("nccl-ring"));
    }
}

#[test]
fn several_servers_are_joined_by_trees_over_the_network() {
    // These are the bandwidths that the network interfaces next to the root's GPUs carry.
    for (server, count, gpus, expected) in [
        ("dgx1-v100", 2, vec![0, 1, 2, 8, 9, 10, 11, 12], 25.0),
        ("dgx-a100", 2, (0..16).collect(), 100.0),
        ("dgx-a100", 4, (0..32).collect(), 100.0),
    ] {
        let machine = on_one_switch(server, count, 100);
        let broadcast = Collective::Broadcast { root: 0 };
        let found = plan(&Blink, &Question::new(&machine, &gpus, broadcast)).unwrap();
        let rate = found.rate.as_gigabytes_per_second();
        assert!((0.95 * expected..=expected).contains(&rate), "{server} {count}: {rate}");
    }
}
