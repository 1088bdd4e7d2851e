//! Schedules that were played before, which are not played again.
//!
//! Four things decide the time of a lone schedule: its blocks' steps, its connections' shares of links,
//! its protocol's costs and its data. Links that cannot slow it do not count. On a day of shared servers jobs get GPUs that are joined
//! alike over and over, and their plans come down to the same. Each simulation therefore keeps the times that it
//! found. A time follows from its key alone, so that no answer depends on earlier questions. Links count by their
//! capacities, not by their names.
//!
//! A key is 128 bits of a hash. Two of a million schedules have the same with a probability of 10^-27.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::network::ResourceId;
use crate::units::{Bandwidth, Bytes, Picoseconds};

use super::lowered::LoweredSchedule;

/// All that decides how long a schedule takes in the chunks that suit it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key([u64; 2]);

/// A schedule has no faster run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// Its data is cut into this many pieces, which follow one another.
    pub(super) pieces: u64,
    pub(super) time: Picoseconds,
}

/// How long schedules take that were played, each in the chunks that suit it.
#[derive(Debug, Default)]
pub struct KnownTimes(BTreeMap<Key, Found>);

impl KnownTimes {
    /// The run that was kept for a key, if there is one.
    pub(super) fn find(&self, key: Key) -> Option<Found> {
        self.0.get(&key).copied()
    }

    /// Keeps what was found.
    pub(super) fn keep(&mut self, key: Key, found: Found) {
        self.0.insert(key, found);
    }
}

impl Key {
    /// Names a run of a schedule over `size` bytes on links of these capacities. `manner` says what else decides it.
    pub(super) fn of(
        lowered: &LoweredSchedule,
        size: Bytes,
        capacities: &[Bandwidth],
        manner: &str,
    ) -> Self {
        let mut hashers = [DefaultHasher::new(), DefaultHasher::new()];
        1_u8.hash(&mut hashers[1]);
        let (kernel, mut all) = (&lowered.kernel, Words(&mut hashers));
        all.text(manner);
        all.text(&format!("{:?}", lowered.protocol));
        all.words([size.0, lowered.shards, u64::from(lowered.chunks)]);
        all.words(
            [kernel.blocks.len(), kernel.steps.len(), lowered.paths.len()].map(|it| it as u64),
        );
        for block in &kernel.blocks {
            let ends = [block.outgoing, block.incoming];
            let ends = ends.map(|end| end.map_or(0, |connection| u64::from(connection) + 1));
            let (from, to) = block.steps;
            all.words([u64::from(block.rank), u64::from(from), u64::from(to), ends[0], ends[1]]);
        }
        for linked in &kernel.steps {
            let step = linked.step;
            let bits = [step.sends, step.receives, step.copies, linked.is_behind].map(u64::from);
            let bits = bits.into_iter().fold(0, |bits, bit| bits << 1 | bit);
            let waits = &kernel.waits[linked.waits.0 as usize..linked.waits.1 as usize];
            all.words([u64::from(step.count) << 4 | bits, waits.len() as u64]);
            waits.iter().for_each(|earlier| all.words([u64::from(*earlier)]));
        }
        let mut numbers: BTreeMap<ResourceId, u64> = BTreeMap::new();
        for (connection, path) in kernel.connections.iter().zip(&lowered.paths) {
            let ends = [connection.sender, connection.receiver, connection.lane].map(u64::from);
            all.words(ends);
            let limit = path.limit.map_or(u64::MAX, |limit| limit.0);
            let uses = path.uses.len() as u64;
            all.words([u64::from(connection.is_late), path.latency.0, limit, uses]);
            for (link, share) in &path.uses {
                let next = numbers.len() as u64;
                let number = *numbers.entry(*link).or_insert(next);
                all.words([number, share.to_bits(), capacities[*link].0]);
            }
        }
        Self(hashers.map(|hasher| hasher.finish()))
    }
}

/// Takes the parts of a key, one after the other.
struct Words<'a>(&'a mut [DefaultHasher; 2]);

impl Words<'_> {
    fn words<const COUNT: usize>(&mut self, words: [u64; COUNT]) {
        for hasher in &mut *self.0 {
            words.iter().for_each(|word| hasher.write_u64(*word));
        }
    }

    fn text(&mut self, text: &str) {
        self.0.iter_mut().for_each(|hasher| text.hash(hasher));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::Collective;
    use crate::collectives::planners::plan::{OneHop, Packing, Planner, Question, plan};
    use crate::collectives::schedule::time::{Player, fastest_by, protocol_on, resources};
    use crate::system::test_support::on_one_switch;
    use crate::system::{System, Wiring};

    /// The key and the time of a plan of an all-reduce. A known time is not played.
    fn played(
        system: &System,
        gpus: &[usize],
        (planner, size): (&dyn Planner, u64),
        known: &mut KnownTimes,
    ) -> (Key, Picoseconds) {
        let plan = plan(planner, &Question::new(system, gpus, Collective::AllReduce)).unwrap();
        let wiring = Wiring::of_gpus(system, gpus);
        let (routes, costs) = (resources(&wiring), protocol_on(&plan.schedule, &wiring));
        let player = Player::on(&plan.schedule, &routes, &costs).unwrap();
        let time = fastest_by(&player, Bytes(size), known).unwrap().time;
        (player.key(Bytes(size)), time)
    }

    #[test]
    fn the_same_gpus_of_another_server_are_played_once_and_others_again() {
        let pair = on_one_switch("dgx1-v100", 2, 100);
        let mut known = KnownTimes::default();
        let mut of = |gpus: &[usize], of| (played(&pair, gpus, of, &mut known), known.0.len());
        let usual = (&Packing as &dyn Planner, 1_000_000);
        let first = of(&[0, 2, 3], usual);
        assert_eq!(of(&[8, 10, 11], usual), first);
        let others = [
            (&[0, 2, 3][..], (&Packing as &dyn Planner, 1_000_001)),
            // Without a double link.
            (&[0, 1, 4], usual),
            (&[0, 2, 3, 6], usual),
            (&[0, 2, 3], (&OneHop, 1_000_000)),
        ];
        for (count, (gpus, what)) in (2..).zip(others) {
            let ((key, _), played) = of(gpus, what);
            assert_ne!(key, first.0.0, "{gpus:?} {what:?}");
            assert_eq!(played, count, "{gpus:?} {what:?}");
        }
    }
}
