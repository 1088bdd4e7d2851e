//! Records the course of a job.

use serde::{Deserialize, Serialize};

use crate::allocation::Match;
use crate::allocation::links::LinkCounts;
use crate::units::{Bandwidth, Picoseconds};

/// Holds the GPUs that a job has in one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Names the server.
    pub server: u32,
    /// Lists its GPUs, by their ids in the server, and their scores.
    pub chosen: Match,
}

/// Is a time in which a job held GPUs that it lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EarlierTry {
    /// Is when the job got them.
    pub start: Picoseconds,
    /// Is when it lost them.
    pub end: Picoseconds,
    /// Lists its GPUs of each of its servers.
    pub parts: Vec<Part>,
}

/// Is a time in which a job held GPUs: when it got them, when it gave them back or lost them, and which.
pub type Try<'a> = (Picoseconds, Picoseconds, &'a [Part]);

/// Records the course of one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Gives the job's index in the list.
    pub job: usize,
    /// Says when it got GPUs.
    pub start: Picoseconds,
    /// Says when it gave them back.
    pub finish: Picoseconds,
    /// Lists the GPUs that it held in each of its servers, at least one, in the order of the
    /// servers. Of several tries it is the last.
    pub parts: Vec<Part>,
    /// Lists its tries before, with GPUs that it lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierTry>,
    /// Gives the time at which it got its last GPUs, if it had others before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_start: Option<Picoseconds>,
    /// Gives the bandwidth of its pattern by the sound model, in GB/s, which a run time by the
    /// formula followed. On several servers it is the bandwidth of its slowest part or, where that
    /// is less, of the narrowest server's links to others. It is `None` for one GPU.
    pub sound_bandwidth: Option<f64>,
    /// The most aggregated bandwidth that its pattern could have on the idle system: in one server, and else in as few as
    /// it fits in.
    pub ideal_aggregated_bandwidth: Bandwidth,
    /// How many sets of GPUs competed.
    pub candidates: u64,
    /// Whether no match was better for certain, as [`Selection::optimal`](crate::allocation::Selection::optimal).
    pub optimal: bool,
}

impl JobRecord {
    /// Counts the GPUs that it held.
    #[must_use]
    pub fn gpu_count(&self) -> usize {
        self.parts.iter().map(|part| part.chosen.placement.len()).sum()
    }

    /// Lists its servers, ascending.
    pub fn servers(&self) -> impl Iterator<Item = u32> + '_ {
        self.parts.iter().map(|part| part.server)
    }

    /// Lists its GPUs by their ids in the system, ascending. `first_gpus` gives the id of each
    /// server's first.
    ///
    /// # Panics
    /// If it ran in a server that is not there.
    #[must_use]
    pub fn gpus(&self, first_gpus: &[u32]) -> Vec<u32> {
        gpus_of(&self.parts, first_gpus)
    }

    /// Gives each time in which it held GPUs, with these.
    pub fn tries(&self) -> impl Iterator<Item = Try<'_>> {
        let last = (self.last_start.unwrap_or(self.start), self.finish, &self.parts[..]);
        let earlier = self.earlier.iter().map(|it| (it.start, it.end, &it.parts[..]));
        earlier.chain([last])
    }

    /// How many links of each class its pattern uses within servers.
    #[must_use]
    pub fn links(&self) -> LinkCounts {
        self.parts.iter().map(|part| part.chosen.links).fold(LinkCounts::default(), |sum, it| {
            LinkCounts {
                double: sum.double + it.double,
                single: sum.single + it.single,
                pcie: sum.pcie + it.pcie,
            }
        })
    }

    /// Total bandwidth of the pairs within servers that its pattern uses.
    #[must_use]
    pub fn aggregated_bandwidth(&self) -> Bandwidth {
        self.sum(|chosen| chosen.aggregated_bandwidth)
    }

    /// Sums the bandwidth between the GPUs that stayed free in its servers.
    #[must_use]
    pub fn preserved_bandwidth(&self) -> Bandwidth {
        self.sum(|chosen| chosen.preserved_bandwidth)
    }

    /// Returns the predicted bus bandwidth of an all-reduce, in GB/s; `None` for one GPU and for
    /// several servers.
    #[must_use]
    pub fn effective_bandwidth(&self) -> Option<f64> {
        match &self.parts[..] {
            [part] => part.chosen.effective_bandwidth,
            _ => None,
        }
    }

    fn sum(&self, of: impl Fn(&Match) -> Bandwidth) -> Bandwidth {
        Bandwidth(self.parts.iter().map(|part| of(&part.chosen).0).sum())
    }
}

/// Gives the GPUs of parts by their ids in the system.
///
/// # Panics
/// If one is of a server that is not there.
#[must_use]
pub fn gpus_of(parts: &[Part], first_gpus: &[u32]) -> Vec<u32> {
    let of = |part: &Part| {
        let first = first_gpus[part.server as usize];
        part.chosen.gpus().iter().map(|gpu| first + gpu as u32).collect::<Vec<u32>>()
    };
    parts.iter().flat_map(of).collect()
}
