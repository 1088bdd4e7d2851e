//! The sets of GPUs with the highest effective bandwidth by the sound model.
//!
//! A set's links give at once a bound on its packing, so that most sets need not be packed.

use super::candidates::{Candidates, MAX_SETS, combinations, combinations_up_to};
use super::effort::Effort;
use super::gpu_set::GpuSet;
use super::matching::rank::Primary;
use super::nearness::{FreeDistances, Ties};
use super::prepared::{BandwidthModel, PreparedMachine};
use super::selection::Objective;

impl PreparedMachine {
    /// These sets, where all can be bounded but not all computed: best bound first, until no
    /// bound is left that reaches the best. `None` where this is not so; a half of the effort is
    /// left for the search.
    pub(super) fn most_effective(
        &self,
        size: usize,
        free: GpuSet,
        objective: Objective,
        effort: &mut Effort<'_>,
    ) -> Option<Candidates> {
        let by_sets = objective == Objective::Effective && self.model() == BandwidthModel::Sound;
        let sets = combinations_up_to(free.len(), size, MAX_SETS)?;
        if !by_sets || self.can_try_all(free.len(), size, objective) {
            return None;
        }
        let (enough, reserve) = (effort.left() / 8 * 5, effort.left() / 2);
        effort.spend(sets * (1 + (size * size) as u64 / 256));
        let bound = |set: GpuSet| (self.sound_bandwidth_at_most(set), set);
        let mut order: Vec<(f64, GpuSet)> = combinations(free, size).map(bound).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut computed: Vec<(Primary, GpuSet)> = Vec::new();
        let (mut most, mut limit) = (0.0_f64, None);
        for (bound, set) in order {
            // The bound is the same number computed in another way where it is attained.
            if bound * (1.0 + 1e-12) < most {
                break;
            }
            if effort.left() <= enough {
                limit = Some(Primary::of_prediction(bound));
                break;
            }
            effort.spend(self.sound_steps(size));
            let value = self.sound_bandwidth(set);
            most = most.max(value);
            computed.push((Primary::of_prediction(value), set));
        }
        if limit.is_some() {
            for set in self.grow_all(size, free, objective, reserve, effort) {
                effort.spend(self.sound_steps(size));
                computed.push((Primary::of_prediction(self.sound_bandwidth(set)), set));
            }
        }
        computed.sort_unstable_by_key(|(_, set)| set.lowest_ids_key());
        computed.dedup();
        if self.ties() == Ties::Nearest {
            let distances = FreeDistances::new(&self.distances, free);
            computed.sort_by_cached_key(|(_, set)| distances.nearness(*set));
        }
        let compared = if limit.is_none() { sets } else { computed.len() as u64 };
        let (primaries, kept) = computed.into_iter().unzip();
        Some(Candidates { sets: kept, compared, primaries, complete: limit.is_none(), limit })
    }
}
