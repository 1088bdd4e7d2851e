//! Holds language models as people publish them: Hugging Face configurations as numbers.
//!
//! It represents a transformer that decodes. Blocks of attention and a multi-layer perceptron
//! lie between an embedding and a head. Experts, latent attention and tied embeddings are part of it.
//! It leaves out heads that predict several tokens at once, and numbers that a quantized
//! release keeps instead of weights.
//!
//! [`LanguageModel::read`] reads a configuration, [`LanguageModel::find`] gives a public model by its name,
//! [`LanguageModel::parameters`] counts exactly, and [`LanguageModel::network`] gives the layers that a step plays.

mod attention;
mod configuration;
mod mlp;
mod network;
mod presets;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::error::TrainingError;
use crate::diagnostic::{InputError, Named};

pub use attention::{Attention, Latent, Matrix};
pub use configuration::FAMILIES;
pub use mlp::{Experts, Mlp};

/// Keeps models to a size whose sums of products stay within their types.
pub const MOST_PARAMETERS: u64 = 1 << 50;

/// Says what divides each token's vector before attention and before the perceptron.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// Means the root mean square, with a trained scale.
    RootMeanSquare,
    /// Means the standard deviation around the mean, with a trained scale.
    Layer {
        /// Whether a trained shift is added.
        bias: bool,
    },
}

impl Norm {
    /// Counts trained numbers of one norm of a width.
    #[must_use]
    pub const fn parameters(self, width: u64) -> u64 {
        match self {
            Self::RootMeanSquare | Self::Layer { bias: false } => width,
            Self::Layer { bias: true } => 2 * width,
        }
    }
}

/// Models that are built alike and whose configurations have the same fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Means Llama 2 and 3.
    Llama,
    /// Means Qwen 2, 2.5 and 3, with experts or without.
    Qwen,
    /// Means Mistral.
    Mistral,
    /// Means Mixtral.
    Mixtral,
    /// Means GPT-OSS.
    GptOss,
    /// Means DeepSeek V2, V3 and R1.
    DeepSeek,
    /// Means MPT.
    Mpt,
}

impl Named for Family {
    const WHAT: &'static str = "family of models";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("Llama", Self::Llama),
        ("Qwen", Self::Qwen),
        ("Mistral", Self::Mistral),
        ("Mixtral", Self::Mixtral),
        ("GPT-OSS", Self::GptOss),
        ("DeepSeek", Self::DeepSeek),
        ("MPT", Self::Mpt),
    ];
}

/// Blocks in a row that are built alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks {
    /// How many there are.
    pub count: u64,
    /// Says what follows attention in each.
    pub mlp: Mlp,
}

/// Gives a language model, as the numbers that memory and time follow from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanguageModel {
    /// Gives the name by which commands call it, or that of its file.
    pub name: String,
    /// Where its numbers were published.
    pub source: String,
    /// Whose fields its configuration has.
    pub family: Family,
    /// Numbers of a token's vector between blocks.
    pub hidden: u64,
    /// Counts token numbers.
    pub vocabulary: u64,
    /// Says whether the head multiplies by the embedding's matrix.
    pub tied: bool,
    /// Places of a sequence that have a trained vector; zero where places are turned or biased.
    pub positions: u64,
    /// Tokens of a sequence, unless others are asked for.
    pub tokens: u64,
    /// Says what every block's attention is.
    pub attention: Attention,
    /// Says what every norm is.
    pub norm: Norm,
    /// The blocks in order, those that are alike in a row together.
    pub blocks: Vec<Blocks>,
}

impl LanguageModel {
    /// Reads a Hugging Face configuration (`config.json`); `file` names the text in errors.
    ///
    /// # Errors
    /// Text that is no JSON, a family that is not read, unknown fields, values out of range or that
    /// do not go together. Each names the field.
    pub fn read(file: &str, text: &str) -> Result<Self, InputError> {
        configuration::read(file, text)
    }

    /// Gives every public model of the table.
    #[must_use]
    pub fn all() -> &'static [Self] {
        presets::all()
    }

    /// The public model of a name; upper and lower case are one, and hyphens may be left out.
    ///
    /// # Errors
    /// A name that none has.
    pub fn find(name: &str) -> Result<&'static Self, TrainingError> {
        presets::find(name)
    }

    /// Counts the blocks.
    #[must_use]
    pub fn layers(&self) -> u64 {
        self.blocks.iter().map(|blocks| blocks.count).sum()
    }

    /// Says what follows attention, block by block.
    pub fn each_mlp(&self) -> impl Iterator<Item = Mlp> + '_ {
        let each = |blocks: &Blocks| std::iter::repeat_n(blocks.mlp, blocks.count as usize);
        self.blocks.iter().flat_map(each)
    }

    /// The experts of its largest such block; none where no block has any.
    #[must_use]
    pub fn experts(&self) -> Option<Experts> {
        let each = self.blocks.iter().filter_map(|blocks| blocks.mlp.experts());
        each.max_by_key(|experts| experts.count)
    }

    /// Counts trained numbers of the embedding, with those of places.
    #[must_use]
    pub fn embedding(&self) -> u64 {
        (self.vocabulary + self.positions) * self.hidden
    }

    /// Counts trained numbers of the head and the norm before it.
    #[must_use]
    pub fn head(&self) -> u64 {
        let matrix = if self.tied { 0 } else { self.vocabulary * self.hidden };
        matrix + self.norm.parameters(self.hidden)
    }

    /// Counts trained numbers of a block with both of its norms.
    #[must_use]
    pub fn block(&self, mlp: &Mlp) -> u64 {
        let norms = 2 * self.norm.parameters(self.hidden);
        norms + self.attention.parameters(self.hidden) + mlp.parameters(self.hidden)
    }

    /// Counts trained numbers in all.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        let blocks = self.blocks.iter().map(|blocks| blocks.count * self.block(&blocks.mlp));
        self.embedding() + self.head() + blocks.sum::<u64>()
    }

    /// Trained numbers that one token is multiplied with: of experts only those that it goes to.
    #[must_use]
    pub fn active_parameters(&self) -> u64 {
        let idle = self.blocks.iter().map(|blocks| blocks.count * blocks.mlp.idle(self.hidden));
        self.parameters() - idle.sum::<u64>()
    }
}
