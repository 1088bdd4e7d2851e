//! What a rank sends and receives, phase by phase, and what the messages carry.

use crate::program::{Collective, Operation, RankBuilder, RankProgram, WORLD};
use crate::units::Bytes;

/// What a message carries, in blocks of the collective's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Nothing but that it came.
    Signal,
    /// The whole vector, or the sum so far.
    Vector,
    /// A run of blocks, one for each rank; it may wrap around the last.
    Blocks {
        /// The first block.
        first: u32,
        /// How many.
        count: u32,
    },
    /// All-to-all: the sender's part for the receiver.
    Part,
    /// All-to-all after Bruck: all parts held whose way from source to destination, as a
    /// number of ranks, has this bit.
    Ways {
        /// The bit, from zero.
        bit: u32,
    },
}

/// One message of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The other rank.
    pub peer: u32,
    /// What it carries.
    pub content: Content,
}

/// What a rank posts together and waits for together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Phase {
    /// Its number, the tag of its messages.
    pub number: u32,
    /// What it receives.
    pub receives: Vec<Transfer>,
    /// What it sends.
    pub sends: Vec<Transfer>,
}

/// All that one rank does in a collective.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Its phases in order; those without a message are left out.
    pub phases: Vec<Phase>,
    /// The number that the next stage's phases start from.
    pub next: u32,
}

impl Plan {
    /// Adds a phase under its number within the stage.
    pub fn phase(&mut self, number: u32, receives: Vec<Transfer>, sends: Vec<Transfer>) {
        if !receives.is_empty() || !sends.is_empty() {
            self.phases.push(Phase { number: self.next + number, receives, sends });
        }
    }

    /// Adds a phase with one message out and one in.
    pub fn exchange(&mut self, number: u32, to: (u32, Content), from: (u32, Content)) {
        let transfer = |(peer, content)| vec![Transfer { peer, content }];
        self.phase(number, transfer(from), transfer(to));
    }

    /// Adds a phase with one message out.
    pub fn send(&mut self, number: u32, peer: u32, content: Content) {
        self.phase(number, Vec::new(), vec![Transfer { peer, content }]);
    }

    /// Adds a phase with one message in.
    pub fn receive(&mut self, number: u32, peer: u32, content: Content) {
        self.phase(number, vec![Transfer { peer, content }], Vec::new());
    }

    /// Ends a stage of this many phases, the same on every rank.
    pub fn end_stage(&mut self, phases: u32) {
        self.next += phases;
    }

    /// The operations of the plan.
    pub fn program(&self, kind: Collective, ranks: u32, size: Bytes) -> RankProgram {
        let mut rank = RankBuilder::default();
        for phase in &self.phases {
            let received = phase.receives.iter().map(|transfer| Operation::Receive {
                from: Some(transfer.peer),
                tag: Some(phase.number),
                communicator: WORLD,
                size: transfer.content.size(kind, ranks, size),
            });
            let sent = phase.sends.iter().map(|transfer| Operation::Send {
                to: transfer.peer,
                tag: phase.number,
                communicator: WORLD,
                size: transfer.content.size(kind, ranks, size),
            });
            let operations: Vec<_> = received.chain(sent).collect();
            if let [only] = operations[..] {
                rank.run(only);
            } else {
                let start = |operation: &Operation| rank.start(*operation);
                let requests: Vec<_> = operations.iter().map(start).collect();
                rank.wait(&requests);
            }
        }
        rank.finish()
    }
}

impl Content {
    /// How much it is, where each rank contributes this size.
    pub fn size(self, kind: Collective, ranks: u32, size: Bytes) -> Bytes {
        let times = |count: u32| Bytes(size.0.saturating_mul(u64::from(count)));
        match self {
            Self::Signal => Bytes(0),
            Self::Vector | Self::Part => size,
            Self::Ways { bit } => {
                times((1..ranks).filter(|way| way >> bit & 1 == 1).count() as u32)
            }
            Self::Blocks { first, count } => match kind {
                Collective::AllReduce | Collective::ReduceScatter => {
                    run_of_vector(ranks, size, first, count)
                }
                _ => times(count),
            },
        }
    }
}

/// The size of a run of the blocks that a vector is cut into, one for each rank.
fn run_of_vector(ranks: u32, size: Bytes, first: u32, count: u32) -> Bytes {
    let start = |block: u32| {
        let before = u128::from(size.0) * u128::from(block) / u128::from(ranks);
        before as u64
    };
    let end = u64::from(first) + u64::from(count);
    if end <= u64::from(ranks) {
        Bytes(start(end as u32) - start(first))
    } else {
        Bytes(size.0 - start(first) + start((end - u64::from(ranks)) as u32))
    }
}
