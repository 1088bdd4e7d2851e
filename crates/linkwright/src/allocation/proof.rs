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
                let score = Published::new(&self.pairs, free, effort);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocation::{Pattern, Shape};
    use crate::system::{BandwidthProfile, DeviceKind, LinkKind, ServerBuilder};

    #[test]
    fn a_gap_is_a_share_of_what_was_found() {
        let rank = |primary, aggregated| Rank { primary, aggregated };
        let inside = |primary, aggregated| rank(Primary::of_bandwidth(primary), aggregated);
        let preserved = |found, most| gap(Objective::Preserved, found, most);
        assert_eq!(preserved(inside(40, 8), inside(50, 8)), Some(0.25));
        assert_eq!(preserved(inside(40, 8), inside(40, 12)), Some(0.5));
        assert_eq!(preserved(inside(40, 8), inside(40, 8)), Some(0.0));
        assert_eq!(preserved(inside(0, 8), inside(1, 8)), None);
        let predicted = |value, aggregated| rank(Primary::of_prediction(value), aggregated);
        let effective = |found, most| gap(Objective::Effective, found, most);
        assert_eq!(effective(predicted(40.0, 8), predicted(50.0, 8)), Some(0.25));
        assert_eq!(effective(predicted(40.0, 8), predicted(40.0 * (1.0 + 1e-14), 8)), Some(0.0));
        let aggregated = |found, most| {
            gap(Objective::Aggregated, rank(Primary::NONE, found), rank(Primary::NONE, most))
        };
        assert_eq!(aggregated(8, 10), Some(0.25));
    }

    #[test]
    fn a_published_ceiling_knows_that_a_gpu_has_two_edges_in_a_ring() {
        // The heaviest pairs all meet in one GPU, and a ring takes two of them.
        let mut builder = ServerBuilder::new("star", "test");
        let bridge = builder.device("bridge", DeviceKind::HostBridge, None).unwrap();
        let gpus = [0, 1, 2, 3].map(|gpu| {
            let id = builder.device(&format!("GPU{gpu}"), DeviceKind::Gpu, None).unwrap();
            builder.data_sheet_link(id, bridge, LinkKind::Pcie3, 1).unwrap();
            id
        });
        for other in &gpus[1..] {
            builder.data_sheet_link(gpus[0], *other, LinkKind::Nvlink2, 2).unwrap();
        }
        let machine = builder.build().unwrap();
        let machine =
            PreparedMachine::new(&machine, BandwidthProfile::Mapa, BandwidthModel::Published)
                .unwrap();
        let ring = Pattern::new(Shape::Ring, 4).unwrap();
        let (plan, free) = (Plan::new(&ring), GpuSet::first(4));
        let most = machine.ceiling(&plan, free, Objective::Effective, &mut Effort::new());
        // One GPU has two double links, three have one beside PCIe: each edge has two ends.
        assert_eq!(most.aggregated, (2 * 50 + 3 * (50 + 12)) * 1_000_000_000 / 2);
    }
}
