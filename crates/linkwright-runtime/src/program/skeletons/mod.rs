//! Writes skeletons: programs with the communication of known applications.
//!
//! A skeleton writes the sends, receives and computations of every rank of an application in one
//! iteration of its main loop. The loop is marked as the body for the runtime to repeat. The six of
//! [`APPLICATIONS`] were made for 32 to 512 processes. Their source is Bhowmik et al., "A
//! Simulation Study of Hardware Parameters for Future GPU-based HPC Platforms" (IPCCC 2021),
//! Section V.A.
//!
//! **Scaling.** All scale weakly. A rank's own work is the same for any number of ranks, and so are
//! its messages. Only neighbours, tree depths and pipelines grow.
//!
//! **What the numbers are.** The paper names no message sizes or times. Those here are chosen to
//! match the paper on 32 processes with one GPU a node and links of 11.9 GB/s. The shares of
//! computing and communicating are those of its Fig. 4, before and after computation is divided by
//! [`Application::gpu_speedup`]. An application is limited (by bytes, latency, or the other ranks'
//! computing) as its Table II says. The tests hold them to it under the LogGP model. The durations
//! are those of the paper's CPUs: before scaling.
//!
//! **What is left out.** Set-up and output, load imbalance, and the computation's dependence
//! on anything but the parameters.
//!
//! A further application is one file and one line in [`ALL`]; a crate of one's own adds it to a
//! registry that begins as [`applications`].

pub mod amg;
pub mod copy_execute;
mod exchange;
pub mod grid;
pub mod kripke;
pub mod laghos;
pub mod stencil4d;
pub mod subcomm3d;
pub mod sw4lite;
pub mod synthetic;
#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;
use thiserror::Error;

use super::{MOST_MESSAGE, Operation, Program, Rank, RankProgram};
use crate::diagnostic::{
    Diagnose, Diagnosis, Registered, Registry, in_plain_words, instead_of, shown,
};
use crate::network::synthetic::Places;
use crate::units::Bytes;

/// An application that programs can be made of, by its name.
pub trait Application: Registered {
    /// Says what it is, in a line.
    fn summary(&self) -> &'static str;

    /// How many times faster its computation is on GPUs than its durations say.
    fn gpu_speedup(&self) -> f64;

    /// The program for this many ranks; `options` are the application's parameters, by name.
    ///
    /// # Errors
    /// Options that the application does not have or cannot take, and a count of ranks that it
    /// cannot run on.
    fn generate(&self, ranks: u32, options: &toml::Table) -> Result<Program, SkeletonError>;

    /// Whether its messages go by where its ranks stand, with these options. Then [`Self::program_at`] makes it.
    fn knows_places(&self, _options: &toml::Table) -> bool {
        false
    }

    /// Makes the program of ranks that stand at nodes of a fabric.
    ///
    /// # Errors
    /// Fails as [`program`](Self::program) does.
    fn program_at(
        &self,
        options: &toml::Table,
        places: &Places<'_>,
    ) -> Result<Program, SkeletonError> {
        self.program(places.nodes.len() as u32, options)
    }

    /// The same, with messages that can be sent.
    ///
    /// # Errors
    /// As [`generate`](Self::generate), and a message that is too large.
    fn program(&self, ranks: u32, options: &toml::Table) -> Result<Program, SkeletonError> {
        let program = self.generate(ranks, options)?;
        let size =
            program.ranks.iter().flat_map(RankProgram::operations).map(Operation::size).max();
        match size.filter(|size| *size > MOST_MESSAGE) {
            Some(size) => Err(SkeletonError::Message { application: self.name(), size }),
            None => Ok(program),
        }
    }
}

/// Is an application of Linkwright's own.
#[derive(Debug, Clone, Copy)]
pub struct Skeleton {
    /// Names it in scenarios.
    pub name: &'static str,
    /// Describes it in a line.
    pub summary: &'static str,
    /// How many times faster its computation is on the paper's GPUs than on its CPUs.
    ///
    /// The paper divides computation by a factor that it measured on the Sierra supercomputer
    /// for each application, and does not print (Section III.C). These are the factors that
    /// take the shares of Fig. 4's left side to those of its right side; each application's
    /// file says more.
    pub gpu_speedup: f64,
    /// Makes programs whose messages go by where ranks stand, for options that it knows; none does so where absent.
    placed: Option<Placed>,
    generate: fn(u32, &toml::Table) -> Result<Program, SkeletonError>,
}

/// Tells whether options make messages go by places, and makes such a program.
type Placed = (fn(&toml::Table) -> bool, MadeAt);

/// Makes a program of ranks that stand at nodes of a fabric.
type MadeAt = fn(&toml::Table, &Places<'_>) -> Result<Program, SkeletonError>;

impl Registered for Skeleton {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Application for Skeleton {
    fn summary(&self) -> &'static str {
        self.summary
    }

    fn gpu_speedup(&self) -> f64 {
        self.gpu_speedup
    }

    fn generate(&self, ranks: u32, options: &toml::Table) -> Result<Program, SkeletonError> {
        (self.generate)(ranks, options)
    }

    fn knows_places(&self, options: &toml::Table) -> bool {
        self.placed.is_some_and(|(knows, _)| knows(options))
    }

    fn program_at(
        &self,
        options: &toml::Table,
        places: &Places<'_>,
    ) -> Result<Program, SkeletonError> {
        match self.placed {
            Some((_, made)) => made(options, places),
            None => self.program(places.nodes.len() as u32, options),
        }
    }
}

/// Lists the applications of the paper, in its order.
pub const APPLICATIONS: [Skeleton; 6] = [
    stencil4d::APPLICATION,
    subcomm3d::APPLICATION,
    kripke::APPLICATION,
    laghos::APPLICATION,
    amg::APPLICATION,
    sw4lite::APPLICATION,
];

/// All applications: those of the paper, what shares a PCIe bus, and synthetic traffic.
pub const ALL: [Skeleton; 8] = {
    let [first, second, third, fourth, fifth, sixth] = APPLICATIONS;
    let others = [copy_execute::APPLICATION, synthetic::APPLICATION];
    [first, second, third, fourth, fifth, sixth, others[0], others[1]]
};

/// The most ranks that a skeleton is made for.
pub const MOST_RANKS: u32 = 1 << 20;

/// A skeleton that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum SkeletonError {
    /// No application has the name.
    Unknown {
        /// Holds the name asked for.
        name: String,
        /// Lists every name.
        known: Vec<&'static str>,
    },
    /// An option that the application does not have, or a value that it cannot take.
    Options {
        /// Names the application.
        application: &'static str,
        /// Says what is wrong; a remedy stands behind a semicolon.
        problem: String,
    },
    /// Refuses a parameter outside its range.
    Parameter {
        /// Names the application.
        application: &'static str,
        /// Names the parameter.
        parameter: &'static str,
        /// Holds its value.
        value: u64,
        /// Says which values would do.
        remedy: &'static str,
    },
    /// Refuses a message of more than [`MOST_MESSAGE`].
    Message {
        /// Names the application.
        application: &'static str,
        /// Gives the size of the largest.
        size: Bytes,
    },
    /// A count of ranks that the application cannot run on.
    Ranks {
        /// Names the application.
        application: &'static str,
        /// Counts the ranks.
        ranks: u32,
        /// Says why not, and which number would do.
        reason: &'static str,
    },
}

impl Diagnose for SkeletonError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Unknown { name, known } => {
                Diagnosis::of(format!("there is no application `{}`", shown(name)))
                    .remedy(instead_of(name, known))
            }
            Self::Options { application, problem } => {
                let told = Diagnosis::of_text(problem);
                told.within(format_args!("{application} does not take these options"))
            }
            Self::Parameter { application, parameter, value, remedy } => {
                Diagnosis::of(format!("`{parameter}` of {application} cannot be {value}"))
                    .remedy(format!("use {remedy}"))
            }
            Self::Message { application, size } => Diagnosis::of(format!(
                "{application} would send messages of {size} bytes, which is too large",
                size = size.0
            ))
            .remedy(format!(
                "use sizes that give messages of at most {most} bytes",
                most = MOST_MESSAGE.0
            )),
            Self::Ranks { application, ranks, reason } => {
                Diagnosis::of(format!("{application} cannot run on {ranks} ranks: {reason}"))
            }
        }
    }
}

/// Linkwright's own applications, by their names.
#[must_use]
pub fn applications() -> Registry<dyn Application> {
    static KNOWN: [Skeleton; ALL.len()] = ALL;
    Registry::new("application", &KNOWN.each_ref().map(|known| known as &'static dyn Application))
}

/// The application of a name among those that are known.
///
/// # Errors
/// A name that none has.
pub fn application(
    name: &str,
    known: &Registry<dyn Application>,
) -> Result<&'static dyn Application, SkeletonError> {
    let unknown = |_| SkeletonError::Unknown { name: name.to_owned(), known: known.names() };
    known.get(name).map_err(unknown)
}

/// Makes the program of the application of a name.
///
/// # Errors
/// Fails as [`application`] and [`Application::program`] do.
///
/// ```
/// use linkwright_runtime::program::skeletons::skeleton;
///
/// let options = toml::from_str("message = \"64 KiB\"")?;
/// let program = skeleton("stencil4d", 64, &options)?;
/// assert_eq!(program.ranks.len(), 64);
/// assert!(skeleton("stencil5d", 64, &options).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn skeleton(name: &str, ranks: u32, options: &toml::Table) -> Result<Program, SkeletonError> {
    application(name, &applications())?.program(ranks, options)
}

/// An application's parameters out of options; those not given have their defaults.
fn parameters<T: DeserializeOwned>(
    application: &'static str,
    options: &toml::Table,
) -> Result<T, SkeletonError> {
    let read = options.clone().try_into();
    read.map_err(|error: toml::de::Error| SkeletonError::Options {
        application,
        problem: in_plain_words(error.message()).to_string(),
    })
}

/// Refuses a count of ranks that no skeleton takes.
fn check_ranks(application: &'static str, ranks: u32) -> Result<(), SkeletonError> {
    let reason = match ranks {
        0 => "take at least 1",
        _ if ranks > MOST_RANKS => "take at most 1048576",
        _ => return Ok(()),
    };
    Err(SkeletonError::Ranks { application, ranks, reason })
}

/// Refuses a parameter outside a range from one.
fn check_count(
    application: &'static str,
    parameter: &'static str,
    value: u32,
    most: u32,
    remedy: &'static str,
) -> Result<(), SkeletonError> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    let value = u64::from(value);
    Err(SkeletonError::Parameter { application, parameter, value, remedy })
}

/// Limits the operations of a program: 2^27 of them take about 7 GB.
const MOST_OPERATIONS: u64 = 1 << 27;

/// Refuses a program of more operations than memory may hold.
fn check_operations(
    application: &'static str,
    ranks: u32,
    operations: u64,
) -> Result<(), SkeletonError> {
    if operations <= MOST_OPERATIONS {
        return Ok(());
    }
    let reason = "the program would not fit into memory; take fewer ranks or smaller counts";
    Err(SkeletonError::Ranks { application, ranks, reason })
}

/// Makes a program of ranks that each know their own part.
fn program_of(
    application: &'static str,
    ranks: u32,
    part: impl Fn(Rank) -> RankProgram,
) -> Result<Program, SkeletonError> {
    // The first rank lies in a corner and has the fewest neighbours, or as many as all.
    let first = part(0).operations().len() as u64;
    check_operations(application, ranks, first * u64::from(ranks))?;
    Ok(Program {
        name: application.to_owned(),
        communicators: vec![(0..ranks).collect()],
        regions: Vec::new(),
        ranks: (0..ranks).map(part).collect(),
    })
}
