//! Reads the shapes of kernels from text.

use super::attention::AttentionShape;
use super::experts::ExpertsShape;
use super::product::ProductShape;
use super::routed::ExpertDraw;
use super::shape::KernelShape;
use crate::diagnostic::{Diagnosis, Named, instead_of, shown};
use crate::training::error::TrainingError;

/// A kind of kernel that can be asked alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedKernel {
    /// Makes the product of two matrices.
    Gemm,
    /// Lets tokens attend within their sequences.
    Attention,
    /// Lets a new token of each sequence attend to those before it.
    Decode,
    /// Sends tokens through the perceptrons of experts.
    Experts,
}

impl Named for AskedKernel {
    const WHAT: &'static str = "kernel";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("gemm", Self::Gemm),
        ("attention", Self::Attention),
        ("decode", Self::Decode),
        ("experts", Self::Experts),
    ];
    const ELSEWHERE: &'static [(&'static str, Self)] = &[
        ("matmul", Self::Gemm),
        ("product", Self::Gemm),
        ("context-attention", Self::Attention),
        ("generation-attention", Self::Decode),
        ("moe", Self::Experts),
    ];
}

impl AskedKernel {
    /// Names the numbers of a shape, in the order in which it may be written without names.
    #[must_use]
    pub const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Gemm => &["m", "n", "k"],
            Self::Attention | Self::Decode => &["batch", "tokens", "heads", "kv-heads", "head"],
            Self::Experts => &["tokens", "hidden", "inner", "top", "experts"],
        }
    }

    /// Names what may be said besides.
    const fn others(self) -> &'static [&'static str] {
        match self {
            Self::Gemm => &[],
            Self::Attention | Self::Decode => &["window", "cache"],
            Self::Experts => &["ep", "tp", "draw"],
        }
    }
}

/// Holds what was said of a shape.
#[derive(Default)]
struct Said {
    numbers: [Option<u64>; 5],
    window: u64,
    narrow_cache: bool,
    ep: Option<u64>,
    tp: Option<u64>,
    draw: ExpertDraw,
}

fn refused(problem: String, remedy: impl Into<String>) -> TrainingError {
    TrainingError::Kernel(Diagnosis::of(problem).remedy(remedy))
}

impl KernelShape {
    /// Reads the shape of a kernel: its numbers in order, as `4096x4096x8192`, or each by its name, as
    /// `batch=1,tokens=8192,heads=32,kv-heads=8,head=128,window=1024`.
    ///
    /// # Errors
    /// A number that is none, a name that the kernel's shape does not have, and numbers that are missing.
    pub fn read(kind: AskedKernel, text: &str) -> Result<Self, TrainingError> {
        let fields = kind.fields();
        let mut said = Said::default();
        if text.contains('=') {
            for part in text.split(',') {
                let (name, value) = part.split_once('=').unwrap_or((part, ""));
                said.take(kind, name.trim(), value.trim())?;
            }
        } else {
            let parts: Vec<&str> = text.split('x').collect();
            if parts.len() != fields.len() {
                return Err(refused(
                    format!("`{}` is no shape of this kernel", shown(text)),
                    format!("write {} numbers: {}", fields.len(), fields.join(" x ")),
                ));
            }
            for (name, value) in fields.iter().zip(parts) {
                said.take(kind, name, value.trim())?;
            }
        }
        said.shape(kind)
    }
}

impl Said {
    fn take(&mut self, kind: AskedKernel, name: &str, value: &str) -> Result<(), TrainingError> {
        let number = || {
            value.parse::<u64>().map_err(|_| {
                let problem = format!("`{}` is no number for `{name}` of a shape", shown(value));
                refused(problem, "write a whole number")
            })
        };
        if let Some(at) = kind.fields().iter().position(|field| *field == name) {
            self.numbers[at] = Some(number()?);
            return Ok(());
        }
        if !kind.others().contains(&name) {
            let known: Vec<&str> = kind.fields().iter().chain(kind.others()).copied().collect();
            let problem = format!("this kernel's shape has no `{}`", shown(name));
            return Err(refused(problem, instead_of(name, &known)));
        }
        match name {
            "window" => self.window = number()?,
            "ep" => self.ep = Some(number()?),
            "tp" => self.tp = Some(number()?),
            "draw" => self.draw = ExpertDraw::read(value)?,
            _ => {
                self.narrow_cache = match value {
                    "bf16" | "fp16" => false,
                    "fp8" => true,
                    _ => {
                        let problem = format!("keys are not kept in `{}`", shown(value));
                        return Err(refused(problem, instead_of(value, &["bf16", "fp8"])));
                    }
                };
            }
        }
        Ok(())
    }

    fn shape(self, kind: AskedKernel) -> Result<KernelShape, TrainingError> {
        let fields = kind.fields();
        for (name, number) in fields.iter().zip(self.numbers) {
            if number.is_none() {
                let problem = format!("the shape lacks `{name}`");
                return Err(refused(problem, format!("say {}", fields.join(", "))));
            }
        }
        let [first, second, third, fourth, fifth] = self.numbers.map(Option::unwrap_or_default);
        let Self { window, narrow_cache, draw, .. } = self;
        Ok(match kind {
            AskedKernel::Gemm => {
                KernelShape::Product(ProductShape { rows: first, columns: second, depth: third })
            }
            AskedKernel::Attention | AskedKernel::Decode => {
                let shape = AttentionShape {
                    batch: first,
                    tokens: second,
                    heads: third,
                    key_value_heads: fourth,
                    head: fifth,
                    window,
                    narrow_cache,
                };
                if kind == AskedKernel::Decode {
                    KernelShape::Decoding(shape)
                } else {
                    KernelShape::Attention(shape)
                }
            }
            AskedKernel::Experts => KernelShape::Experts(ExpertsShape {
                tokens: first,
                hidden: second,
                inner: third,
                top: fourth,
                experts: fifth,
                ep: self.ep.unwrap_or(1),
                tp: self.tp.unwrap_or(1),
                draw,
            }),
        })
    }
}
