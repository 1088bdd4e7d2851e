//! Says what a block keeps for its backward pass, tensor by tensor.
//!
//! The tensors are those that PyTorch's autograd and Transformer Engine's modules save. Kernels differ:
//! fused ones keep a norm's output for the product behind it; compiled ones compute it again.

use super::recompute::{Module, Recompute};
use super::{Held, Kernels, ModelTraining};
use crate::training::model::{Experts, Mlp};
use crate::units::Bytes;

/// Counts bytes of a number of statistics: a norm's divisor, attention's sums.
const STATISTIC: u64 = 4;

/// A tensor that a block keeps for its backward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tensor {
    /// Says what it is.
    pub name: &'static str,
    /// Gives its size on one GPU, of one micro-batch.
    pub bytes: Bytes,
    /// Whether the block reads it: it is kept however the block is computed again.
    pub is_input: bool,
    /// Whether torchtitan's recomputation by operation keeps it.
    pub is_operation: bool,
    /// The modules that compute it again where they are named.
    pub modules: [Option<Module>; 2],
}

/// Writes tensors of tokens on one GPU.
struct Writer {
    /// Tokens of a micro-batch, and how many of them what is whole has.
    tokens: u64,
    own_tokens: u64,
    number: u64,
    found: Vec<Tensor>,
}

impl Writer {
    fn add(&mut self, name: &'static str, bytes: u64, module: Option<Module>) -> &mut Tensor {
        let modules = [module, None];
        let bytes = Bytes(bytes);
        self.found.push(Tensor { name, bytes, is_input: false, is_operation: false, modules });
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    /// Numbers of each token that a layer's parts have.
    fn cut(&mut self, name: &'static str, numbers: u64, module: Option<Module>) -> &mut Tensor {
        let bytes = self.tokens.saturating_mul(numbers).saturating_mul(self.number);
        self.add(name, bytes, module)
    }

    /// Numbers of each token that tensor parallelism leaves whole.
    fn whole(&mut self, name: &'static str, numbers: u64, module: Option<Module>) -> &mut Tensor {
        let bytes = self.own_tokens.saturating_mul(numbers).saturating_mul(self.number);
        self.add(name, bytes, module)
    }
}

impl ModelTraining<'_> {
    /// Counts tokens of a micro-batch on one GPU.
    pub(in crate::training) fn tokens(&self) -> u64 {
        let tokens = self.model.tokens / self.layout.cp.max(1);
        tokens.saturating_mul(self.micro_batch)
    }

    /// The same of what tensor parallelism leaves whole.
    pub(in crate::training) fn own_tokens(&self) -> u64 {
        let parts = if self.sequence_parallel { self.layout.tp } else { 1 };
        self.tokens().div_ceil(parts)
    }

    /// Counts tokens that the experts of one GPU get of a micro-batch, where all get as many.
    pub(in crate::training) fn expert_tokens(&self, experts: &Experts) -> u64 {
        let all = self.tokens().saturating_mul(experts.top * self.layout.expert_parts());
        all.div_ceil(self.layout.tp)
    }

    /// Heads of keys and values on one GPU; each GPU has one at least.
    pub(in crate::training) fn key_value_heads(&self) -> u64 {
        self.model.attention.key_value_heads.div_ceil(self.layout.tp)
    }

    /// Lists what a block keeps where nothing is computed again. `block` is its place in the model; the GPU is the
    /// one whose experts get the most tokens of it.
    #[must_use]
    pub fn tensors(&self, mlp: &Mlp, block: u64) -> Vec<Tensor> {
        self.tensors_of(&self.busiest(mlp, block))
    }

    pub(super) fn tensors_of(&self, held: &Held) -> Vec<Tensor> {
        let (tokens, own_tokens) = (self.tokens(), self.own_tokens());
        let number = self.number();
        let mut writer = Writer { tokens, own_tokens, number, found: Vec::new() };
        self.norm(&mut writer, ["input", "first norm", "first norm's divisor"]);
        if let Some(input) = writer.found.first_mut() {
            input.is_input = true;
        }
        self.attention(&mut writer);
        self.norm(&mut writer, ["sum", "second norm", "second norm's divisor"]);
        match &held.mlp {
            Mlp::Dense { inner, gated, .. } => self.dense(&mut writer, *inner, *gated),
            Mlp::Experts(experts) => self.of_experts(&mut writer, experts, held.sent),
        }
        self.narrow(&mut writer.found);
        if let Some(lora) = self.lora {
            // A frozen matrix needs no inputs, and its gradient is not computed.
            writer.found.retain(|tensor| lora.targets.need(tensor.name));
        }
        writer.found
    }

    /// Fused kernels keep what a product reads as it reads it; attention's output, which attention needs
    /// itself, is kept both ways.
    fn narrow(&self, tensors: &mut Vec<Tensor>) {
        let Some(of_32) = self.precision.narrow().filter(|_| self.kernels == Kernels::Fused) else {
            return;
        };
        let narrowed = |size: Bytes| Bytes(size.0 / self.number() * of_32 / 32);
        let read = [
            "first norm",
            "second norm",
            "product",
            "experts' tokens",
            "experts' product",
            "shared product",
        ];
        for tensor in tensors.iter_mut().filter(|tensor| read.contains(&tensor.name)) {
            tensor.bytes = narrowed(tensor.bytes);
        }
        if self.narrow_activations {
            let functions = ["gate", "up", "experts' gate and up", "shared gate and up"];
            for tensor in tensors.iter_mut().filter(|tensor| functions.contains(&tensor.name)) {
                tensor.bytes = Bytes(tensor.bytes.0 / self.number());
            }
        }
        let output = tensors.iter().find(|tensor| tensor.name == "attention").copied();
        tensors.extend(output.map(|output| Tensor {
            name: "attention, narrow",
            bytes: narrowed(output.bytes),
            ..output
        }));
    }

    /// A norm keeps its input and a number of each token, and the product behind it the norm's output.
    fn norm(&self, writer: &mut Writer, [input, output, divisor]: [&'static str; 3]) {
        let hidden = self.model.hidden;
        writer.whole(input, hidden, None);
        if self.kernels != Kernels::Compiled {
            writer.whole(output, hidden, Some(Module::LayerNorm));
        }
        let divisors = writer.own_tokens.saturating_mul(STATISTIC);
        writer.add(divisor, divisors, Some(Module::LayerNorm));
    }

    fn attention(&self, writer: &mut Writer) {
        let attention = self.model.attention;
        let parts = self.layout.tp;
        let heads = attention.heads.div_ceil(parts);
        let mut module = None;
        let is_joined = self.kernels == Kernels::Fused || !attention.rotary;
        if let Some(latent) = attention.latent {
            if let Some(short) = latent.query {
                writer.whole("queries' short vector", short, None).is_operation = true;
                writer.whole("queries' short vector, normed", short, None);
            }
            let short = latent.key_value;
            writer.whole("keys' short vector", short + latent.rotary, None).is_operation = true;
            writer.whole("keys' short vector, normed", short, None);
            module = Some(Module::LatentUp);
        }
        // Eager kernels copy keys and values to the heads of all queries; by operation the product's
        // output is kept instead.
        let is_by_operation = self.recompute == Recompute::SelectiveOperations;
        let copies = self.kernels == Kernels::Eager && !is_by_operation;
        let copies = copies || attention.latent.is_some();
        let key_value_heads = if copies { heads } else { self.key_value_heads() };
        writer.cut("queries", heads * attention.head, module).is_operation = true;
        writer.cut("keys", key_value_heads * attention.head, module).is_operation = is_joined;
        writer.cut("values", key_value_heads * attention.value_head, module).is_operation = true;
        let sums = writer.tokens.saturating_mul(heads * STATISTIC);
        writer.add("attention's sums", sums, Some(Module::CoreAttention)).is_operation = true;
        writer.cut("attention", heads * attention.value_head, None).is_operation = true;
        if self.layout.cp > 1 {
            // The sum over all parts of the sequence stands beside the output.
            let numbers = heads * attention.value_head;
            writer.cut("attention of parts", numbers, Some(Module::CoreAttention));
        }
    }

    fn dense(&self, writer: &mut Writer, inner: u64, gated: bool) {
        let inner = inner.div_ceil(self.layout.tp);
        let module = Some(Module::Mlp);
        let is_joined = self.kernels == Kernels::Fused;
        if gated {
            writer.cut("gate", inner, module).is_operation = true;
        }
        writer.cut("up", inner, module).is_operation = is_joined || !gated;
        match self.kernels {
            Kernels::Eager if gated => {
                writer.cut("opened gate", inner, module);
                writer.cut("product", inner, module);
            }
            Kernels::Eager | Kernels::Fused => {
                writer.cut("product", inner, module);
            }
            Kernels::Compiled => {}
        }
        if !is_joined && gated && self.recompute == Recompute::SelectiveOperations {
            // The seventh product of a block; every second one is kept.
            writer.cut("down", self.model.hidden, None).is_operation = true;
        }
        if self.recompute == Recompute::SelectiveOperations
            && self.sequence_parallel
            && self.layout.tp > 1
        {
            // Sums that tensor parallelism divides by tokens, behind attention and here.
            writer.whole("divided sums", 2 * self.model.hidden, None).is_operation = true;
        }
    }

    fn of_experts(&self, writer: &mut Writer, experts: &Experts, sent: u64) {
        let (hidden, module) = (self.model.hidden, Some(Module::Moe));
        // Scores and shares of each expert.
        let scores = writer.own_tokens.saturating_mul(2 * experts.count * STATISTIC);
        writer.add("router's scores", scores, module);
        let inner = experts.inner.div_ceil(self.layout.expert_parts());
        let sent = sent.saturating_mul(writer.number);
        writer.add("experts' tokens", sent.saturating_mul(hidden), module);
        writer.add("experts' gate and up", sent.saturating_mul(2 * inner), module);
        if self.kernels != Kernels::Compiled {
            let tensor = writer.add("experts' product", sent.saturating_mul(inner), module);
            tensor.modules[1] = Some(Module::MoeActivation);
        }
        if experts.shared > 0 {
            let (shared, module) =
                (experts.shared.div_ceil(self.layout.tp), Some(Module::SharedExperts));
            writer.cut("shared gate and up", 2 * shared, module).modules[1] = Some(Module::Moe);
            writer.cut("shared product", shared, module).modules[1] = Some(Module::Moe);
        }
    }
}
