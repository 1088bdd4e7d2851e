//! Writes the programs of a step by a layout: of every rank, and of one rank for each stage.

use std::collections::{BTreeMap, BTreeSet};

use super::exchange_times::Asked;
use super::writer::Writer;
use super::{GroupCall, LayoutStep};
use crate::program::{CollectiveKind, Operation, Program, Rank, RankProgram, WORLD};
use crate::training::layout::RankGroup;
use crate::training::step::Region;
use crate::units::{Bytes, Picoseconds};

/// Activations or gradients that all ranks of a stage send to another stage at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PipelineSend {
    /// The stage that sends.
    pub from: u64,
    /// The stage that receives.
    pub to: u64,
    /// Each rank sends this much.
    pub size: Bytes,
}

/// Says something of each exchange that all ranks of a stage make at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchanges<T> {
    /// Each stage has its calls here.
    pub calls: Vec<BTreeMap<GroupCall, T>>,
    /// The sends that stages have to one another.
    pub sends: BTreeMap<PipelineSend, T>,
}

/// How long exchanges take that all ranks of a stage make at once.
pub type ClassTimes = Exchanges<Picoseconds>;

impl<T> Default for Exchanges<T> {
    fn default() -> Self {
        Self { calls: Vec::new(), sends: BTreeMap::new() }
    }
}

impl<T> Exchanges<T> {
    /// Says something else of the same exchanges.
    #[must_use]
    pub fn map<U>(&self, mut other: impl FnMut(&T) -> U) -> Exchanges<U> {
        let mut of_stage = |calls: &BTreeMap<GroupCall, T>| {
            calls.iter().map(|(call, own)| (*call, other(own))).collect()
        };
        let calls = self.calls.iter().map(&mut of_stage).collect();
        let sends = self.sends.iter().map(|(send, own)| (*send, other(own))).collect();
        Exchanges { calls, sends }
    }
}

/// The calls of a stage's program, and how often it makes each.
pub(super) fn calls_of(program: &RankProgram) -> BTreeMap<GroupCall, u64> {
    let mut calls = BTreeMap::new();
    for operation in program.operations() {
        if let Operation::Collective { kind, communicator, size, .. } = *operation
            && let Some(group) = group_of(communicator)
        {
            *calls.entry(GroupCall { group, kind, size }).or_default() += 1;
        }
    }
    calls
}

pub(super) fn group_of(communicator: u32) -> Option<RankGroup> {
    RankGroup::ALL.into_iter().find(|group| LayoutStep::communicator(*group) == communicator)
}

impl LayoutStep {
    /// The program of all ranks, in the order of the layout's.
    ///
    /// # Panics
    /// For more ranks than a program has.
    #[must_use]
    pub fn by_rank(&self) -> Program {
        let programs = self.programs();
        let ranks = self.layout.gpus();
        let mut communicators: Vec<Vec<Rank>> = vec![(0..ranks as Rank).collect()];
        // Of each kind of group, the communicator of each rank.
        let mut own = Vec::new();
        for group in RankGroup::ALL {
            let mut of_rank = vec![WORLD; ranks as usize];
            for members in self.order.ranks_of(&self.layout, group) {
                for rank in &members {
                    of_rank[*rank as usize] = communicators.len() as u32;
                }
                communicators.push(members.into_iter().map(|rank| rank as Rank).collect());
            }
            own.push(of_rank);
        }
        let ranks = (0..ranks).map(|rank| {
            let stage = self.order.stage(&self.layout, rank);
            let peer = |to: Rank| self.order.at_stage(&self.layout, rank, u64::from(to)) as Rank;
            programs[stage as usize].mapped(|operation| match operation {
                Operation::Collective { kind, communicator, size, .. } => {
                    let group = communicator as usize - 1;
                    let communicator = own[group][rank as usize];
                    let root = communicators[communicator as usize][0];
                    Operation::Collective { kind, root, communicator, size }
                }
                Operation::Send { to, tag, communicator, size, route } => {
                    Operation::Send { to: peer(to), tag, communicator, size, route }
                }
                Operation::Receive { from, tag, communicator, size } => {
                    Operation::Receive { from: from.map(peer), tag, communicator, size }
                }
                other => other,
            })
        });
        let ranks = ranks.collect();
        self.program(communicators, ranks)
    }

    /// Gives the program of one rank of each stage, the lowest; `times` says how long its exchanges last. Exchanges
    /// between kernels that a rank waits for are part of its computing.
    #[must_use]
    pub fn by_class(&self, times: &ClassTimes) -> Program {
        let none = BTreeMap::new();
        let write = |stage: u64| {
            Writer::write(self, stage, Some(times.calls.get(stage as usize).unwrap_or(&none)))
        };
        let programs: Vec<RankProgram> = (0..self.layout.pp).map(write).collect();
        self.timed(times, &programs)
    }

    /// Gives the same program with every exchange by itself.
    #[must_use]
    pub fn by_class_in_full(&self, times: &ClassTimes) -> Program {
        self.timed(times, self.programs())
    }

    fn timed(&self, times: &ClassTimes, programs: &[RankProgram]) -> Program {
        let stages = self.layout.pp as Rank;
        let mut communicators: Vec<Vec<Rank>> = vec![(0..stages).collect()];
        communicators.extend((0..stages).map(|stage| vec![stage]));
        let mut pairs: BTreeMap<(Rank, Rank, u32), u32> = BTreeMap::new();
        for (stage, program) in (0..).zip(programs) {
            for operation in program.operations() {
                if let Operation::Send { to, tag, .. } = *operation {
                    pairs.entry((stage, to, tag)).or_insert_with(|| {
                        communicators.push(vec![stage, to]);
                        communicators.len() as u32 - 1
                    });
                }
            }
        }
        let timed = |(from, to, tag): (Rank, Rank, u32), size: Bytes| {
            let sent = PipelineSend { from: u64::from(from), to: u64::from(to), size };
            let duration = times.sends.get(&sent).copied().unwrap_or_default();
            let communicator = pairs.get(&(from, to, tag)).copied().unwrap_or(WORLD);
            let kind = CollectiveKind::Broadcast;
            Operation::Timed { kind, communicator, size, duration }
        };
        let ranks = (0..).zip(programs).map(|(stage, program)| {
            let calls = times.calls.get(stage as usize);
            program.mapped(|operation| match operation {
                Operation::Collective { kind, communicator, size, .. } => {
                    let call = group_of(communicator).map(|group| GroupCall { group, kind, size });
                    let known = call.and_then(|call| calls?.get(&call));
                    let duration = known.copied().unwrap_or_default();
                    Operation::Timed { kind, communicator: 1 + stage, size, duration }
                }
                Operation::Send { to, tag, size, .. } => timed((stage, to, tag), size),
                Operation::Receive { from: Some(from), tag: Some(tag), size, .. } => {
                    timed((from, stage, tag), size)
                }
                other => other,
            })
        });
        let ranks = ranks.collect();
        self.program(communicators, ranks)
    }

    fn program(&self, communicators: Vec<Vec<Rank>>, ranks: Vec<RankProgram>) -> Program {
        let regions = Region::NAMES.map(str::to_owned).to_vec();
        Program { name: self.name.clone(), communicators, regions, ranks }
    }

    /// Lists the exchanges of a step, each once.
    fn asked(&self) -> Asked {
        let calls = vec![BTreeSet::new(); self.layout.pp as usize];
        let mut asked = Asked { calls, sends: BTreeSet::new() };
        let _ = self.by_turns(&mut asked);
        asked
    }

    /// Lists the sends between stages, each pair once.
    #[must_use]
    pub fn sends(&self) -> Vec<PipelineSend> {
        let pipe = self.pipe();
        let mut found = BTreeSet::new();
        for from in 0..self.layout.pp {
            for turn in pipe.turns(from) {
                let to = pipe.behind(from, turn);
                found.extend(to.map(|(to, _)| PipelineSend { from, to, size: self.handed }));
            }
        }
        found.into_iter().collect()
    }

    /// The ranks of every group of a kind that a stage has.
    #[must_use]
    pub fn groups(&self, stage: u64, group: RankGroup) -> Vec<Vec<u64>> {
        let mut found = self.order.ranks_of(&self.layout, group);
        found.retain(|ranks| self.order.stage(&self.layout, ranks[0]) == stage);
        found
    }

    /// The ranks of a stage, the lowest first, and where each of them is in another stage.
    #[must_use]
    pub fn peers(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let own =
            (0..self.layout.gpus()).filter(|rank| self.order.stage(&self.layout, *rank) == from);
        own.map(|rank| (rank, self.order.at_stage(&self.layout, rank, to))).collect()
    }

    /// Asks how long each exchange of ranks takes. `time` says it for collectives of some sizes that all of the given
    /// groups run at once. A send between two stages is asked as an all-to-all of pairs.
    ///
    /// # Errors
    /// Passes on those of `time`.
    pub fn class_times<E>(
        &self,
        time: impl FnMut(&[Vec<u64>], CollectiveKind, &[Bytes]) -> Result<Vec<Picoseconds>, E>,
    ) -> Result<ClassTimes, E> {
        self.class_times_of(|_, _| true, time)
    }

    /// Asks only for the groups of a stage that `counts` accepts; other exchanges take no time.
    ///
    /// # Errors
    /// Passes on those of `time`.
    pub fn class_times_of<E>(
        &self,
        counts: impl Fn(u64, RankGroup) -> bool,
        time: impl FnMut(&[Vec<u64>], CollectiveKind, &[Bytes]) -> Result<Vec<Picoseconds>, E>,
    ) -> Result<ClassTimes, E> {
        self.exchanges_of(counts, time)
    }

    /// Asks anything of each exchange, as [`Self::class_times_of`] asks for its time.
    ///
    /// # Errors
    /// Passes on those of `ask`.
    pub fn exchanges_of<T, E>(
        &self,
        counts: impl Fn(u64, RankGroup) -> bool,
        mut ask: impl FnMut(&[Vec<u64>], CollectiveKind, &[Bytes]) -> Result<Vec<T>, E>,
    ) -> Result<Exchanges<T>, E> {
        let mut found = Exchanges::default();
        let asked = self.asked();
        for (stage, calls) in (0..).zip(asked.calls) {
            let mut of_kind: BTreeMap<(RankGroup, CollectiveKind), Vec<Bytes>> = BTreeMap::new();
            for call in calls {
                of_kind.entry((call.group, call.kind)).or_default().push(call.size);
            }
            let mut known = BTreeMap::new();
            for ((group, kind), sizes) in of_kind {
                if !counts(stage, group) {
                    continue;
                }
                let told = ask(&self.groups(stage, group), kind, &sizes)?;
                let calls = sizes.into_iter().map(|size| GroupCall { group, kind, size });
                known.extend(calls.zip(told));
            }
            found.calls.push(known);
        }
        for send in asked.sends {
            let pairs = self.peers(send.from, send.to);
            let pairs: Vec<Vec<u64>> = pairs.into_iter().map(|(from, to)| vec![from, to]).collect();
            let told = ask(&pairs, CollectiveKind::AllToAll, &[send.size])?;
            found.sends.extend(told.into_iter().map(|told| (send, told)));
        }
        Ok(found)
    }
}
