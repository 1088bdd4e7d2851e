//! Sends and receives between pairs whose messages differ in length.

use std::collections::BTreeMap;

use super::job::Job;
use super::{recipe_of, rings_by};
use crate::collectives::nccl::baselines::choice::{Choice, Chooser};
use crate::collectives::planners::plan::PlanError;
use crate::collectives::schedule::builder::ScheduleBuilder;
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Channel, Pacing, Schedule, Slice};
use crate::program::kernel::Pieces;
use crate::system::Wiring;
use crate::units::Bytes;

/// Holds a message of one pair of ranks, as the library cuts it.
#[derive(Debug, Clone, Copy)]
pub(in crate::collectives::nccl::baselines) struct Cut {
    pub(in crate::collectives::nccl::baselines) channels: u32,
    pub(in crate::collectives::nccl::baselines) pieces: u64,
    bytes: Bytes,
}

impl Cut {
    /// Cuts a message as the library's choice for an exchange of such messages does: in chunks of at most `chunk`.
    pub(in crate::collectives::nccl::baselines) fn new(
        bytes: Bytes,
        choice: &Choice,
        chunk: Bytes,
    ) -> Self {
        let at_once = u128::from(chunk.0.max(1)) * u128::from(choice.channels);
        let pieces = u128::from(bytes.0).div_ceil(at_once).max(1) as u64;
        Self { channels: choice.channels, pieces, bytes }
    }

    /// Counts the transfers that it takes.
    pub(in crate::collectives::nccl::baselines) fn transfers(&self) -> u64 {
        self.pieces.saturating_mul(u64::from(self.channels))
    }

    /// Gives the bytes of a piece on one of its channels.
    fn of_piece(&self, piece: u64) -> Bytes {
        Pieces::new(self.bytes, self.channels, self.pieces).bytes(piece, 1)
    }
}

/// Gives the bytes of a chunk of [`uneven_schedule`], in which steps count: one, but where they would not count so far.
pub(in crate::collectives::nccl::baselines) fn unit_of(
    cuts: &BTreeMap<(usize, usize), Cut>,
) -> u64 {
    let longest = cuts.values().map(|cut| cut.of_piece(cut.pieces - 1).0).max();
    (longest.unwrap_or(1) / u64::from(u32::MAX) + 1).next_power_of_two()
}

/// Gives the schedule of an exchange, by the message of each pair that has one. It is written out
/// piece by piece, and its chunks are units of bytes. A run of it in one piece moves a unit for
/// each rank of its size.
///
/// # Errors
/// Fails with [`PlanError::NoRing`] as any plan of these GPUs does.
pub(in crate::collectives::nccl::baselines) fn uneven_schedule(
    wiring: &Wiring,
    gpus: &[usize],
    chooser: &Chooser,
    choice: &Choice,
    cuts: &BTreeMap<(usize, usize), Cut>,
    unit: u64,
) -> Result<Schedule, PlanError> {
    let rings = rings_by(wiring, chooser);
    let recipe = recipe_of("nccl-pairs", chooser, choice, &rings);
    let job = Job::new(wiring, gpus, &recipe)?;
    let transport = job.rings[0].channel.transport;
    let collective = Collective::AllToAll;
    let mut builder = ScheduleBuilder::new("nccl-pairs-all-to-allv", collective, gpus.to_vec(), 1);
    let most = cuts.values().map(|cut| cut.channels).max().unwrap_or(1);
    let channels: Vec<usize> =
        (0..most).map(|_| builder.channel(Channel::over(transport))).collect();
    let ways: Vec<(Vec<usize>, Cut)> = job
        .ways()
        .filter_map(|ranks| {
            let cut = cuts.get(&(ranks[0], ranks[ranks.len() - 1]))?;
            Some((ranks, *cut))
        })
        .collect();
    let pieces = ways.iter().map(|(_, cut)| cut.pieces).max().unwrap_or(0);
    for piece in 0..pieces {
        for (ranks, cut) in ways.iter().filter(|(_, cut)| piece < cut.pieces) {
            let units = cut.of_piece(piece).0.div_ceil(unit) as u32;
            for channel in &channels[..cut.channels as usize] {
                forward(&mut builder, *channel, ranks, units);
            }
        }
    }
    let mut schedule = builder.finish();
    if let Some(messages) = job.messages() {
        messages.name(&mut schedule);
    }
    schedule.protocol = choice.protocol;
    let chunk = choice.longest_run(collective);
    schedule.pacing = Pacing::SideBySide { chunk, blocks: Some(1) };
    Ok(schedule)
}

/// Hands a piece on along a way. Where it lies in buffers does not count.
fn forward(builder: &mut ScheduleBuilder, channel: usize, ranks: &[usize], units: u32) {
    builder.send(ranks[0], channel, ranks[1], Slice::input(0), units, &[]);
    for hop in ranks.windows(3) {
        let ends = (hop[0], hop[2]);
        let room = Slice::scratch(0);
        builder.receive_and_send(hop[1], channel, ends, None, None, room, units, &[]);
    }
    let (from, last) = (ranks[ranks.len() - 2], ranks[ranks.len() - 1]);
    builder.receive(last, channel, from, None, Slice::output(0), units, &[]);
}
