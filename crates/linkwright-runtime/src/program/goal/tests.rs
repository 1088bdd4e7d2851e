//! Tests that written text is read back, and that errors name their place.

use proptest::prelude::*;

use super::{Options, WriteError, read, write};
use crate::network::RouteClass;
use crate::program::lowering::pairs::pairs;
use crate::program::skeletons::{APPLICATIONS, Application};
use crate::program::{
    CollectiveKind, CopyDirection, Dependency, MOST_MESSAGE, Operation, Program, RankBuilder,
    RankProgram, WORLD,
};
use crate::units::{Bandwidth, Bytes, Picoseconds};

fn program(ranks: Vec<RankProgram>) -> Program {
    let world = (0..ranks.len() as u32).collect();
    Program { name: "p".to_owned(), communicators: vec![world], regions: vec![], ranks }
}

fn read_text(text: &str) -> Result<Program, String> {
    read("p", text, &Options::default()).map_err(|error| error.to_string())
}

#[test]
fn every_form_of_statement_is_read() {
    let text = "// two ranks\nnum_ranks 2\n/* the first\n * one */ rank 0 {\r\n\
        l1: calc 100 cpu 3\n\n l2:send 10 b to 1 tag 5 cpu 0 nic 0 // on its way\n\
        l2 requires l1\nrecv 7b from -1 tag -1\nl_3: calc 0\nl_3 irequires l2 }\n\
        rank 1 {\nrecv 10b from 0 nic 1\n}";
    let (communicator, ns) = (WORLD, |count: u64| Picoseconds(count * 1_000));
    let mut one = RankBuilder::default();
    one.push(Operation::Compute { duration: ns(100) }, &[]);
    let send =
        Operation::Send { to: 1, tag: 5, communicator, size: Bytes(10), route: RouteClass::Any };
    one.push(send, &[Dependency::Completed(0)]);
    let any = Operation::Receive { from: None, tag: None, communicator, size: Bytes(7) };
    one.push(any, &[]);
    one.push(Operation::Join, &[Dependency::Started(1)]);
    let mut other = RankBuilder::default();
    let (from, tag, size) = (Some(0), Some(0), Bytes(10));
    other.push(Operation::Receive { from, tag, communicator, size }, &[]);
    assert_eq!(read_text(text), Ok(program(vec![one.finish(), other.finish()])));
}

#[test]
fn operations_move_behind_what_they_wait_for() {
    let text = "num_ranks 1\nrank 0 {\nl1: calc 1\nl2: calc 2\nl3: calc 3\nl1 requires l3\n}\n";
    let read = read_text(text).unwrap();
    let mut expected = RankBuilder::default();
    for (duration, waits) in [(2, vec![]), (3, vec![]), (1, vec![Dependency::Completed(1)])] {
        expected.push(Operation::Compute { duration: Picoseconds(duration * 1_000) }, &waits);
    }
    assert_eq!(read.ranks, [expected.finish()]);
}

#[test]
fn faults_have_places() {
    let inside = |statements: &str| {
        read_text(&format!("num_ranks 2\nrank 1 {{\n{statements}\n}}\nrank 0 {{\n}}")).unwrap_err()
    };
    for (statements, expected) in [
        ("send 10b to 2", "p:3:13: no such rank: `2`; ranks are 0 to 1"),
        ("send 10b to -1", "p:3:13: not a number that fits: `-1`; write a rank"),
        ("send 10b from 0", "p:3:10: no `to`: `from`; write `send 10b to 1` or `recv 10b from 0`"),
        ("send 10 to 0", "p:3:9: no `b`: `to`; write the size as in `10b`"),
        ("send 1b to 0 tag", "p:3:17: no number where the line ends; write a tag"),
        (
            "send 1b to 0 tag 4294967295",
            "p:3:18: a tag that stands for any: `4294967295`; take a smaller tag, or -1 for any",
        ),
        ("calc 1 nic 0", "p:3:8: more than a statement: `nic`; start a new line"),
        (
            "calc 1 cpu 1\ncalc 1",
            concat!(
                "p:4:7: calculates beside what the rank calculates elsewhere where the line ends; ",
                "name one `cpu` in all of a rank's `calc`, or give each processor a rank of its own",
            ),
        ),
        (
            "send 1b to 0 nic 2\nsend 1b to 0 cpu 9 nic 3",
            concat!(
                "p:4:24: a message beside those of the rank's other interfaces: `3`; ",
                "name one `nic` in all of a rank's messages: the system says which interfaces a rank has",
            ),
        ),
        ("calc 1 cpu 256", "p:3:12: not a number that fits: `256`; write a number from 0 to 255"),
        (
            "calc 18446744073709552",
            "p:3:6: a time that does not fit: `18446744073709552`; write at most 18446744073709551",
        ),
        (
            "l1: calc 1\nl1: calc 2",
            "p:4:1: a label given twice: `l1`; give each operation of a rank its own label",
        ),
        (
            "l1: calc 1\nl1 requires l2",
            "p:4:13: an unknown label: `l2`; label an operation above so, or name one that is",
        ),
        (
            "l1 calc 1",
            "p:3:4: nothing that goes behind a label: `calc`; write `:` and an operation, `requires` or `irequires`",
        ),
        ("l1: l1", "p:3:5: unknown operation: `l1`; write `calc`, `send` or `recv`"),
        (
            "calc 1; calc 2",
            "p:3:7: a character that GOAL does not have: `;`; remove it, or comment it out",
        ),
        ("{", "p:3:1: no statement: `{`; write a statement such as `l1: calc 100`, or `}`"),
        ("/* calc 1", "p:3:1: a comment without an end: `/*`; close it with `*/`"),
        (
            "l1: calc 1\nl2: calc 1\nl1 requires l2\nl2 irequires l1",
            "p:7:1: operations of this rank wait for each other in a circle, among them `l1`: \
             `}`; remove one of their dependencies",
        ),
    ] {
        assert_eq!(inside(statements), expected);
    }
    for (text, expected) in [
        (
            "",
            "p:1:1: no `num_ranks` where the text ends; start with `num_ranks` and how many ranks there are",
        ),
        (
            "num_ranks 4294967295",
            "p:1:11: rank 0 of these has no block: `4294967295`; add `rank 0 {` and `}`",
        ),
        (
            "num_ranks 2\nrank 1 {\n}",
            "p:1:11: rank 0 of these has no block: `2`; add `rank 0 {` and `}`",
        ),
        (
            "num_ranks 1\nrank 0 {\n}\nrank 0 {\n}",
            "p:4:6: a second block of this rank: `0`; join the two blocks",
        ),
        ("num_ranks 0\nrank 0 {", "p:2:6: no such rank: `0`; there are no ranks"),
        (
            "num_ranks 1\nrank 0 {\ncalc 1",
            "p:3:7: more than a statement where the text ends; start a new line",
        ),
    ] {
        assert_eq!(read_text(text).unwrap_err(), expected);
    }
}

#[test]
fn what_goal_has_no_words_for_is_refused_by_name() {
    let written = |operation| {
        let mut rank = RankBuilder::default();
        rank.run(Operation::Join);
        rank.run(operation);
        write(&program(vec![rank.finish()]), &Options::default(), &pairs)
    };
    let (size, route) = (Bytes(1500), RouteClass::Host);
    let refused = [
        (
            Operation::Copy { direction: CopyDirection::HostToDevice, size, route },
            "a copy, which GOAL cannot express; leave it out, or make it a computation",
        ),
        (
            Operation::Reduce { size, rate: None },
            "a reduction as fast as the GPU's memory, which GOAL cannot express; state its rate",
        ),
        (
            Operation::Send { to: 0, tag: 0, communicator: WORLD, size, route },
            "a send over stated links, which GOAL cannot express; let it take any",
        ),
    ];
    for (operation, what) in refused {
        let error = written(operation).unwrap_err().to_string();
        assert_eq!(error, format!("operation 1 of rank 0 is {what}"));
    }
    let rate = Some(Bandwidth(1_000_000_000));
    let text = written(Operation::Reduce { size, rate }).unwrap();
    assert!(text.contains("l2: calc 1500\n"), "{text}");
}

#[test]
fn collectives_are_written_as_messages_and_regions_as_nothing() {
    let mut rank = RankBuilder::default();
    rank.run(Operation::Enter { region: 0 });
    let (kind, size) = (CollectiveKind::Barrier, Bytes(0));
    rank.run(Operation::Collective { kind, root: 0, communicator: WORLD, size });
    rank.run(Operation::Leave { region: 0 });
    let rank = rank.finish();
    let mut program = program(vec![rank.clone(), rank]);
    program.regions.push("step".to_owned());
    let text = write(&program, &Options::default(), &pairs).unwrap();
    let read = read_text(&text).unwrap();
    let messages = |operation: &&Operation| {
        matches!(operation, Operation::Send { .. } | Operation::Receive { .. })
    };
    assert_eq!(read.ranks[0].operations().iter().filter(messages).count(), 2);
    assert!(!text.contains("step"));
}

#[test]
fn every_skeleton_can_be_written_and_read() {
    for application in &APPLICATIONS {
        let program = application.program(16, &toml::Table::new()).unwrap();
        let text = write(&program, &Options::default(), &pairs).unwrap();
        let again = read_text(&text).unwrap();
        assert_eq!(
            write(&again, &Options::default(), &pairs).unwrap(),
            text,
            "{}",
            application.name
        );
    }
}

#[test]
fn what_goal_cannot_say_is_refused() {
    let receive = |tag, communicator| {
        let mut rank = RankBuilder::default();
        rank.run(Operation::Receive { from: None, tag, communicator, size: Bytes(1) });
        let mut program = program(vec![rank.finish()]);
        program.communicators.push(vec![0]);
        write(&program, &Options::default(), &pairs).map(drop)
    };
    assert_eq!(receive(None, WORLD), Ok(()));
    assert_eq!(receive(Some(u32::MAX), 1), Ok(()));
    assert_eq!(receive(None, 1), Err(WriteError::AnyTag { rank: 0 }));
    let tag = u32::MAX;
    assert_eq!(receive(Some(tag), WORLD), Err(WriteError::Tag { rank: 0, tag }));
    let zero = Options { time_unit: Picoseconds(0) };
    assert_eq!(write(&program(vec![]), &zero, &pairs), Err(WriteError::TimeUnit));
}

fn operation(ranks: u32) -> impl Strategy<Value = Operation> {
    let (communicator, tag) = (WORLD, 0..u32::MAX);
    prop_oneof![
        (1..1_000_000_u64).prop_map(|ns| Operation::Compute { duration: Picoseconds(ns * 1_000) }),
        (0..ranks, tag.clone(), 0..=MOST_MESSAGE.0).prop_map(move |(to, tag, size)| {
            Operation::Send { to, tag, communicator, size: Bytes(size), route: RouteClass::Any }
        }),
        (prop::option::of(0..ranks), prop::option::of(tag), 0..=MOST_MESSAGE.0).prop_map(
            move |(from, tag, size)| {
                Operation::Receive { from, tag, communicator, size: Bytes(size) }
            }
        ),
        Just(Operation::Join),
    ]
}

fn rank_program(ranks: u32) -> impl Strategy<Value = RankProgram> {
    let waits = prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..3);
    prop::collection::vec((operation(ranks), waits), 0..12).prop_map(|operations| {
        let mut rank = RankBuilder::default();
        for (index, (operation, waits)) in operations.into_iter().enumerate() {
            let wait = |(on, complete): (prop::sample::Index, bool)| {
                let on = on.index(index) as u32;
                if complete { Dependency::Completed(on) } else { Dependency::Started(on) }
            };
            let waits: Vec<_> =
                if index == 0 { vec![] } else { waits.into_iter().map(wait).collect() };
            rank.push(operation, &waits);
        }
        rank.finish()
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(ranks in prop::collection::vec(rank_program(4), 4)) {
        let program = program(ranks);
        let text = write(&program, &Options::default(), &pairs).unwrap();
        prop_assert_eq!(read_text(&text), Ok(program));
    }

    #[test]
    fn any_text_is_read_or_refused(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "num_ranks", "rank", "0", "1", "{", "}", "\n", "l1", ":", "calc", "send", "recv",
                "b", "to", "from", "tag", "cpu", "nic", "-1", "requires", "irequires", "-", "é",
                "//", "/*", "*/",
            ]),
            0..40,
        )
    ) {
        let _ = read_text(&words.join(" "));
        let _ = read_text(&format!("num_ranks 1\nrank 0 {{\n{}", words.join(" ")));
    }
}

#[test]
fn calculations_that_would_run_side_by_side_are_refused() {
    let read =
        |calculations: &str| read_text(&format!("num_ranks 1\nrank 0 {{\n{calculations}\n}}"));
    let refused = read("calc 100000 cpu 0\ncalc 100000 cpu 1").unwrap_err();
    let place = "p:4:17: calculates beside what the rank calculates elsewhere: `1`; name one `cpu`";
    assert!(refused.starts_with(place), "{refused}");
    // One after another they are on one processor, whatever its number; joins take no time anywhere.
    let one =
        "calc 100000 cpu 7\ncalc 0 cpu 2\ncalc 100000 cpu 7\nsend 1b to 0 cpu 3\nrecv 1b from 0";
    assert!(read(one).is_ok());
}

#[test]
fn a_message_that_no_rank_has_the_memory_for_is_refused() {
    for (word, peer) in [("send", "to"), ("recv", "from")] {
        let text = format!("num_ranks 1\nrank 0 {{\n{word} 4611686018427387904b {peer} 0\n}}\n");
        let error = read("a.goal", &text, &Options::default()).unwrap_err().to_string();
        let place = "a.goal:3:6: a message larger than any GPU's memory: `4611686018427387904`";
        assert!(error.starts_with(place), "{error}");
    }
}
