//! Says which pieces a block, the embedding and the head have on one GPU of a layout.

use super::execution::ContextExchange;
use super::pieces::{GroupCall, Hidden, Meeting, Piece};
use super::works::{Heads, TokenWork, each, embedding, norm, product, products};
use super::{Execution, ModelTraining};
use crate::program::CollectiveKind;
use crate::training::family::LayerFamily;
use crate::training::layout::RankGroup;
use crate::training::memory::{Held, Kernels};
use crate::training::model::{Experts, Latent, Mlp};
use crate::training::roofline::LayerWork;
use crate::units::Bytes;

/// The gradients of weights are this part of a product's backward pass; the gradients of inputs are the rest.
const OF_WEIGHTS: f64 = 0.5;

/// Writes pieces of one training by a layout.
pub(super) struct Pieces<'a> {
    training: &'a ModelTraining<'a>,
    execution: Execution,
    found: Vec<Piece>,
}

impl<'a> Pieces<'a> {
    fn new(training: &'a ModelTraining<'a>, execution: Execution) -> Self {
        Self { training, execution, found: Vec::new() }
    }

    /// Gives the pieces of a block.
    pub(super) fn block(
        training: &'a ModelTraining<'a>,
        execution: Execution,
        (held, most): (&Held, u64),
    ) -> Vec<Piece> {
        let mut own = Self::new(training, execution);
        own.attention();
        match &held.mlp {
            Mlp::Dense { inner, gated, bias } => own.dense(*inner, *gated, *bias),
            Mlp::Experts(experts) => own.experts(experts, held.sent, most),
        }
        own.found
    }

    /// Gives the pieces of the embedding.
    pub(super) fn embedding(training: &'a ModelTraining<'a>, execution: Execution) -> Vec<Piece> {
        let mut own = Self::new(training, execution);
        let (hidden, parts) = (training.model.hidden, training.layout.tp);
        let whole = embedding(training.model.vocabulary.div_ceil(parts), hidden);
        own.work("embedding", whole, training.tokens());
        own.leave("embedding");
        if training.model.positions > 0 {
            let numbers = training.model.positions * hidden;
            let work = each(LayerFamily::Elementwise, hidden, hidden, 0);
            let work = LayerWork { parameters: numbers, weights: numbers, ..work };
            own.work("positions", work, training.own_tokens());
        }
        own.found
    }

    /// Gives the pieces of the last norm, the head and the loss.
    pub(super) fn head(training: &'a ModelTraining<'a>, execution: Execution) -> Vec<Piece> {
        let mut own = Self::new(training, execution);
        let model = training.model;
        let vocabulary = model.vocabulary.div_ceil(training.layout.tp);
        own.work("norm", norm(model.norm, model.hidden), training.own_tokens());
        own.enter("head");
        let mut head = product(model.hidden, vocabulary, 0);
        if model.tied {
            head.parameters = 0;
        }
        own.work("head", head, training.tokens());
        let loss = each(LayerFamily::Softmax, vocabulary, vocabulary, vocabulary);
        own.work("softmax", loss, training.tokens());
        own.found
    }

    fn work(&mut self, name: &'static str, work: LayerWork, tokens: u64) {
        let is_frozen = self.training.lora.is_some();
        self.found.push(Piece::Work(TokenWork { is_frozen, ..TokenWork::new(name, work, tokens) }));
    }

    /// A product that tensor parallelism cuts, with the adapter beside it, where it has one.
    fn cut(&mut self, name: &'static str, inputs: u64, outputs: u64, biases: u64) {
        let tokens = self.training.tokens();
        self.work(name, product(inputs, outputs, biases), tokens);
        self.adapter(name, inputs, outputs, tokens);
    }

    fn adapter(&mut self, name: &str, inputs: u64, outputs: u64, tokens: u64) {
        let Some(lora) = self.training.lora else { return };
        if !lora.targets.adapt(name) {
            return;
        }
        let small = [(inputs, lora.rank), (lora.rank, outputs)];
        for (inputs, outputs) in small {
            let work = TokenWork::new("adapter", product(inputs, outputs, 0), tokens);
            self.found.push(Piece::Work(work));
        }
        let sum = each(LayerFamily::Join, 2 * outputs, outputs, 0);
        self.found.push(Piece::Work(TokenWork::new("adapter", sum, tokens)));
    }

    fn meeting(
        &mut self,
        with: &'static str,
        forward: Option<(GroupCall, Hidden)>,
        backward: Option<(GroupCall, Hidden)>,
    ) {
        self.found.push(Piece::Meeting(Meeting { forward, backward, with }));
    }

    fn bytes(&self, tokens: u64, numbers: u64) -> Bytes {
        Bytes(tokens.saturating_mul(numbers).saturating_mul(self.training.number()))
    }

    /// Precedes products that are cut by outputs: each GPU gets all tokens, and gradients of inputs are summed.
    fn enter(&mut self, with: &'static str) {
        let of = self.training;
        if of.layout.tp < 2 {
            return;
        }
        let call = |kind, size| GroupCall { group: RankGroup::Tensor, kind, size };
        let whole = self.bytes(of.tokens(), of.model.hidden);
        let part = self.bytes(of.own_tokens(), of.model.hidden);
        let parted = self.parted();
        // Megatron sums the gradients of inputs while those of weights are computed.
        let megatron = of.kernels == Kernels::Fused && of.lora.is_none();
        let summed = match parted {
            Some(share) => Hidden::Before(share),
            None if megatron => Hidden::Before(OF_WEIGHTS),
            None => Hidden::Nothing,
        };
        if of.sequence_parallel {
            let gathered = parted.map_or(Hidden::Nothing, Hidden::Behind);
            let forward = (call(CollectiveKind::AllGather, part), gathered);
            let backward = (call(CollectiveKind::ReduceScatter, whole), summed);
            self.meeting(with, Some(forward), Some(backward));
        } else {
            self.meeting(with, None, Some((call(CollectiveKind::AllReduce, whole), summed)));
        }
    }

    /// Follows a product that is cut by inputs: its outputs are summed.
    fn leave(&mut self, with: &'static str) {
        let of = self.training;
        if of.layout.tp < 2 {
            return;
        }
        let call = |kind, size| GroupCall { group: RankGroup::Tensor, kind, size };
        let whole = self.bytes(of.tokens(), of.model.hidden);
        if of.sequence_parallel {
            let part = self.bytes(of.own_tokens(), of.model.hidden);
            let parted = self.parted();
            let summed = parted.map_or(Hidden::Nothing, Hidden::Before);
            let gathered = parted.map_or(Hidden::Nothing, Hidden::Behind);
            let forward = (call(CollectiveKind::ReduceScatter, whole), summed);
            self.meeting(
                with,
                Some(forward),
                Some((call(CollectiveKind::AllGather, part), gathered)),
            );
        } else {
            let forward = (call(CollectiveKind::AllReduce, whole), Hidden::Nothing);
            self.meeting(with, Some(forward), None);
        }
    }

    /// The part of a product that collectives hide behind where both are cut into parts.
    fn parted(&self) -> Option<f64> {
        let of = self.training;
        let is_parted = self.execution.async_tensor && of.sequence_parallel;
        is_parted.then(|| 1.0 - 1.0 / of.layout.tp as f64)
    }

    fn attention(&mut self) {
        let of = self.training;
        let (hidden, parts) = (of.model.hidden, of.layout.tp);
        let attention = of.model.attention;
        let key_value_heads = match attention.latent {
            Some(_) => attention.heads.div_ceil(parts),
            None => of.key_value_heads(),
        };
        let heads = Heads {
            heads: attention.heads.div_ceil(parts),
            key_value_heads,
            head: attention.head,
            value_head: attention.value_head,
        };
        self.work("norm1", norm(of.model.norm, hidden), of.own_tokens());
        match attention.latent {
            None => {
                self.enter("qkv");
                let biases = if attention.bias { heads.joined() } else { 0 };
                self.cut("qkv", hidden, heads.joined(), biases);
            }
            Some(latent) => self.latent(&latent, heads),
        }
        self.attended(heads);
        let biases = if attention.output_bias { hidden } else { 0 };
        self.cut("projection", heads.written(), hidden, biases);
        self.leave("projection");
        self.sum("sum1");
        self.work("norm2", norm(of.model.norm, hidden), of.own_tokens());
    }

    /// Queries, keys and values of short vectors, which every GPU makes whole.
    fn latent(&mut self, latent: &Latent, heads: Heads) {
        let of = self.training;
        let (hidden, own, tokens) = (of.model.hidden, of.own_tokens(), of.tokens());
        let queries = heads.heads * heads.head;
        if let Some(short) = latent.query {
            self.work("q-down", product(hidden, short, 0), own);
            self.adapter("q-down", hidden, short, own);
            self.work("q-norm", norm(of.model.norm, short), own);
        }
        let joined = latent.key_value + latent.rotary;
        self.work("kv-down", product(hidden, joined, 0), own);
        self.adapter("kv-down", hidden, joined, own);
        self.work("kv-norm", norm(of.model.norm, latent.key_value), own);
        self.enter("q-up");
        self.cut("q-up", latent.query.unwrap_or(hidden), queries, 0);
        let unturned = heads.head - latent.rotary;
        let up = heads.heads * (unturned + heads.value_head);
        self.cut("kv-up", latent.key_value, up, 0);
        // Turned and unturned parts of queries and keys are put behind one another.
        let moved = 2 * heads.heads * heads.head;
        self.work("rotary", each(LayerFamily::Join, moved, moved, 0), tokens);
    }

    /// Adds attention, with the exchanges between parts of the same sequences.
    fn attended(&mut self, heads: Heads) {
        let of = self.training;
        let parts = of.layout.cp;
        let work = TokenWork::new("attention", heads.work(of.model.tokens), of.tokens());
        let call = |kind, size| GroupCall { group: RankGroup::Context, kind, size };
        let now = |call| Some((call, Hidden::Nothing));
        let keys = self.bytes(of.tokens(), heads.keys_and_values());
        match self.execution.context {
            _ if parts < 2 => self.found.push(Piece::Work(work)),
            ContextExchange::Ring => {
                let sizes = [keys, Bytes(2 * keys.0)];
                self.found.push(Piece::Ring { work, turns: parts, sizes });
            }
            ContextExchange::AllGather => {
                let back = call(CollectiveKind::ReduceScatter, Bytes(keys.0 * parts));
                let forward = now(call(CollectiveKind::AllGather, keys));
                self.meeting("attention", forward, now(back));
                self.found.push(Piece::Work(work));
            }
            ContextExchange::AllToAll => {
                let each = |size: Bytes| {
                    now(call(CollectiveKind::AllToAll, Bytes(size.0.div_ceil(parts))))
                };
                let joined = each(self.bytes(of.tokens(), heads.joined()));
                let written = each(self.bytes(of.tokens(), heads.written()));
                self.meeting("attention", joined, joined);
                self.found.push(Piece::Work(work));
                self.meeting("attention", written, written);
            }
        }
    }

    fn sum(&mut self, name: &'static str) {
        let hidden = self.training.model.hidden;
        let own = self.training.own_tokens();
        self.work(name, each(LayerFamily::Join, 2 * hidden, hidden, hidden), own);
    }

    /// Adds the function between both products of a perceptron.
    fn opened(&mut self, inner: u64, gated: bool, tokens: u64) {
        let work = each(LayerFamily::Elementwise, inner, inner, inner);
        self.work(if gated { "silu" } else { "gelu" }, work, tokens);
        if gated {
            let work = each(LayerFamily::Elementwise, 2 * inner, inner, inner);
            self.work("product", work, tokens);
        }
    }

    fn dense(&mut self, inner: u64, gated: bool, bias: bool) {
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
    fn experts(&mut self, experts: &Experts, sent: u64, most: u64) {
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
        let biases = |count| if experts.bias { count } else { 0 };
        self.work("experts-up", products(hidden, 2 * inner, biases(2 * inner), own), sent);
        let work = each(LayerFamily::Elementwise, 2 * inner, inner, 2 * inner);
        self.work("experts-act", work, sent);
        self.work("experts-down", products(inner, hidden, biases(hidden), own), sent);
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
