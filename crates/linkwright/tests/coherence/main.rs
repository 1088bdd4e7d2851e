//! Coherence protocols under a model checker: the simulator's own transition functions, in every
//! order of their messages.
//!
//! `make check-coherence` does the large configuration, and compares with what it found before.

mod defects;
mod large;
mod machine;
mod model;
mod state;
mod suite;
mod trace;

use std::mem::size_of;

use linkwright::memory::litmus::{LITMUS_TESTS, Litmus};
use linkwright::memory::protocol::{
    CoherenceProtocol, GTsc, Hmg, HostPages, Leases, Mesi, Mgcc, MgccPrinted, NonCoherent,
};

use model::{NO_DEADLOCK, SEQUENTIAL, check};
use state::{Consistency, Machine, Placement};
use suite::{Setting, all_programs, litmus, machine};

/// Timestamps of 3 bits, which overflow in most programs, and copies that serve few reads.
fn mgcc() -> Mgcc {
    Mgcc { leases: Leases::new(2, 1, 3).unwrap(), l1_reads: 2, l2_reads: 1 }
}

fn g_tsc() -> GTsc {
    GTsc::new(2, 3, 2).unwrap()
}

const SEQUENTIALLY: Setting =
    Setting { consistency: Consistency::Sequential, one_gpu: false, evictions: false };
const WITH_FENCES: Setting = Setting { consistency: Consistency::Relaxed, ..SEQUENTIALLY };

/// The litmus tests, warm only where that is quick, and the programs of two wavefronts.
fn contract<P: CoherenceProtocol>(protocol: P, setting: Setting) {
    for test in LITMUS_TESTS {
        litmus(protocol, setting, test, false);
        if test.waves.len() < 4 {
            litmus(protocol, setting, test, true);
        }
    }
    let cus = if setting.one_gpu { [0, 1] } else { [0, 2] };
    all_programs(protocol, setting, &cus, Placement::TwoBanks, 2);
    let evicting = Setting { evictions: true, ..setting };
    let short = |test: &&Litmus| test.waves.len() == 2 && test.waves.concat().len() <= 4;
    for test in LITMUS_TESTS.iter().filter(short) {
        litmus(protocol, evicting, test, false);
    }
}

#[test]
fn mgcc_keeps_the_contract() {
    contract(mgcc(), SEQUENTIALLY);
}

#[test]
fn mgcc_keeps_the_contract_with_fences() {
    contract(mgcc(), WITH_FENCES);
}

#[test]
fn g_tsc_keeps_the_contract() {
    contract(g_tsc(), Setting { one_gpu: true, ..SEQUENTIALLY });
    contract(g_tsc(), Setting { one_gpu: true, ..WITH_FENCES });
}

#[test]
fn g_tsc_keeps_the_contract_on_two_gpus() {
    contract(g_tsc(), SEQUENTIALLY);
    contract(g_tsc(), WITH_FENCES);
}

#[test]
fn hmg_keeps_the_contract() {
    contract(Hmg { sequential: true }, SEQUENTIALLY);
    contract(Hmg::default(), WITH_FENCES);
}

#[test]
fn mesi_keeps_the_contract() {
    contract(Mesi { sequential: true }, SEQUENTIALLY);
    contract(Mesi::default(), WITH_FENCES);
}

#[test]
fn pages_of_the_host_keep_the_contract() {
    contract(HostPages { pinned: true }, WITH_FENCES);
    contract(HostPages { pinned: false }, WITH_FENCES);
}

#[test]
fn without_coherence_messages_pass_before_their_data() {
    let passing = Litmus::named("message-passing").unwrap();
    let protocols =
        [NonCoherent::RDMA, NonCoherent::TSM_WRITE_BACK, NonCoherent::TSM_WRITE_THROUGH];
    for protocol in protocols {
        let on = Machine {
            programs: passing.programs(true, true),
            consistency: Consistency::Relaxed,
            // A write that is held back is seen when its copy is evicted.
            evictions: true,
            entries: 2,
            ..machine(protocol, passing, &[0, 2])
        };
        let verdict = check(&on);
        assert!(verdict.fails(SEQUENTIAL).is_some(), "{protocol:?}");
        assert!(verdict.fails(NO_DEADLOCK).is_none(), "{protocol:?}");
    }
}

#[test]
fn without_fences_an_l1_of_a_directory_s_is_old() {
    let passing = Litmus::named("message-passing").unwrap();
    let old = |sequential| {
        let on = machine(Mesi { sequential }, passing, &[0, 2]);
        check(&Machine { programs: passing.programs(false, true), ..on })
            .fails(SEQUENTIAL)
            .is_some()
    };
    assert!(old(false) && !old(true));
}

/// The first wavefront's copy of x is on its way to the L1 while the second passes its fence.
#[test]
fn a_fence_drops_what_is_on_its_way_to_its_l1() {
    use linkwright::memory::litmus::LitmusStep::{Fence, Read, Write};
    fn kept<P: CoherenceProtocol>(protocol: P) -> bool {
        let on = machine(protocol, Litmus::named("message-passing").unwrap(), &[0, 0, 2]);
        let programs = vec![
            vec![Read(0)],
            vec![Read(1), Fence, Read(0)],
            vec![Write(0, 1), Fence, Write(1, 1)],
        ];
        check(&Machine { programs, consistency: Consistency::Relaxed, ..on }).failures.is_empty()
    }
    assert!(kept(Hmg::default()) && kept(Mesi::default()) && kept(mgcc()));
}

/// One CU alone sees its own writes under every protocol, coherent or not.
fn alone<P: CoherenceProtocol>(protocol: P) {
    assert!(size_of::<P::Line>() <= 8 && size_of::<P::Stamp>() <= 8, "{protocol:?}");
    let setting = Setting { evictions: true, ..SEQUENTIALLY };
    for placement in Placement::ALL {
        all_programs(protocol, setting, &[2], placement, 3);
    }
}

#[test]
fn a_cu_alone_sees_its_writes_whatever_is_evicted() {
    alone(NonCoherent::RDMA);
    alone(NonCoherent::TSM_WRITE_BACK);
    alone(NonCoherent::TSM_WRITE_THROUGH);
    alone(MgccPrinted::default());
    alone(mgcc());
    alone(g_tsc());
    alone(Hmg::default());
    alone(Mesi::default());
    alone(HostPages { pinned: true });
    alone(HostPages { pinned: false });
}
