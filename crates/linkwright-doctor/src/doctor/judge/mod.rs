//! Judges a run. It compares what was measured with what should be, and names the first cause that
//! explains the gap.
//!
//! A cause is a change of the settings or of the system ([`change`]). Causes that lines of the
//! files state, and those that no line rules out, are played as any expectation is. The one whose
//! times are nearest to the measured ones is named first. Nothing is named where the times are as
//! they should be.

mod advice;
mod case;
mod cause;
mod change;
mod decide;
mod fit;
mod gap;
mod guesses;
mod lacking;
mod mended;
mod played;
mod stated;
mod stated_network;
mod told;
mod verdict;

pub use case::{Case, MeasuredRow};
pub use cause::{CauseCandidate, SlowCause};
pub use change::{Change, Worn, WornPart};
pub use decide::judge;
pub use mended::{MendedLink, mended};
pub use verdict::{JudgedCause, JudgedRow, RunVerdict, VerdictKind, narrow_causes};
