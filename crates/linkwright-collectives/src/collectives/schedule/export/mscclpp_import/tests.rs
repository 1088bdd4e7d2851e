use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::collectives::check;
use crate::collectives::planners::plan::{Question, plan, planners};
use crate::collectives::schedule::export::test_support::{any_schedule, ring_all_reduce};
use crate::collectives::schedule::export::{MscclppOptions, in_pieces, to_mscclpp_json};
use crate::collectives::schedule::{ScheduleStep, StepOperation};
use crate::system::presets;
use crate::system::test_support::alone;

/// Says what a step does. It says what the step waits for in an order that tells nothing of
/// channels.
type Told = (Option<usize>, Option<usize>, Vec<ScheduleStep>);

/// A schedule whose channels have no numbers.
fn told(schedule: &Schedule) -> Vec<Vec<Told>> {
    let of_block = |block: &crate::collectives::ThreadBlock| {
        let mut steps = block.steps.clone();
        steps.iter_mut().for_each(|step| step.after.sort_unstable());
        (block.send, block.receive, steps)
    };
    let programs = schedule.programs.iter();
    programs.map(|program| program.blocks.iter().map(of_block).collect()).collect()
}

/// Sums what runs over each pair of ranks, in chunks, which any rewriting must keep.
fn sent(schedule: &Schedule) -> BTreeMap<(usize, usize), u64> {
    let mut sent = BTreeMap::new();
    for (rank, program) in schedule.programs.iter().enumerate() {
        for block in &program.blocks {
            let steps = block.steps.iter().filter(|step| step.operation.sends());
            let count: u64 = steps.map(|step| u64::from(step.count)).sum();
            if let Some(to) = block.send.filter(|_| count > 0) {
                *sent.entry((rank, to)).or_default() += count;
            }
        }
    }
    sent
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_the_same(schedule in any_schedule(), pieces in 1_u32..4) {
        let options = MscclppOptions { block_limit: 1000, pieces, ..MscclppOptions::default() };
        let Ok(export) = to_mscclpp_json(&schedule, &options) else { return Ok(()) };
        let read = read_mscclpp_json("own", &export.text).unwrap();
        let MscclppPlan { schedule: found, sizes } = read;
        check(&found).unwrap();
        let cut = if pieces == 1 { Some(schedule.clone()) } else { in_pieces(&schedule, pieces) };
        let cut = cut.unwrap();
        prop_assert_eq!(sent(&found), sent(&cut));
        prop_assert_eq!(found.collective, schedule.collective);
        prop_assert_eq!(found.chunks, cut.chunks);
        let normal = normalise(&cut).unwrap();
        let blocks =
            |schedule: &Schedule| -> usize { schedule.programs.iter().map(|it| it.blocks.len()).sum() };
        // Copies that wait for copies of another block may be read as one block.
        if blocks(&found) == blocks(&normal) {
            prop_assert_eq!(told(&found), told(&normal));
        }
        prop_assert!(sizes.take(Bytes(16 * cut.longest_buffer() as u64)));
        prop_assert!(!sizes.take(Bytes(16 * cut.longest_buffer() as u64 + 1)));
        // Out of place it is what it was, and leaves as the same plan but for its name.
        let again = to_mscclpp_json(&found, &MscclppOptions { pieces: 1, ..options });
        let again = read_mscclpp_json("again", &again.unwrap().text).unwrap();
        prop_assert_eq!(told(&again.schedule), told(&found));
    }

    #[test]
    fn hostile_texts_never_panic(text in "\\PC{0,200}", cut in any::<prop::sample::Index>()) {
        let _ = read_mscclpp_json("hostile", &text);
        let own = to_mscclpp_json(&ring_all_reduce(3, 1), &MscclppOptions::default()).unwrap().text;
        let at = (0..own.len()).filter(|at| own.is_char_boundary(*at)).nth(cut.index(own.len()));
        let at = at.unwrap_or(0);
        let _ = read_mscclpp_json("hostile", &own[..at]);
        let _ = read_mscclpp_json("hostile", &format!("{}{text}{}", &own[..at], &own[at..]));
    }

    #[test]
    fn changed_numbers_and_words_never_panic(
        line in any::<prop::sample::Index>(),
        value in prop::sample::select(vec!["0", "1", "7", "65", "4294967296", "-1", "\"x\"", "[]",
            "{}", "null", "true", "1e9", "\"s\"", "\"put\"", "\"port\"", "\"switch\""]),
    ) {
        let own = to_mscclpp_json(&ring_all_reduce(3, 2), &MscclppOptions::default()).unwrap().text;
        let lines: Vec<&str> = own.lines().collect();
        let line = line.index(lines.len());
        let Some((key, _)) = lines[line].split_once(": ") else { return Ok(()) };
        let comma = if lines[line].ends_with(',') { "," } else { "" };
        let changed = format!("{key}: {value}{comma}");
        let mut changed_lines = lines.clone();
        changed_lines[line] = &changed;
        if let Ok(read) = read_mscclpp_json("changed", &changed_lines.join("\n")) {
            let _ = check(&read.schedule);
        }
    }
}

/// Tells how a plan of two ranks is refused after a change of it.
fn refused(from: &str, to: &str) -> String {
    let own = to_mscclpp_json(&ring_all_reduce(2, 1), &MscclppOptions::default()).unwrap().text;
    assert!(own.contains(from), "{from}: {own}");
    read_mscclpp_json("plan.json", &own.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn what_the_executor_refuses_is_refused_with_its_place() {
    let cases = [
        ("\"collective\": \"allreduce\"", "\"collective\": \"scan\"", "no such collective is read"),
        ("\"inplace\"", "\"outplace\"", "`inplace` is missing; add it; the executor needs it"),
        ("\"protocol\": \"Simple\"", "\"protocol\": \"LL\"", "packets with flags are not read"),
        ("\"id\": 0", "\"id\": 1", "out of range: `1`; write 0"),
        ("\"name\": \"put\"", "\"name\": \"push\"", "the executor has no such operation: `push`"),
        ("\"name\": \"put\"", "\"name\": \"get\"", "is not read here"),
        ("\"name\": \"put\"", "\"name\": \"glres\"", "this is no sum"),
        ("\"input_chunks\": 2", "\"input_chunks\": 0", "out of range: `0`; write 1 to 16777216"),
        ("\"input_chunks\": 2", "\"input_chunks\": 3", "no whole shards of all-reduce"),
        ("\"buffer_alignment\": 16", "\"buffer_alignment\": 24", "a multiple of 16"),
        ("\"buffer_alignment\": 16", "\"buffer_alignment\": 0", "out of range: `0`"),
        ("\"num_threads_per_block\": 1024", "\"num_threads_per_block\": 2048", "32 to 1024"),
        ("\"min_message_size\": 0", "\"min_message_size\": 2147483648", "0 to 2147483647"),
        ("\"reduce_op\": \"sum\"", "\"reduce_op\": \"min\"", "reduces by sum only"),
        ("\"type\": \"s\"", "\"type\": \"x\"", "write i, o or s"),
        ("\"name\": \"nop\"", "\"name\": \"flush\"", "do not wait for each other in between"),
        ("\"name\": \"wait\"", "\"name\": \"nop\"", "signalled more often than it waits"),
        ("\"name\": \"signal\"", "\"name\": \"nop\"", "waits forever: a deadlock"),
        ("\"use_double_scratch_buffer\": false", "\"use_double_scratch_buffer\": true", "not read"),
    ];
    for (from, to, expected) in cases {
        let found = refused(from, to);
        assert!(found.contains(expected), "{to}: {found}");
        assert!(found.starts_with("plan.json:"), "{found}");
    }
    let found = read_mscclpp_json("plan.json", "{\"name\": ").unwrap_err().to_string();
    assert!(found.starts_with("plan.json:1:") && found.contains("this is no JSON"), "{found}");
    let twice = refused("\"name\": \"ring\"", "\"inplace\": true, \"name\": \"ring\"");
    assert!(twice.contains("`inplace` stands here twice"), "{twice}");
}

#[test]
fn of_all_plans_the_executor_takes_nearly_all_at_the_size_planned_for() {
    // How many are written, how many of those its rules take, exact and rounded.
    let (mut written, mut exact, mut rounded, mut by_ranks) = (0, 0, 0, 0);
    let mut left: BTreeSet<String> = BTreeSet::new();
    let kinds = ["broadcast", "all-reduce", "all-gather", "reduce-scatter", "all-to-all"];
    for name in presets::NAMES {
        let machine = alone(name);
        let all = machine.gpus().min(8) as usize;
        // Counts of ranks that are no powers of two, on machines of either kind of links.
        let counts = match name {
            "dgx1-v100" | "hgx-h100" => vec![3, 5, all],
            _ => vec![all],
        };
        for (gpus, kind) in counts.iter().flat_map(|gpus| kinds.map(|kind| (*gpus, kind))) {
            let collective = Collective::named(kind, 0).unwrap();
            let ids: Vec<usize> = (0..gpus).collect();
            for algorithm in planners().iter() {
                let question = Question::new(&machine, &ids, collective);
                let Ok(plan) = plan(algorithm, &question) else { continue };
                let schedule = &plan.schedule;
                let shards = (schedule.longest_buffer() / schedule.chunks as usize) as u64;
                // As the command line divides a message among the shards.
                let size = Bytes((64 << 20) / (4 * shards) * (4 * shards));
                let options = MscclppOptions { block_limit: 132, ..MscclppOptions::default() };
                let Ok(plain) = to_mscclpp_json(schedule, &options) else { continue };
                written += 1;
                let what = format!("{name}, {gpus} GPUs, {kind}, {}", algorithm.name());
                let before = read_mscclpp_json(&what, &plain.text).unwrap();
                exact += usize::from(before.sizes.take(size));
                let at_size = MscclppOptions { taken_at: Some(size), ..options };
                let export = to_mscclpp_json(schedule, &at_size).unwrap();
                let MscclppPlan { schedule: found, sizes } = read_mscclpp_json(&what, &export.text)
                    .unwrap_or_else(|e| panic!("{what}: {e}"));
                check(&found).unwrap_or_else(|fault| panic!("{what}: {fault}"));
                assert_eq!(found.collective, collective, "{what}");
                if sizes.take(size) {
                    rounded += 1;
                } else if shards.is_power_of_two() {
                    left.insert(what);
                } else {
                    // Shards of a number of ranks that divides no power of two.
                    by_ranks += 1;
                    assert!(
                        export.notes.iter().any(|note| note.starts_with("It refuses")),
                        "{what}"
                    );
                    let near = size.0 - size.0 % sizes.unit.0;
                    assert!(sizes.take(Bytes(near)) || near == 0, "{what}");
                }
            }
        }
    }
    eprintln!(
        "{written} written, {exact} taken exact, {rounded} rounded, {by_ranks} by ranks, {left:#?}"
    );
    assert_eq!(left, BTreeSet::new());
    assert!(written > 100 && rounded + by_ranks == written && exact < rounded);
}

#[test]
fn a_switch_s_part_is_read_as_one_step() {
    let machine = alone("hgx-h100");
    let ids: Vec<usize> = (0..6).collect();
    let question = Question::new(&machine, &ids, Collective::AllReduce);
    let planners = planners();
    let nvls = planners.iter().find(|planner| planner.name() == "nvls").unwrap();
    let plan = plan(nvls, &question).unwrap();
    let export = to_mscclpp_json(&plan.schedule, &MscclppOptions::default()).unwrap();
    let read = read_mscclpp_json("nvls", &export.text).unwrap();
    check(&read.schedule).unwrap();
    assert_eq!(told(&read.schedule), told(&normalise(&plan.schedule).unwrap()));
    let in_switch = |step: &&ScheduleStep| step.operation == StepOperation::SwitchReduceMulticast;
    let blocks = read.schedule.programs.iter().flat_map(|program| &program.blocks);
    assert_eq!(blocks.flat_map(|block| &block.steps).filter(in_switch).count(), 6);
    let apart = export.text.replacen("\"tb_id\": 1,", "\"tb_id\": 2,", 1);
    let found = read_mscclpp_json("nvls", &apart).unwrap_err().to_string();
    assert!(found.contains("another operation does the same part"), "{found}");
}
