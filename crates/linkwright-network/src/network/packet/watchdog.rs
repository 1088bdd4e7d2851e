//! Why a network moves nothing any more.

use std::fmt::Write;

use crate::system::fabric::ChannelId;

/// A buffer that no packet can leave: the channel into it and its virtual channel, and the
/// buffer for which its first packet waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blocked {
    pub(super) buffer: (ChannelId, u8),
    pub(super) waits_for: (ChannelId, u8),
}

/// Buffers that wait for one another, as a sentence; every blocked buffer waits for a full one,
/// so that following them must come back.
pub(super) fn cycle(
    blocked: &[Blocked],
    name: impl Fn((ChannelId, u8)) -> String,
    held: impl Fn((ChannelId, u8)) -> String,
) -> String {
    let Some(first) = blocked.first() else { return "no buffer is full".to_owned() };
    let mut way = vec![first.buffer];
    let mut at = first.waits_for;
    while !way.contains(&at) {
        way.push(at);
        match blocked.iter().find(|entry| entry.buffer == at) {
            Some(entry) => at = entry.waits_for,
            None => return format!("{} has no packet that waits", name(at)),
        }
    }
    let start = way.iter().position(|buffer| *buffer == at).unwrap_or(0);
    let mut text = String::from("these full buffers wait for one another: ");
    for (index, buffer) in way[start..].iter().enumerate() {
        let arrow = if index == 0 { "" } else { " -> " };
        let _ = write!(text, "{arrow}{} ({})", name(*buffer), held(*buffer));
    }
    text
}
