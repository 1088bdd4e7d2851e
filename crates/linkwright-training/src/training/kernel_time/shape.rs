//! Names kernels by their shapes, and asks how long they take.

use serde::{Deserialize, Serialize};

use super::attention::AttentionShape;
use super::decoding;
use super::experts::ExpertsShape;
use super::gpu::KernelGpu;
use super::numbers::KernelNumbers;
use super::product::{ProductShape, Products};
use super::terms::KernelTerms;
use crate::diagnostic::Diagnosis;
use crate::training::error::TrainingError;
use crate::units::Picoseconds;

/// Names a kernel by its shape.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelShape {
    /// Makes the product of two matrices.
    Product(ProductShape),
    /// Lets tokens attend within their sequences.
    Attention(AttentionShape),
    /// Lets a new token of each sequence attend to those before it.
    Decoding(AttentionShape),
    /// Sends tokens through the perceptrons of experts.
    Experts(ExpertsShape),
}

/// How long a kernel takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KernelTime {
    /// The GPU computes this long.
    pub kernel: Picoseconds,
    /// Making narrow numbers of its operands takes this long before.
    pub cast: Picoseconds,
    /// The host takes this long to call it; where that is longer than all else, the GPU waits.
    pub host: Picoseconds,
}

impl KernelTime {
    /// Gives the time of one call after another.
    #[must_use]
    pub fn total(&self) -> Picoseconds {
        Picoseconds((self.kernel.0 + self.cast.0).max(self.host.0))
    }
}

/// Numbers above this are of no kernel that there is, and their products would be too large to count.
const MOST: u64 = 1 << 31;

impl KernelShape {
    /// Gives the time of a kernel alone on a GPU, for a short while: its clock does not fall.
    ///
    /// # Errors
    /// A shape with a zero, or one that is beyond all GPUs.
    pub fn time(
        &self,
        gpu: &KernelGpu,
        numbers: KernelNumbers,
        terms: &KernelTerms,
    ) -> Result<KernelTime, TrainingError> {
        self.check()?;
        let picoseconds = Picoseconds::from_seconds;
        let generation = gpu.generation;
        Ok(match self {
            Self::Product(shape) => {
                let terms = terms.product(generation, numbers);
                KernelTime {
                    kernel: picoseconds(
                        Products { shape: *shape, matrices: 1, gpu, numbers, terms, clock: 1.0 }
                            .seconds(),
                    ),
                    cast: picoseconds(shape.cast(gpu, numbers, terms)),
                    host: picoseconds(shape.host(terms)),
                }
            }
            Self::Attention(shape) => KernelTime {
                kernel: picoseconds(shape.seconds(gpu, terms.attention(generation))),
                ..KernelTime::default()
            },
            Self::Decoding(shape) => KernelTime {
                kernel: picoseconds(decoding::seconds(shape, gpu, terms.decoding(generation))),
                ..KernelTime::default()
            },
            Self::Experts(shape) => KernelTime {
                kernel: picoseconds(shape.seconds(
                    gpu,
                    numbers,
                    terms.experts(generation, numbers),
                )),
                ..KernelTime::default()
            },
        })
    }

    /// Gives the multiply-adds.
    #[must_use]
    pub fn multiply_adds(&self) -> f64 {
        match self {
            Self::Product(shape) => shape.multiply_adds() as f64,
            Self::Attention(shape) => shape.multiply_adds(),
            Self::Decoding(shape) => decoding::multiply_adds(shape),
            Self::Experts(shape) => shape.multiply_adds(),
        }
    }

    /// Names its numbers, each with its value.
    #[must_use]
    pub fn fields(&self) -> Vec<(&'static str, u64)> {
        match *self {
            Self::Product(ProductShape { rows, columns, depth }) => {
                vec![("m", rows), ("n", columns), ("k", depth)]
            }
            Self::Attention(AttentionShape {
                batch, tokens, heads, key_value_heads, head, ..
            })
            | Self::Decoding(AttentionShape {
                batch, tokens, heads, key_value_heads, head, ..
            }) => vec![
                ("batch", batch),
                ("tokens", tokens),
                ("heads", heads),
                ("kv-heads", key_value_heads),
                ("head", head),
            ],
            Self::Experts(ExpertsShape { tokens, hidden, inner, top, experts, ep, tp, .. }) => {
                vec![
                    ("tokens", tokens),
                    ("hidden", hidden),
                    ("inner", inner),
                    ("top", top),
                    ("experts", experts),
                    ("ep", ep),
                    ("tp", tp),
                ]
            }
        }
    }

    fn check(&self) -> Result<(), TrainingError> {
        let refuse = |problem: String, remedy: String| {
            Err(TrainingError::Kernel(Diagnosis::of(problem).remedy(remedy)))
        };
        for (name, value) in self.fields() {
            if value == 0 {
                return refuse(
                    format!("a kernel with 0 for `{name}` computes nothing"),
                    "take a number above 0".to_owned(),
                );
            }
            if value > MOST {
                return refuse(
                    format!("{value} for `{name}` is beyond any GPU"),
                    format!("take {MOST} at most"),
                );
            }
        }
        match self {
            Self::Experts(shape) => shape.check(),
            Self::Attention(AttentionShape { heads, key_value_heads, .. })
            | Self::Decoding(AttentionShape { heads, key_value_heads, .. })
                if key_value_heads > heads =>
            {
                refuse(
                    format!("{key_value_heads} heads of keys are more than {heads} of queries"),
                    format!("take {heads} at most"),
                )
            }
            _ => Ok(()),
        }
    }
}
