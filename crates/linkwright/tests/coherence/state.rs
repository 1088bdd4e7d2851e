//! Holds the state of the machine that plays a protocol at a moment.

use std::ops::{Index, IndexMut, Range};

use linkwright::memory::litmus::LitmusStep;
use linkwright::memory::protocol::{Ask, CachePath, CoherenceProtocol, Probe};

/// How many words a line has.
pub const WORDS: usize = 2;
/// How many lines there may be.
const LINES: usize = 2;
/// How many banks there are, each with a controller.
const BANKS: usize = 2;

/// Where an address lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    pub line: u8,
    pub word: u8,
}

/// Says where addresses x and y lie to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Placement {
    OneLine,
    OneBank,
    TwoBanks,
}

impl Placement {
    pub const ALL: [Self; 3] = [Self::OneLine, Self::OneBank, Self::TwoBanks];

    pub fn place(self, address: u8) -> Place {
        match self {
            Self::OneLine => Place { line: 0, word: address },
            Self::OneBank | Self::TwoBanks => Place { line: address, word: 0 },
        }
    }

    pub fn bank(self, line: u8) -> usize {
        if self == Self::TwoBanks { usize::from(line) } else { 0 }
    }
}

/// When a wavefront's next access may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Consistency {
    /// When its last is done.
    Sequential,
    /// When those before a fence, and to the same line, are done.
    Relaxed,
}

/// Holds a protocol, the programs that run on it, and the events that may happen to them.
#[derive(Debug, Clone)]
pub struct Machine<P> {
    pub protocol: P,
    /// Lists the steps of each wavefront.
    pub programs: Vec<Vec<LitmusStep>>,
    /// Gives the CU of each wavefront.
    pub cus: Vec<u8>,
    pub cus_per_gpu: u8,
    pub gpus: u8,
    pub placement: Placement,
    pub consistency: Consistency,
    /// Whether an access is done at once, with all of its messages.
    pub atomic: bool,
    /// Whether caches may drop copies at any time.
    pub evictions: bool,
    /// How many lines a home remembers, where it forgets at once.
    pub entries: usize,
}

/// Data with their place in the order of the line's writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Data {
    pub words: [u8; WORDS],
    pub version: u8,
}

/// How far an access is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage<S> {
    Waiting,
    /// A request is on its way to the L2.
    ToL2(S),
    /// A request is on its way to the home.
    ToHome(Ask, S),
    /// The home waits for probes to be answered.
    AtHome(Ask, S),
    /// An answer on its way to the L2, with data unless a lease is renewed.
    BackAtL2(S, Option<Data>),
    /// An answer is on its way to the L1.
    BackAtL1(S, Option<Data>),
    Done,
}

/// An access, and the value that it has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operation<S> {
    pub stage: Stage<S>,
    pub value: u8,
    /// Whether the L2 is held for it.
    pub holds_l2: bool,
    /// Whether the L1 was dropped while this was under way, so that no copy of it is kept.
    pub stale: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Copy<L> {
    pub line: L,
    pub data: Data,
    /// The words that are newer than below.
    pub dirty: [bool; WORDS],
}

/// A cache and its copies by line; those that are written back, but not yet at home.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cache<P: CoherenceProtocol> {
    pub own: P::Cache,
    pub copies: [Option<Copy<P::Line>>; LINES],
    pub leaving: [Option<Copy<P::Line>>; LINES],
}

/// A home's transaction: whose answer it waits to be confirmed, and whom it has probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Busy {
    /// The wavefront and the number of its step; none where the home forgets.
    pub operation: Option<(u8, u8)>,
    pub pending: u32,
    pub probe: Probe,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HomeLine<P: CoherenceProtocol> {
    pub data: Data,
    pub entry: Option<P::Home>,
    pub busy: Option<Busy>,
}

/// Holds the accesses of all wavefronts in one piece: states are cloned by the million.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Operations<S> {
    all: Vec<Operation<S>>,
    /// Where those of each wavefront end, for the wavefronts that there are.
    ends: [u8; 4],
    waves: u8,
}

impl<S: Clone> Operations<S> {
    fn new(programs: &[Vec<LitmusStep>], first: Operation<S>) -> Self {
        let (mut ends, mut end) = ([0; 4], 0);
        for (of_wave, program) in ends.iter_mut().zip(programs) {
            end += program.len();
            *of_wave = end as u8;
        }
        Self { all: vec![first; end], ends, waves: programs.len() as u8 }
    }

    /// Returns the accesses of each wavefront in turn.
    pub fn iter(&self) -> impl Iterator<Item = &[Operation<S>]> {
        (0..usize::from(self.waves)).map(|wave| &self[wave])
    }
}

impl<S> Operations<S> {
    fn range(&self, wave: usize) -> Range<usize> {
        let start = if wave == 0 { 0 } else { self.ends[wave - 1] };
        usize::from(start)..usize::from(self.ends[wave])
    }
}

impl<S> Index<usize> for Operations<S> {
    type Output = [Operation<S>];

    fn index(&self, wave: usize) -> &[Operation<S>] {
        &self.all[self.range(wave)]
    }
}

impl<S> IndexMut<usize> for Operations<S> {
    fn index_mut(&mut self, wave: usize) -> &mut [Operation<S>] {
        let range = self.range(wave);
        &mut self.all[range]
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State<P: CoherenceProtocol> {
    pub operations: Operations<P::Stamp>,
    pub l1: Vec<Cache<P>>,
    /// Holds them by GPU, then bank.
    pub l2: Vec<Cache<P>>,
    pub controllers: [P::Controller; BANKS],
    pub lines: Vec<HomeLine<P>>,
}

/// Names the events that can happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// The step of a wavefront goes on.
    Go { wave: u8, step: u8 },
    /// It makes a GPU's L2 hear a line's probe.
    Probe { line: u8, gpu: u8 },
    /// A CU's L1 drops a copy.
    EvictL1 { cu: u8, line: u8 },
    /// A GPU's L2 drops a copy.
    EvictL2 { gpu: u8, line: u8 },
    /// It brings the data of a dropped copy to the home.
    WriteBack { gpu: u8, line: u8 },
    /// A home that keeps a directory forgets a line.
    Forget { line: u8 },
}

impl<P: CoherenceProtocol> Machine<P> {
    pub fn gpu(&self, wave: usize) -> u8 {
        self.cus[wave] / self.cus_per_gpu
    }

    pub fn lines(&self) -> u8 {
        if self.placement == Placement::OneLine { 1 } else { 2 }
    }

    /// The GPU to which a line belongs.
    pub fn owner(&self, line: u8) -> u8 {
        line % self.gpus
    }

    /// The GPU whose L2 an access passes, if any.
    pub fn l2_of(&self, wave: usize, line: u8) -> Option<u8> {
        let (own, owner) = (self.gpu(wave), self.owner(line));
        match self.protocol.path() {
            CachePath::OwnL2 => Some(own),
            CachePath::LineL2 => Some(owner),
            CachePath::HomeL2 => (own != owner).then_some(own),
        }
    }

    pub fn l2_index(&self, gpu: u8, line: u8) -> usize {
        usize::from(gpu) * BANKS + self.placement.bank(line)
    }

    pub fn start(&self) -> State<P> {
        let lines = usize::from(self.lines());
        let cache =
            Cache { own: P::Cache::default(), copies: [None; LINES], leaving: [None; LINES] };
        let line = HomeLine { data: Data::default(), entry: None, busy: None };
        let waiting = Operation { stage: Stage::Waiting, value: 0, holds_l2: false, stale: false };
        State {
            operations: Operations::new(&self.programs, waiting),
            l1: vec![cache.clone(); usize::from(self.gpus * self.cus_per_gpu)],
            l2: vec![cache; usize::from(self.gpus) * BANKS],
            controllers: [P::Controller::default(); BANKS],
            lines: vec![line; lines],
        }
    }
}

impl<P: CoherenceProtocol> State<P> {
    pub fn done(&self) -> bool {
        self.operations.all.iter().all(|operation| operation.stage == Stage::Done)
    }

    /// Returns the values of each wavefront's reads.
    pub fn reads(&self, machine: &Machine<P>) -> Vec<Vec<u8>> {
        let of = |(steps, operations): (&Vec<LitmusStep>, &[Operation<P::Stamp>])| {
            let pairs = steps.iter().zip(operations);
            pairs.filter(|(step, _)| step.reads()).map(|(_, it)| it.value).collect()
        };
        machine.programs.iter().zip(self.operations.iter()).map(of).collect()
    }
}
