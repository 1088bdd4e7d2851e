//! Programs by chance, which never deadlock in MPI, always end here too.

use proptest::prelude::*;

use crate::program::PendingOperation;
use crate::runtime::{MessageRecord, Observer};

use super::*;

const RANKS: u32 = 6;
const LARGEST: u64 = 300;

/// Describes one message. Each rank's program has its sends and receives in the order of the list.
/// So the first message that has not fully happened can always happen.
#[derive(Debug, Clone)]
struct Exchange {
    source: u32,
    destination: u32,
    tag: u32,
    size: u64,
    blocking_send: bool,
    blocking_receive: bool,
    computing: u64,
}

fn exchange() -> impl Strategy<Value = Exchange> {
    let blocking = (any::<bool>(), any::<bool>());
    (0..RANKS, 0..RANKS, 0_u32..3, 0..=LARGEST, blocking, 0_u64..2_000_000).prop_map(
        |(source, destination, tag, size, (blocking_send, blocking_receive), computing)| Exchange {
            source,
            destination,
            tag,
            size,
            blocking_send,
            blocking_receive,
            computing,
        },
    )
}

/// Writes the programs. For each rank, `wildcards` says how its receives select: bit 0 any tag, bit
/// 1 any source. All receives of one rank are alike, so that none takes a message that another
/// needs. Without wildcards a receive takes no more than its own message, so that a larger one in
/// its place is an error.
fn written(exchanges: &[Exchange], wildcards: &[u8]) -> Arc<Program> {
    let mut ranks = vec![(RankBuilder::default(), Vec::<PendingOperation>::new()); RANKS as usize];
    for exchange in exchanges {
        let Exchange { source, destination, tag, size, computing, .. } = *exchange;
        let wild = wildcards[destination as usize];
        let (from, selected) = ((wild & 2 == 0).then_some(source), (wild & 1 == 0).then_some(tag));
        let (rank, requests) = &mut ranks[source as usize];
        rank.run(compute(computing));
        // A blocked sender to a receiver that takes anything might wait for the message of another,
        // as it might in MPI. So might one that sends to itself.
        if exchange.blocking_send && wild == 0 && source != destination {
            rank.run(send(destination, tag, size));
        } else {
            requests.push(rank.start(send(destination, tag, size)));
        }
        let (rank, requests) = &mut ranks[destination as usize];
        let receive = receive(from, selected, if wild == 0 { size } else { LARGEST });
        if exchange.blocking_receive {
            rank.run(receive);
        } else {
            requests.push(rank.start(receive));
        }
    }
    let finished = ranks.into_iter().map(|(mut rank, requests)| {
        rank.wait(&requests);
        rank.finish()
    });
    program(finished.collect())
}

#[derive(Default)]
struct Count {
    sent: (u64, u64),
    delivered: (u64, u64),
}

impl Observer for Count {
    fn sent(&mut self, message: &MessageRecord) {
        self.sent.0 += 1;
        self.sent.1 += message.size.0;
    }

    fn delivered(&mut self, message: &MessageRecord, time: Picoseconds) {
        assert!(time >= message.sent);
        self.delivered.0 += 1;
        self.delivered.1 += message.size.0;
    }
}

proptest! {
    #[test]
    fn random_programs_end_and_lose_nothing(
        exchanges in prop::collection::vec(exchange(), 0..60),
        wildcards in prop::collection::vec(0_u8..4, RANKS as usize),
        eager_limit in 0..=LARGEST,
        seed: u64,
        disordered: bool,
        announced: bool,
    ) {
        let program = written(&exchanges, &wildcards);
        let rendezvous = if announced { Rendezvous::Receiver } else { Rendezvous::Sender };
        let protocol =
            MpiProtocol { eager_limit: Bytes(eager_limit), rendezvous, ..MpiProtocol::default() };
        let network = || if disordered {
            TestNetwork::disordered(seed)
        } else {
            TestNetwork::new()
        };
        let outcome = play_on(&mut network(), &program, protocol);
        let outcome = outcome.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(Ok(outcome.clone()), play_on(&mut network(), &program, protocol));

        let jobs = [ProgramJob::new(&program, (0..RANKS).collect())];
        let (mut watched, mut count) = (network(), Count::default());
        let (on, lower) = (&mut watched, &no_collectives);
        let mut runtime =
            Runtime::observed(on, RANKS, &jobs, protocol, lower, &mut count).unwrap();
        let events = runtime.play(&mut |_| ControlFlow::Continue(())).unwrap();
        // Every record is given back.
        prop_assert_eq!(runtime.shared.messages.counts()[0], [0, 0]);
        prop_assert_eq!(runtime.shared.lanes.works().kept().count(), 0);
        prop_assert_eq!(&runtime.outcome(events), &outcome);

        let bytes: u64 = exchanges.iter().map(|exchange| exchange.size).sum();
        prop_assert_eq!(count.sent, (exchanges.len() as u64, bytes));
        prop_assert_eq!(count.delivered, count.sent);
        let ranks = &outcome.jobs[0].ranks;
        prop_assert_eq!(ranks.iter().map(|rank| rank.bytes.0).sum::<u64>(), bytes);
        let computing: u64 = exchanges.iter().map(|exchange| exchange.computing).sum();
        prop_assert_eq!(ranks.iter().map(|rank| rank.computing.0).sum::<u64>(), computing);
        for rank in ranks {
            let exposed = rank.exposed_communication;
            prop_assert_eq!(rank.computing.0 + exposed.0, rank.end.0);
            prop_assert!(exposed <= rank.communicating && rank.communicating <= rank.end);
        }
    }
}
