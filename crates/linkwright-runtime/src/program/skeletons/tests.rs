//! Tests conditions that hold for every skeleton.

use std::collections::BTreeMap;

use super::{APPLICATIONS, Application, MOST_RANKS, Skeleton, skeleton};
use crate::program::lowering::lower_program;
use crate::program::lowering::pairs::pairs;
use crate::program::rendezvous::play;
use crate::program::{MOST_MESSAGE, Operation, Program, WORLD};

fn program(application: &Skeleton, ranks: u32) -> Program {
    application.program(ranks, &toml::Table::new()).expect("a count that it takes")
}

#[test]
fn every_send_has_its_receive() {
    for application in &APPLICATIONS {
        for ranks in [32, 36, 48, 64, 128] {
            let program = program(application, ranks);
            let mut open = BTreeMap::new();
            for (me, rank) in (0..).zip(&program.ranks) {
                assert_eq!(rank.body(), Some((0, rank.operations().len() as u32)));
                for operation in rank.operations() {
                    match *operation {
                        Operation::Send { to, tag, communicator: WORLD, size, .. } => {
                            *open.entry((me, to, tag, size)).or_insert(0) += 1;
                        }
                        Operation::Receive {
                            from: Some(from),
                            tag: Some(tag),
                            communicator: WORLD,
                            size,
                        } => *open.entry((from, me, tag, size)).or_insert(0) -= 1,
                        Operation::Send { .. } | Operation::Receive { .. } => {
                            panic!("{}: {operation:?}", application.name)
                        }
                        _ => {}
                    }
                }
            }
            assert!(open.values().all(|left| *left == 0), "{} on {ranks}", application.name);
        }
    }
}

#[test]
fn nothing_depends_on_buffering() {
    for application in &APPLICATIONS {
        for ranks in [16, 32, 36] {
            let lowered =
                lower_program(&program(application, ranks), &pairs).expect("sound collectives");
            assert_eq!(play(&lowered.ranks), 0, "{} on {ranks}", application.name);
        }
    }
}

#[test]
fn blocking_sends_of_stencil4d_all_have_their_receives_posted() {
    let options = toml::from_str("blocking_sends = true").expect("a table");
    let program = skeleton("stencil4d", 32, &options).expect("a count that it takes");
    let lowered = lower_program(&program, &pairs).expect("sound collectives");
    assert_eq!(play(&lowered.ranks), 0);
}

#[test]
fn subcomm3d_exchanges_along_the_axes_that_have_a_message() {
    let lines = |options: &str| {
        let options = toml::from_str(options).expect("a table");
        let program = skeleton("subcomm3d", 64, &options).expect("a grid");
        program.communicators[1..].to_vec()
    };
    let along_x = lines("");
    assert_eq!(along_x.len(), 8);
    assert_eq!(along_x[1], [8, 9, 10, 11, 12, 13, 14, 15]);
    let all = lines("sides = [4, 4, 4]\nmessage_y = \"1 KiB\"\nmessage_z = \"1 KiB\"");
    assert_eq!(all.len(), 3 * 16);
    assert_eq!((&all[16][..], &all[32][..]), (&[0, 4, 8, 12][..], &[0, 16, 32, 48][..]));
    assert!(lines("message_x = \"0 B\"").is_empty());
}

#[test]
fn what_cannot_be_made_is_refused() {
    let refused = |name, ranks, options: &str| {
        let options = toml::from_str(options).expect("a table");
        skeleton(name, ranks, &options).unwrap_err().to_string()
    };
    assert_eq!(
        refused("kripky", 32, ""),
        "there is no application `kripky`; did you mean `kripke`? use one of stencil4d, subcomm3d, \
         kripke, laghos, amg, sw4lite, copy-execute, synthetic"
    );
    assert_eq!(
        refused("stencil4d", 31, ""),
        "stencil4d cannot run on 31 ranks: each side of its 4D grid is at least 2; \
         take 16, 24, 32, 36 or the like"
    );
    assert_eq!(
        refused("subcomm3d", 32, "sides = [4, 4, 4]"),
        "subcomm3d cannot run on 32 ranks: its `sides` do not multiply to that many; take \
         others, or leave them out"
    );
    assert!(refused("subcomm3d", 31, "").contains("at least 2"));
    assert!(refused("amg", 0, "").contains("at least 1"));
    assert!(refused("amg", MOST_RANKS + 1, "").contains("at most 1048576"));
    assert_eq!(refused("amg", 32, "levels = 0"), "`levels` of amg cannot be 0; use 1 to 16");
    assert!(
        refused("amg", 32, "level = 3").contains("unknown key `level`; did you mean `levels`?")
    );
    let memory = "the program would not fit into memory; take fewer ranks or smaller counts";
    assert!(refused("kripke", 65_536, "group_sets = 32").ends_with(memory));
    assert!(refused("laghos", 65_536, "solver_iterations = 1000").ends_with(memory));
    assert!(refused("laghos", 32, "message = \"16 kb\"").contains("is not a size"));
}

#[test]
fn messages_have_at_most_a_tebibyte() {
    for name in ["stencil4d", "laghos"] {
        let program = |size: u64| {
            skeleton(
                name,
                32,
                &toml::from_str(&format!("message = \"{size} B\"")).expect("a table"),
            )
        };
        assert!(program(MOST_MESSAGE.0).is_ok(), "{name}");
        for size in [MOST_MESSAGE.0 + 1, 1 << 62] {
            let error = program(size).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "{name} would send messages of {size} bytes, which is too large; use sizes that \
                     give messages of at most 1099511627776 bytes"
                )
            );
        }
    }
}
