//! Makes programs whose messages go by where ranks stand in a network.

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis};
use crate::network::synthetic::Places;
use crate::program::Program;
use crate::program::skeletons::{Application, SkeletonError};
use crate::program::workload::Gpu;
use crate::system::System;
use crate::system::fabric::NodeId;

/// Tells why an application has no program at its ranks' places.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum PlacedProgramError {
    /// The system has no network in which ranks could stand.
    NoNetwork,
    /// The application refuses its parameters or its ranks.
    Skeleton(SkeletonError),
}

impl Diagnose for PlacedProgramError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::NoNetwork => {
                Diagnosis::of("this pattern goes by places in a network, and there is no network")
                    .remedy("give the system a network, or use another pattern")
            }
            Self::Skeleton(error) => error.diagnosis(),
        }
    }
}

/// Makes the program of an application whose ranks stand at GPUs of a system. A rank stands at the node of its server's
/// first interface.
///
/// # Errors
/// Refuses a system without a network. Fails as [`Application::program_at`] does.
pub fn placed_program(
    application: &dyn Application,
    parameters: &toml::Table,
    (system, gpus): (&System, &[Gpu]),
) -> Result<Program, PlacedProgramError> {
    let fabric = system.fabric().ok_or(PlacedProgramError::NoNetwork)?;
    let node = |gpu: &Gpu| system.port_of(system.nic_at(system.gpu(*gpu).server, 0));
    let nodes: Vec<NodeId> = gpus.iter().map(node).collect();
    application
        .program_at(parameters, &Places { fabric, nodes: &nodes })
        .map_err(PlacedProgramError::Skeleton)
}
