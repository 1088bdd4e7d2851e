//! Reads how GPUs share memory where training communicates by `tsm`: keys of `[jobs]`, and of the `parameters` of a `[[job]]`
//! that trains.
//!
//! ```toml
//! [jobs]
//! communication = "tsm"
//! shared_memory = "tsm-wt-c-rc"       # how caches agree
//! shared_bandwidth = "256 GB/s"       # of each GPU, each way
//! ```

use super::fields::Fields;
use crate::diagnostic::InputError;
use crate::simulation::SharedMemoryChoice;
use crate::units::Bandwidth;

/// Names both keys.
pub(super) const SHARED_KEYS: [&str; 2] = ["shared_memory", "shared_bandwidth"];

/// Reads both keys of a table.
///
/// # Errors
/// Memory that training does not take, or a bandwidth that is not possible, at the key.
pub(super) fn shared_memory(table: &Fields<'_>) -> Result<SharedMemoryChoice, InputError> {
    let [name, bandwidth] = SHARED_KEYS;
    let named = table.named(name, |it| SharedMemoryChoice::new(it, None))?;
    let memory = named.unwrap_or_default().name();
    let wanted: Option<Bandwidth> = table.optional(bandwidth)?;
    SharedMemoryChoice::new(memory, wanted)
        .map_err(|error| table.refuse_as(bandwidth, error, "write another"))
}
