//! Which of the packets that wait for a channel crosses it next.

use crate::diagnostic::Named;

/// A queue of packets that wait for a channel: one for each virtual channel and input port.
pub type Slot = u32;

/// What an arbiter may know of a queue's first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Its queue.
    pub slot: Slot,
    /// When it was made, in picoseconds.
    pub created: u64,
    /// Its message's priority, the higher first.
    pub priority: u8,
}

/// The queues whose first packet could cross a channel now.
pub trait WaitingQueues {
    /// The first queue from a slot on, if there is one.
    fn first_from(&self, slot: Slot) -> Option<Slot>;

    /// What the queue's first packet is.
    fn candidate(&self, slot: Slot) -> Candidate;
}

/// What an arbiter remembers of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArbiterMemory {
    /// The slot behind the one that went last.
    pub next: Slot,
    /// How many went since the oldest did.
    pub passed: u32,
}

/// A policy that chooses among the packets that wait.
pub trait Arbitration {
    /// The queue whose first packet goes; `None` only where there is no candidate.
    fn choose(&self, memory: &mut ArbiterMemory, candidates: &impl WaitingQueues) -> Option<Slot>;
}

/// Each queue in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TurnByTurn;

/// The packet that was made first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OldestFirst;

/// The highest priority, and among equals each queue in turn; but after `patience` packets in
/// a row that were not the oldest, the oldest goes, so that none waits for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrictPriority {
    /// How many others may pass the oldest.
    pub patience: u32,
}

fn all(candidates: &impl WaitingQueues) -> impl Iterator<Item = Candidate> {
    let mut from = Some(0);
    std::iter::from_fn(move || {
        let slot = candidates.first_from(from?)?;
        from = slot.checked_add(1);
        Some(candidates.candidate(slot))
    })
}

fn oldest(candidates: &impl WaitingQueues) -> Option<Slot> {
    all(candidates).min_by_key(|candidate| candidate.created).map(|candidate| candidate.slot)
}

impl Arbitration for TurnByTurn {
    fn choose(&self, memory: &mut ArbiterMemory, candidates: &impl WaitingQueues) -> Option<Slot> {
        let slot = candidates.first_from(memory.next).or_else(|| candidates.first_from(0))?;
        memory.next = slot + 1;
        Some(slot)
    }
}

impl Arbitration for OldestFirst {
    fn choose(&self, _memory: &mut ArbiterMemory, candidates: &impl WaitingQueues) -> Option<Slot> {
        oldest(candidates)
    }
}

impl Arbitration for StrictPriority {
    fn choose(&self, memory: &mut ArbiterMemory, candidates: &impl WaitingQueues) -> Option<Slot> {
        let oldest = oldest(candidates)?;
        let next = memory.next;
        let turn = |slot: Slot| (slot < next, slot);
        let best = all(candidates)
            .max_by_key(|candidate| (candidate.priority, std::cmp::Reverse(turn(candidate.slot))))?
            .slot;
        let chosen = if memory.passed >= self.patience { oldest } else { best };
        memory.passed = if chosen == oldest { 0 } else { memory.passed + 1 };
        memory.next = chosen + 1;
        Some(chosen)
    }
}

/// The policies by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArbitrationPolicy {
    /// [`TurnByTurn`].
    #[default]
    RoundRobin,
    /// [`OldestFirst`].
    Age,
    /// [`StrictPriority`].
    Priority(StrictPriority),
}

/// How many packets may pass the oldest under strict priority, where nobody says.
pub const DEFAULT_PATIENCE: u32 = 64;

impl Named for ArbitrationPolicy {
    const WHAT: &'static str = "arbitration";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("round-robin", Self::RoundRobin),
        ("age", Self::Age),
        ("priority", Self::Priority(StrictPriority { patience: DEFAULT_PATIENCE })),
    ];
}

impl Arbitration for ArbitrationPolicy {
    fn choose(&self, memory: &mut ArbiterMemory, candidates: &impl WaitingQueues) -> Option<Slot> {
        match self {
            Self::RoundRobin => TurnByTurn.choose(memory, candidates),
            Self::Age => OldestFirst.choose(memory, candidates),
            Self::Priority(policy) => policy.choose(memory, candidates),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl WaitingQueues for Vec<Candidate> {
        fn first_from(&self, slot: Slot) -> Option<Slot> {
            self.iter().map(|candidate| candidate.slot).filter(|other| *other >= slot).min()
        }

        fn candidate(&self, slot: Slot) -> Candidate {
            *self.iter().find(|candidate| candidate.slot == slot).unwrap()
        }
    }

    fn at(slot: Slot, created: u64, priority: u8) -> Candidate {
        Candidate { slot, created, priority }
    }

    #[test]
    fn each_policy_chooses_as_it_says() {
        let waiting = vec![at(1, 30, 0), at(4, 10, 1), at(6, 20, 2)];
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

    proptest! {
        /// The contract of every policy: it chooses a candidate whenever there is one, and
        /// serves any candidate that keeps waiting within a bound.
        #[test]
        fn nobody_waits_for_ever(
            priorities in prop::collection::vec(0_u8..3, 1..20),
            patience in 0_u32..5,
        ) {
            let policies = [
                ArbitrationPolicy::RoundRobin,
                ArbitrationPolicy::Age,
                ArbitrationPolicy::Priority(StrictPriority { patience }),
            ];
            for policy in policies {
                let mut memory = ArbiterMemory::default();
                let mut time = 0;
                let mut waiting: Vec<_> = priorities
                    .iter()
                    .enumerate()
                    .map(|(slot, priority)| { time += 1; at(slot as u32, time, *priority) })
                    .collect();
                let mut served = vec![false; waiting.len()];
                // Whoever goes is replaced by a newer packet of the same queue.
                for _ in 0..waiting.len() * (patience as usize + 2) {
                    let slot = policy.choose(&mut memory, &waiting).unwrap();
                    time += 1;
                    waiting[slot as usize].created = time;
                    served[slot as usize] = true;
                }
                prop_assert!(served.iter().all(|served| *served), "{policy:?}");
                prop_assert_eq!(policy.choose(&mut memory, &Vec::new()), None);
            }
        }
    }
}
