//! Weights, gradients and all else in one memory that all GPUs reach through a switch (MGPU-TSM, chapter 3).
//!
//! Kernels read weights there and add to the one copy of the gradients, and their times hold what that takes. When the
//! slowest GPU has added its own, each updates its part of the weights. Nothing is copied, not even samples: the host's
//! memory is the same. It leaves out the time to set the gradients to zero, and to tell of the last that was added.

use super::Step;
use super::writing::{Region, Writing};
use crate::program::{Program, Rank};
use crate::units::Picoseconds;

/// The program. Nothing moves between ranks outside of kernels, so that each knows how long the slowest takes.
pub(super) fn program(step: &Step<'_>) -> Program {
    let gpus = step.ranks.len() as u64;
    let passes = |rank: Rank| {
        let own = &*step.ranks[rank as usize];
        own.forward().0 + own.backward().0
    };
    let slowest = (0..step.ranks.len() as Rank).map(passes).max().unwrap_or(0);
    Writing::each(step, |all, rank| {
        let own = &*step.ranks[rank as usize];
        all.begin(step, rank);
        all.forward(rank, own);
        all.within((rank, Region::Backward), |all| all.compute(rank, own.backward(), &[]));
        all.idle(rank, Picoseconds(slowest - passes(rank)));
        all.within((rank, Region::Update), |all| {
            all.compute(rank, Picoseconds(own.update().0 / gpus), &[])
        });
    })
}
