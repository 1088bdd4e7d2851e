//! Writes the work of a switch for a rank as blocks of a kernel.
//!
//! A kernel's connection has one sender and one receiver, and a switch has many of either. So the
//! block that reduces or multicasts, the head, sends its data over a connection of its own. Its
//! links are those of the whole group. The others learn of it by flags:
//!
//! - one flag says that another rank's contribution lies ready. That rank's step sends it once it
//!   has written the contribution to the memory that the switch knows. A block beside the head's
//!   takes it, and the head waits for this block;
//! - one flag says that a multicast is there. A block beside the head's sends it once the head has
//!   ended. The receiving rank's step takes it, and writes the result to its own buffer.
//!
//! These copies are NCCL's where buffers are not registered. On each GPU the library's blocks copy for all heads, and
//! share their rate among these.
//!
//! `multimem` addresses the memory of all ranks, the head's included. So the head's own copy
//! crosses the switch, too. A reduction of n ranks takes each one's link to the switch once and the
//! head's link from it once. A multicast takes them the other way round.

use crate::network::{ResourceId, Routes};
use crate::program::kernel::{Kernel, KernelStep};
use crate::system::reducing_switches;

use super::error::TimeError;
use crate::collectives::schedule::{Channel, Schedule, StepOperation};

const TAKES: KernelStep = KernelStep { sends: false, receives: true, count: 0, copies: false };
const TELLS: KernelStep = KernelStep { sends: true, receives: false, count: 0, copies: false };

/// A block whose steps a switch does, with the kernel's blocks beside it, by their places in the
/// rank.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) rank: usize,
    pub(super) block: u32,
    pub(super) channel: usize,
    pub(super) operation: StepOperation,
    /// Lists the places of its in-switch steps.
    steps: Vec<u32>,
    /// Where its own data ends.
    pub(super) sink: u32,
    /// Who hears of each other rank that its data is there; none where the switch only copies.
    pub(super) hears: Vec<(usize, u32)>,
    /// Who tells each other rank that the result is there; none where the switch only reduces.
    pub(super) tells: Vec<(usize, u32)>,
}

impl Head {
    /// Returns the heads of a rank, whose blocks beside them follow those of the schedule.
    pub(super) fn of(schedule: &Schedule, rank: usize) -> Vec<Self> {
        let blocks = &schedule.programs[rank].blocks;
        let mut next = blocks.len() as u32;
        let mut place = || {
            next += 1;
            next - 1
        };
        let mut heads = Vec::new();
        for (index, block) in (0..).zip(blocks) {
            let does = |step: &u32| block.steps[*step as usize].operation.is_in_switch();
            let steps: Vec<u32> = (0..block.steps.len() as u32).filter(does).collect();
            let Some(first) = steps.first() else { continue };
            let operation = block.steps[*first as usize].operation;
            let others: Vec<usize> = schedule.channels[block.channel].others(rank).collect();
            let mut beside = |wanted: bool| -> Vec<(usize, u32)> {
                others.iter().filter(|_| wanted).map(|other| (*other, place())).collect()
            };
            let hears = beside(operation.switch_reduces());
            let tells = beside(operation.multicasts());
            let (sink, channel) = (place(), block.channel);
            heads.push(Self { rank, block: index, channel, operation, steps, sink, hears, tells });
        }
        heads
    }

    /// Lists the steps that the head waits for, beside those that its step at this place names.
    pub(super) fn waits(&self, step: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let nth = self.steps.iter().position(|at| *at == step);
        let heard = self.hears.iter().filter(move |_| nth.is_some());
        heard.map(move |(_, block)| (*block, nth.unwrap_or(0) as u32))
    }

    /// Writes the blocks beside it.
    pub(super) fn write(&self, kernel: &mut Kernel) {
        for _ in &self.hears {
            kernel.begin_block();
            self.steps.iter().for_each(|_| kernel.step(TAKES, []));
        }
        for _ in &self.tells {
            kernel.begin_block();
            self.steps.iter().for_each(|step| kernel.step(TELLS, [(self.block, *step)]));
        }
        kernel.begin_block();
        self.steps.iter().for_each(|_| kernel.step(TAKES, []));
    }

    /// Returns the links that its data takes. Each comes with the part of it that the data takes
    /// up, and the part of that which is data. A switch reaches less of its links than GPUs that
    /// send each other.
    ///
    /// # Errors
    /// [`TimeError::NoReducingSwitch`] where no switch reduces for the group.
    pub(super) fn uses(
        &self,
        schedule: &Schedule,
        routes: &Routes<'_>,
    ) -> Result<(Vec<(ResourceId, f64)>, f64), TimeError> {
        let channel: &Channel = &schedule.channels[self.channel];
        let gpus: Vec<usize> = channel.group.iter().map(|rank| schedule.gpus[*rank]).collect();
        let wires = reducing_switches(routes.wiring(), &gpus)?;
        let (reduces, copies) = (self.operation.switch_reduces(), self.operation.multicasts());
        let (mut uses, mut efficiency) = (Vec::new(), 1.0_f64);
        for ((rank, gpu), wires) in channel.group.iter().zip(&gpus).zip(wires) {
            let own = routes.wiring().gpu(*gpu);
            let is_head = *rank == self.rank;
            let times =
                |all: bool, head: bool| f64::from(u8::from(all) + u8::from(head && is_head));
            let capacity = |at: usize| routes.capacities()[2 * at].0 as f64;
            let width: f64 = wires.iter().map(|wire| capacity(wire.wire)).sum();
            for link in wires {
                let wire = &routes.wiring().wires()[link.wire];
                let forwards = 2 * link.wire + usize::from(wire.b == own);
                // Of links at their peak the switch has the peak, too.
                let in_switch = wire.in_switch_share().filter(|_| !routes.is_at_peak());
                let slower = in_switch.map_or(1.0, |share| wire.reached_share() / share);
                let part = capacity(link.wire) / width * slower;
                efficiency = efficiency.min(1.0 / slower);
                let directions =
                    [(forwards, times(reduces, copies)), (forwards ^ 1, times(copies, reduces))];
                let used = directions.into_iter().filter(|(_, times)| *times > 0.0);
                uses.extend(used.map(|(resource, times)| (resource, part * times)));
            }
        }
        Ok((uses, efficiency))
    }
}
