//! Holds all that messages, copies and protocols share. Each part has one owner, and is reached by its verbs.

use super::communicators::Communicators;
use super::copies::Copies;
use super::frames::{Frames, OperationRef};
use super::jobs::Jobs;
use super::lanes::Lanes;
use super::messages::Messages;
use super::ranks::Ranks;
use super::slab::Slab;

/// Holds all of a runtime but its protocols.
#[derive(Debug)]
pub(super) struct Shared<'a, T, L, O> {
    pub(super) transport: &'a mut T,
    pub(super) lowering: L,
    pub(super) observer: O,
    pub(super) jobs: Jobs,
    pub(super) ranks: Ranks,
    pub(super) lanes: Lanes,
    pub(super) communicators: Communicators,
    pub(super) frames: Frames,
    pub(super) messages: Messages,
    pub(super) copies: Copies,
    /// Are the operations that let time pass.
    pub(super) delays: Slab<OperationRef>,
    /// The protocols that keep something until no transfer ends at this time, as bits.
    pub(super) kept: u8,
    pub(super) now: u64,
}
