//! Which of the queues that wait for a link it serves next.

use crate::network::packet::arbitration::{ArbiterMemory, Slot};

use super::settings::PcieArbitration;

/// A queue whose first packet could cross the link now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Gives the queue. There is one for each virtual channel and port, numbered by both in turn.
    pub slot: Slot,
    /// Since when that packet has been the first.
    pub since: u64,
    /// Gives the virtual channel that its traffic class is mapped to, 7 first. It lies above that
    /// where its deadline would pass.
    pub level: u8,
}

/// The queue that is served; `None` only where there is none.
///
/// By strict priority, a packet that has been first of its queue for `bound` goes before all
/// others. Of several, the one that has waited longest goes first. None waits for longer than that
/// and the packets that are overdue with it.
#[must_use]
pub fn choose(
    arbitration: PcieArbitration,
    bound: u64,
    now: u64,
    memory: &mut ArbiterMemory,
    heads: &[Head],
) -> Option<Slot> {
    let next = memory.next;
    let turn = |head: &&Head| (head.slot < next, head.slot);
    let chosen = match arbitration {
        PcieArbitration::RoundRobin => heads.iter().min_by_key(turn),
        PcieArbitration::Throughput | PcieArbitration::Qos => {
            let overdue = heads.iter().filter(|head| now.saturating_sub(head.since) >= bound);
            let first = overdue.min_by_key(|head| (head.since, turn(head)));
            first.or_else(|| heads.iter().min_by_key(|head| (u8::MAX - head.level, turn(head))))
        }
    };
    let slot = chosen?.slot;
    memory.next = slot + 1;
    Some(slot)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::diagnostic::Named;

    /// How long a packet takes.
    const PACKET: u64 = 10;

    /// A queue of a link: since when each of its packets has been first, and its level.
    #[derive(Debug, Default)]
    struct Queue {
        packets: VecDeque<u32>,
        since: u64,
        level: u8,
    }

    /// Asserts the contract of every arbiter, on a link of some queues to which packets come. It
    /// serves one whenever there is one, and each queue in its order. No first packet waits for
    /// longer than `bound` and the other overdue packets; without strict priority, queues take
    /// turns.
    fn assert_contract(arbitration: PcieArbitration, bound: u64, arrivals: &[(usize, u8, u64)]) {
        let mut queues: Vec<Queue> = (0..8).map(|_| Queue::default()).collect();
        let mut memory = ArbiterMemory::default();
        let (mut now, mut next, mut served) = (0, 0, vec![Vec::new(); 8]);
        while next < arrivals.len() || queues.iter().any(|queue| !queue.packets.is_empty()) {
            while let Some((queue, level, time)) = arrivals.get(next).filter(|it| it.2 <= now) {
                let queue = &mut queues[*queue];
                if queue.packets.is_empty() {
                    queue.since = *time;
                }
                // A new command maps the classes anew.
                queue.level = *level;
                queue.packets.push_back(next as u32);
                next += 1;
            }
            let waiting = (0..).zip(&queues).filter(|(_, queue)| !queue.packets.is_empty());
            let heads: Vec<Head> = waiting
                .map(|(slot, queue)| Head { slot, since: queue.since, level: queue.level })
                .collect();
            let chosen = choose(arbitration, bound, now, &mut memory, &heads);
            assert_eq!(chosen.is_some(), !heads.is_empty(), "a link rests only if nothing waits");
            let Some(slot) = chosen else {
                now = arrivals[next].2;
                continue;
            };
            let queue = &mut queues[slot as usize];
            let waited = now - queue.since;
            let others = 8 * PACKET;
            let most = if arbitration == PcieArbitration::RoundRobin { 0 } else { bound };
            assert!(waited <= most + others, "{arbitration:?}: {waited} of {bound}");
            served[slot as usize].extend(queue.packets.pop_front());
            queue.since = now;
            now += PACKET;
        }
        assert!(served.iter().all(|order| order.is_sorted()), "each queue keeps its order");
        assert_eq!(served.iter().map(Vec::len).sum::<usize>(), arrivals.len());
    }

    proptest! {
        #[test]
        fn every_arbiter_keeps_the_contract(
            bound in 1_u64..400,
            mut arrivals in prop::collection::vec((0_usize..8, 0_u8..16, 0_u64..2000), 1..300),
        ) {
            arrivals.sort_by_key(|it| it.2);
            for (_, arbitration) in PcieArbitration::NAMED {
                assert_contract(*arbitration, bound, &arrivals);
            }
        }
    }

    #[test]
    fn the_highest_level_goes_first_and_what_is_overdue_before_it() {
        let head = |slot, since, level| Head { slot, since, level };
        let heads = [head(0, 0, 1), head(3, 5, 7), head(5, 9, 7)];
        let mut memory = ArbiterMemory::default();
        let mut at = |now, bound| {
            choose(PcieArbitration::Throughput, bound, now, &mut memory, &heads).unwrap()
        };
        assert_eq!([at(9, 100), at(9, 100), at(9, 100)], [3, 5, 3]);
        assert_eq!([at(10, 10), at(10, 4)], [0, 0]);
        let turns: Vec<_> = (0..4)
            .filter_map(|_| choose(PcieArbitration::RoundRobin, 1, 99, &mut memory, &heads))
            .collect();
        assert_eq!(turns, [3, 5, 0, 3]);
    }
}
