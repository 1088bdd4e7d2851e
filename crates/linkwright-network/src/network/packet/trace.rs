//! Keeps the steps of packets on the fabric, and the lengths of queues, as far as limits allow.

use crate::system::fabric::ChannelId;
use crate::units::Picoseconds;

/// Names what a packet does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketStep {
    /// It joins the queue of a channel.
    Wait,
    /// Its first byte goes onto a channel.
    Cross,
}

impl PacketStep {
    /// Returns its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Cross => "cross",
        }
    }
}

/// Records one step of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRecord {
    /// Says when it took place.
    pub time: Picoseconds,
    /// Numbers the channel.
    pub channel: ChannelId,
    /// Says whether the packet joins the channel's queue or crosses the channel.
    pub step: PacketStep,
    /// How many bytes the packet carries.
    pub size: u32,
    /// How many switches it has left, or leaves now.
    pub hops: u8,
    /// Counts packets that then wait for the channel.
    pub queue: u32,
}

/// Sums up the queue of a channel in one window of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueRecord {
    /// When the window begins.
    pub start: Picoseconds,
    /// Numbers the channel.
    pub channel: ChannelId,
    /// Sums packets that waited, each times its picoseconds in the window.
    pub area: u128,
    /// Counts the packets that waited at most.
    pub most: u64,
}

/// Holds the queue of one channel since its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Queue {
    since: u64,
    /// Counts packets that wait.
    waiting: u32,
    /// Counts those of messages at an interface that has not made them.
    unmade: u64,
    area: u128,
    most: u64,
}

impl Queue {
    const fn packets(&self) -> u64 {
        self.waiting as u64 + self.unmade
    }
}

/// Keeps the first records of a span of time, of one channel or of all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PacketTrace {
    /// The channel whose records are kept; all where absent.
    pub channel: Option<ChannelId>,
    /// From when records are kept.
    pub from: Picoseconds,
    /// Says until when they are kept; for ever where absent.
    pub until: Option<Picoseconds>,
    /// How many steps are kept at most.
    pub most: usize,
    /// Those that are kept, in the order of their times.
    pub records: Vec<PacketRecord>,
    /// How many steps there were of the channel in the span.
    pub count: u64,
    /// How long a window is in which queues are summed up; zero where they are not.
    pub window: Picoseconds,
    /// How many windows of queues are kept at most.
    pub most_windows: usize,
    /// The windows in which a packet waited, in the order of their ends.
    pub queues: Vec<QueueRecord>,
    /// How many such windows there were of the channel in the span.
    pub window_count: u64,
    lines: Vec<Queue>,
}

impl PacketTrace {
    /// Tells whether records of a channel are wanted at a time.
    fn is_wanted(&self, channel: ChannelId, time: Picoseconds) -> bool {
        self.channel.is_none_or(|wanted| wanted == channel)
            && time >= self.from
            && self.until.is_none_or(|until| time <= until)
    }

    /// Takes a record in, if it is of the span and the channel and there is room.
    pub(super) fn note(&mut self, record: PacketRecord) {
        if self.window.0 > 0 {
            self.change(record.channel, record.time.0, record.queue);
        }
        if !self.is_wanted(record.channel, record.time) {
            return;
        }
        self.count += 1;
        if self.records.len() < self.most {
            self.records.push(record);
        }
    }

    /// Learns how long a channel's queue is from a time on.
    fn change(&mut self, channel: ChannelId, time: u64, packets: u32) {
        self.until(channel, time).waiting = packets;
    }

    /// Learns that packets are to be made of a message for an interface's channel.
    pub(super) fn hold(&mut self, channel: ChannelId, time: Picoseconds, packets: u64) {
        if self.window.0 > 0 {
            self.until(channel, time.0).unmade += packets;
        }
    }

    /// Learns that one of them is made.
    pub(super) fn release(&mut self, channel: ChannelId, time: Picoseconds) {
        if self.window.0 > 0 {
            let line = self.until(channel, time.0);
            line.unmade = line.unmade.saturating_sub(1);
        }
    }

    /// Counts what waited for a channel until a time, and gives its queue.
    fn until(&mut self, channel: ChannelId, time: u64) -> &mut Queue {
        let at = channel as usize;
        if self.lines.len() <= at {
            self.lines.resize(at + 1, Queue::default());
        }
        self.advance(channel, time);
        &mut self.lines[at]
    }

    /// Counts what waited for a channel until a time, and closes the windows that end by then.
    fn advance(&mut self, channel: ChannelId, time: u64) {
        let window = self.window.0;
        let mut line = self.lines[channel as usize];
        loop {
            let end = (line.since / window + 1) * window;
            let until = time.min(end);
            if until > line.since {
                line.most = line.most.max(line.packets());
            }
            line.area += u128::from(line.packets()) * u128::from(until - line.since);
            line.since = until;
            if until < end {
                break;
            }
            if line.most > 0 {
                self.close(channel, &line, end - window);
            }
            line.area = 0;
            line.most = 0;
            if line.packets() == 0 {
                // Nothing waits in the windows until then.
                line.since = time;
                break;
            }
        }
        self.lines[channel as usize] = line;
    }

    /// Keeps a window of a queue, if it is wanted and there is room.
    fn close(&mut self, channel: ChannelId, line: &Queue, start: u64) {
        let start = Picoseconds(start);
        if !self.is_wanted(channel, start) {
            return;
        }
        self.window_count += 1;
        if self.queues.len() < self.most_windows {
            self.queues.push(QueueRecord { start, channel, area: line.area, most: line.most });
        }
    }

    /// Closes every channel's last window, when all is over.
    pub(super) fn finish(&mut self) {
        for at in 0..self.lines.len() {
            let line = self.lines[at];
            if line.most > 0 {
                self.close(at as ChannelId, &line, line.since / self.window.0 * self.window.0);
            }
        }
        self.lines.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(time: u64, queue: u32) -> PacketRecord {
        let (step, size, hops) = (PacketStep::Wait, 4096, 1);
        PacketRecord { time: Picoseconds(time), channel: 2, step, size, hops, queue }
    }

    #[test]
    fn windows_hold_what_waited_in_them() {
        let window = Picoseconds(10);
        let mut trace = PacketTrace { window, most_windows: 9, ..PacketTrace::default() };
        for (time, queue) in [(3, 1), (8, 3), (25, 2), (26, 0), (91, 1), (95, 0)] {
            trace.note(step(time, queue));
        }
        trace.finish();
        let record =
            |start, area, most| QueueRecord { start: Picoseconds(start), channel: 2, area, most };
        // One packet for 5 and three for 2; three for 10; three for 5 and two for 1; one for 4.
        let expected = [record(0, 11, 3), record(10, 30, 3), record(20, 17, 3), record(90, 4, 1)];
        assert_eq!(trace.queues, expected);
        assert_eq!(trace.window_count, 4);
    }

    #[test]
    fn packets_that_an_interface_has_yet_to_make_wait() {
        let window = Picoseconds(10);
        let mut trace = PacketTrace { window, most_windows: 9, ..PacketTrace::default() };
        trace.hold(2, Picoseconds(2), 3);
        for time in [2, 6, 12] {
            trace.release(2, Picoseconds(time));
        }
        trace.finish();
        let record =
            |start, area, most| QueueRecord { start: Picoseconds(start), channel: 2, area, most };
        // Two packets for 4 and one for 4, then one for 2.
        assert_eq!(trace.queues, [record(0, 12, 2), record(10, 2, 1)]);
    }

    #[test]
    fn limits_keep_the_first_and_count_all() {
        let (most, from, until) = (2, Picoseconds(5), Some(Picoseconds(9)));
        let mut trace = PacketTrace { most, from, until, ..PacketTrace::default() };
        (0..20).for_each(|time| trace.note(step(time, 1)));
        assert_eq!(trace.records.iter().map(|it| it.time.0).collect::<Vec<_>>(), [5, 6]);
        assert_eq!((trace.count, trace.window_count), (5, 0));
    }
}
