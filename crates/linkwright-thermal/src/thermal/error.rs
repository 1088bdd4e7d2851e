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
            Self::Cells { cells, in_all } if (1..=MOST_CELLS).contains(cells) => {
                Diagnosis::of(format!(
                    "a grid of {cells} cells each way has {in_all} cells in all, which takes \
                    too much memory"
                ))
                .remedy(format!("use fewer cells each way, for at most {MOST_CELLS_IN_ALL} in all"))
            }
            Self::Cells { cells, .. } => {
                Diagnosis::of(format!("a grid cannot have {cells} cells each way"))
                    .remedy(format!("use 1 to {MOST_CELLS}"))
            }
            Self::OutOfRange { what, value, bounds: (least, most) } => {
                Diagnosis::of(format!("{what} cannot be {value}"))
                    .remedy(format!("use {least} to {most}"))
            }
            Self::NoSink { target, coolest, hottest } => Diagnosis::of(format!(
                "no sink brings the hottest place to {target} degrees: the best gives \
                 {coolest:.1} and the worst {hottest:.1}"
            ))
            .remedy(
                "ask for a temperature between them, or change the power, the layers or the \
                air",
            ),
            Self::Unsettled { unaccounted } => Diagnosis::of(format!(
                "the temperatures do not settle: the heat in and out differs by a share of \
                 {unaccounted:.1e}"
            ))
            .remedy("check thicknesses, sizes and conductivities for values far off"),
            Self::Layer { name, known } => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                Diagnosis::of(format!("there is no layer `{name}`"))
                    .remedy(instead_of(name, &known))
            }
        }
    }
}
