//! Reads a scenario: its system, its jobs, its choices, and the variants to compare them with.
//!
//! ```toml
//! name = "shared servers"
//! seed = 7                          # of everything by chance, 0 where absent
//! fidelity = "flow"                 # or "packet"
//!
//! [system]
//! server = "dgx1-v100"              # a preset, a file, or { gpus = 4, bandwidth_scale = "2x" }
//! servers = 8
//! network = { kind = "fat-tree", nic = "rr-4", routing = "adaptive" }
//!
//! [jobs]                            # jobs of GPUs, which a policy places
//! generate = { count = 300, mean_interarrival = "90 s", max_gpus = 8 }
//!
//! [[job]]                           # or jobs of ranks, which run programs
//! name = "a"
//! program = "stencil4d"             # or goal = "file.goal", or trace = "traces.otf2"
//! ranks = 64
//! parameters = { message = "64 KiB" }
//! mapping = "random"
//!
//! [compare.default]                 # a name, and what differs, by the same keys
//! allocation.policies = ["baseline"]
//! ```
//!
//! [`settings()`] lists every key. One reader takes all texts: [`Scenario::read`]. Keys of earlier
//! versions (`[machine]`, and a `[network]` beside `[[job]]`) are read into today's; a key of
//! several words may be written with hyphens, too. Only the text is read here: the files that it
//! names are the caller's to read ([`Scenario::files`]) and to hand over ([`Scenario::build`]).
//!
//! There is no model in this layer. It leaves out all that a scenario cannot say, such as a fabric
//! that is made in a program.

mod build;
mod compare;
pub mod comparison;
mod day_jobs;
mod demand;
mod facts;
mod failure;
mod fields;
mod files;
mod generated;
mod iteration;
mod kernel_job;
mod keys;
mod known_gpus;
mod measured;
mod mix;
mod model_job;
mod needs;
mod network;
mod package;
mod play;
mod program_job;
mod programs;
mod read;
pub mod recorded;
mod registries;
mod servers;
mod settings;
mod shared_memory;
mod source;
#[cfg(test)]
mod tests;
mod trained;
mod training_job;
mod tree;
mod unheeded;
mod workload_job;
mod written;

pub use build::{Built, ReadyJobs};
pub use compare::Variant;
pub use demand::Demand;
pub use fields::FileName;
pub use files::Files;
pub use kernel_job::KernelJob;
pub use mix::{JobSource, Mix, MixPlaces};
pub use needs::Needs;
pub use network::{FabricSource, GpuBandwidth, NetworkPlaces, NetworkSettings};
pub use package::PackageEntry;
pub use play::{PlayError, PlayedPrograms, PlayedScenario, Run, play};
pub use program_job::{JobEntry, JobPlaces, ProgramSource, ScenarioMapping};
pub use programs::Programs;
pub use read::{
    Asked, Given, MOST_SEEDS, Scenario, SystemText, is_system, read_network, read_system,
};
pub use registries::Registries;
pub use servers::ServerEntry;
pub use settings::{Kind, Setting, settings};
pub use source::{Place, SETTINGS_FILE};
