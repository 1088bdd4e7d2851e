//! Times of a trace, and how far each location's clock was off.

/// The clock that all times of an archive refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockProperties {
    /// Counts the ticks of a timestamp in one second; never zero.
    pub ticks_per_second: u64,
    /// Gives a time before every event, in corrected ticks.
    pub global_offset: u64,
    /// Gives the time from the offset to the last event, in ticks.
    pub trace_length: u64,
}

/// How far a location's clock was off at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    /// When it was measured, in ticks of the location's own clock.
    pub time: u64,
    /// Gives the ticks to add to the location's time.
    pub offset: i64,
}

/// Holds a location's measured clock offsets, by rising time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClockCorrection {
    offsets: Vec<ClockOffset>,
}

impl ClockCorrection {
    /// A correction by offsets whose times rise; `None` where one does not rise.
    #[must_use]
    pub fn new(offsets: Vec<ClockOffset>) -> Option<Self> {
        let rising = offsets.windows(2).all(|pair| pair[0].time < pair[1].time);
        rising.then_some(Self { offsets })
    }

    /// Returns the measured offsets, by rising time.
    #[must_use]
    pub fn offsets(&self) -> &[ClockOffset] {
        &self.offsets
    }

    /// Converts a location's time to the archive's common clock, both in ticks.
    ///
    /// Offsets are interpolated linearly between two measurements, and extrapolated from the
    /// nearest two before the first and after the last. With fewer than two measurements the
    /// time is left as it is, as OTF2's own library does.
    #[must_use]
    pub fn correct(&self, time: u64) -> u64 {
        if self.offsets.len() < 2 {
            return time;
        }
        let after = self.offsets[1..].partition_point(|offset| offset.time < time);
        let first = after.min(self.offsets.len() - 2);
        let (begin, end) = (self.offsets[first], self.offsets[first + 1]);
        let rise = i128::from(end.offset) - i128::from(begin.offset);
        let slope = rise as f64 / (end.time - begin.time) as f64;
        let elapsed = if time >= begin.time {
            (time - begin.time) as f64
        } else {
            -((begin.time - time) as f64)
        };
        let drift = (slope * elapsed).round_ties_even() as i128;
        let corrected = i128::from(time).saturating_add(drift) + i128::from(begin.offset);
        corrected.clamp(0, i128::from(u64::MAX)) as u64
    }
}
