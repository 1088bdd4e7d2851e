//! Why a network cannot be had, or not as it was asked for.

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, instead_of, shown};

/// Why a network cannot be had, or not as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum TrainingError {
    /// A name that no network, variant or dataset has.
    Unknown {
        /// What was asked for.
        what: &'static str,
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A layer that cannot take what it is given.
    Layer {
        /// The network's name.
        network: String,
        /// The layer's name.
        layer: String,
        /// What is wrong with it.
        fault: Diagnosis,
    },
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
        }
    }
}
