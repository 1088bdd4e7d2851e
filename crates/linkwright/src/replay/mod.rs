//! Programs that run over a network: the ranks of every job, MPI's matching and protocols.
//!
//! The runtime knows a network only as a [`crate::network::Transport`], so that the packet
//! model and the flow model run the same programs.
