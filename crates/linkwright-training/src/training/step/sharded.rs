//! Weights, gradients and the optimizer's state divided over all GPUs (ZeRO stage 3, PyTorch's FSDP).
//!
//! The weights of a block are gathered before it is computed, forward and again backward, while the
//! block before is computed. Its gradients are reduced and scattered while the next block is
//! computed. Each GPU updates its part.

use super::Step;
use super::parts::Unit;
use super::writing::{Region, Writing};
use crate::program::{CollectiveKind, PendingOperation, Program, Rank};
use crate::units::{Bytes, Picoseconds};

/// Writes the program.
pub(super) fn program(step: &Step<'_>) -> Program {
    Writing::each(step, |all, rank| write(all, step, rank))
}

fn write(all: &mut Writing, step: &Step<'_>, rank: Rank) {
    let own = &*step.ranks[rank as usize];
    let gpus = step.ranks.len() as u64;
    let units = own.units();
    all.begin(step, rank);
    let begun = all.compute(rank, Picoseconds(0), &[]);
    let gather = |all: &mut Writing, unit: &Unit, after: PendingOperation| {
        let part = Bytes(if gpus > 1 { unit.weights.0.div_ceil(gpus) } else { 0 });
        all.collective(rank, (CollectiveKind::AllGather, part), step.costs.collective, &[after])
    };
    let pass = |all: &mut Writing, units: &[Unit], is_backward: bool| {
        let mut scattered = Vec::new();
        // Gathers are one block ahead.
        let mut before = begun;
        let mut gathered = units.first().map(|unit| gather(all, unit, before));
        for (at, unit) in units.iter().enumerate() {
            let ready = gathered.take();
            gathered = units.get(at + 1).map(|next| gather(all, next, before));
            let duration = if is_backward { unit.backward } else { unit.forward };
            before = all.compute(rank, duration, ready.as_slice());
            if is_backward && gpus > 1 && unit.weights.0 > 0 {
                let scatter = (CollectiveKind::ReduceScatter, unit.gradients);
                scattered.push(all.collective(rank, scatter, step.costs.collective, &[before]));
            }
        }
        scattered
    };
    let backwards: Vec<Unit> = units.iter().rev().copied().collect();
    all.within((rank, Region::Forward), |all| pass(all, &units, false));
    let scattered = all.within((rank, Region::Backward), |all| pass(all, &backwards, true));
    all.within((rank, Region::Update), |all| {
        all.wait(rank, &scattered);
        all.compute(rank, Picoseconds(own.update().0 / gpus), &[]);
    });
}
