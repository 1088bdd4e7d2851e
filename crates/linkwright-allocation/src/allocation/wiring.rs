//! Keeps with a server's state how a machine's GPUs are joined. This tells which of them remain
//! when the machine comes back with fewer.
//!
//! `nvidia-smi`, and CUDA with it, counts GPUs along the PCI bus. Where one has vanished, those
//! behind it move up. Their order stays, and with it every pair's links. So the remaining GPUs are
//! a part of the machine in the same order. Three things tell which part it is: names that are not
//! just numbered, each GPU's place, and the links.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::system::{GpuGraph, PairLink};
use crate::units::Bandwidth;

/// The most ways to leave GPUs out that are told apart.
const MOST_WAYS: usize = 4096;
/// The most pairs that the search for them compares.
const MOST_COMPARISONS: usize = 1 << 22;

/// Holds the ways that join each pair of a machine's GPUs, as a state's file keeps them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptWiring {
    /// The GPUs' names, by id.
    names: Vec<String>,
    /// Where each sits, as far as the machine's text says.
    places: Vec<String>,
    /// Every way in which two of them are joined, once.
    links: Vec<String>,
    /// Lists, for each GPU, its way to each GPU before it as indices in `links`.
    pairs: Vec<Vec<usize>>,
}

/// The ways in which a machine can be another without some of its GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ways {
    /// For each way, the ids in the whole machine of the GPUs that are left.
    pub found: Vec<Vec<usize>>,
    /// Whether there may be others: the search was cut short.
    pub more: bool,
}

impl KeptWiring {
    /// Makes the wiring of a machine.
    #[must_use]
    pub fn new(graph: &GpuGraph) -> Self {
        let mut known = BTreeMap::new();
        let mut links: Vec<String> = Vec::new();
        let mut index = |joined: String| {
            *known.entry(joined).or_insert_with_key(|joined| {
                links.push(joined.clone());
                links.len() - 1
            })
        };
        let row = |b: usize| (0..b).map(|a| joined(graph, a, b)).collect::<Vec<_>>();
        let rows: Vec<Vec<String>> = (0..graph.len()).map(row).collect();
        let pairs = rows.into_iter().map(|row| row.into_iter().map(&mut index).collect()).collect();
        Self { names: graph.names().to_vec(), places: graph.places().to_vec(), links, pairs }
    }

    /// Says whether it has `gpus` GPUs, with a way for every pair.
    #[must_use]
    pub fn is_whole(&self, gpus: usize) -> bool {
        let rows = self.pairs.iter().enumerate();
        [self.names.len(), self.places.len(), self.pairs.len()] == [gpus; 3]
            && rows
                .into_iter()
                .all(|(b, row)| row.len() == b && row.iter().all(|link| *link < self.links.len()))
    }

    /// Whether the GPUs of `part` are joined as these of this machine, in the same order.
    #[must_use]
    pub fn is_joined_as(&self, part: &Self, among: &[usize]) -> bool {
        let mut comparisons = 0;
        among.len() == part.names.len()
            && (0..among.len()).all(|at| self.fits(part, among, at, &mut comparisons))
    }

    /// Tells the first GPU or pair that differs in a machine with as many GPUs, and how many others
    /// do; `None` where none does.
    #[must_use]
    pub fn difference(&self, now: &Self) -> Option<String> {
        let pairs = (0..self.names.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let pairs = pairs.filter_map(|(a, b)| {
            let (before, now) = (self.pair(a, b)?, now.pair(a, b)?);
            let told = || {
                let (before, now) = (in_words(before), in_words(now));
                format!("GPUs {a} and {b} are joined by {before} in the state, by {now} here")
            };
            (before != now).then(told)
        });
        let names = self.names.iter().zip(&now.names).enumerate();
        let names = names.filter_map(|(gpu, (before, now))| {
            let told = || format!("GPU {gpu} is named `{before}` in the state, `{now}` here");
            (before != now).then(told)
        });
        let mut all = names.chain(pairs);
        let first = all.next()?;
        Some(match all.count() {
            0 => first,
            1 => format!("{first}; another differs, too"),
            more => format!("{first}; {more} others differ, too"),
        })
    }

    /// Returns the ways in which `part` is this machine without some GPUs. The best sign decides:
    /// their names, or else their places and links, or else their links alone.
    #[must_use]
    pub fn ways(&self, part: &Self) -> Ways {
        let by_name = self.by_name(part);
        if let Some(found) = by_name.filter(|found| self.is_joined_as(part, found)) {
            return Ways { found: vec![found], more: false };
        }
        let mut ways = Ways::default();
        for by_place in [true, false] {
            let mut search = Search { whole: self, part, by_place, comparisons: 0, ways };
            search.go_on(&mut Vec::new());
            ways = search.ways;
            if !ways.found.is_empty() || ways.more {
                break;
            }
        }
        ways
    }

    /// Returns the GPUs of these names, where names tell them. A machine that lost its last GPU has
    /// the same numbers as one that lost another and counts anew.
    fn by_name(&self, part: &Self) -> Option<Vec<usize>> {
        if self.names.starts_with(&part.names) {
            return None;
        }
        let mut rest = self.names.iter().enumerate();
        let find = |name: &String| rest.find(|(_, other)| *other == name).map(|(id, _)| id);
        part.names.iter().map(find).collect()
    }

    fn pair(&self, a: usize, b: usize) -> Option<&str> {
        let link = *self.pairs.get(a.max(b))?.get(a.min(b))?;
        self.links.get(link).map(String::as_str)
    }

    /// Whether the GPU at this place is joined to those before it as it is in the part.
    fn fits(&self, part: &Self, chosen: &[usize], at: usize, comparisons: &mut usize) -> bool {
        *comparisons += at;
        (0..at).all(|before| part.pair(before, at) == self.pair(chosen[before], chosen[at]))
    }
}

struct Search<'a> {
    whole: &'a KeptWiring,
    part: &'a KeptWiring,
    by_place: bool,
    comparisons: usize,
    ways: Ways,
}

impl Search<'_> {
    /// Finds the GPUs behind those that are chosen.
    fn go_on(&mut self, chosen: &mut Vec<usize>) {
        let (at, left) = (chosen.len(), self.part.names.len() - chosen.len());
        if left == 0 {
            self.ways.found.push(chosen.clone());
            return;
        }
        let first = chosen.last().map_or(0, |last| last + 1);
        for id in first..=self.whole.names.len().saturating_sub(left) {
            if self.ways.found.len() >= MOST_WAYS || self.comparisons >= MOST_COMPARISONS {
                self.ways.more = true;
                return;
            }
            if self.by_place && self.whole.places[id] != self.part.places[at] {
                continue;
            }
            chosen.push(id);
            if self.whole.fits(self.part, chosen, at, &mut self.comparisons) {
                self.go_on(chosen);
            }
            chosen.pop();
        }
    }
}

/// A way between two GPUs in the words of a saved state, which stay what they are.
pub(super) const fn way(link: PairLink) -> (&'static str, &'static str, u32) {
    match link {
        PairLink::Direct { kind, count } => ("direct", kind.name(), count),
        PairLink::Switched { kind, count } => ("switched", kind.name(), count),
        PairLink::Host { .. } => ("host", "", 0),
    }
}

/// Writes for people how two GPUs are [`joined`]: `2 of nvlink2 (50 GB/s) and the host (12.5 GB/s)`.
fn in_words(joined: &str) -> String {
    let rate = |bytes: &str| {
        let bytes = bytes.parse().map_or(0.0, |it| Bandwidth(it).as_gigabytes_per_second());
        format!("{bytes} GB/s")
    };
    let parts = joined.split("; ").filter_map(|part| {
        let words: Vec<&str> = part.split(' ').collect();
        match words.as_slice() {
            ["host", "0"] => None,
            ["host", bandwidth] => Some(format!("the host ({})", rate(bandwidth))),
            ["switched", kind, count, bandwidth] => {
                Some(format!("{count} of {kind} to a switch ({})", rate(bandwidth)))
            }
            [_, kind, count, bandwidth] => Some(format!("{count} of {kind} ({})", rate(bandwidth))),
            _ => Some(part.to_owned()),
        }
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(" and ") }
}

/// All that joins two GPUs, which no bandwidth profile changes.
fn joined(graph: &GpuGraph, a: usize, b: usize) -> String {
    let mut text = String::new();
    for path in graph.fabric_paths(a, b) {
        let (way, kind, count) = way(path.link);
        let _ = write!(text, "{way} {kind} {count} {}; ", path.bandwidth.0);
    }
    let host = graph.pair(a, b).map_or(0, |pair| pair.host.0);
    let _ = write!(text, "host {host}");
    text
}
