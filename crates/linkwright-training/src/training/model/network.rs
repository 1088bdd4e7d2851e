//! The layers of a model, as a step plays them.

use super::{LanguageModel, Mlp, Norm};
use crate::diagnostic::Diagnosis;
use crate::training::error::TrainingError;
use crate::training::layer::{Activation, LayerKind, Split};
use crate::training::network::{Network, Spot};
use crate::training::shape::Shape;

/// The dataset whose samples are token numbers.
const DATASET: &str = "tokens";

impl LanguageModel {
    /// Gives the same model on sequences of another length; trained places follow the length.
    #[must_use]
    pub fn with_tokens(&self, tokens: u64) -> Self {
        let positions = if self.positions > 0 { tokens } else { 0 };
        Self { tokens, positions, ..self.clone() }
    }

    /// The layers of a network that is this model, on sequences of its length.
    ///
    /// # Errors
    /// Experts and latent attention, for which there are no layers yet; a length that is not possible.
    pub fn network(&self) -> Result<Network, TrainingError> {
        let refuse = |what: &str| TrainingError::Layer {
            network: self.name.clone(),
            layer: "block".to_owned(),
            fault: Diagnosis::of(format!("{what} have no layers of a step yet"))
                .remedy("ask for its memory, or take a model without them"),
        };
        if self.attention.latent.is_some() {
            return Err(refuse("queries, keys and values of short vectors"));
        }
        if self.experts().is_some() {
            return Err(refuse("experts"));
        }
        let input = Shape::Tokens { tokens: self.tokens, width: 1 };
        if !input.is_possible() {
            return Err(TrainingError::Samples { network: self.name.clone(), input });
        }
        let network = Network {
            name: self.name.clone(),
            variant: String::new(),
            source: self.source.clone(),
            assumptions: self.left_out(),
            input_assumptions: Vec::new(),
            dataset: Some(DATASET.to_owned()),
            input,
            layers: Vec::new(),
        };
        let mut writer = Writer { model: self, network, unit: 0 };
        writer.write().map_err(|(layer, fault)| TrainingError::Layer {
            network: self.name.clone(),
            layer,
            fault,
        })?;
        let mut network = writer.network;
        network.settle();
        Ok(network)
    }

    /// Says what of it the layers leave out.
    fn left_out(&self) -> Vec<String> {
        let mut left = Vec::new();
        if self.attention.head_norms {
            left.push("norms of queries and keys, head by head, take no time".to_owned());
        }
        left
    }
}

/// A layer that its kind and inputs do not meet, by its name.
type Fault = (String, Diagnosis);

/// Writes one layer behind another.
struct Writer<'a> {
    model: &'a LanguageModel,
    network: Network,
    unit: u32,
}

impl Writer<'_> {
    fn layer(
        &mut self,
        name: &str,
        kind: LayerKind,
        inputs: Vec<Option<usize>>,
        split: Option<Split>,
    ) -> Result<usize, Fault> {
        let name =
            if self.unit > 0 { format!("block{}.{name}", self.unit) } else { name.to_owned() };
        let spot = Spot { name: name.clone(), unit: self.unit, split };
        self.network.push(kind, inputs, spot).map_err(|fault| (name, fault))?;
        Ok(self.network.layers.len() - 1)
    }

    fn norm(&mut self, name: &str, from: usize) -> Result<usize, Fault> {
        let kind = match self.model.norm {
            Norm::RootMeanSquare => LayerKind::RootMeanSquareNormalization,
            Norm::Layer { bias } => LayerKind::LayerNormalization { bias },
        };
        self.layer(name, kind, vec![Some(from)], None)
    }

    fn product(
        &mut self,
        name: &str,
        from: usize,
        (width, bias): (u64, bool),
        split: Split,
    ) -> Result<usize, Fault> {
        let kind = LayerKind::FullyConnected { width, bias, tied: false };
        self.layer(name, kind, vec![Some(from)], Some(split))
    }

    fn write(&mut self) -> Result<(), Fault> {
        let LanguageModel { hidden, vocabulary, positions, tied, .. } = *self.model;
        let kind = LayerKind::Embedding { vocabulary, width: hidden };
        let mut last = self.layer("embedding", kind, vec![None], Some(Split::Rows))?;
        if positions > 0 {
            let kind = LayerKind::PositionEmbedding { positions };
            last = self.layer("positions", kind, vec![Some(last)], None)?;
        }
        for mlp in self.model.each_mlp() {
            self.unit += 1;
            last = self.block(last, &mlp)?;
        }
        let blocks = std::mem::take(&mut self.unit);
        let begin = self.network.layers.len();
        let norm = self.norm("norm", last)?;
        let head = LayerKind::FullyConnected { width: vocabulary, bias: false, tied };
        let head = self.layer("head", head, vec![Some(norm)], Some(Split::Columns))?;
        self.layer("softmax", LayerKind::Softmax, vec![Some(head)], None)?;
        // Says what lies behind the blocks is gathered by itself.
        for layer in &mut self.network.layers[begin..] {
            layer.unit = blocks + 1;
        }
        Ok(())
    }

    fn block(&mut self, input: usize, mlp: &Mlp) -> Result<usize, Fault> {
        let (hidden, attention) = (self.model.hidden, self.model.attention);
        let norm = self.norm("norm1", input)?;
        let joined = attention.queries() + attention.keys() + attention.values();
        let qkv = self.product("qkv", norm, (joined, attention.bias), Split::Columns)?;
        let kind = LayerKind::Attention {
            heads: attention.heads,
            key_value_heads: attention.key_value_heads,
            rotary: attention.rotary,
            causal: true,
        };
        let attended = self.layer("attention", kind, vec![Some(qkv)], None)?;
        let bias = attention.output_bias;
        let projection = self.product("projection", attended, (hidden, bias), Split::Rows)?;
        let both = vec![Some(projection), Some(input)];
        let sum = self.layer("sum1", LayerKind::Addition, both, None)?;
        let norm = self.norm("norm2", sum)?;
        let &Mlp::Dense { inner, gated, bias } = mlp else { return Ok(sum) };
        let mut up = self.product("up", norm, (inner, bias), Split::Columns)?;
        let function = if gated { Activation::Silu } else { Activation::Gelu };
        let kind = LayerKind::Activation(function);
        if gated {
            let gate = self.product("gate", norm, (inner, bias), Split::Columns)?;
            let opened = self.layer("silu", kind, vec![Some(gate)], None)?;
            let both = vec![Some(opened), Some(up)];
            up = self.layer("product", LayerKind::Multiplication, both, None)?;
        } else {
            up = self.layer("gelu", kind, vec![Some(up)], None)?;
        }
        let down = self.product("down", up, (hidden, bias), Split::Rows)?;
        self.layer("sum2", LayerKind::Addition, vec![Some(down), Some(sum)], None)
    }
}
