//! Why a package's temperatures cannot be told.

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, instead_of};

/// The most cells that an interposer is cut into each way.
pub const MOST_CELLS: usize = 2048;
/// Limits the cells in all; they take some two gigabytes.
pub const MOST_CELLS_IN_ALL: usize = 25_000_000;

/// Why a package's temperatures cannot be told.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", self.diagnosis())]
pub enum ThermalError {
    /// A grid of none, or of more cells than memory holds.
    Cells {
        /// How many were asked for each way.
        cells: usize,
        /// How many that makes in all.
        in_all: usize,
    },
    /// A resistance to the air, or a temperature of it, that no package has.
    OutOfRange {
        /// Names the quantity, with its unit.
        what: &'static str,
        /// Holds it as it was asked for.
        value: f64,
        /// The least and the most that is possible.
        bounds: (f64, f64),
    },
    /// A temperature that no sink brings about.
    NoSink {
        /// Gives the temperature asked for, in degrees Celsius.
        target: f64,
        /// Gives the temperature of the hottest place under the best sink, in degrees Celsius.
        coolest: f64,
        /// Gives the same under the worst sink.
        hottest: f64,
    },
    /// A package so extreme that its temperatures are not found.
    Unsettled {
        /// The share of the heat that is unaccounted for after all rounds.
        unaccounted: f64,
    },
    /// A layer that is not there.
    Layer {
        /// Holds it as it was asked for.
        name: String,
        /// The layers that there are.
        known: Vec<String>,
    },
}

impl Diagnose for ThermalError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Cells { cells, in_all } if (1..=MOST_CELLS).contains(cells) => Diagnosis::of(
                format!("{cells} cells each way are {in_all} in all, more than memory should hold"),
            )
            .remedy(format!("take fewer: up to {MOST_CELLS_IN_ALL} in all are possible")),
            Self::Cells { cells, .. } => {
                Diagnosis::of(format!("a grid of {cells} cells each way is not possible"))
                    .remedy(format!("1 to {MOST_CELLS} are"))
            }
            Self::OutOfRange { what, value, bounds: (least, most) } => {
                Diagnosis::of(format!("{what} of {value} is not possible"))
                    .remedy(format!("{least} to {most} are"))
            }
            Self::NoSink { target, coolest, hottest } => Diagnosis::of(format!(
                "no sink makes {target} degrees of the hottest place: \
                 it has {coolest:.1} under the best and {hottest:.1} under the worst"
            ))
            .remedy("ask for what is between them, or change power, layers or the air"),
            Self::Unsettled { unaccounted } => Diagnosis::of(format!(
                "the temperatures do not settle: a share of {unaccounted:.1e} of the heat is \
                 unaccounted for"
            ))
            .remedy("look for a thickness, a size or a conductivity that is off by far"),
            Self::Layer { name, known } => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                Diagnosis::of(format!("there is no layer `{name}`"))
                    .remedy(instead_of(name, &known))
            }
        }
    }
}
