//! The few numbers that measurements, not NCCL, give the model.
//!
//! NCCL's cost model exists to choose, and its bandwidths are cautious. Two things are fitted,
//! both on the DGX-1V's GPUs 0 and 1, which one NVLink joins (`validation/nccl-tests.csv`);
//! the form of the second was chosen with all rows in view. The other rows are held out, and `docs/concepts/collective-timing.md` shows
//! how far off the model is on it.

use super::choice::rules::Search;
use super::constants::Generation;
use crate::collectives::collective::Collective;
use crate::system::LinkKind;

/// What long transfers reach of the bandwidth that NCCL counts on from one NVLink.
///
/// On Volta a broadcast of 1 GiB over one NVLink reaches 22.9 GB/s, as its kind says, where NCCL
/// counts on 20. For other generations no measurement of a single link is at hand, and NCCL's
/// number stands.
pub(super) fn nvlink_reach(search: &Search, generation: Generation) -> f64 {
    if generation != Generation::Volta {
        return 1.0;
    }
    let kind = LinkKind::Nvlink2;
    let peak = kind.data_sheet().bandwidth.as_gigabytes_per_second();
    kind.reached_share() * peak / search.link(kind)
}

/// What an all-reduce over NVLink takes longer than NCCL's model says, once it is long, in
/// microseconds.
const REDUCTION_DELAY: f64 = 170.0;

/// The size at which half of that delay is reached.
const HALF_DELAY_SIZE: f64 = 4.0 * 1024.0 * 1024.0;

/// The delay of an all-reduce of a size over NVLink, in microseconds: a broadcast over the same
/// link keeps a constant start-up, an all-reduce's grows between 1 and 64 MiB and then stays.
/// The cause is not known here; NCCL's model has no such term within a server. Reductions in
/// `NVSwitches`, and other collectives, for which nothing is measured, go without.
pub(super) fn reduction_delay(collective: Collective, size: u64) -> f64 {
    if collective != Collective::AllReduce {
        return 0.0;
    }
    let size = size as f64;
    REDUCTION_DELAY * size / (size + HALF_DELAY_SIZE)
}
