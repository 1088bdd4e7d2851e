use proptest::prelude::*;

use super::*;
use crate::collectives::nccl::baselines::expect;
use crate::system::presets::{self, preset};
use crate::system::test_support::on_one_switch;

fn alone(name: &str) -> System {
    System::of_server(std::sync::Arc::new(preset(name).unwrap()))
}

fn all(system: &System) -> Vec<usize> {
    (0..system.gpus() as usize).collect()
}

fn even(ranks: usize, message: u64) -> Vec<Vec<u64>> {
    vec![vec![message; ranks]; ranks]
}

fn uneven(system: &System, rows: &[Vec<u64>]) -> UnevenTime {
    expect_uneven(system, &all(system), rows, &Settings::default()).unwrap()
}

/// Tests every preset, and servers on a network, at all lengths.
#[test]
fn an_even_matrix_takes_what_an_all_to_all_takes() {
    let lone = presets::NAMES.iter().map(|name| alone(name));
    let pairs = ["hgx-h100", "dgx1-v100", "mi300x-8"].map(|name| on_one_switch(name, 2, 400));
    for system in lone.chain(pairs).filter(|system| (2..17).contains(&system.gpus())) {
        let gpus = all(&system);
        for message in [1, 1 << 10, 99_999, 1 << 20, 40_000_001] {
            let size = Bytes(message * gpus.len() as u64);
            let settings = Settings::default();
            let Ok(whole) = expect(&system, &gpus, Collective::AllToAll, &[size], &settings) else {
                continue;
            };
            let found = uneven(&system, &even(gpus.len(), message));
            let expected = whole.rows[0].time;
            assert_eq!(found.time, expected, "{} at {message}", system.name());
            // Played message by message, it takes as long but for what blocks write behind.
            let mut nearly = even(gpus.len(), message);
            // A byte less, since a byte more may be a piece more.
            nearly[1][0] = (message - 1).max(1);
            nearly[0][1] = message.max(2);
            let played = uneven(&system, &nearly).time.as_seconds() / expected.as_seconds();
            assert!((0.97..1.03).contains(&played), "{} at {message}: {played}", system.name());
        }
    }
}

/// Each link has what crosses it, and no more. The bound of one message is its GPU's links.
#[test]
fn one_message_takes_its_own_links() {
    let system = alone("hgx-h100");
    let mut rows = even(8, 0);
    rows[2][5] = 1 << 30;
    let found = uneven(&system, &rows);
    let bound = found.bound.unwrap();
    assert_eq!((bound.bytes, bound.leaves, &bound.ranks[..]), (1 << 30, true, &[2][..]));
    assert_eq!(bound.links.iter().filter(|(from, _)| from == "GPU2").count(), 5);
    assert_eq!((found.moved, found.longest), (1 << 30, Bytes(1 << 30)));
    assert!(found.time >= bound.time);
}

#[test]
fn between_servers_their_interfaces_set_the_bound() {
    let system = on_one_switch("hgx-h100", 2, 400);
    let across = |from: usize, to: usize| if from / 8 == to / 8 { 0 } else { 10 << 20 };
    let rows: Vec<Vec<u64>> =
        (0..16).map(|from| (0..16).map(|to| across(from, to)).collect()).collect();
    let found = uneven(&system, &rows);
    let bound = found.bound.unwrap();
    assert_eq!((bound.ranks.len(), bound.links.len(), bound.bytes), (8, 8, 640 << 20));
    assert!(bound.links.iter().all(|(from, _)| from.contains("node0/")), "{:?}", bound.links);
    let ratio = found.time.as_seconds() / bound.time.as_seconds();
    assert!((1.0..1.5).contains(&ratio), "{ratio}");
}

#[test]
fn nothing_to_move_takes_no_time_and_what_is_kept_is_left_out() {
    let system = alone("dgx1-v100");
    let mut rows = even(8, 0);
    let none = uneven(&system, &rows);
    assert_eq!((none.time, none.bound), (Picoseconds(0), None));
    rows[0][1] = 5_000_000;
    let one = uneven(&system, &rows);
    rows[3][3] = 1 << 40;
    let kept = uneven(&system, &rows);
    assert_eq!((one.time, &one.bound), (kept.time, &kept.bound));
    assert!(kept.notes.iter().any(|note| note.contains("1099511627776 bytes that ranks have")));
}

#[test]
fn rows_that_are_no_matrix_are_refused() {
    let system = alone("dgx1-v100");
    let refused = |rows: &[Vec<u64>]| {
        expect_uneven(&system, &all(&system), rows, &Settings::default()).unwrap_err().to_string()
    };
    assert!(refused(&even(7, 1)).starts_with("the matrix has 7 rows, and the job has 8 GPUs"));
    let mut rows = even(8, 1);
    rows[6].pop();
    assert!(refused(&rows).starts_with("row 6 of the matrix has 7 values"));
    rows[6].push((1 << 50) + 1);
    assert!(refused(&rows).starts_with("row 6, column 7 of the matrix is 1125899906842625 bytes"));
}

/// The longest messages that there are take no longer to play.
#[test]
fn long_messages_are_cut_into_longer_chunks() {
    let system = alone("hgx-h100");
    let found = uneven(&system, &even(8, 1 << 50));
    assert!(found.time >= found.bound.unwrap().time);
    assert!(found.notes.iter().any(|note| note.contains("too many to play")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the matrix, it takes at least the bound; more to send takes no less in the bound.
    #[test]
    fn no_exchange_is_faster_than_its_bound(
        which in 0_usize..5,
        values in prop::collection::vec(
            prop_oneof![3 => Just(0_u64), 2 => 1_u64..5_000, 4 => 0_u64..50_000_000], 256,
        ),
    ) {
        let system = match which {
            0 => alone("hgx-h100"),
            1 => alone("dgx1-v100"),
            2 => alone("8x-l40s"),
            3 => alone("mi300x-8"),
            _ => on_one_switch("dgx1-v100", 2, 100),
        };
        let ranks = system.gpus() as usize;
        let rows: Vec<Vec<u64>> =
            values.chunks(ranks).take(ranks).map(<[u64]>::to_vec).collect();
        let found = uneven(&system, &rows);
        prop_assume!(found.moved > 0);
        let bound = found.bound.unwrap();
        prop_assert!(found.time >= bound.time, "{:?} < {bound:?}", found.time);
        let sum: u64 = bound.bandwidth.0;
        prop_assert!(sum > 0 && !bound.links.is_empty());
        let twice: Vec<Vec<u64>> =
            rows.iter().map(|row| row.iter().map(|it| 2 * it).collect()).collect();
        let matrix = ByteMatrix::new(&twice, ranks).unwrap();
        let gpus = all(&system);
        let wiring = Wiring::of_gpus(&system, &gpus);
        let doubled =
            super::bound::bound(&system, &wiring, &gpus, &matrix, &resources(&wiring)).unwrap();
        prop_assert!(doubled.time.0.abs_diff(2 * bound.time.0) <= 2);
    }
}
