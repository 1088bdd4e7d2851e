use super::super::paths::resources;
use super::super::play::Player;
use super::super::terms::protocol_as;
use super::*;
use crate::collectives::Collective;
use crate::collectives::planners::lowering::{Ring, outline_of_rings, schedule_of_rings};
use crate::collectives::planners::plan::{OneHop, PLANNERS, Planner, Question, plan, planners};
use crate::collectives::schedule::{Channel, Protocol, Schedule};
use crate::program::kernel::NcclProtocol;
use crate::system::test_support::{alone, on_one_switch};
use crate::system::{System, Wiring, presets};
use crate::units::Bytes;

/// Blocks of the whole for each that is played; 1 where none behave alike. Fails where times differ.
fn times_are_those_of_the_whole(schedule: &Schedule, system: &System, sizes: &[(u64, u64)]) -> f64 {
    let wiring = Wiring::of_gpus(system, &schedule.gpus);
    let routes = resources(&wiring);
    let mut fold = 1.0;
    for protocol in [Protocol::LL, Protocol::Simple] {
        let costs = protocol_as(schedule, protocol, system).unwrap();
        // As its own executor has it, and with no turns at all.
        let turns = if costs.stream_reuse { &[true, false][..] } else { &[false] };
        for stream_reuse in turns.iter().copied() {
            let costs = NcclProtocol { stream_reuse, ..costs };
            let once = Player::on(schedule, &routes, &costs).unwrap();
            fold = once.fold();
            let player = &once;
            let whole = once.in_whole();
            for (size, chunk) in sizes {
                let [once, whole] =
                    [&once, &whole].map(|player| player.time(Bytes(*size), Bytes(*chunk)).unwrap());
                let gpus = &schedule.gpus;
                let least = player.least(Bytes(*size));
                assert!(least <= whole.time, "{} on {gpus:?}: {least}", schedule.name);
                assert_eq!(once, whole, "{} on {gpus:?} of {}", schedule.name, system.name());
            }
        }
    }
    fold
}

const SIZES: [(u64, u64); 3] = [(1_000, 1 << 20), (1 << 20, 5_000), (12_000_001, 1 << 20)];

fn collectives(root: usize) -> [Collective; 8] {
    [
        Collective::AllReduce,
        Collective::AllGather,
        Collective::ReduceScatter,
        Collective::AllToAll,
        Collective::Broadcast { root },
        Collective::Reduce { root },
        Collective::Gather { root },
        Collective::Scatter { root },
    ]
}

/// Of more GPUs than that, only collectives to all and from one: the others are the reverse or a part of these.
const MANY: usize = 16;

fn check(system: &System, gpus: &[usize], planners: &[&dyn Planner], sizes: &[(u64, u64)]) -> f64 {
    let mut most: f64 = 1.0;
    for collective in collectives(gpus.len() / 2) {
        let is_of_many = matches!(
            collective,
            Collective::AllReduce | Collective::AllToAll | Collective::Broadcast { .. }
        );
        if gpus.len() > MANY && !is_of_many {
            continue;
        }
        for planner in planners {
            let Ok(plan) = plan(*planner, &Question::new(system, gpus, collective)) else {
                continue;
            };
            most = most.max(times_are_those_of_the_whole(&plan.schedule, system, sizes));
        }
    }
    most
}

/// Checks that in the best case each played block stands for at least `fold` blocks.
fn check_all(name: &str, servers: u32, planners: &[&dyn Planner], sizes: &[(u64, u64)], fold: f64) {
    let system = if servers > 1 { on_one_switch(name, servers, 200) } else { alone(name) };
    let gpus: Vec<usize> = (0..(system.gpus() as usize).min(64)).collect();
    let found = check(&system, &gpus, planners, sizes);
    assert!(found >= fold, "{servers} {name}: {found} blocks for each that is played");
}

#[test]
fn every_preset_takes_as_long_with_what_is_alike_played_once() {
    for name in presets::NAMES.into_iter().filter(|name| alone(name).gpus() > 1) {
        match alone(name).gpus() {
            2..=4 => check_all(name, 1, &planners().iter().collect::<Vec<_>>(), &SIZES, 2.0),
            5..=16 => check_all(name, 1, &PLANNERS, &SIZES, 2.0),
            _ => check_all(name, 1, &PLANNERS, &SIZES[2..], 64.0),
        }
    }
}

#[test]
fn servers_take_as_long_with_what_is_alike_played_once() {
    check_all("dgx1-v100", 3, &PLANNERS, &SIZES, 3.0);
    check_all("dgx-a100", 2, &PLANNERS, &SIZES, 16.0);
    check_all("hgx-h100", 4, &PLANNERS, &SIZES, 32.0);
    check_all("hgx-h100", 8, &PLANNERS, &SIZES[2..], 64.0);
}

#[test]
fn a_schedule_that_is_stuck_is_told_by_its_own_ranks() {
    let system = alone("dgx-a100");
    let gpus: Vec<usize> = (0..8).collect();
    let found = plan(&OneHop, &Question::new(&system, &gpus, Collective::AllReduce));
    let mut schedule = found.unwrap().schedule;
    // No rank sends to the last any more.
    for program in &mut schedule.programs[..7] {
        for block in program.blocks.iter_mut().filter(|block| block.send == Some(7)) {
            block.steps.retain(|step| !step.operation.sends());
        }
    }
    for program in &mut schedule.programs {
        program
            .blocks
            .iter_mut()
            .flat_map(|block| &mut block.steps)
            .for_each(|step| step.after.clear());
    }
    let costs = protocol_as(&schedule, Protocol::Simple, &system).unwrap();
    let wiring = Wiring::of_gpus(&system, &gpus);
    let time = |player: Player<'_>| player.time(Bytes(1 << 20), Bytes(1 << 20)).unwrap_err();
    let routes = resources(&wiring);
    let once = Player::on(&schedule, &routes, &costs).unwrap();
    assert!(once.fold() > 1.0);
    let whole = once.in_whole();
    assert_eq!(time(once), time(whole));
}

/// Makes rings of one system, in three orders.
fn rings(ranks: usize, chunks: u32) -> Vec<Ring> {
    let order =
        |step: usize, first: usize| (0..ranks).map(|at| (first + at * step) % ranks).collect();
    let backwards = (0..ranks).rev().collect();
    let channel = Channel::default();
    [order(1, 0), backwards, order(1, ranks / 2)]
        .map(|order: Vec<usize>| Ring { order, chunks, channel: channel.clone() })
        .to_vec()
}

#[test]
fn an_outline_of_rings_has_the_blocks_and_steps_that_are_written_down() {
    let systems = [alone("dgx-a100"), on_one_switch("hgx-h100", 3, 200)];
    for (system, ranks) in systems.iter().flat_map(|system| [(system, 2), (system, 3), (system, 8)])
    {
        let every = system.gpus() as usize / ranks;
        let gpus: Vec<usize> = (0..ranks).map(|rank| rank * every).collect();
        let wiring = Wiring::of_gpus(system, &gpus);
        let routes = resources(&wiring);
        for collective in [Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter]
        {
            let chunks = if collective == Collective::AllReduce { ranks as u32 } else { 1 };
            let rings = rings(ranks, chunks);
            let [whole, outline] = [schedule_of_rings, outline_of_rings]
                .map(|written| written("rings", collective, &gpus, &rings));
            let costs = protocol_as(&whole, Protocol::LL128, system).unwrap();
            let written = LoweredSchedule::new(&whole, &routes, &costs).unwrap();
            let short = LoweredSchedule::of_outline(&outline, &routes, &costs).unwrap();
            assert!(short.kernel.steps.len() * ranks == written.kernel.steps.len());
            let (full, whole) = (short.in_full(), format!("{:?}", written.kernel));
            assert_eq!(format!("{:?}", full.kernel), whole, "{collective} of {ranks}");
            assert_eq!(format!("{:?}", full.paths), format!("{:?}", written.paths));
            let [once, twice] = [&short, &written].map(|it| alike(it, routes.capacities()));
            let kernel = |found: Option<Alike>| found.map(|it| format!("{:?}", it.lowered.kernel));
            assert_eq!(kernel(once), kernel(twice));
        }
    }
}
