//! One level of caches as the model times it: lines, registers of misses, and who waits.

use super::cache::{Lines, Mshrs};
use super::protocol::{Access, CoherenceProtocol, Forward, Level, Lookup, Meanwhile};
use super::requests::{Fifo, Request, Requests};
use super::statistics::CacheCounts;

/// Holds equal caches of one level.
#[derive(Debug)]
pub struct Caches<P: CoherenceProtocol> {
    /// Holds their lines.
    pub lines: Lines<P::Line>,
    /// Holds the protocol's state of each.
    pub states: Vec<P::Cache>,
    /// Holds the requests that are under way to each.
    pub mshrs: Mshrs,
    /// Queues the requests that wait for a register of each.
    pub waiting: Vec<Fifo>,
    /// How often a fence has emptied each.
    pub epochs: Vec<u32>,
    /// Counts the answers of each.
    pub counts: Vec<CacheCounts>,
    /// Takes this number of picoseconds to look a line up.
    pub directory: u64,
    /// Takes this number of picoseconds to read or write one.
    pub bank: u64,
    /// Whether a copy serves no reads while its line is under way.
    locks: bool,
}

/// Tells the outcome of a lookup.
#[derive(Debug, Clone, Copy)]
pub enum Looked<L, S> {
    /// It waits for a line under way.
    Joined,
    /// A register is missing.
    Stalled,
    /// The copy in a place serves it, and the answer has this stamp.
    Hit(usize, S),
    /// A new copy in this state serves it, made of what it writes.
    Allocate(L, S),
    /// The level below is asked, and a register taken; there may be a copy.
    Forward(Option<usize>, Forward<S>),
}

/// How large caches are, and how fast.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Counts the bytes of each.
    pub size: u64,
    /// Lines that a set holds.
    pub ways: u32,
    /// Lines that may be under way.
    pub mshrs: u32,
    /// Takes this number of picoseconds to look a line up.
    pub directory: u64,
    /// Takes this number of picoseconds to read or write one.
    pub bank: u64,
    /// Whether a copy serves no reads while its line is under way.
    pub locks: bool,
}

impl<P: CoherenceProtocol> Caches<P> {
    /// Makes `caches` empty caches.
    #[must_use]
    pub fn new(caches: u32, shape: Shape, with_data: bool) -> Self {
        let Shape { size, ways, mshrs, directory, bank, locks } = shape;
        Self {
            lines: Lines::new(caches, size, ways, with_data),
            states: vec![P::Cache::default(); caches as usize],
            mshrs: Mshrs::new(caches, mshrs),
            waiting: vec![Fifo::default(); caches as usize],
            epochs: vec![0; caches as usize],
            counts: vec![CacheCounts::default(); caches as usize],
            directory,
            bank,
            locks,
        }
    }

    /// An access looks a line up, whose set `set` picks; `again` where it has been counted before.
    /// Bytes that are written are merged into a copy here where the protocol says so.
    pub fn look_up(
        &mut self,
        (protocol, level): (&P, Level),
        (cache, set): (u32, u64),
        requests: &mut Requests<P::Stamp>,
        index: u32,
        again: bool,
    ) -> Looked<P::Line, P::Stamp> {
        let request = *requests.get(index);
        if let Some(hit) = self.passes(protocol, level, (cache, set), &request, again) {
            return hit;
        }
        let counts = &mut self.counts[cache as usize];
        if let Some(last) = self.mshrs.join(cache, request.line, index) {
            counts.merged += u64::from(!again);
            requests.link(last, index);
            return Looked::Joined;
        }
        let place = self.lines.find(cache, set, request.line);
        // Whoever stalls leaves everything as it was.
        let mut line = place.map(|place| *self.lines.state(place));
        let mut state = self.states[cache as usize];
        let (access, stamp) = (request.access, request.stamp);
        let lookup = protocol.on_access(level, &mut state, line.as_mut(), access, stamp);
        if matches!(lookup, Lookup::Forward(_)) && self.mshrs.is_full(cache) {
            return Looked::Stalled;
        }
        self.states[cache as usize] = state;
        if let (Some(place), Some(line)) = (place, line) {
            *self.lines.state(place) = line;
        }
        match lookup {
            Lookup::Hit(stamp) => {
                counts.hits += u64::from(!again);
                Looked::Hit(place.expect("a hit has a copy"), stamp)
            }
            Lookup::Allocate(line, stamp) => {
                counts.misses += u64::from(!again);
                Looked::Allocate(line, stamp)
            }
            Lookup::Forward(forward) => {
                counts.misses += u64::from(!again);
                self.mshrs.take_for(cache, request.line, forward.hold);
                if let (Some(place), Meanwhile::Merges) = (place, forward.copy) {
                    self.lines.write(place, request.mask, false, requests.written(index));
                }
                Looked::Forward(place, forward)
            }
        }
    }

    /// Looks a copy up for a read although its line is under way, where neither the cache nor the
    /// access under way locks it.
    fn passes(
        &mut self,
        protocol: &P,
        level: Level,
        (cache, set): (u32, u64),
        request: &Request<P::Stamp>,
        again: bool,
    ) -> Option<Looked<P::Line, P::Stamp>> {
        if self.locks || request.access != Access::Read || self.mshrs.holds(cache, request.line) {
            return None;
        }
        let place = self.lines.find(cache, set, request.line)?;
        let mut line = *self.lines.state(place);
        let mut state = self.states[cache as usize];
        let looked =
            protocol.on_access(level, &mut state, Some(&mut line), request.access, request.stamp);
        let Lookup::Hit(stamp) = looked else { return None };
        self.states[cache as usize] = state;
        *self.lines.state(place) = line;
        self.counts[cache as usize].hits += u64::from(!again);
        Some(Looked::Hit(place, stamp))
    }

    /// Finds the place that a new line of a set takes: a free one, or that of the line used longest
    /// ago. A cache that `spares` lines takes first one whose lease has ended for who asked last.
    pub fn victim(
        &mut self,
        protocol: &P,
        (cache, set): (u32, u64),
        spares: bool,
        asked: P::Stamp,
    ) -> usize {
        if !spares {
            return self.lines.oldest(cache, set);
        }
        let state = &self.states[cache as usize];
        self.lines.oldest_but(cache, set, |line| protocol.is_leased(state, line, asked))
    }

    /// Empties a cache for a fence; nor is what is under way to it kept.
    pub fn empty(&mut self, cache: u32) {
        self.lines.forget_all(cache);
        self.epochs[cache as usize] += 1;
    }

    /// Returns the picoseconds from a hit's lookup to its answer.
    #[inline]
    #[must_use]
    pub fn latency(&self) -> u64 {
        self.directory + self.bank
    }

    /// Notes an answer to what came at `since`.
    #[inline]
    pub fn answered(&mut self, cache: u32, since: u64, now: u64) {
        let counts = &mut self.counts[cache as usize];
        counts.answered += 1;
        counts.time += now - since;
    }
}
