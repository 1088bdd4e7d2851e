//! Models a channel of HBM2, which has banks with rows, one bus, refresh.
//!
//! An access to a bank's open row reads its columns at once. Another row is closed first and then
//! opened. A row is not closed before it has been open for long enough and its written data is
//! there. No more than four rows are opened within a window. All banks share a bus, which carries
//! one burst after another. They stand still while they are refreshed, which closes their rows.
//! Requests to one bank keep their order, and those to others pass them. The model leaves out bank
//! groups, the scheduling of row hits before others, and refresh bank by bank.
//!
//! The controller adds the part of an ideal channel's latency that exceeds an access to a closed
//! row.

use crate::system::gpus::DramBanks;

/// Stands for no row.
const CLOSED: u64 = u64::MAX;

/// Describes a bank of a channel.
#[derive(Debug, Clone, Copy)]
struct Bank {
    row: u64,
    /// When its row was opened.
    opened: u64,
    /// When its next command may come, and its row be closed.
    free: u64,
    closable: u64,
    /// Which refresh it has seen.
    refreshed: u64,
}

/// Holds timings in picoseconds.
#[derive(Debug, Clone, Copy)]
struct Timing {
    activate: u64,
    read: u64,
    write: u64,
    precharge: u64,
    row_active: u64,
    burst: u64,
    window: u64,
    turnaround: u64,
    recovery: u64,
    interval: u64,
    refresh: u64,
    controller: u64,
}

/// Holds channels of HBM2.
#[derive(Debug)]
pub struct Banked {
    timing: Timing,
    banks: u64,
    lines: u64,
    states: Vec<Bank>,
    /// When the bus of each channel is free, and when it may read after a write.
    bus: Vec<(u64, u64)>,
    /// When the last four rows of each channel were opened, the next to be replaced first.
    opened: Vec<[u64; 4]>,
}

impl Banked {
    /// Makes `channels` channels at rest.
    #[must_use]
    pub fn new(of: &DramBanks, latency: u64, cycle: u64, channels: u32) -> Self {
        let time = |cycles: u32| u64::from(cycles) * cycle;
        let closed = time(of.activate) + time(of.read) + time(of.burst);
        let timing = Timing {
            activate: time(of.activate),
            read: time(of.read),
            write: time(of.write),
            precharge: time(of.precharge),
            row_active: time(of.row_active),
            burst: time(of.burst),
            window: time(of.window),
            turnaround: time(of.turnaround),
            recovery: time(of.recovery),
            interval: time(of.refresh_interval).max(1),
            refresh: time(of.refresh),
            controller: latency.saturating_sub(closed),
        };
        let bank = Bank { row: CLOSED, opened: 0, free: 0, closable: 0, refreshed: 0 };
        Self {
            timing,
            banks: u64::from(of.banks),
            lines: (of.row.0 / 64).max(1),
            states: vec![bank; channels as usize * of.banks as usize],
            bus: vec![(0, 0); channels as usize],
            opened: vec![[0; 4]; channels as usize],
        }
    }

    /// When a request that comes now to a line of a channel is served.
    pub fn serve(&mut self, now: u64, channel: u32, line: u64, is_write: bool) -> u64 {
        let Timing { interval, refresh, .. } = self.timing;
        let row = line / self.lines;
        let (row, bank) = (row / self.banks, row % self.banks);
        // The first refresh comes after a whole interval.
        let refreshes = now / interval;
        let refreshed = if refreshes == 0 { 0 } else { refreshes * interval + refresh };
        let now = now.max(refreshed);
        let state = &mut self.states[(u64::from(channel) * self.banks + bank) as usize];
        if state.refreshed != refreshes {
            (state.row, state.refreshed) = (CLOSED, refreshes);
        }
        let mut command = now.max(state.free);
        if state.row != row {
            if state.row != CLOSED {
                let closable = state.closable.max(state.opened + self.timing.row_active);
                command = command.max(closable) + self.timing.precharge;
            }
            let opened = &mut self.opened[channel as usize];
            command = command.max(opened[0]);
            *opened = [opened[1], opened[2], opened[3], command + self.timing.window];
            (state.row, state.opened) = (row, command);
            command += self.timing.activate;
        }
        let (bus, readable) = &mut self.bus[channel as usize];
        if !is_write {
            command = command.max(*readable);
        }
        let column = if is_write { self.timing.write } else { self.timing.read };
        *bus = now.max(*bus) + self.timing.burst;
        let done = (command + column + self.timing.burst).max(*bus);
        state.free = command + self.timing.burst;
        if is_write {
            *readable = done + self.timing.turnaround;
            state.closable = done + self.timing.recovery;
        }
        done + self.timing.controller
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::gpus;

    fn channel() -> Banked {
        let model = gpus::find("r9-nano").expect("it is known");
        Banked::new(&model.hierarchy().expect("it has one").banks, 100, 1, 1)
    }

    #[test]
    fn rows_that_are_open_are_faster_and_others_slower() {
        let mut memory = channel();
        // A closed row takes what an ideal channel takes.
        assert_eq!(memory.serve(0, 0, 0, false), 100);
        // Open: columns and the burst, beside the controller's 70 cycles.
        assert_eq!(memory.serve(1_000, 0, 1, false), 1_000 + 70 + 14 + 2);
        // Another row of the bank: it is closed first.
        assert_eq!(memory.serve(2_000, 0, 16 * 16, false), 2_000 + 70 + 14 + 14 + 14 + 2);
        // Another bank.
        assert_eq!(memory.serve(3_000, 0, 16, false), 3_000 + 100);
    }

    #[test]
    fn a_stream_of_open_rows_fills_the_bus() {
        let mut memory = channel();
        let last = (0..1_024).map(|line| memory.serve(0, 0, line, false)).max().unwrap();
        // Two cycles a line, and at most a tenth more for opening rows.
        assert!((2_048..2_048 + 200).contains(&last), "{last}");
    }

    #[test]
    fn random_rows_wait_for_their_banks() {
        let mut memory = channel();
        // All in one bank, each in another row: precharge, activate, and a row's least time.
        let last = (0..100).map(|row| memory.serve(0, 0, row * 256, false)).max().unwrap();
        assert!(last > 100 * (34 + 14), "{last}");
    }

    #[test]
    fn refresh_stops_a_channel_and_closes_rows() {
        let mut memory = channel();
        memory.serve(0, 0, 0, false);
        assert_eq!(memory.serve(3_900, 0, 0, false), 3_900 + 260 + 100);
        assert_eq!(memory.serve(5_000, 0, 0, false), 5_000 + 86);
    }

    #[test]
    fn reads_wait_for_what_is_written() {
        let mut memory = channel();
        let written = memory.serve(0, 0, 0, true) - 70;
        assert_eq!(written, 14 + 4 + 2);
        assert_eq!(memory.serve(written, 0, 1, false), written + 8 + 14 + 2 + 70);
    }
}
