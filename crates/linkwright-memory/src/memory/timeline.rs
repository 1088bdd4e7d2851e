//! Records when things happened in a run: work-groups on compute units, links and memory by
//! intervals.
//!
//! Nothing of it is an event. Samples are taken down at the first event behind the end of an
//! interval, when nothing has changed since. So a run takes the same time with it and without. A
//! wavefront that waits for ever is still found when no event is left.

use super::protocol::CoherenceProtocol;
use super::system::Gpus;
use crate::units::Picoseconds;

/// Describes a work-group on a compute unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupSpan {
    /// Names its launch.
    pub launch: usize,
    /// Gives its number in the launch.
    pub group: u32,
    /// Names its compute unit, over all GPUs.
    pub unit: u32,
    /// Gives the time when the compute unit took it in.
    pub start: Picoseconds,
    /// When its last wavefront had ended.
    pub end: Picoseconds,
}

/// Records when things happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// The work-groups that ended first, as many as were asked for.
    pub groups: Vec<GroupSpan>,
    /// How many there were.
    pub group_count: u64,
    /// How long an interval is; the last may be shorter.
    pub interval: Picoseconds,
    /// Holds sums at the end of each interval, one after another. First come the picoseconds for
    /// which each link was busy so far. Then come, for each memory, the lines that were read and
    /// written so far.
    sums: Vec<u64>,
    /// How many numbers an interval has.
    width: usize,
    most_groups: usize,
}

/// More intervals than this are put together by twos.
const MOST_INTERVALS: usize = 1024;

/// Counts the cycles of the first intervals.
const FIRST_CYCLES: u64 = 64;

impl Timeline {
    /// Starts with nothing, for links and memories.
    fn new(most_groups: usize, cycle: u64, width: usize) -> Self {
        Self {
            groups: Vec::new(),
            group_count: 0,
            interval: Picoseconds(FIRST_CYCLES * cycle),
            sums: Vec::new(),
            width,
            most_groups,
        }
    }

    /// How many intervals there are.
    #[must_use]
    pub fn intervals(&self) -> usize {
        self.sums.len() / self.width.max(1)
    }

    /// Returns by how much a number rose in each interval.
    pub(super) fn rises(&self, number: usize) -> impl Iterator<Item = u64> {
        let mut last = 0;
        self.sums.iter().skip(number).step_by(self.width).map(move |sum| {
            let rise = sum - last;
            last = *sum;
            rise
        })
    }

    fn end_group(&mut self, span: GroupSpan) {
        self.group_count += 1;
        if self.groups.len() < self.most_groups {
            self.groups.push(span);
        }
    }

    /// Puts intervals together by twos; when the next one ends.
    fn halve(&mut self) {
        let width = self.width;
        let kept = self.intervals() / 2;
        for at in 0..kept {
            let from = (2 * at + 1) * width;
            self.sums.copy_within(from..from + width, at * width);
        }
        self.sums.truncate(kept * width);
        self.interval.0 *= 2;
    }
}

/// Takes a run down, or nothing.
#[derive(Debug)]
pub(super) struct Recorder {
    timeline: Option<Box<Timeline>>,
    /// When the next interval ends; never without a timeline.
    sample_at: u64,
}

impl Recorder {
    /// Takes nothing down.
    pub(super) const IDLE: Self = Self { timeline: None, sample_at: u64::MAX };

    /// Whether an interval has ended by a time.
    #[inline]
    pub(super) fn is_due(&self, now: Picoseconds) -> bool {
        now.0 >= self.sample_at
    }
}

impl<P: CoherenceProtocol> Gpus<'_, P> {
    /// Begins with a timeline of at most `most_groups` work-groups.
    pub(super) fn record(&mut self, most_groups: usize) {
        let memories = self.memory.counts().len() / self.counts.banks as usize;
        let links = self.links.used().carried().count();
        let timeline = Timeline::new(most_groups, self.counts.cycle, links + 2 * memories);
        let sample_at = timeline.interval.0;
        self.recorder = Recorder { timeline: Some(Box::new(timeline)), sample_at };
    }

    /// Takes down what has changed in the intervals that are over.
    #[cold]
    pub(super) fn sample(&mut self, now: Picoseconds) {
        while self.recorder.is_due(now) {
            self.sample_until(self.recorder.sample_at);
            let Some(timeline) = &mut self.recorder.timeline else { return };
            if timeline.intervals() >= MOST_INTERVALS {
                timeline.halve();
            }
            self.recorder.sample_at += timeline.interval.0;
        }
    }

    fn sample_until(&mut self, time: u64) {
        let Some(timeline) = &mut self.recorder.timeline else { return };
        timeline.sums.extend(self.links.used().busy_until(time));
        for channels in self.memory.counts().chunks(self.counts.banks as usize) {
            timeline.sums.push(channels.iter().map(|counts| counts.reads).sum());
            timeline.sums.push(channels.iter().map(|counts| counts.writes).sum());
        }
    }

    /// The last wavefront of a work-group has ended.
    pub(super) fn end_group(&mut self, group: u32, now: Picoseconds) {
        if let Some(timeline) = &mut self.recorder.timeline {
            let (group, unit, start) = self.dispatcher.group(group);
            let launch = self.phases.launch();
            timeline.end_group(GroupSpan { launch, group, unit, start, end: now });
        }
    }

    /// Returns the record of a run that ended at a time.
    pub(super) fn recorded(&mut self, end: Picoseconds) -> Option<Timeline> {
        self.sample(end);
        let Recorder { timeline, sample_at } = &self.recorder;
        let is_between = timeline
            .as_ref()
            .is_some_and(|timeline| end.0 > sample_at.saturating_sub(timeline.interval.0));
        if is_between {
            self.sample_until(end.0);
        }
        self.recorder.timeline.take().map(|timeline| *timeline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_put_together_by_twos() {
        let mut timeline = Timeline::new(0, 1, 2);
        timeline.sums = vec![1, 10, 3, 10, 6, 40, 10, 50];
        timeline.halve();
        assert_eq!(timeline.interval, Picoseconds(2 * FIRST_CYCLES));
        assert_eq!(timeline.rises(0).collect::<Vec<_>>(), [3, 7]);
        assert_eq!(timeline.rises(1).collect::<Vec<_>>(), [10, 40]);
    }
}
