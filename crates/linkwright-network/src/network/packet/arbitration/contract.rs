//! Holds every arbiter to its contract. Whoever writes one can ask for it.

use super::{ArbiterMemory, Arbitration, Candidate, Slot, WaitingQueues};
use crate::diagnostic::Registry;
use crate::engine::Random;
use crate::network::transport::Message;
use crate::units::{Bytes, Picoseconds};

/// How many packets at most may pass another for each queue of a channel.
const MOST_PASSING: usize = 256;

/// How many channels are tried.
const TRIALS: u64 = 8;

/// The first packets of a channel's queues, as an arbiter sees them.
#[derive(Debug, Clone, Default)]
pub struct Waiting {
    /// Holds the first packet of each queue.
    pub candidates: Vec<Candidate>,
    /// Each is of one of these messages.
    pub messages: Vec<Message>,
    /// Tells the time.
    pub now: Picoseconds,
}

impl WaitingQueues for Waiting {
    fn now(&self) -> Picoseconds {
        self.now
    }

    fn first_from(&self, slot: Slot) -> Option<Slot> {
        self.candidates.iter().map(|candidate| candidate.slot).filter(|other| *other >= slot).min()
    }

    fn candidate(&self, slot: Slot) -> Candidate {
        self.candidates[self.place(slot)]
    }

    fn message(&self, slot: Slot) -> Message {
        self.messages[self.place(slot)]
    }
}

impl Waiting {
    fn place(&self, slot: Slot) -> usize {
        let found = self.candidates.iter().position(|candidate| candidate.slot == slot);
        found.unwrap_or_else(|| panic!("nothing waits in queue {slot}"))
    }

    /// Adds a packet of a message of that size, in the next queue.
    pub fn add(&mut self, size: Bytes, priority: u8) {
        let slot = self.candidates.len() as Slot;
        self.now.0 += 1;
        let packet = Bytes(size.0.min(4096));
        let candidate = Candidate { slot, created: self.now.0, priority, size: packet, hops: 1 };
        self.candidates.push(candidate);
        self.messages.push(Message::new(0, 1, size, slot.into()));
    }
}

/// Tries every arbiter of a registry on queues that are drawn by chance.
///
/// # Errors
/// Fails with the first fault of an arbiter, in words.
pub fn hold(arbiters: &Registry<dyn Arbitration>) -> Result<(), String> {
    for arbiter in arbiters.iter() {
        for seed in 0..TRIALS {
            let mut random = Random::new(seed);
            let mut below = |bound: u64| bound.try_into().map_or(0, |bound| random.below(bound));
            let mut waiting = Waiting::default();
            for _ in 0..=seed {
                waiting.add(Bytes(below(1 << 20)), below(3) as u8);
            }
            nobody_waits_for_ever(arbiter, MOST_PASSING, waiting)?;
        }
    }
    Ok(())
}

/// Replaces whoever goes by a newer packet of the same queue, until each queue could have been passed by
/// that many packets.
///
/// # Errors
/// A queue that an arbiter never serves, one that it serves although nothing waits there, or none
/// where something waits.
pub fn nobody_waits_for_ever(
    arbiter: &dyn Arbitration,
    passing: usize,
    mut waiting: Waiting,
) -> Result<(), String> {
    let mut memory = ArbiterMemory::default();
    let mut served = vec![false; waiting.candidates.len()];
    for _ in 0..served.len() * (passing + 2) {
        let chosen = arbiter.choose(&mut memory, &waiting).map(|slot| slot as usize);
        let Some(slot) = chosen.filter(|slot| *slot < served.len()) else {
            return Err(format!("`{}` chooses {chosen:?} of {}", arbiter.name(), served.len()));
        };
        waiting.now.0 += 1;
        waiting.candidates[slot].created = waiting.now.0;
        served[slot] = true;
    }
    if let Some(slot) = served.iter().position(|served| !*served) {
        return Err(format!("`{}` never serves queue {slot}", arbiter.name()));
    }
    match arbiter.choose(&mut memory, &Waiting::default()) {
        Some(slot) => Err(format!("`{}` chooses {slot} of none", arbiter.name())),
        None => Ok(()),
    }
}
