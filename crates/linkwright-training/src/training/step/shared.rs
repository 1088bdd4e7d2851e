//! Weights and gradients in one place that all GPUs use: the host's memory, pages that move, or GPU 0's memory.
//!
//! Zero-copy: they are pinned in the host's memory. A GPU that needs them waits until the GPU that
//! uses them is done (MGPU-TSM, section 2.3.1). Its kernels last as long as the slower of computing
//! and reading over PCIe.
//!
//! Unified memory: the driver moves them to the GPU that touches them. GPUs without page faults
//! (before Pascal) get all of them before their kernels start and give them back after. Later GPUs
//! fault. The driver serves faults by batches, one batch of one GPU at a time, and the kernel waits
//! meanwhile.
//!
//! Shared memory: they are in GPU 0's memory, and so are the samples. The other GPUs' kernels read
//! and write it over the links while they compute. Nothing is copied between GPUs.

use super::Step;
use super::writing::{Region, Writing};
use crate::program::{CopyDirection, PendingOperation, Program, Rank};
use crate::system::movement::page_moves;
use crate::units::{Bytes, Picoseconds};

/// Writes the program where they are pinned in the host's memory.
pub(super) fn zero_copy(step: &Step<'_>) -> Program {
    let ranks = step.ranks.len() as Rank;
    let mut all = Writing::new(step.ranks.len());
    let mut turn: Option<PendingOperation> = None;
    for rank in 0..ranks {
        let own = &*step.ranks[rank as usize];
        all.begin(step, rank);
        let begun = turn.into_iter().collect::<Vec<_>>();
        all.wait(rank, &begun);
        let weights = own.weights();
        all.within((rank, Region::Forward), |all| {
            let read = all.beside(rank, (CopyDirection::HostToDevice, weights), &begun);
            all.compute(rank, own.forward(), &[]);
            all.wait(rank, &[read]);
        });
        let done = all.within((rank, Region::Backward), |all| {
            let read = all.beside(rank, (CopyDirection::HostToDevice, weights), &begun);
            let written = all.beside(rank, (CopyDirection::DeviceToHost, weights), &begun);
            all.compute(rank, own.backward(), &[]);
            all.compute(rank, Picoseconds(0), &[read, written])
        });
        turn = Some(if rank + 1 < ranks { all.signal((rank, rank + 1), &[done]) } else { done });
    }
    finish(&mut all, step, turn, |all, after| {
        // GPU 0 reads all gradients and the weights, and writes the weights.
        let own = &*step.ranks[0];
        let read = Bytes(own.weights().0 * u64::from(ranks + 1));
        let read = all.beside(0, (CopyDirection::HostToDevice, read), after);
        let written = all.beside(0, (CopyDirection::DeviceToHost, own.weights()), after);
        let updated = all.compute(0, own.update(), after);
        all.compute(0, Picoseconds(0), &[read, written, updated])
    });
    all.finish(step.name)
}

/// Writes the program where the driver moves them.
pub(super) fn unified_memory(step: &Step<'_>) -> Program {
    let ranks = step.ranks.len() as Rank;
    let mut all = Writing::new(step.ranks.len());
    let mut turn: Option<PendingOperation> = None;
    // The driver brings the weights to one GPU after another.
    let mut given = Vec::new();
    for rank in 0..ranks {
        let own = &*step.ranks[rank as usize];
        all.begin(step, rank);
        all.wait(rank, &turn.into_iter().collect::<Vec<_>>());
        let come = all.within((rank, Region::Forward), |all| {
            all.compute(rank, faults(step, own.weights()), &[]);
            let come = all.host_copy(rank, CopyDirection::HostToDevice, own.weights());
            all.compute(rank, own.forward(), &[]);
            come
        });
        turn = (rank + 1 < ranks).then(|| all.signal((rank, rank + 1), &[come]));
        let done =
            all.within((rank, Region::Backward), |all| all.compute(rank, own.backward(), &[]));
        given.push(done);
    }
    // Gradients leave for GPU 0 one GPU after another, too.
    let mut moved: Option<PendingOperation> = None;
    for rank in 1..ranks {
        let own = &*step.ranks[rank as usize];
        all.within((rank, Region::Update), |all| {
            all.wait(rank, &moved.into_iter().collect::<Vec<_>>());
            all.host_copy(rank, CopyDirection::DeviceToHost, own.weights())
        });
        let out = all.compute(rank, Picoseconds(0), &[]);
        let next = if rank + 1 < ranks { rank + 1 } else { 0 };
        moved = Some(all.signal((rank, next), &[out]));
    }
    finish(&mut all, step, moved.or(given.first().copied()), |all, after| {
        let own = &*step.ranks[0];
        let gradients = Bytes(own.weights().0 * u64::from(ranks - 1));
        all.wait(0, after);
        if gradients.0 > 0 {
            all.compute(0, faults(step, gradients), &[]);
            all.host_copy(0, CopyDirection::HostToDevice, gradients);
        }
        all.compute(0, own.update(), &[]);
        all.host_copy(0, CopyDirection::DeviceToHost, own.weights())
    });
    all.finish(step.name)
}

/// Gives how long the driver serves the faults of pages of this size together, as under kernels inside GPUs.
fn faults(step: &Step<'_>, size: Bytes) -> Picoseconds {
    let moves = page_moves();
    if step.has_faults { moves.service_of(size) } else { moves.service }
}

/// Writes the program where they are in GPU 0's memory.
pub(super) fn shared_memory(step: &Step<'_>) -> Program {
    let ranks = step.ranks.len() as Rank;
    let mut all = Writing::new(step.ranks.len());
    let begun: Vec<PendingOperation> = (0..ranks)
        .map(|rank| {
            all.begin(step, rank);
            all.compute(rank, Picoseconds(0), &[])
        })
        .collect();
    let mut written = Vec::new();
    for rank in 0..ranks {
        let own = &*step.ranks[rank as usize];
        let weights = own.weights();
        let read = |all: &mut Writing, size| {
            (rank > 0).then(|| all.access((0, rank), size, &[begun[0]]).1)
        };
        let samples = read(&mut all, Bytes(weights.0 + own.input.0));
        let forward = all.within((rank, Region::Forward), |all| {
            all.compute(rank, own.forward(), &[]);
            all.compute(rank, Picoseconds(0), samples.as_slice())
        });
        let again = read(&mut all, weights);
        let gradients = (rank > 0).then(|| all.access((rank, 0), weights, &[forward]));
        all.within((rank, Region::Backward), |all| {
            all.compute(rank, own.backward(), &[]);
            all.wait(rank, again.as_slice());
            all.wait(rank, gradients.map(|(sent, _)| sent).as_slice());
        });
        written.extend(gradients.map(|(_, come)| come));
    }
    let last = written.last().copied();
    finish(&mut all, step, last, |all, _| {
        let own = &*step.ranks[0];
        all.wait(0, &written);
        all.reduce(0, (Bytes(own.weights().0 * u64::from(ranks - 1)), own.update()), &[])
    });
    all.finish(step.name)
}

/// GPU 0 updates the weights, and tells the others.
fn finish(
    all: &mut Writing,
    step: &Step<'_>,
    after: Option<PendingOperation>,
    update: impl FnOnce(&mut Writing, &[PendingOperation]) -> PendingOperation,
) {
    let ranks = step.ranks.len() as Rank;
    let updated = all.within((0, Region::Update), |all| {
        let updated = update(all, after.as_slice());
        all.wait(0, &[updated]);
        updated
    });
    for rank in 1..ranks {
        let told = all.signal((0, rank), &[updated]);
        all.within((rank, Region::Update), |all| all.wait(rank, &[told]));
    }
}
