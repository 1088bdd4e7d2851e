use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::collectives::Content;
use crate::collectives::planners::plan::{NvlsPlanner, Packing, Question, plan};
use crate::collectives::schedule::export::test_support::{
    any_schedule, chain_broadcast, gathered_reduce_scatter, ring_all_reduce,
};
use crate::collectives::schedule::time::{choose_chunk, protocol_of, time};
use crate::system::test_support::alone;
use crate::system::{DeviceKind, LinkKind, ServerBuilder, System};

/// Counts the content of a chunk: how often it holds each chunk of each rank's input.
type Held = BTreeMap<(usize, usize), u32>;

/// Plays plans as the executor's kernel does, one operation of one block at a time.
struct Player {
    plan: Value,
    memory: BTreeMap<(usize, String, usize), Held>,
    /// Signals that have come in and were not waited for, by rank and channel.
    signals: BTreeMap<(usize, usize), i64>,
    semaphores: BTreeMap<(usize, usize), i64>,
    /// Holds the result of each block of a group for a chunk, by the chunk and the first rank's
    /// place for it.
    shares: BTreeMap<(usize, usize), Vec<Held>>,
}

fn number(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

impl Player {
    fn new(text: &str) -> Self {
        let plan = serde_json::from_str(text).unwrap();
        let (memory, signals, semaphores, shares) = Default::default();
        Self { plan, memory, signals, semaphores, shares }
    }

    /// The rank and channel at the other end of a rank's channel: the one of the pair that
    /// is as far down the other's list.
    fn other_end(&self, rank: usize, channel: usize) -> (usize, usize) {
        let peers = |rank: usize| list(&self.plan["gpus"][rank]["channels"][0]["connected_to"]);
        let peer = number(&peers(rank)[channel]);
        let nth = peers(rank)[..channel].iter().filter(|other| number(other) == peer).count();
        let mut same = peers(peer).iter().enumerate().filter(|(_, other)| number(other) == rank);
        (peer, same.nth(nth).unwrap().0)
    }

    fn place(&self, rank: usize, block: &Value, buff: &Value, at: usize) -> (usize, String, usize) {
        let index = number(&buff["index"]) + at;
        if let Some(kind) = buff["type"].as_str() {
            return (rank, kind.to_owned(), index);
        }
        let ids = &block["remote_buffer_refs"][0]["remote_buffer_ids"];
        let id = number(&ids[number(&buff["buffer_id"])]);
        let remote = &self.plan["gpus"][rank]["remote_buffers"][id];
        (number(&remote["rank"]), remote["type"].as_str().unwrap().to_owned(), index)
    }

    /// Does one operation unless it must wait.
    fn step(&mut self, rank: usize, block: &Value, op: &Value) -> bool {
        let channels: Vec<usize> = list(&op["channel_ids"])
            .iter()
            .map(|own| number(&block["channels"][0]["channel_ids"][number(own)]))
            .collect();
        let semaphores = list(&op["semaphore_ids"]).iter().map(|id| (rank, number(id)));
        match op["name"].as_str().unwrap() {
            "nop" => {}
            "signal" => {
                for channel in channels {
                    let end = self.other_end(rank, channel);
                    *self.signals.entry(end).or_default() += 1;
                }
            }
            "wait" => {
                let has_come =
                    |channel| self.signals.get(&(rank, channel)).is_some_and(|it| *it > 0);
                if !channels.iter().all(|channel| has_come(*channel)) {
                    return false;
                }
                for channel in channels {
                    *self.signals.entry((rank, channel)).or_default() -= 1;
                }
            }
            "glres" => self.reduce_in_switch(rank, block, op),
            "sem_release" => {
                for semaphore in semaphores {
                    *self.semaphores.entry(semaphore).or_default() += 1;
                }
            }
            "sem_acquire" => {
                let mut ready = semaphores.clone();
                if ready.any(|id| self.semaphores.get(&id).is_none_or(|value| *value == 0)) {
                    return false;
                }
                for semaphore in semaphores {
                    *self.semaphores.entry(semaphore).or_default() -= 1;
                }
            }
            _ => self.move_data(rank, block, op),
        }
        true
    }

    /// Reduces a block's share of the chunks that a switch reduces and stores with all ranks. Their
    /// content is known once all blocks of the group have done theirs, which must agree.
    fn reduce_in_switch(&mut self, rank: usize, block: &Value, op: &Value) {
        let through = |buff: &Value| -> (String, Vec<usize>) {
            let own = number(&buff["switch_channel_id"]);
            let id = number(&block["channels"][1]["channel_ids"][own]);
            let all = list(&self.plan["gpus"][rank]["channels"]);
            let mut switches = all.iter().filter(|it| it["channel_type"] == "switch");
            let channel = switches.nth(id).unwrap();
            let ranks = list(&channel["rank_groups"][0]["ranks"]).iter().map(number).collect();
            (channel["buffer_type"].as_str().unwrap().to_owned(), ranks)
        };
        let (source, destination) = (&op["src_buff"][0], &op["dst_buff"][0]);
        let ((from, readers), (to, writers)) = (through(source), through(destination));
        for at in 0..number(&source["size"]) {
            let mut sum = Held::new();
            for other in &readers {
                let place = (*other, from.clone(), number(&source["index"]) + at);
                for (chunk, times) in &self.memory[&place] {
                    *sum.entry(*chunk).or_default() += times;
                }
            }
            let index = number(&destination["index"]) + at;
            let shares = self.shares.entry((rank, index)).or_default();
            shares.push(sum);
            if shares.len() == number(&op["tbg_info"]["tbg_size"]) {
                let shares = self.shares.remove(&(rank, index)).unwrap();
                assert!(shares.iter().all(|share| *share == shares[0]));
                for other in &writers {
                    self.memory.insert((*other, to.clone(), index), shares[0].clone());
                }
            }
        }
    }

    fn move_data(&mut self, rank: usize, block: &Value, op: &Value) {
        for at in 0..number(&op["src_buff"][0]["size"]) {
            let mut sum = Held::new();
            for source in list(&op["src_buff"]) {
                let place = self.place(rank, block, source, at);
                let held = self.memory.get(&place);
                let held = held.unwrap_or_else(|| panic!("rank {rank} reads nothing: {op}"));
                for (chunk, times) in held {
                    *sum.entry(*chunk).or_default() += times;
                }
            }
            for destination in list(&op["dst_buff"]) {
                let place = self.place(rank, block, destination, at);
                self.memory.insert(place, sum.clone());
            }
        }
    }

    /// Plays all blocks of all ranks to their end, in an order that the seed picks.
    fn play(&mut self, schedule: &Schedule, seed: u64) {
        self.memory.clear();
        for rank in 0..schedule.ranks() {
            for chunk in 0..schedule.buffer_chunks(rank, Buffer::Input) {
                let held = Held::from([((rank, chunk), 1)]);
                self.memory.insert((rank, "i".to_owned(), chunk), held);
            }
        }
        let plan = self.plan.clone();
        let gpus = list(&plan["gpus"]).iter().enumerate();
        let mut running: Vec<(usize, &Value, usize)> = gpus
            .flat_map(|(rank, gpu)| list(&gpu["threadblocks"]).iter().map(move |b| (rank, b, 0)))
            .collect();
        let mut state = seed;
        let mut idle = 0;
        while !running.is_empty() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let pick = if idle > 0 { idle - 1 } else { (state >> 33) as usize % running.len() };
            assert!(pick < running.len(), "deadlock");
            let (rank, block, at) = running[pick];
            let ops = list(&block["ops"]);
            if at == ops.len() {
                running.remove(pick);
            } else if self.step(rank, block, &ops[at]) {
                running[pick].2 += 1;
            } else {
                idle += 1;
                continue;
            }
            idle = 0;
        }
        assert!(self.signals.values().chain(self.semaphores.values()).all(|value| *value == 0));
        for rank in 0..schedule.ranks() {
            for chunk in 0..schedule.buffer_chunks(rank, Buffer::Output) {
                let chunks = schedule.chunks as usize;
                let expected: Held = match schedule.collective.expected(rank, chunk / chunks) {
                    Content::From { rank, shard } => {
                        Held::from([((rank, shard * chunks + chunk % chunks), 1)])
                    }
                    Content::Reduced { shard } => (0..schedule.ranks())
                        .map(|rank| ((rank, shard * chunks + chunk % chunks), 1))
                        .collect(),
                    Content::ReducedTo { .. } => panic!("the format has no scan"),
                };
                let found = self.memory.get(&(rank, "o".to_owned(), chunk));
                assert_eq!(found, Some(&expected), "rank {rank}, chunk {chunk}");
            }
        }
    }
}

fn written(schedule: &Schedule) -> Export {
    let options = MscclppOptions { block_limit: 1000, ..MscclppOptions::default() };
    to_mscclpp_json(schedule, &options).unwrap()
}

proptest! {
    #[test]
    fn plans_in_pieces_bring_about_the_collective(
        schedule in any_schedule(),
        pieces in 2_u32..5,
        seed in any::<u64>(),
    ) {
        let options = MscclppOptions { block_limit: 1000, pieces, ..MscclppOptions::default() };
        let Some(cut) = in_pieces(&schedule, pieces) else { return Ok(()) };
        let mut player = Player::new(&to_mscclpp_json(&schedule, &options).unwrap().text);
        player.play(&cut, seed);
        player.play(&cut, seed.rotate_left(7));
    }

    #[test]
    fn folded_plans_bring_about_the_collective(schedule in any_schedule(), seed in any::<u64>()) {
        let Some(folded) = fold_blocks(&normalise(&schedule).unwrap()) else { return Ok(()) };
        let mut player = Player::new(&written(&folded).text);
        player.play(&schedule, seed);
        player.play(&schedule, seed.rotate_left(7));
    }

    #[test]
    fn plans_bring_about_the_collective(schedule in any_schedule(), seed in any::<u64>()) {
        let export = written(&schedule);
        prop_assert_eq!(&export, &written(&schedule));
        let mut player = Player::new(&export.text);
        player.play(&schedule, seed);
        player.play(&schedule, seed.rotate_left(7));
    }
}

/// Returns the stars of a collective on `gpus` GPUs, which are on one NVSwitch.
fn stars(gpus: usize, collective: Collective) -> Schedule {
    let mut builder = ServerBuilder::new("switched", "the test");
    let switch = builder.device("NVSW0", DeviceKind::NvSwitch, None).unwrap();
    for gpu in 0..gpus {
        let gpu = builder.device(&format!("GPU{gpu}"), DeviceKind::Gpu, None).unwrap();
        builder.data_sheet_link(gpu, switch, LinkKind::Nvlink4, 18).unwrap();
    }
    let machine = System::of_server(Arc::new(builder.build().unwrap()));
    let ids: Vec<usize> = (0..gpus).collect();
    plan(&Packing, &Question::new(&machine, &ids, collective)).unwrap().schedule
}

#[test]
fn stars_share_blocks_where_more_are_needed_than_run_at_once() {
    for collective in [Collective::AllReduce, Collective::AllGather] {
        let schedule = stars(7, collective);
        let few = MscclppOptions { block_limit: 8, ..MscclppOptions::default() };
        let export = to_mscclpp_json(&schedule, &few).unwrap();
        assert!(export.notes.iter().any(|note| note.contains("share thread blocks")));
        let mut player = Player::new(&export.text);
        player.play(&schedule, 3);
        player.play(&schedule, 4);
        let many = to_mscclpp_json(&stars(72, collective), &MscclppOptions::default()).unwrap();
        let plan = Player::new(&many.text).plan;
        assert!(list(&plan["gpus"][0]["threadblocks"]).len() <= 80);
    }
}

#[test]
fn what_a_switch_reduces_for_all_is_one_operation() {
    let machine = alone("hgx-h100");
    for gpus in [2, 5, 8] {
        let ids: Vec<usize> = (0..gpus).collect();
        let planned = plan(&NvlsPlanner, &Question::new(&machine, &ids, Collective::AllReduce));
        let schedule = planned.unwrap().schedule;
        let mut player = Player::new(&written(&schedule).text);
        player.play(&schedule, 1);
        player.play(&schedule, 2);
        let gpu = &player.plan["gpus"][gpus - 1];
        let names: Vec<&str> = list(&gpu["threadblocks"][3]["ops"])
            .iter()
            .map(|op| op["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["signal", "wait", "nop", "glres", "nop", "signal", "wait"]);
        let kinds: Vec<&Value> =
            list(&gpu["channels"]).iter().map(|channel| &channel["channel_type"]).collect();
        assert_eq!(kinds, ["memory", "switch", "switch"]);
        let size = Bytes(64 << 20);
        let export = to_fastest_mscclpp_json(&schedule, &machine, size, &MscclppOptions::default());
        assert!(export.unwrap().notes.iter().any(|note| note.contains("the plan in one piece")));
    }
}

#[test]
fn what_a_switch_does_otherwise_is_refused_by_name() {
    let machine = alone("gb200-nvl72");
    let refused = |gpus: usize, collective| {
        let ids: Vec<usize> = (0..gpus).collect();
        let planned = plan(&NvlsPlanner, &Question::new(&machine, &ids, collective)).unwrap();
        to_mscclpp_json(&planned.schedule, &MscclppOptions::default()).unwrap_err().to_string()
    };
    let found = refused(4, Collective::AllGather);
    assert!(found.contains("which MSCCL++ JSON does not have"), "{found}");
    let found = refused(4, Collective::ReduceScatter);
    assert!(found.contains("which MSCCL++ JSON does not have"), "{found}");
    let found = refused(18, Collective::AllReduce);
    assert!(found.contains("17 ranks that one block signals to"), "{found}");
}

#[test]
fn a_plan_in_pieces_is_nearly_as_fast_as_its_schedule() {
    let machine = alone("dgx1-v100");
    let ids: Vec<usize> = (0..8).collect();
    let whole = Collective::AllReduce;
    let plan = plan(&Packing, &Question::new(&machine, &ids, whole)).unwrap();
    let (size, options) = (Bytes(64 << 20), MscclppOptions::default());
    let best = best_pieces(&plan.schedule, &machine, size, &options).unwrap().unwrap();
    let costs = protocol_of(&plan.schedule, &machine).unwrap();
    let once = time(&plan.schedule, &machine, size, size, &costs).unwrap();
    let pipelined = choose_chunk(&plan.schedule, &machine, size, &costs).unwrap().0;
    assert!(best.pieces > 1);
    assert!(best.timing.algorithm_bandwidth > 1.5 * once.algorithm_bandwidth);
    assert!(best.timing.algorithm_bandwidth <= pipelined.algorithm_bandwidth * 1.05);
    let cut = MscclppOptions { pieces: best.pieces, ..options };
    assert!(to_mscclpp_json(&plan.schedule, &cut).is_ok());
}

#[test]
fn the_plan_has_the_executor_s_keys() {
    let export = written(&ring_all_reduce(2, 1));
    let plan: Value = serde_json::from_str(&export.text).unwrap();
    let keys: Vec<&str> = plan.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = vec![
        "name",
        "collective",
        "protocol",
        "inplace",
        "reuse_resources",
        "gpus",
        "num_threads_per_block",
        "use_double_scratch_buffer",
        "buffer_alignment",
        "min_message_size",
        "max_message_size",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    // The last multiple of two chunks' units whose offsets have 32 bits.
    assert_eq!(plan["max_message_size"], (1_u64 << 32) - 32);
    let gpu = &plan["gpus"][1];
    assert_eq!(gpu["id"], 1);
    assert_eq!([&gpu["input_chunks"], &gpu["output_chunks"], &gpu["scratch_chunks"]], [2, 2, 2]);
    let names: Vec<&str> = list(&gpu["threadblocks"][0]["ops"])
        .iter()
        .map(|op| op["name"].as_str().unwrap())
        .collect();
    let put = ["wait", "nop", "put", "nop", "signal"];
    let reduce = ["wait", "nop", "res", "nop", "signal"];
    assert_eq!(names, [&["signal"][..], &put, &reduce, &["wait", "nop", "copy"]].concat());
    assert_eq!(gpu["channels"][0]["connected_to"], serde_json::json!([0, 0]));
    assert_eq!(gpu["threadblocks"][0]["channels"][0]["channel_ids"], serde_json::json!([0, 1]));
}

#[test]
fn long_blocks_are_cut_at_64_operations() {
    let schedule = ring_all_reduce(16, 1);
    let mut player = Player::new(&written(&schedule).text);
    let blocks = list(&player.plan["gpus"][3]["threadblocks"]);
    assert!(blocks.len() > 1);
    assert!(blocks.iter().all(|block| list(&block["ops"]).len() <= 64));
    player.play(&schedule, 1);
}

#[test]
fn what_cannot_be_said_is_refused() {
    let options = MscclppOptions::default();
    let refused = |schedule: &Schedule, options: &MscclppOptions| {
        to_mscclpp_json(schedule, options).unwrap_err().to_string()
    };
    let mut reduce = chain_broadcast(&[0, 1], 1, 1);
    reduce.collective = Collective::Reduce { root: 0 };
    let found = refused(&reduce, &options);
    assert_eq!(found, "MSCCL++ JSON has no reduce; export it as MSCCL XML");
    let local = gathered_reduce_scatter(4, 1);
    let few = MscclppOptions { block_limit: 3, ..options };
    let found = refused(&local, &few);
    assert!(found.contains("rank 0 has 7 thread blocks that must run at once"), "{found}");
    assert!(found.contains("at most 3; plan with fewer"), "{found}");
    let threads = MscclppOptions { threads_per_block: 100, ..options };
    assert!(refused(&local, &threads).contains("`threads_per_block` is 100"));
    let sizes = MscclppOptions { min_bytes: Bytes(2), max_bytes: Some(Bytes(1)), ..options };
    assert!(refused(&local, &sizes).contains("`max_bytes` is 1"));
    let mut apart = local.clone();
    apart.in_place = false;
    let place = MscclppOptions { in_place: Some(true), ..options };
    assert!(refused(&apart, &place).contains("`in_place` is 1; the schedule runs the other way"));
    assert!(to_mscclpp_json(&local, &place).unwrap().text.contains("\"inplace\": true"));
    let mut large = ring_all_reduce(2, 1_200_000_000);
    large.programs[0].scratch_chunks = u32::MAX - 5;
    assert!(refused(&large, &options).contains("chunks in its scratch buffer"));
}

#[test]
fn what_the_plan_does_not_say_is_noted() {
    let mut schedule = ring_all_reduce(2, 3);
    schedule.protocol = Protocol::LL128;
    let notes = written(&schedule).notes.join("\n");
    for said in ["asks for LL128", "by sum only", "multiple of 96 bytes", "32 bits"] {
        assert!(notes.contains(said), "{said}: {notes}");
    }
}
