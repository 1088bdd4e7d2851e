//! Adds the pieces of a block's perceptron, whether it is one or many experts.

use super::Pieces;
use crate::program::CollectiveKind;
use crate::training::family::LayerFamily;
use crate::training::layout::RankGroup;
use crate::training::layout_step::pieces::{GroupCall, Hidden};
use crate::training::layout_step::works::{each, product, products};
use crate::training::memory::ModelTraining;
use crate::training::model::Experts;
use crate::units::Bytes;

impl Pieces<'_> {
    /// Adds the function between both products of a perceptron.
    fn opened(&mut self, inner: u64, gated: bool, tokens: u64) {
        let work = each(LayerFamily::Elementwise, inner, inner, inner);
        self.work(if gated { "silu" } else { "gelu" }, work, tokens);
        if gated {
            let work = each(LayerFamily::Elementwise, 2 * inner, inner, inner);
            self.work("product", work, tokens);
        }
    }

    pub(super) fn dense(&mut self, inner: u64, gated: bool, bias: bool) {
        let of = self.training;
        let (hidden, inner) = (of.model.hidden, inner.div_ceil(of.layout.tp));
        self.enter("up");
        let biases = if bias { inner } else { 0 };
        self.cut("up", hidden, inner, biases);
        if gated {
            self.cut("gate", hidden, inner, biases);
        }
        self.opened(inner, gated, of.tokens());
        self.cut("down", inner, hidden, if bias { hidden } else { 0 });
        self.leave("down");
        self.sum("sum2");
    }

    /// Adds a router that sends tokens to experts of other GPUs and gets the results back.
    pub(super) fn experts(&mut self, experts: &Experts, sent: u64, most: u64) {
        let of = self.training;
        let hidden = of.model.hidden;
        let ModelTraining { layout, .. } = *of;
        let parts = layout.expert_parts();
        let routed = of.tokens().div_ceil(layout.tp);
        self.work("router", product(hidden, experts.count, 0), of.own_tokens());
        let scores = each(LayerFamily::Softmax, experts.count, experts.count, experts.count);
        self.work("scores", scores, of.own_tokens());
        let is_whole = layout.tp > 1 && !of.sequence_parallel;
        let whole = GroupCall {
            group: RankGroup::Tensor,
            kind: CollectiveKind::AllGather,
            size: self.bytes(routed, hidden),
        };
        let whole = is_whole.then_some((whole, Hidden::Nothing));
        self.meeting("dispatch", None, whole);
        let copied = experts.top * hidden;
        self.work("dispatch", each(LayerFamily::Join, hidden, copied, 0), routed);
        // Links carry what the busiest GPU gets.
        let even = of.expert_tokens(experts).max(1);
        let most = (routed as f64 * most as f64 / even as f64) as u64;
        let most = most.saturating_mul(experts.top);
        self.exchanged(most, "dispatch", true);
        let inner = experts.inner.div_ceil(parts);
        let own = experts.count / layout.ep.max(1);
        // Tokens from each GPU are in the order of its experts; they are put in that of all, and back.
        let is_sorted = layout.ep > 1 && own > 1;
        let sorted = each(LayerFamily::Join, hidden, hidden, 0);
        if is_sorted {
            self.work("dispatch", sorted, sent);
        }
        let biases = |count| if experts.bias { count } else { 0 };
        self.work("experts-up", products(hidden, 2 * inner, biases(2 * inner), own), sent);
        let work = each(LayerFamily::Elementwise, 2 * inner, inner, 2 * inner);
        self.work("experts-act", work, sent);
        self.work("experts-down", products(inner, hidden, biases(hidden), own), sent);
        if is_sorted {
            self.work("combine", sorted, sent);
        }
        self.exchanged(most, "combine", false);
        self.work("combine", each(LayerFamily::Join, copied, hidden, copied), routed);
        self.meeting("combine", whole, None);
        if experts.shared > 0 {
            let inner = experts.shared.div_ceil(layout.tp);
            self.enter("shared-up");
            self.cut("shared-up", hidden, 2 * inner, 0);
            let work = each(LayerFamily::Elementwise, 2 * inner, inner, 2 * inner);
            self.work("shared-act", work, of.tokens());
            self.cut("shared-down", inner, hidden, 0);
            self.leave("shared-down");
            self.sum("shared-sum");
        }
        self.sum("sum2");
    }

    /// Moves `sent` tokens to experts, or back.
    fn exchanged(&mut self, sent: u64, with: &'static str, is_to: bool) {
        let of = self.training;
        let (ep, parts) = (of.layout.ep, of.layout.expert_parts());
        // A GPU's tokens go to the experts of all; parts of an expert need all of its tokens.
        let now = |group, kind, size| Some((GroupCall { group, kind, size }, Hidden::Nothing));
        let size = self.bytes(sent, of.model.hidden);
        let to_all =
            now(RankGroup::Experts, CollectiveKind::AllToAll, Bytes(size.0.div_ceil(ep.max(1))));
        let gathered = now(RankGroup::ExpertParts, CollectiveKind::AllGather, size);
        let all = Bytes(size.0.saturating_mul(parts));
        let summed = now(RankGroup::ExpertParts, CollectiveKind::ReduceScatter, all);
        let parted = if is_to { (gathered, summed) } else { (summed, gathered) };
        let mut steps = Vec::new();
        if ep > 1 {
            steps.push((to_all, to_all));
        }
        if parts > 1 {
            steps.push(parted);
        }
        if !is_to {
            steps.reverse();
        }
        for (forward, backward) in steps {
            self.meeting(with, forward, backward);
        }
    }
}
