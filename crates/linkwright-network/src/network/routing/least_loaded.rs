//! Chooses the channel with the shortest queue, as adaptive routings do.

use std::num::NonZeroU64;

use super::Load;
use crate::engine::Random;
use crate::system::fabric::ChannelId;

/// Chooses the channel with the shortest queue among `count` channels, by its index.
///
/// The search starts at a random channel, so that ties are fair. Without channels it gives None.
pub(super) fn least_loaded(
    count: usize,
    channel: impl Fn(usize) -> ChannelId,
    load: &mut dyn Load,
    random: &mut Random,
) -> Option<ChannelId> {
    let bound = NonZeroU64::new(count as u64)?;
    let start = if count == 1 { 0 } else { random.below(bound) as usize };
    let mut best = (u32::MAX, channel(0));
    for channel in (start..count).chain(0..start).map(channel) {
        let queued = load.queued(channel);
        if queued < best.0 {
            best = (queued, channel);
        }
        if queued == 0 {
            break;
        }
    }
    Some(best.1)
}
