//! This room holds the planners: they choose trees, rings or paths, and write down their steps.
//!
//! - [`link_graph`]: the links that a job was given
//! - [`mod@plan`] has the question, the planners, and the plans with which they answer
//! - [`certificate`] proves that a plan's optimum is one, and verifies that
//! - [`lowering`] writes trees, rings and paths as steps
//! - [`mpi`] has MPI's algorithms

pub mod certificate;
pub mod link_graph;
pub mod lowering;
pub mod mpi;
pub mod plan;
