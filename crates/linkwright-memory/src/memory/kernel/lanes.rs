//! Holds the bytes that the work-items of a wavefront touch with one instruction, and the lines
//! that they lie in.

use super::LANES;
use crate::memory::address::LINE;

/// Holds a number for each work-item.
pub type PerLane<T> = [T; LANES];

/// The bytes that one instruction touches: an address for each work-item that takes part, and the
/// same number of bytes from each.
#[derive(Debug, Clone)]
pub struct Lanes {
    addresses: PerLane<u64>,
    /// Says which work-items take part.
    active: u64,
    /// Counts the bytes of each.
    width: u32,
    /// The lines touched, in order of the first work-item that does, with the bytes of each.
    lines: Vec<(u64, u64)>,
}

impl Default for Lanes {
    fn default() -> Self {
        Self { addresses: [0; LANES], active: 0, width: 0, lines: Vec::with_capacity(LANES) }
    }
}

impl Lanes {
    /// Takes the addresses of an instruction, and coalesces them into lines.
    #[inline]
    pub fn set(&mut self, width: u32, address: impl Fn(usize) -> Option<u64>) {
        self.width = width;
        self.active = 0;
        self.lines.clear();
        let mut last = usize::MAX;
        for lane in 0..LANES {
            let Some(at) = address(lane) else { continue };
            self.addresses[lane] = at;
            self.active |= 1 << lane;
            let mut at = at;
            let end = at + u64::from(width);
            while at < end {
                let line = at / LINE;
                let until = end.min((line + 1) * LINE);
                let mask = mask(at % LINE, until - at);
                if last >= self.lines.len() || self.lines[last].0 != line {
                    last = self.lines.iter().rposition(|(known, _)| *known == line).unwrap_or_else(
                        || {
                            self.lines.push((line, 0));
                            self.lines.len() - 1
                        },
                    );
                }
                self.lines[last].1 |= mask;
                at = until;
            }
        }
    }

    /// The address of the first work-item that takes part, if any does.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        (self.active != 0).then(|| self.addresses[self.active.trailing_zeros() as usize])
    }

    /// Returns the lines touched, each with the bytes of it.
    #[inline]
    #[must_use]
    pub fn lines(&self) -> &[(u64, u64)] {
        &self.lines
    }

    /// Returns the bytes that each work-item touches.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Lists the work-items that take part, each with its address.
    pub fn each(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        (0..LANES)
            .filter(|lane| self.active >> lane & 1 == 1)
            .map(|lane| (lane, self.addresses[lane]))
    }

    /// Lists the words of work-items that lie in a line: lane, word of the lane, byte of the line.
    pub fn words_in(&self, line: u64) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let words = self.width.div_ceil(4) as usize;
        self.each().flat_map(move |(lane, address)| {
            (0..words).filter_map(move |word| {
                let at = address + 4 * word as u64;
                (at / LINE == line).then_some((lane, word, (at % LINE) as usize))
            })
        })
    }
}

/// Returns the bits of `length` bytes from one on.
#[inline]
fn mask(from: u64, length: u64) -> u64 {
    if length == LINE { u64::MAX } else { ((1 << length) - 1) << from }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_a_line() {
        let mut lanes = Lanes::default();
        lanes.set(4, |lane| Some(4 * lane as u64));
        assert_eq!(lanes.lines(), [(0, u64::MAX), (1, u64::MAX), (2, u64::MAX), (3, u64::MAX)]);
        lanes.set(4, |lane| Some(60 + 4 * lane as u64));
        assert_eq!(lanes.lines().len(), 5);
        assert_eq!(lanes.lines()[0], (0, 0xF << 60));
        lanes.set(16, |lane| (lane < 2).then_some(16 * lane as u64));
        assert_eq!(lanes.lines(), [(0, 0xFFFF_FFFF)]);
    }

    #[test]
    fn strangers_have_a_line_each() {
        let mut lanes = Lanes::default();
        lanes.set(4, |lane| Some(4096 * lane as u64));
        assert_eq!(lanes.lines().len(), LANES);
        assert_eq!(lanes.words_in(64).collect::<Vec<_>>(), [(1, 0, 0)]);
    }
}
