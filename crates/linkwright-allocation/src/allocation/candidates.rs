//! The sets of GPUs that compete for a job.
//!
//! While the sets are few, all of them compete. On larger machines sets are grown from every GPU.
//! They are improved by exchanging one GPU for another as long as that helps.

use std::cmp::Reverse;

use super::effort::Effort;
use super::gpu_set::GpuSet;
use super::links::FreePairs;
use super::matching::rank::Primary;
use super::nearness::{FreeDistances, Ties};
use super::prepared::{BandwidthModel, PreparedMachine};
use super::selection::Objective;

/// The most sets of GPUs that a machine of more than 16 GPUs tries one by one: all of 20.
pub const MAX_SETS: u64 = 200_000;

/// Sets that compete.
pub(super) struct Candidates {
    /// The sets: of two that tie in all else, the better one first.
    pub sets: Vec<GpuSet>,
    /// How many sets were compared, those included that a bound ruled out.
    pub compared: u64,
    /// Holds the objective's score of each set, as far as it depends on the set alone.
    pub primaries: Vec<Primary>,
    /// Whether there are no others that could be better.
    pub complete: bool,
    /// Bounds the objective's score of all other sets, where a bound is known.
    pub limit: Option<Primary>,
}

impl Candidates {
    /// Drops all sets that `count` others beat whatever match they allow.
    pub fn keep_best(&mut self, count: usize) {
        if count >= self.sets.len() {
            return;
        }
        let mut order = self.primaries.clone();
        let (_, least, _) = order.select_nth_unstable_by(count - 1, |a, b| b.cmp(a));
        let least = *least;
        let paired = self.sets.iter().copied().zip(self.primaries.iter().copied());
        (self.sets, self.primaries) = paired.filter(|(_, primary)| *primary >= least).unzip();
    }
}

impl PreparedMachine {
    /// Returns the sets of `size` free GPUs that compete, at least one.
    pub(super) fn candidates(
        &self,
        size: usize,
        free: GpuSet,
        objective: Objective,
        effort: &mut Effort<'_>,
    ) -> Candidates {
        if self.tables.is_none()
            && let Some(found) = self.most_effective(size, free, objective, effort)
        {
            return found;
        }
        let (mut sets, all) = match self.sets_of(size, free) {
            Some(sets) => (sets, true),
            None if self.can_try_all(free.len(), size, objective) => {
                (combinations(free, size).collect(), true)
            }
            None => {
                let reserve = effort.left() / 2;
                (self.grow_all(size, free, objective, reserve, effort), false)
            }
        };
        self.sort_ties(&mut sets, free, effort);
        let mut primaries = Vec::with_capacity(sets.len());
        let by_pairs = objective == Objective::Preserved && self.tables.is_none();
        let pairs = by_pairs.then(|| FreePairs::new(&self.pairs, free));
        for set in &sets {
            primaries.push(match &pairs {
                Some(pairs) => {
                    let left = free.len() - set.len();
                    effort.spend((left * left) as u64 / 256);
                    Primary::of_bandwidth(pairs.without(*set))
                }
                None => self.primary(*set, free, objective, effort),
            });
            if effort.is_spent() {
                break;
            }
        }
        let complete = all && primaries.len() == sets.len();
        let compared = primaries.len() as u64;
        let sets = sets.into_iter().take(primaries.len()).collect();
        Candidates { sets, compared, primaries, complete, limit: None }
    }

    /// Lists all sets of free GPUs, `size` each, of a machine whose subsets are tabulated, lowest ids first.
    pub(super) fn sets_of(&self, size: usize, free: GpuSet) -> Option<Vec<GpuSet>> {
        let sets = self.tables.as_ref()?.subsets.of_size(size).iter();
        let sets = sets.map(|set| GpuSet(u128::from(*set)));
        Some(sets.filter(|set| set.is_subset_of(free)).collect())
    }

    /// Sorts sets that stand lowest ids first as ties between them are decided.
    fn sort_ties(&self, sets: &mut [GpuSet], free: GpuSet, effort: &mut Effort<'_>) {
        match (self.ties(), &self.tables) {
            (Ties::Published, _) => {}
            (Ties::Nearest, Some(_)) => sets.sort_by(|a, b| self.compare_ties(*a, *b, free)),
            (Ties::Nearest, None) => {
                effort.spend((sets.len() * free.len()) as u64 / 64);
                let distances = FreeDistances::new(&self.distances, free);
                sets.sort_by_cached_key(|set| distances.nearness(*set));
            }
        }
    }

    /// Returns the objective's score of a set, whatever match is laid on it.
    fn primary(
        &self,
        set: GpuSet,
        free: GpuSet,
        objective: Objective,
        effort: &mut Effort<'_>,
    ) -> Primary {
        match (objective, self.model()) {
            (Objective::Aggregated, _) | (Objective::Effective, BandwidthModel::Published) => {
                Primary::NONE
            }
            (Objective::Effective, BandwidthModel::Sound) => {
                effort.spend(self.sound_steps(set.len()));
                Primary::of_prediction(self.sound_bandwidth(set))
            }
            (Objective::Preserved, _) => {
                Primary::of_bandwidth(self.bandwidth_inside(free.without(set)).0)
            }
        }
    }

    pub(super) fn can_try_all(&self, free: usize, size: usize, objective: Objective) -> bool {
        let Some(sets) = combinations_up_to(free, size, MAX_SETS) else { return false };
        objective != Objective::Effective || sets * self.sound_steps(size) <= Effort::LIMIT / 2
    }

    /// Sets grown from every free GPU, lowest ids first, while there is more effort than the
    /// reserve.
    pub(super) fn grow_all(
        &self,
        size: usize,
        free: GpuSet,
        objective: Objective,
        reserve: u64,
        effort: &mut Effort<'_>,
    ) -> Vec<GpuSet> {
        let mut sets = Vec::new();
        for seed in free.iter() {
            sets.push(Growth::new(self, seed, size, free, objective, effort).exchange(effort));
            if effort.left() <= reserve {
                break;
            }
        }
        let unique = |sets: &mut Vec<GpuSet>| {
            sets.sort_unstable_by_key(|set| set.lowest_ids_key());
            sets.dedup();
        };
        unique(&mut sets);
        if objective == Objective::Effective {
            self.improve_effective(&mut sets, free, reserve, effort);
            unique(&mut sets);
        }
        sets
    }

    /// Exchanges GPUs of each set, the best set first. It goes on as long as that raises the set's
    /// effective bandwidth by the sound model and more effort than the reserve is left.
    fn improve_effective(
        &self,
        sets: &mut [GpuSet],
        free: GpuSet,
        reserve: u64,
        effort: &mut Effort<'_>,
    ) {
        let value = |set: GpuSet, effort: &mut Effort<'_>| {
            effort.spend(self.sound_steps(set.len()));
            self.sound_bandwidth(set)
        };
        let mut order = Vec::with_capacity(sets.len());
        for (index, set) in sets.iter().enumerate() {
            if effort.left() <= reserve {
                return;
            }
            order.push((value(*set, effort), index));
        }
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (mut most, index) in order {
            loop {
                let (set, mut better) = (sets[index], None);
                for (out, gpu) in exchanges(set, free) {
                    if effort.left() <= reserve {
                        break;
                    }
                    let other = set.without(GpuSet::EMPTY.with(out)).with(gpu);
                    let score = value(other, effort);
                    if score > most {
                        (most, better) = (score, Some(other));
                    }
                }
                let Some(better) = better else { break };
                sets[index] = better;
            }
        }
    }
}

/// Every GPU of the set with every free GPU that could take its place.
fn exchanges(set: GpuSet, free: GpuSet) -> impl Iterator<Item = (usize, usize)> {
    let others = free.without(set);
    set.iter().flat_map(move |out| others.iter().map(move |gpu| (out, gpu)))
}

/// A set with what each GPU would add to it.
///
/// The bandwidth inside the set is one sum, and so is the bandwidth inside the GPUs that it leaves.
/// Each is the bandwidth inside the set plus a figure of each member, so that one addition tries a
/// GPU.
struct Growth<'a> {
    machine: &'a PreparedMachine,
    free: GpuSet,
    set: GpuSet,
    /// Holds the part that each GPU brings whatever else is in the set, bytes per second.
    own: Vec<i64>,
    /// Holds the bandwidth from each GPU to the set, bytes per second.
    to_set: Vec<i64>,
}

impl<'a> Growth<'a> {
    /// Grows a set from one GPU by the best next GPU.
    fn new(
        machine: &'a PreparedMachine,
        seed: usize,
        size: usize,
        free: GpuSet,
        objective: Objective,
        effort: &mut Effort<'_>,
    ) -> Self {
        let count = machine.gpu_count();
        let (set, to_set) = (GpuSet::EMPTY, vec![0; count]);
        let mut growth = Self { machine, free, set, own: vec![0; count], to_set };
        if objective == Objective::Preserved {
            for gpu in free.iter() {
                growth.own[gpu] = -free.iter().map(|other| growth.weight(gpu, other)).sum::<i64>();
            }
            effort.spend((free.len() * free.len()) as u64 / 64);
        }
        growth.add(seed);
        while growth.set.len() < size {
            let others = free.without(growth.set);
            let gain = |gpu: &usize| growth.own[*gpu] + growth.to_set[*gpu];
            // Behind switches every GPU gains as much, and the near ones are to grow together.
            let (near, steps) = match machine.ties() {
                Ties::Published => (None, others.len() / 64),
                Ties::Nearest => (Some(&machine.distances), others.len() / 16),
            };
            let added = |gpu: &usize| near.map(|near| near.added(growth.set, *gpu));
            let key = |gpu: &usize| (gain(gpu), Reverse(added(gpu)), usize::MAX - gpu);
            let Some(next) = others.iter().max_by_key(key) else { break };
            growth.add(next);
            effort.spend(1 + steps as u64);
        }
        growth
    }

    /// Exchanges one GPU for another, the best first, as long as that helps and the effort
    /// lasts.
    fn exchange(mut self, effort: &mut Effort<'_>) -> GpuSet {
        while !effort.is_spent() {
            let tried = self.set.len() * self.free.without(self.set).len();
            effort.spend(1 + tried as u64 / 64);
            let gain = |(out, gpu): &(usize, usize)| {
                let joined = self.own[*gpu] + self.to_set[*gpu] - self.weight(*gpu, *out);
                joined - self.own[*out] - self.to_set[*out]
            };
            let all = exchanges(self.set, self.free).map(|pair| (gain(&pair), pair));
            let best = all.reduce(|best, other| if other.0 > best.0 { other } else { best });
            let Some((_, (out, gpu))) = best.filter(|(gain, _)| *gain > 0) else { break };
            self.remove(out);
            self.add(gpu);
        }
        self.set
    }

    // A weight is at most 5 * 10^13 bytes per second, so that sums of 8,128 fit well.
    fn weight(&self, a: usize, b: usize) -> i64 {
        self.machine.pairs.weight(a, b) as i64
    }

    fn add(&mut self, gpu: usize) {
        self.set = self.set.with(gpu);
        for other in 0..self.to_set.len() {
            self.to_set[other] += self.weight(gpu, other);
        }
    }

    fn remove(&mut self, gpu: usize) {
        self.set = self.set.without(GpuSet::EMPTY.with(gpu));
        for other in 0..self.to_set.len() {
            self.to_set[other] -= self.weight(gpu, other);
        }
    }
}

/// How many subsets of that size there are, or `None` where they are more than the limit.
pub(super) fn combinations_up_to(count: usize, size: usize, limit: u64) -> Option<u64> {
    let mut total: u64 = 1;
    for step in 0..size.min(count - size) as u64 {
        total = total * (count as u64 - step) / (step + 1);
        if total > limit {
            return None;
        }
    }
    Some(total)
}

/// Lists all subsets of that size, lowest ids first.
pub(super) fn combinations(gpus: GpuSet, size: usize) -> impl Iterator<Item = GpuSet> {
    let ids: Vec<usize> = gpus.iter().collect();
    let mut picked: Option<Vec<usize>> = (size <= ids.len()).then(|| (0..size).collect());
    std::iter::from_fn(move || {
        let now = picked.as_mut()?;
        let set = now.iter().map(|at| ids[*at]).collect();
        match (0..size).rev().find(|at| now[*at] < ids.len() - size + at) {
            None => picked = None,
            Some(at) => {
                now[at] += 1;
                for later in at + 1..size {
                    now[later] = now[later - 1] + 1;
                }
            }
        }
        Some(set)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{BandwidthProfile, DeviceKind, LinkKind, ServerBuilder};

    /// Builds a machine of twenty-four GPUs on one bridge, some pairs with one to three NVLinks.
    fn uneven() -> PreparedMachine {
        let mut builder = ServerBuilder::new("uneven", "test");
        let bridge = builder.device("bridge", DeviceKind::HostBridge, None).unwrap();
        for gpu in 0..24 {
            let id = builder.device(&format!("GPU{gpu}"), DeviceKind::Gpu, None).unwrap();
            builder.data_sheet_link(id, bridge, LinkKind::Pcie3, 1).unwrap();
            for before in [1, 2, 5, 7].into_iter().filter(|before| *before <= gpu) {
                let count = 1 + (gpu * before % 3) as u32;
                builder.data_sheet_link(id - before, id, LinkKind::Nvlink2, count).unwrap();
            }
        }
        let machine = builder.build().unwrap();
        PreparedMachine::new(&machine, BandwidthProfile::Mapa, BandwidthModel::Sound).unwrap()
    }

    #[test]
    fn exchanges_raise_the_effective_bandwidth_until_none_does() {
        let (machine, free) = (uneven(), GpuSet::first(24));
        for size in [2, 4, 6] {
            let start: GpuSet = free.iter().step_by(24 / size).take(size).collect();
            let mut sets = [start];
            machine.improve_effective(&mut sets, free, 0, &mut Effort::new());
            let reached = machine.sound_bandwidth(sets[0]);
            assert!(reached > machine.sound_bandwidth(start), "{size}: {}", sets[0]);
            for (out, gpu) in exchanges(sets[0], free) {
                let other = sets[0].without(GpuSet::EMPTY.with(out)).with(gpu);
                assert!(machine.sound_bandwidth(other) <= reached, "{size}: {other}");
            }
        }
    }

    #[test]
    fn so_many_subsets_there_are() {
        for (count, size) in [(5, 0), (5, 2), (6, 6), (7, 3)] {
            let all: Vec<GpuSet> = combinations(GpuSet::first(count), size).collect();
            assert!(all.is_sorted_by(|a, b| a.lowest_ids_key() < b.lowest_ids_key()));
            assert!(all.iter().all(|set| set.len() == size));
            assert_eq!(combinations_up_to(count, size, 100), Some(all.len() as u64));
        }
        assert_eq!(combinations_up_to(20, 10, MAX_SETS), Some(184_756));
        assert_eq!(combinations_up_to(20, 10, 184_755), None);
    }
}
