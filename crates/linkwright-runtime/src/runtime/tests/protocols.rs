//! Holds every protocol of collectives to its contract.

use super::kernels::{Kernels, exchange, network as connections, routes};
use super::*;
use crate::program::CollectiveKind;
use crate::runtime::{Ports, ProtocolCall, ProtocolOffer, ProtocolState};

const SIZE: u64 = 1 << 16;
const LATE: u64 = 700_000;
const ALL_REDUCE: Operation = Operation::Collective {
    kind: CollectiveKind::AllReduce,
    root: 0,
    communicator: WORLD,
    size: Bytes(SIZE),
};

/// Each of two ranks sends to the other, and is done when the other's message is there.
#[derive(Debug, Default)]
struct Pair {
    calls: Vec<ProtocolCall>,
    /// The places that have their message.
    arrived: Vec<u64>,
}

impl Pair {
    fn complete_calls(&mut self, ports: &mut dyn Ports) {
        let Self { calls, arrived } = self;
        calls.retain(|call| {
            let place = u64::from(call.call.index);
            let at = arrived.iter().position(|other| *other == place);
            if let Some(at) = at {
                arrived.swap_remove(at);
                ports.complete(call);
            }
            at.is_none()
        });
    }
}

impl ProtocolState for Pair {
    fn enter(
        &mut self,
        offer: &mut ProtocolOffer,
        ports: &mut dyn Ports,
    ) -> Result<bool, RuntimeError> {
        let other = 1 - offer.call.call.index;
        ports.send(&offer.call, other, offer.call.call.size, u64::from(other));
        self.calls.push(offer.call);
        self.complete_calls(ports);
        Ok(true)
    }

    fn delivered(&mut self, place: u64, ports: &mut dyn Ports) -> Result<(), RuntimeError> {
        self.arrived.push(place);
        self.complete_calls(ports);
        Ok(())
    }

    fn waiting(&self) -> Vec<ProtocolCall> {
        self.calls.clone()
    }
}

/// Gives two ranks that call it: the first three times, the second less often or late each time.
fn calls(operation: Operation, times: usize) -> Arc<Program> {
    let first = rank(|rank| (0..3).for_each(|_| _ = rank.run(operation)));
    let second = rank(|rank| {
        for _ in 0..times {
            rank.run(compute(LATE));
            rank.run(operation);
        }
    });
    program(vec![first, second])
}

/// Each call ends, none before the last rank has called; and one that waits for ever is told.
fn keeps_the_contract(
    operation: Operation,
    play: impl Fn(&Arc<Program>) -> Result<Outcome, RuntimeError>,
) {
    let outcome = play(&calls(operation, 3)).unwrap();
    assert!(ends(&outcome).iter().all(|end| *end >= 3 * LATE), "{:?}", ends(&outcome));
    let waits = play(&calls(operation, 2)).unwrap_err().to_string();
    assert!(waits.contains("1 has not called AllReduce"), "{waits}");
    assert!(waits.contains("collectives not complete: 1: job `test` rank 0 waits"), "{waits}");
}

#[test]
fn collectives_of_a_known_time_do() {
    let operation = Operation::Timed {
        kind: CollectiveKind::AllReduce,
        communicator: WORLD,
        size: Bytes(SIZE),
        duration: Picoseconds(9),
    };
    keeps_the_contract(operation, |program| play(program, FREE));
}

#[test]
fn kernels_do() {
    let routes = routes();
    keeps_the_contract(ALL_REDUCE, |program| {
        let jobs = [ProgramJob::new(program, vec![0, 1])];
        let lowering = Kernels(exchange(SIZE, 3, 0));
        let mut network = connections(&routes);
        let runtime = Runtime::new(&mut network, 8, &jobs, FREE, lowering)?;
        runtime.run(&mut |_| ControlFlow::Continue(()))
    });
}

#[test]
fn one_that_sends_its_own_messages_does() {
    let played = |program: &Arc<Program>| {
        let jobs = [ProgramJob::new(program, vec![0, 1])];
        let mut network = TestNetwork::new();
        let runtime = Runtime::new(&mut network, 2, &jobs, FREE, &no_collectives)?;
        let runtime = runtime.with_protocol(Box::<Pair>::default());
        runtime.run(&mut |_| ControlFlow::Continue(()))
    };
    keeps_the_contract(ALL_REDUCE, played);
    let of_first = &played(&calls(ALL_REDUCE, 3)).unwrap().jobs[0].ranks[0];
    assert_eq!((of_first.messages, of_first.bytes), (3, Bytes(3 * SIZE)));
}
