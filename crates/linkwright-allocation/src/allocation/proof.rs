//! How far from the best a match may be.

use super::gpu_set::GpuSet;
use super::matching::ceiling::{most_aggregated, most_inside};
use super::matching::plan::Plan;
use super::matching::rank::{Primary, Rank};
use super::matching::scores::{MatchScore, Published};
use super::prepared::{BandwidthModel, PreparedMachine};
use super::selection::Objective;
use crate::allocation::effort::Effort;

/// Predictions that differ by less are the same number, computed in two ways.
const SAME: f64 = 1e-12;

impl PreparedMachine {
    /// A rank that no match on any set of these GPUs exceeds.
    pub(super) fn ceiling(
        &self,
        plan: &Plan<'_>,
        free: GpuSet,
        objective: Objective,
        effort: &mut Effort<'_>,
    ) -> Rank {
        let size = plan.pattern().size();
        let aggregated = most_aggregated(plan, &self.pairs, free);
        let primary = match (objective, self.model()) {
            (Objective::Aggregated, _) => Primary::NONE,
            (Objective::Effective, BandwidthModel::Published) => {
                let score = Published::new(&self.pairs, self.regression(), free, effort);
                let most = score.most(plan, free, effort);
                return Rank { aggregated: most.aggregated.min(aggregated), ..most };
            }
            (Objective::Effective, BandwidthModel::Sound) => {
                Primary::of_prediction(self.most_sound_bandwidth(free, size))
            }
            (Objective::Preserved, _) => {
                Primary::of_bandwidth(most_inside(&self.pairs, free, free.len() - size))
            }
        };
        Rank { primary, aggregated }
    }
}

/// By what fraction of `found` the objective may be better at most, or, where it cannot, the
/// aggregated bandwidth; `None` where nothing is known. Zero is a proof.
pub(super) fn gap(objective: Objective, found: Rank, most: Rank) -> Option<f64> {
    let (ours, limit) = match objective {
        Objective::Aggregated => (0.0, 0.0),
        Objective::Effective => (found.primary.prediction(), most.primary.prediction()),
        Objective::Preserved => (found.primary.bandwidth() as f64, most.primary.bandwidth() as f64),
    };
    let above = match limit > ours + ours.abs() * SAME {
        true => (limit - ours) / ours,
        false if most.aggregated > found.aggregated => {
            most.aggregated as f64 / found.aggregated as f64 - 1.0
        }
        false => 0.0,
    };
    // A share of nothing, or of less, says nothing.
    (above.is_finite() && above >= 0.0).then_some(above)
}
