//! Why a network cannot be had, or not as it was asked for.

use thiserror::Error;

use super::network::SampleSize;
use super::shape::{MOST_EXTENT, Shape};
use crate::diagnostic::{Diagnose, Diagnosis, instead_of, shown};
use crate::system::gpus::GpuError;
use crate::units::Bytes;

/// Why a network cannot be had, or not as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum TrainingError {
    /// A name that no network, variant or dataset has.
    Unknown {
        /// Names the sort of thing that was asked for.
        what: &'static str,
        /// Gives the unknown name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A layer that cannot take what it is given.
    Layer {
        /// Names the network.
        network: String,
        /// Names the layer.
        layer: String,
        /// Says how it is wrong.
        fault: Diagnosis,
    },
    /// A size of samples that a network does not have.
    Samples {
        /// Names the network.
        network: String,
        /// Gives the shape of its samples.
        input: Shape,
    },
    /// The network cannot take samples of this size.
    SampleSize {
        /// Names the network.
        network: String,
        /// Gives the size.
        size: SampleSize,
    },
    /// A GPU whose file lacks what is needed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// Numbers that a GPU does not calculate with.
    Precision {
        /// Says which precision it lacks.
        error: GpuError,
        /// Lists the precisions that it calculates with.
        instead: Vec<&'static str>,
    },
    /// The device has no known model.
    NoModel {
        /// Names the GPU.
        gpu: String,
        /// Names its server.
        server: String,
    },
    /// GPUs in two servers, between which nothing is copied.
    Apart {
        /// How they were to communicate.
        way: &'static str,
        /// Names the first rank.
        first: u32,
        /// Names one in another server.
        second: u32,
    },
    /// The GPUs are in one server, and neither reads the other's memory.
    NoPeerAccess {
        /// How they were to communicate.
        way: &'static str,
        /// The rank whose memory is read.
        first: u32,
        /// One that does not reach it.
        second: u32,
    },
    /// Nothing says how fast a GPU reaches the memory that all share.
    NoSharedMemory,
    /// Nothing is to overlap, and data moves while GPUs compute.
    Overlap {
        /// How they were to communicate.
        way: &'static str,
        /// Why it does.
        why: &'static str,
    },
    /// A pipeline has more stages than its network has blocks.
    TooManyStages {
        /// Counts the stages.
        stages: usize,
        /// Counts the blocks.
        blocks: usize,
    },
    /// A network whose file does not say how its layers are cut.
    NoSplit {
        /// Names it.
        network: String,
    },
    /// A batch that the GPUs, or the parts of a pipeline, do not divide.
    Batch {
        /// Counts the samples.
        batch: u64,
        /// Gives the number that has to divide them.
        parts: u64,
        /// Names the parts.
        of: &'static str,
    },
    /// Times of layers that were measured with another number of samples.
    MeasuredSamples {
        /// The samples that were measured.
        measured: u64,
        /// Those that a GPU computes at once.
        samples: u64,
    },
    /// A layout that a model, a batch or GPUs cannot have.
    ModelLayout(Diagnosis),
    /// A kernel of a shape that there is not.
    Kernel(Diagnosis),
    /// A trace that training is not compared with.
    Trace(Diagnosis),
    /// A model's training by a layout that a GPU has no memory for.
    TooLarge(Diagnosis),
    /// More samples than a GPU has memory for.
    Memory {
        /// Names the GPU.
        gpu: u32,
        /// Samples that it computes at once.
        samples: u64,
        /// Gives the memory that they take.
        needed: Bytes,
        /// Gives the memory that it has.
        capacity: Bytes,
        /// Names the largest part, with its size.
        largest: (&'static str, Bytes),
        /// Lists changes that each make it fit.
        remedies: Vec<String>,
    },
}

/// A size in the unit in which memory is sold.
fn gibibytes(size: u64) -> String {
    format!("{:.2} GiB", size as f64 / (1_u64 << 30) as f64)
}

impl Diagnose for TrainingError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Unknown { what, name, known } => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                Diagnosis::of(format!("there is no {what} `{}`", shown(name)))
                    .remedy(instead_of(name, &known))
            }
            Self::Layer { network, layer, fault } => {
                fault.clone().within(format_args!("{network}: layer `{}`", shown(layer)))
            }
            Self::Samples { network, input } => Diagnosis::of(format!(
                "`{}` takes samples of {input}, not of this kind",
                shown(network)
            ))
            .remedy("give the size of the data of images, or the tokens of sequences"),
            Self::SampleSize { network, size } => {
                let SampleSize { points, channels, tokens } = size;
                let given = [(points, "points"), (channels, "channels"), (tokens, "tokens")];
                let given =
                    given.iter().filter_map(|(count, what)| count.map(|it| format!("{it} {what}")));
                let given = given.collect::<Vec<_>>().join(" and ");
                Diagnosis::of(format!("`{}` cannot take samples of {given}", shown(network)))
                    .remedy(format!("give each from 1 to {MOST_EXTENT}, or fewer elements in all"))
            }
            Self::Gpu(error) => error.diagnosis(),
            Self::ModelLayout(diagnosis)
            | Self::Kernel(diagnosis)
            | Self::Trace(diagnosis)
            | Self::TooLarge(diagnosis) => diagnosis.clone(),
            Self::Precision { error, instead } => Diagnosis::of(error.diagnosis().problem)
                .remedy(format!("train with {}", instead.join(" or "))),
            Self::NoModel { gpu, server } => Diagnosis::of(format!(
                "`{}` in `{}` has no model, so its speed and memory are not known",
                shown(gpu),
                shown(server)
            ))
            .remedy(
                "write model = \"Tesla V100-SXM2-16GB\" or another in the machine's file, or \
                use `--gpu FILE`",
            ),
            Self::Apart { way, first, second } => Diagnosis::of(format!(
                "`{way}` works within one server, but ranks {first} and {second} are in two servers"
            ))
            .remedy("use a way by collectives, such as `nccl`, or GPUs of one server"),
            Self::NoPeerAccess { way, first, second } => Diagnosis::of(format!(
                "`{way}` reads another GPU's memory, but ranks {first} and {second} have no peer \
                 access (no NVLink, different CPUs)"
            ))
            .remedy(
                "use `p2p`, which copies over the host's memory, a way by collectives, or \
                other GPUs",
            ),
            Self::NoSharedMemory => Diagnosis::of(
                "`tsm` needs a memory that all GPUs share, but \
                no GPU model says how fast they reach it",
            )
            .remedy("give the links of every GPU model, or use another way"),
            Self::Overlap { way, why } => Diagnosis::of(format!(
                "`{way}` cannot run without overlap: {why}"
            ))
            .remedy("allow overlap, or use `nccl` or `p2p`, which can wait for the backward pass"),
            Self::TooManyStages { stages, blocks } => Diagnosis::of(format!(
                "a pipeline of {stages} stages needs {stages} blocks, but the network has {blocks}"
            ))
            .remedy(format!("train on at most {blocks} GPUs, or use another way")),
            Self::NoSplit { network } => Diagnosis::of(format!(
                "`{}` does not say how its layers are cut for tensor parallelism",
                shown(network)
            ))
            .remedy("write split = \"columns\" and \"rows\" in its file, or use another way"),
            Self::Batch { batch, parts, of } => {
                let below = batch - batch % parts;
                let near = if below == 0 {
                    format!("{parts}")
                } else {
                    format!("{below} or {}", below + parts)
                };
                Diagnosis::of(format!(
                    "a batch of {batch} samples does not divide evenly among \
                    {parts} {of}"
                ))
                .remedy(format!("use {near}"))
            }
            Self::MeasuredSamples { measured, samples } => Diagnosis::of(format!(
                "the layers were measured with {measured} samples, but each GPU computes \
                 {samples} at once"
            ))
            .remedy(format!(
                "measure them with {samples}, or use a batch that gives each GPU \
                {measured}"
            )),
            Self::Memory { gpu, samples, needed, capacity, largest: (what, size), remedies } => {
                let more = gibibytes(needed.0.saturating_sub(capacity.0));
                let (plural, takes) = if *samples == 1 { ("", "takes") } else { ("s", "take") };
                let problem = format!(
                    "{samples} sample{plural} at once {takes} {} of GPU {gpu}, {more} more than \
                     it has (mostly {what}, {})",
                    gibibytes(needed.0),
                    gibibytes(size.0)
                );
                Diagnosis {
                    problem,
                    remedy: (!remedies.is_empty())
                        .then(|| format!("use {}", remedies.join(", or "))),
                }
            }
        }
    }
}

impl TrainingError {
    /// Gives a refusal for memory what would fit; any other error stays as it is.
    #[must_use]
    pub fn advised(self, advice: impl FnOnce() -> Vec<String>) -> Self {
        match self {
            Self::Memory { gpu, samples, needed, capacity, largest, .. } => {
                Self::Memory { gpu, samples, needed, capacity, largest, remedies: advice() }
            }
            other => other,
        }
    }
}
