//! Whose copies go first over a PCIe bus, of jobs as fluids.
//!
//! The model: whenever a job begins to copy from its hosts, all jobs that copy are ranked by the
//! rest of their copies. This ranks them as [`pcie`](crate::network::pcie) ranks classes. Jobs with
//! a deadline that would pass go before all. Collectives go behind, as the stores of kernels do.
//!
//! The model leaves out that the classes below one root are eight, so that some jobs share one. It
//! leaves out the bound on how long a first packet waits.

use crate::network::PcieSettings;
use crate::network::pcie::{First, PcieArbitration};
use crate::units::{Bytes, Picoseconds};

/// Who goes first where not all classes are one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arbiter {
    first: First,
    heeds_deadlines: bool,
}

/// Describes the copies that the GPUs of a job make at once, each by a command of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Copies {
    /// Gives the bytes of one.
    pub(super) size: Bytes,
    /// How long all may take from the start of what is on its way.
    pub(super) within: Option<Picoseconds>,
}

/// A job that copies over the bus.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    /// Gives the rest of each copy, in bytes.
    pub(super) left: u64,
    /// When it is due, and from when on nothing may go before it.
    pub(super) due: Option<(Picoseconds, Picoseconds)>,
}

impl Arbiter {
    /// Returns the arbiter of a bus; None where all share evenly.
    pub(super) fn of(settings: Option<&PcieSettings>) -> Option<Self> {
        let PcieSettings { arbitration, first, .. } = *settings?;
        let heeds_deadlines = match arbitration {
            PcieArbitration::RoundRobin => return None,
            PcieArbitration::Throughput => false,
            PcieArbitration::Qos => true,
        };
        Some(Self { first, heeds_deadlines })
    }

    /// The class of each, the higher before the lower, and when to look again if nothing begins before.
    pub(super) fn classes(
        self,
        waiting: &[Waiting],
        now: Picoseconds,
    ) -> (Vec<u8>, Option<Picoseconds>) {
        let dues = || waiting.iter().filter_map(|one| one.due).filter(|_| self.heeds_deadlines);
        // Due copies go by their deadline, the others by their rest; of equals the first goes
        // first.
        let rank = |one: &Waiting| match one.due.filter(|(_, from)| *from <= now) {
            Some((due, _)) if self.heeds_deadlines => (0, due.0),
            _ if self.first == First::Small => (1, one.left),
            _ => (1, u64::MAX - one.left),
        };
        let mut order: Vec<usize> = (0..waiting.len()).collect();
        order.sort_by_key(|index| rank(&waiting[*index]));
        let mut classes = vec![0; waiting.len()];
        for (index, class) in order.into_iter().zip((1..=u8::MAX).rev()) {
            classes[index] = class;
        }
        let look = dues().map(|(_, from)| from).filter(|from| *from > now).min();
        (classes, look)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arbiter(arbitration: PcieArbitration, first: First) -> Option<Arbiter> {
        Arbiter::of(Some(&PcieSettings { arbitration, first, ..PcieSettings::default() }))
    }

    #[test]
    fn what_is_left_ranks_and_what_would_be_late_goes_first() {
        assert!(arbiter(PcieArbitration::RoundRobin, First::Small).is_none());
        let [small, large, qos] = [
            (PcieArbitration::Throughput, First::Small),
            (PcieArbitration::Throughput, First::Large),
            (PcieArbitration::Qos, First::Small),
        ]
        .map(|(arbitration, first)| arbiter(arbitration, first).unwrap());
        let due = |due, from| Some((Picoseconds(due), Picoseconds(from)));
        let waiting = [
            Waiting { left: 10, due: None },
            Waiting { left: 30, due: due(900, 600) },
            Waiting { left: 20, due: due(800, 700) },
            Waiting { left: 10, due: None },
        ];
        let at = |arbiter: Arbiter, now| {
            let (classes, look) = arbiter.classes(&waiting, Picoseconds(now));
            let mut order: Vec<usize> = (0..waiting.len()).collect();
            order.sort_by_key(|index| std::cmp::Reverse(classes[*index]));
            (order, look)
        };
        assert_eq!(at(small, 1000), (vec![0, 3, 2, 1], None));
        assert_eq!(at(large, 1000), (vec![1, 2, 0, 3], None));
        assert_eq!(at(qos, 500), (vec![0, 3, 2, 1], Some(Picoseconds(600))));
        assert_eq!(at(qos, 600), (vec![1, 0, 3, 2], Some(Picoseconds(700))));
        assert_eq!(at(qos, 700), (vec![2, 1, 0, 3], None), "the first deadline goes first");
    }
}
