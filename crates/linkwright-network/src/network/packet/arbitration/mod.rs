//! Chooses which of the packets that wait for a channel crosses it next.
//!
//! An [`Arbitration`] stands in one file; [`arbiters`] has Linkwright's own.

pub mod contract;
mod oldest_first;
mod strict_priority;
mod turn_by_turn;

pub use oldest_first::OldestFirst;
pub use strict_priority::{DEFAULT_PATIENCE, StrictPriority};
pub use turn_by_turn::TurnByTurn;

use std::fmt;

use crate::diagnostic::{Registered, Registry};
use crate::network::transport::Message;
use crate::units::{Bytes, Picoseconds};

/// A queue of packets that wait for a channel. It has one for each virtual channel and input port.
pub type Slot = u32;

/// An arbiter knows this of a queue's first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// It waits in this queue.
    pub slot: Slot,
    /// When it was made, in picoseconds.
    pub created: u64,
    /// Its message has this priority, the higher first.
    pub priority: u8,
    /// How much of its message it carries.
    pub size: Bytes,
    /// How many switches it has left so far.
    pub hops: u8,
}

/// The queues whose first packet could cross a channel now, and all that an arbiter may ask of them.
pub trait WaitingQueues {
    /// Tells the time.
    fn now(&self) -> Picoseconds;

    /// Finds the first queue from a slot on, if there is one.
    fn first_from(&self, slot: Slot) -> Option<Slot>;

    /// Says what the queue's first packet is.
    fn candidate(&self, slot: Slot) -> Candidate;

    /// Gives the message of that packet: its size, its ends and its class.
    fn message(&self, slot: Slot) -> Message;
}

/// Tells an arbiter what happened at a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArbiterMemory {
    /// Follows the slot that went last.
    pub next: Slot,
    /// How many went since the oldest did.
    pub passed: u32,
}

/// A policy that chooses among the packets that wait. People choose it by its name.
pub trait Arbitration: Registered + fmt::Debug {
    /// Chooses the queue whose first packet goes; `None` only where there is no candidate.
    fn choose(&self, memory: &mut ArbiterMemory, candidates: &dyn WaitingQueues) -> Option<Slot>;
}

impl PartialEq for dyn Arbitration {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Arbitration {}

/// Lists Linkwright's own arbiters.
#[must_use]
pub fn arbiters() -> Registry<dyn Arbitration> {
    const PRIORITY: StrictPriority = StrictPriority { patience: DEFAULT_PATIENCE };
    Registry::new("arbitration", &[&TurnByTurn, &OldestFirst, &PRIORITY])
}

/// Lists what waits.
pub fn all(candidates: &dyn WaitingQueues) -> impl Iterator<Item = Candidate> {
    let mut from = Some(0);
    std::iter::from_fn(move || {
        let slot = candidates.first_from(from?)?;
        from = slot.checked_add(1);
        Some(candidates.candidate(slot))
    })
}

/// Finds the queue of the packet that was made first.
#[must_use]
pub fn oldest(candidates: &dyn WaitingQueues) -> Option<Slot> {
    all(candidates).min_by_key(|candidate| candidate.created).map(|candidate| candidate.slot)
}

/// Takes the best, or the oldest after `patience` packets in a row that were not.
pub fn best_with_patience(
    best: Slot,
    patience: u32,
    memory: &mut ArbiterMemory,
    candidates: &dyn WaitingQueues,
) -> Option<Slot> {
    let oldest = oldest(candidates)?;
    let chosen = if memory.passed >= patience { oldest } else { best };
    memory.passed = if chosen == oldest { 0 } else { memory.passed + 1 };
    memory.next = chosen + 1;
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::contract::Waiting;
    use super::*;

    fn at(slot: Slot, created: u64, priority: u8) -> Candidate {
        Candidate { slot, created, priority, size: Bytes(1), hops: 1 }
    }

    #[test]
    fn each_policy_chooses_as_it_says() {
        let candidates = vec![at(1, 30, 0), at(4, 10, 1), at(6, 20, 2)];
        let waiting = Waiting { candidates, ..Waiting::default() };
        let mut memory = ArbiterMemory { next: 2, passed: 0 };
        assert_eq!(TurnByTurn.choose(&mut memory, &waiting), Some(4));
        assert_eq!(TurnByTurn.choose(&mut memory, &waiting), Some(6));
        assert_eq!(TurnByTurn.choose(&mut memory, &waiting), Some(1));
        assert_eq!(OldestFirst.choose(&mut memory, &waiting), Some(4));
        let strict = StrictPriority { patience: 2 };
        let mut memory = ArbiterMemory::default();
        let order: Vec<_> = (0..4).map(|_| strict.choose(&mut memory, &waiting)).collect();
        assert_eq!(order, [Some(6), Some(6), Some(4), Some(6)]);
    }

    #[test]
    fn one_that_starves_others_is_seen() {
        #[derive(Debug)]
        struct Newest;
        impl Registered for Newest {
            fn name(&self) -> &'static str {
                "newest"
            }
        }
        impl Arbitration for Newest {
            fn choose(&self, _: &mut ArbiterMemory, queues: &dyn WaitingQueues) -> Option<Slot> {
                all(queues).max_by_key(|candidate| candidate.created).map(|newest| newest.slot)
            }
        }
        let fault = contract::hold(&Registry::new("arbiter", &[&Newest])).unwrap_err();
        assert_eq!(fault, "`newest` never serves queue 0");
    }

    proptest! {
        /// The contract of every policy: it chooses a candidate whenever there is one, and
        /// serves any candidate that keeps waiting within a bound.
        #[test]
        fn nobody_waits_for_ever(
            priorities in prop::collection::vec(0_u8..3, 1..20),
            patience in 0_u32..5,
        ) {
            let mut waiting = Waiting::default();
            priorities.iter().for_each(|priority| waiting.add(Bytes(1), *priority));
            let held = |arbiter: &dyn Arbitration| {
                contract::nobody_waits_for_ever(arbiter, patience as usize, waiting.clone())
            };
            for arbiter in [&TurnByTurn as &dyn Arbitration, &OldestFirst, &StrictPriority { patience }] {
                prop_assert_eq!(held(arbiter), Ok(()));
            }
        }
    }

    #[test]
    fn every_arbiter_holds_the_contract() {
        contract::hold(&arbiters()).unwrap();
    }
}
