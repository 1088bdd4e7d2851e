//! Keeps the bytes left of every command, and the virtual channel that each traffic class is mapped
//! to.
//!
//! At each new command the classes below its root are ranked by the bytes that they have left, and
//! mapped anew. Responses go to virtual channels 7 to 4, requests to 3 to 0. A command with a
//! deadline can be raised above all of them, with those that are due before it and above it. This
//! happens once the rest of all these would not be there in time at the bus's bandwidth.

use super::VIRTUAL_CHANNELS;
use super::command::{Command as OnBus, OfServer};
use super::settings::{First, PcieArbitration, PcieSettings};
use crate::network::packet::serialisation;
use crate::network::transport::MessageIndex;
use crate::units::Bandwidth;

const CHANNELS: usize = VIRTUAL_CHANNELS as usize;
/// The level of the most urgent of the classes whose deadline would pass.
const RAISED: u8 = 2 * VIRTUAL_CHANNELS - 1;

/// Says when a command has to be done, and how fast its data gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::network) struct Deadline {
    /// When it is due.
    pub(in crate::network) due: u64,
    /// Holds the bandwidth that the bus gives its data.
    pub(in crate::network) bandwidth: Bandwidth,
    /// Holds the further picoseconds that its last byte takes.
    pub(in crate::network) behind: u64,
}

/// A command that has not ended, at a root whose channels it crosses.
#[derive(Debug, Clone, Copy)]
struct Command {
    message: MessageIndex,
    virtual_channel: u8,
    left: u64,
    deadline: Option<Deadline>,
}

/// Keeps the classes below one root.
#[derive(Debug, Clone)]
struct Root {
    commands: Vec<Command>,
    left: [u64; CHANNELS],
    /// The virtual channel that each class is mapped to.
    mapped: [u8; CHANNELS],
    /// From when on each class is raised, and to what.
    raised: [(u64, u8); CHANNELS],
    /// How many of the commands have deadlines.
    deadlines: usize,
}

const NEVER: (u64, u8) = (u64::MAX, 0);

impl Root {
    const REST: Self = Self {
        commands: Vec::new(),
        left: [0; CHANNELS],
        mapped: [0; CHANNELS],
        raised: [NEVER; CHANNELS],
        deadlines: 0,
    };

    /// Maps the classes anew.
    fn map(&mut self, first: First) {
        for response in [0, 1] {
            let mut ranked: [usize; CHANNELS / 2] = std::array::from_fn(|at| 2 * at + response);
            let key = |class: &usize| match (self.left[*class], first) {
                (0, _) => u64::MAX,
                (left, First::Small) => left,
                (left, First::Large) => u64::MAX - left,
            };
            // Stable: of equals the lower class goes first.
            ranked.sort_by_key(key);
            let highest = VIRTUAL_CHANNELS / 2 * (1 + response as u8) - 1;
            for (rank, class) in (0..).zip(ranked) {
                self.mapped[class] = highest - rank;
            }
        }
    }

    /// Finds from when on each class is raised.
    fn watch(&mut self) {
        if self.deadlines == 0 {
            return;
        }
        self.raised = [NEVER; CHANNELS];
        let mut watched: Vec<&Command> =
            self.commands.iter().filter(|command| command.deadline.is_some()).collect();
        // Stable: of equals the earlier goes first.
        watched.sort_by_key(|command| command.deadline.map(|it| it.due));
        let mut left = 0_u64;
        let mut from: Vec<u64> = watched
            .iter()
            .map(|command| {
                let Some(Deadline { due, bandwidth, behind }) = command.deadline else {
                    return u64::MAX;
                };
                left = left.saturating_add(command.left);
                due.saturating_sub(serialisation(left, bandwidth).saturating_add(behind))
            })
            .collect();
        // Commands that are due before another are raised with it. Else it would wait for those that wait for it.
        for at in (1..from.len()).rev() {
            from[at - 1] = from[at - 1].min(from[at]);
        }
        let levels = (VIRTUAL_CHANNELS..=RAISED).rev().chain(std::iter::repeat(VIRTUAL_CHANNELS));
        for ((command, from), level) in watched.iter().zip(from).zip(levels) {
            let raised = &mut self.raised[usize::from(command.virtual_channel)];
            if from < raised.0 {
                *raised = (from, level);
            }
        }
    }
}

/// Holds the commands under way, by the roots whose channels they cross.
#[derive(Debug, Clone)]
pub(in crate::network) struct Schedule {
    arbitration: PcieArbitration,
    first: First,
    roots: Vec<Root>,
}

impl Schedule {
    /// Makes a schedule without commands.
    pub(in crate::network) fn new(settings: &PcieSettings) -> Self {
        Self { arbitration: settings.arbitration, first: settings.first, roots: Vec::new() }
    }

    /// A new command, of that many bytes: the classes of its root are mapped anew.
    fn begin(
        &mut self,
        message: MessageIndex,
        (root, virtual_channel): (u32, u8),
        size: u64,
        deadline: Option<Deadline>,
    ) {
        if self.roots.len() <= root as usize {
            self.roots.resize(root as usize + 1, Root::REST);
        }
        let deadline = deadline.filter(|_| self.arbitration == PcieArbitration::Qos);
        let root = &mut self.roots[root as usize];
        root.deadlines += usize::from(deadline.is_some());
        root.left[usize::from(virtual_channel)] += size;
        root.commands.push(Command { message, virtual_channel, left: size, deadline });
        root.map(self.first);
        root.watch();
    }

    /// The same at each root whose channels it crosses; its deadline is of the first.
    pub(in crate::network) fn begin_at_both(
        &mut self,
        message: MessageIndex,
        command: &OnBus,
        size: u64,
    ) {
        let of = |end: OfServer| (end.root, end.virtual_channel);
        let [own, other] = command.ends;
        self.begin(message, of(own), size, command.deadline);
        if own.root != other.root {
            self.begin(message, of(other), size, None);
        }
    }

    /// Corrects what is left of a root's commands.
    pub(in crate::network) fn correct(
        &mut self,
        root: u32,
        left: impl Fn(MessageIndex) -> Option<u64>,
    ) {
        let Some(root) = self.roots.get_mut(root as usize) else { return };
        for command in &mut root.commands {
            if let Some(left) = left(command.message) {
                let of_class = &mut root.left[usize::from(command.virtual_channel)];
                *of_class = *of_class - command.left + left;
                command.left = left;
            }
        }
        root.watch();
    }

    /// Gives the messages of a root's commands.
    pub(in crate::network) fn messages(
        &self,
        root: u32,
    ) -> impl Iterator<Item = MessageIndex> + '_ {
        let commands = self.roots.get(root as usize).map_or(&[][..], |root| &root.commands);
        commands.iter().map(|command| command.message)
    }

    /// The roots that have commands with deadlines.
    pub(in crate::network) fn watched(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.roots).filter(|(_, root)| root.deadlines > 0).map(|(root, _)| root)
    }

    /// When the next class of a root would be raised after a time, if nothing of it went on until then.
    pub(in crate::network) fn next_raise(&self, root: u32, now: u64) -> Option<u64> {
        let later = |(from, _): &(u64, u8)| (now + 1..u64::MAX).contains(from).then_some(*from);
        self.roots.get(root as usize)?.raised.iter().filter_map(later).min()
    }

    /// Notes that `bytes` of a command have arrived.
    pub(in crate::network) fn progress(&mut self, message: MessageIndex, root: u32, bytes: u64) {
        let root = &mut self.roots[root as usize];
        let of_message = |command: &&mut Command| command.message == message;
        if let Some(command) = root.commands.iter_mut().find(of_message) {
            command.left -= bytes;
            root.left[usize::from(command.virtual_channel)] -= bytes;
        }
        root.watch();
    }

    /// A command has ended.
    pub(in crate::network) fn end(&mut self, message: MessageIndex, root: u32) {
        let root = &mut self.roots[root as usize];
        if let Some(at) = root.commands.iter().position(|command| command.message == message) {
            let gone = root.commands.remove(at);
            root.left[usize::from(gone.virtual_channel)] -= gone.left;
            root.deadlines -= usize::from(gone.deadline.is_some());
        }
        root.raised = [NEVER; CHANNELS];
        root.watch();
    }

    /// Gives the level that a class of a root is mapped to at a time: the higher goes first.
    pub(in crate::network) fn level(&self, root: u32, virtual_channel: u8, now: u64) -> u8 {
        if self.arbitration == PcieArbitration::RoundRobin {
            return 0;
        }
        let Some(root) = self.roots.get(root as usize) else { return 0 };
        let class = usize::from(virtual_channel);
        match root.raised[class] {
            (from, level) if from <= now => level,
            _ => root.mapped[class],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::pcie::PcieSettings;
    use crate::units::Picoseconds;

    fn schedule(arbitration: PcieArbitration, first: First) -> Schedule {
        Schedule::new(&PcieSettings { arbitration, first, ..PcieSettings::default() })
    }

    fn levels(schedule: &Schedule, now: u64) -> [u8; 8] {
        std::array::from_fn(|class| schedule.level(0, class as u8, now))
    }

    #[test]
    fn classes_are_ranked_at_each_command_responses_first() {
        let mut small = schedule(PcieArbitration::Throughput, First::Small);
        small.begin(0, (0, 0), 100, None);
        small.begin(1, (0, 2), 50, None);
        small.begin(2, (0, 5), 900, None);
        // The response comes first, then the smaller request. A command with nothing left comes
        // last.
        assert_eq!(levels(&small, 0), [2, 6, 3, 5, 1, 7, 0, 4]);
        small.progress(0, 0, 80);
        assert_eq!(levels(&small, 0)[..3], [2, 6, 3], "nothing is mapped until a command comes");
        small.begin(3, (0, 4), 30, None);
        assert_eq!(levels(&small, 0)[0], 3, "20 bytes are fewer than 30 and 50");
        assert_eq!([levels(&small, 0)[2], levels(&small, 0)[4]], [1, 2]);
        let mut large = schedule(PcieArbitration::Throughput, First::Large);
        large.begin(0, (0, 0), 100, None);
        large.begin(1, (0, 2), 50, None);
        assert_eq!(levels(&large, 0)[..3], [3, 7, 2]);
        let mut turns = schedule(PcieArbitration::RoundRobin, First::Small);
        turns.begin(0, (0, 0), 100, None);
        assert_eq!(levels(&turns, 0), [0; 8]);
    }

    #[test]
    fn a_command_is_raised_when_it_would_be_late() {
        let due = |due| Some(Deadline { due, bandwidth: Bandwidth(1_000_000_000_000), behind: 5 });
        let mut qos = schedule(PcieArbitration::Qos, First::Small);
        qos.begin(0, (0, 0), 100, due(400));
        qos.begin(1, (0, 2), 10, None);
        // A byte takes a picosecond: the rest takes until 105 after its start.
        assert_eq!([294, 295].map(|now| qos.level(0, 0, now)), [2, RAISED]);
        assert_eq!(qos.next_raise(0, 0), Some(295));
        qos.progress(0, 0, 40);
        assert_eq!([334, 335].map(|now| qos.level(0, 0, now)), [2, RAISED]);
        // A command that is due before it counts, too, and goes before it.
        qos.begin(2, (0, 4), 20, due(300));
        assert_eq!([274, 275].map(|now| qos.level(0, 4, now)), [2, RAISED]);
        assert_eq!([314, 315].map(|now| qos.level(0, 0, now)), [1, RAISED - 1]);
        qos.end(0, 0);
        qos.end(2, 0);
        assert_eq!(qos.watched().count(), 0);
        assert!(levels(&qos, Picoseconds::SECOND.0).iter().all(|level| *level < 8));
    }
}
