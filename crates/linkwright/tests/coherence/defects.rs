//! Tests the faults of MGCC as it is printed, each with the shortest way there.

use linkwright::diagnostic::Named as _;
use linkwright::memory::litmus::Litmus;
use linkwright::memory::protocol::{Leases, MgccPrinted};

use super::model::{NO_DEADLOCK, SEQUENTIAL, SPINS_END, check};
use super::state::{Machine, Placement};
use super::suite::machine;
use super::trace::told;

/// A litmus test on two GPUs, or on two CUs of one, whose accesses are done at once.
fn on(protocol: MgccPrinted, name: &str, warm: bool, cus: &[u8]) -> Machine<MgccPrinted> {
    let litmus = &Litmus::from_name(name).unwrap();
    Machine {
        programs: litmus.programs(false, warm),
        atomic: true,
        entries: 2,
        ..machine(protocol, litmus, cus)
    }
}

/// Whether what is done stays in order.
fn holds(machine: &Machine<MgccPrinted>) -> bool {
    check(machine).fails(SEQUENTIAL).is_none()
}

/// Returns each of the ways in which text and algorithms differ.
fn readings() -> [MgccPrinted; 4] {
    [(false, false), (false, true), (true, false), (true, true)].map(|(reads, writes)| {
        MgccPrinted {
            reads_move_time: reads,
            writes_after_leases: writes,
            ..MgccPrinted::default()
        }
    })
}

/// Returns the reading with the most proven properties.
fn best() -> MgccPrinted {
    MgccPrinted {
        reads_move_time: true,
        writes_after_leases: true,
        l2_sends_time: true,
        ..MgccPrinted::default()
    }
}

#[test]
fn a_message_is_passed_before_its_data() {
    for protocol in readings() {
        for placement in [Placement::OneBank, Placement::TwoBanks] {
            let on = Machine { placement, ..on(protocol, "message-passing", true, &[0, 2]) };
            assert!(!holds(&on), "{protocol:?} {placement:?}");
        }
    }
}

#[test]
fn an_l2_s_time_mends_one_bank_and_not_two() {
    let passing =
        |placement| holds(&Machine { placement, ..on(best(), "message-passing", true, &[0, 2]) });
    assert!(passing(Placement::OneBank));
    assert!(!passing(Placement::TwoBanks));
}

#[test]
fn stores_are_buffered_unless_writes_come_after_leases() {
    for reads_move_time in [false, true] {
        let buffering = |writes_after_leases, placement| {
            let protocol =
                MgccPrinted { reads_move_time, writes_after_leases, ..MgccPrinted::default() };
            holds(&Machine { placement, ..on(protocol, "store-buffering", true, &[0, 2]) })
        };
        assert!(!buffering(false, Placement::OneBank));
        assert!(buffering(true, Placement::OneBank));
    }
}

#[test]
fn who_spins_reads_its_old_copy_for_ever() {
    for protocol in readings().into_iter().chain([best()]) {
        for cus in [&[0, 1][..], &[0, 2]] {
            let verdict = check(&on(protocol, "spinning", true, cus));
            assert!(verdict.fails(SPINS_END).is_some(), "{protocol:?} {cus:?}");
            assert!(verdict.fails(NO_DEADLOCK).is_none());
        }
    }
}

#[test]
fn a_new_lease_lies_before_old_ones() {
    // Nothing is forgotten, and nothing overflows.
    let passing = on(best(), "message-passing", true, &[0, 2]);
    let passing = Machine { placement: Placement::OneBank, ..passing };
    assert!(check(&passing).failures.is_empty());
    let forgets = Machine { entries: 1, ..passing.clone() };
    assert!(check(&forgets).fails(SEQUENTIAL).is_some());
    let leases = Leases::new(2, 1, 2).unwrap();
    let overflows = Machine { protocol: MgccPrinted { leases, ..best() }, ..passing };
    assert!(check(&overflows).fails(SEQUENTIAL).is_some());
}

/// Nothing carries times where wavefronts meet by the dispatcher or the host.
#[test]
fn what_was_written_before_a_barrier_is_not_seen_behind_it() {
    for protocol in readings().into_iter().chain([best()]) {
        assert!(!holds(&on(protocol, "launch-barrier", true, &[0, 2])), "{protocol:?}");
    }
}

/// `counterexamples.txt` has the ways; `UPDATE_GOLDEN=1` writes it anew.
#[test]
fn the_counterexamples_are_told() {
    let printed = MgccPrinted::default();
    let (one, two) = (Placement::OneBank, Placement::TwoBanks);
    let placed = |placement, on: Machine<MgccPrinted>| Machine { placement, ..on };
    let passing = |protocol| on(protocol, "message-passing", true, &[0, 2]);
    let leases = Leases::new(2, 1, 2).unwrap();
    let cases = [
        ("(a) message passing, as printed", SEQUENTIAL, placed(one, passing(printed))),
        (
            "(b) message passing, times from L2s, two banks",
            SEQUENTIAL,
            placed(two, passing(best())),
        ),
        (
            "(c) store buffering, writes at memts",
            SEQUENTIAL,
            placed(one, on(printed, "store-buffering", true, &[0, 2])),
        ),
        ("(d) spinning", SPINS_END, placed(one, on(printed, "spinning", true, &[0, 2]))),
        (
            "(e) message passing, an entry evicted",
            SEQUENTIAL,
            Machine { entries: 1, ..placed(one, passing(best())) },
        ),
        (
            "(e) message passing, timestamps of 2 bits",
            SEQUENTIAL,
            placed(one, passing(MgccPrinted { leases, ..best() })),
        ),
        (
            "(f) a barrier of the launch, times from L2s",
            SEQUENTIAL,
            placed(two, on(best(), "launch-barrier", true, &[0, 2])),
        ),
    ];
    let mut text = String::new();
    for (title, property, machine) in cases {
        let verdict = check(&machine);
        let way = verdict.fails(property).expect(title);
        text += &format!("{title}: not \"{property}\"\n{}\n", told(&machine, way));
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/coherence/counterexamples.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), text);
}
