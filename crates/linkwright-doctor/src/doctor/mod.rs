//! Finds why a collective is slow on a cluster.
//!
//! [`evidence`] holds what files say: tables of nccl-tests, lines of `NCCL_DEBUG=INFO`, NCCL's dumps, NCCL
//! Inspector's figures and matrices of pairs. A judgement sets them beside what NCCL should take on the same
//! machine, and plays each cause that the files allow.

pub mod ask;
pub mod evidence;
pub mod judge;
pub mod read;
