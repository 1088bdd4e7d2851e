//! Tests coherence protocols under a model checker: the simulator's own transition functions, in
//! every order of their messages.
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
use std::sync::Mutex;
use std::thread;

use linkwright::diagnostic::{Named as _, Registered};
use linkwright::memory::litmus::{LITMUS_TESTS, Litmus};
use linkwright::memory::protocol::{CoherenceProtocol, GTsc, Hmg, Mesi, Mgcc, NonCoherent};
use linkwright::memory::{MemorySystem, VisitMemorySystems, visit_memory_systems};

use model::{NO_DEADLOCK, SEQUENTIAL, check};
use state::{Consistency, Machine, Placement};
use suite::{Setting, all_programs, litmus, machine};

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

/// Holds what every one of Linkwright's own protocols must pass, one part after another.
#[derive(Default)]
struct Contracts(Vec<Box<dyn FnOnce() + Send>>);

impl Contracts {
    fn keep(self) {
        let parts = Mutex::new(self.0);
        let next = || parts.lock().expect("no part failed").pop();
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, Into::into) {
                scope.spawn(|| {
                    while let Some(part) = next() {
                        part();
                    }
                });
            }
        });
    }
}

impl VisitMemorySystems for Contracts {
    fn protocol<P: CoherenceProtocol + Registered>(&mut self, protocol: &'static P) {
        let small = protocol.small();
        self.0.push(Box::new(move || alone(small)));
        if !protocol.is_coherent() {
            return;
        }
        self.0.push(Box::new(move || contract(small, WITH_FENCES)));
        if let Some(in_order) = small.in_order() {
            self.0.push(Box::new(move || contract(in_order, SEQUENTIALLY)));
        }
    }

    /// Its protocol is visited by itself, in order and with fences.
    fn system(&mut self, _: &'static dyn MemorySystem) {}
}

#[test]
fn every_protocol_keeps_the_contract() {
    let mut contracts = Contracts::default();
    visit_memory_systems(&mut contracts);
    // There are ten alone. Six of these agree with fences, and four of the six in order.
    assert!(contracts.0.len() >= 10 + 6 + 4, "{}", contracts.0.len());
    contracts.keep();
}

#[test]
fn g_tsc_keeps_the_contract_on_one_gpu() {
    let g_tsc = GTsc::ON_ALL_GPUS.small();
    contract(g_tsc, Setting { one_gpu: true, ..SEQUENTIALLY });
    contract(g_tsc, Setting { one_gpu: true, ..WITH_FENCES });
}

#[test]
fn without_coherence_messages_pass_before_their_data() {
    let passing = &Litmus::from_name("message-passing").unwrap();
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
    let passing = &Litmus::from_name("message-passing").unwrap();
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
        let on = machine(protocol, &Litmus::from_name("message-passing").unwrap(), &[0, 0, 2]);
        let programs = vec![
            vec![Read(0)],
            vec![Read(1), Fence, Read(0)],
            vec![Write(0, 1), Fence, Write(1, 1)],
        ];
        check(&Machine { programs, consistency: Consistency::Relaxed, ..on }).failures.is_empty()
    }
    assert!(kept(Hmg::default()) && kept(Mesi::default()) && kept(Mgcc::MENDED.small()));
}

/// One CU alone sees its own writes under every protocol, coherent or not.
fn alone<P: CoherenceProtocol>(protocol: P) {
    assert!(size_of::<P::Line>() <= 8 && size_of::<P::Stamp>() <= 8, "{protocol:?}");
    let setting = Setting { evictions: true, ..SEQUENTIALLY };
    for placement in Placement::ALL {
        all_programs(protocol, setting, &[2], placement, 3);
    }
}
