//! Says which pieces a block, the embedding and the head have on one GPU of a layout.

mod attention;
mod perceptron;

use super::pieces::{GroupCall, Hidden, Meeting, Piece};
use super::works::{TokenWork, each, embedding, norm, product};
use super::{Execution, ModelTraining};
use crate::program::CollectiveKind;
use crate::training::family::LayerFamily;
use crate::training::layout::RankGroup;
use crate::training::memory::{Held, Kernels};
use crate::training::model::Mlp;
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

    fn sum(&mut self, name: &'static str) {
        let hidden = self.training.model.hidden;
        let own = self.training.own_tokens();
        self.work(name, each(LayerFamily::Join, 2 * hidden, hidden, hidden), own);
    }
}
