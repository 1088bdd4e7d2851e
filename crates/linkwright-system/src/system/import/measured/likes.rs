//! Pairs that reach far less than their like.

use std::collections::BTreeMap;
use std::fmt;

use super::matching::{Measured, between, gpus_of};
use super::titles::Quantity;
use super::{MeasuredEnd, Measurements};
use crate::diagnostic::Position;
use crate::system::error::SystemError;
use crate::system::server::Server;
use crate::system::views::gpu_graph::{BandwidthProfile, GpuGraph, PairLink};
use crate::system::views::proximity::proximity;

/// A pair is far below its like where it reaches less than this part of their median.
///
/// Runs scatter much less. The 56 pairs of eight A100 in nvbandwidth's README of v0.8 (lines 80 to
/// 87) lie within 1 % of each other. Links that fall back to half their lanes or speed, and one
/// link of two that is down, lie below.
pub const FAR_BELOW: f64 = 0.75;

/// Holds a pair and what it reached.
type MeasuredPair = ((MeasuredEnd, MeasuredEnd), Measured);

/// A pair that reaches far less than its like.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowPair {
    /// Is one end: a GPU by its id, or a host.
    pub a: MeasuredEnd,
    /// Is the other end.
    pub b: MeasuredEnd,
    /// Their names.
    pub names: [String; 2],
    /// Names what joins them, as `nvidia-smi topo -m` says it, such as `NV2` or `PIX`.
    pub link: String,
    /// Is what the pair reached in its slower direction, GB/s.
    pub measured: f64,
    /// Is what its like reach, GB/s. That is the median of the others, or of a pair without any
    /// what copies reach of its links.
    pub like: f64,
    /// How many others there are.
    pub others: usize,
    /// Is the title of the matrix.
    pub title: String,
    /// Where the number stands in the file.
    pub position: Position,
}

impl fmt::Display for SlowPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { names: [a, b], link, measured, like, others, position, .. } = self;
        let part = 100.0 * measured / like;
        write!(f, "{a} and {b} reach {measured:.1} GB/s over {link} (line {}), ", position.line)?;
        match others {
            0 => write!(f, "{part:.0} % of the {like:.1} GB/s that copies reach over such links"),
            1 => write!(f, "{part:.0} % of the {like:.1} GB/s of the other such pair"),
            _ => write!(f, "{part:.0} % of the {like:.1} GB/s of the {others} other such pairs"),
        }
    }
}

/// Says what makes two pairs alike: the kind of their links, and how they are joined.
type Like = (u8, String);

/// Names the pairs of a file that reach far less than those that are joined as they are in the machine, the worst
/// first. A pair is named once: for the matrix in which it is worst.
///
/// # Errors
/// GPUs that the machine has not got; a machine of several servers, or with too many GPUs.
pub fn far_below(
    server: &Server,
    measurements: &Measurements,
) -> Result<Vec<SlowPair>, SystemError> {
    let server = &server.unmeasured();
    let gpus = gpus_of(measurements, server)?;
    let joined = Joined::new(server)?;
    let mut worst: BTreeMap<(MeasuredEnd, MeasuredEnd), SlowPair> = BTreeMap::new();
    for matrix in measurements.matrices.iter().filter(|matrix| matrix.what.peer_access) {
        let ways = match matrix.what.quantity {
            Quantity::OneWay => 1.0,
            Quantity::BothWays => 2.0,
            Quantity::Latency => continue,
        };
        let mut slower: BTreeMap<(MeasuredEnd, MeasuredEnd), Measured> = BTreeMap::new();
        for cell in between(measurements, matrix, &gpus) {
            let known =
                slower.entry((cell.from.min(cell.to), cell.from.max(cell.to))).or_insert(cell);
            if cell.value < known.value {
                *known = cell;
            }
        }
        nearest_hosts(&mut slower);
        let mut alike: BTreeMap<Like, Vec<MeasuredPair>> = BTreeMap::new();
        for (pair, cell) in slower {
            alike.entry(joined.like(pair)).or_default().push((pair, cell));
        }
        for ((_, link), mut pairs) in alike {
            pairs.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
            let values: Vec<f64> = pairs.iter().map(|(_, cell)| cell.value).collect();
            for (at, (pair, cell)) in pairs.iter().enumerate() {
                let others = values.len() - 1;
                let like = match median_without(&values, at) {
                    Some(median) => median,
                    None => match joined.expected(*pair) {
                        Some(one_way) => one_way * ways,
                        None => continue,
                    },
                };
                let is_worse = |known: &SlowPair| cell.value / like < known.measured / known.like;
                if cell.value >= FAR_BELOW * like || !worst.get(pair).is_none_or(is_worse) {
                    continue;
                }
                let (a, b) = *pair;
                let names = [a, b].map(|end| joined.name(end));
                let (title, position) = (matrix.title.clone(), cell.position);
                let (link, measured) = (link.clone(), cell.value);
                let slow = SlowPair { a, b, names, link, measured, like, others, title, position };
                worst.insert(*pair, slow);
            }
        }
    }
    let mut slow: Vec<SlowPair> = worst.into_values().collect();
    slow.sort_by(|a, b| (a.measured / a.like).total_cmp(&(b.measured / b.like)));
    Ok(slow)
}

/// Keeps of each GPU the host that it reaches fastest: the others lie behind other sockets.
fn nearest_hosts(pairs: &mut BTreeMap<(MeasuredEnd, MeasuredEnd), Measured>) {
    let mut fastest: BTreeMap<MeasuredEnd, f64> = BTreeMap::new();
    let of_host = |pair: &(MeasuredEnd, MeasuredEnd)| {
        matches!(pair, (MeasuredEnd::Gpu(_), MeasuredEnd::Host(_)))
    };
    for (pair, cell) in pairs.iter().filter(|(pair, _)| of_host(pair)) {
        let known = fastest.entry(pair.0).or_default();
        *known = known.max(cell.value);
    }
    pairs.retain(|pair, cell| {
        !of_host(pair) || fastest.get(&pair.0).is_none_or(|it| cell.value >= *it)
    });
}

/// The median of ascending values without one of them; None where there is no other.
fn median_without(values: &[f64], left_out: usize) -> Option<f64> {
    let others = values.len().checked_sub(1).filter(|others| *others > 0)?;
    let of = |at: usize| values[if at < left_out { at } else { at + 1 }];
    Some((of((others - 1) / 2) + of(others / 2)) / 2.0)
}

/// How the ends of pairs are joined in a machine.
struct Joined<'a> {
    server: &'a Server,
    graph: GpuGraph,
    near: Vec<Vec<Option<crate::system::views::proximity::Proximity>>>,
}

impl<'a> Joined<'a> {
    fn new(server: &'a Server) -> Result<Self, SystemError> {
        let graph = GpuGraph::new(server, BandwidthProfile::DataSheet)?;
        Ok(Self { server, graph, near: proximity(server) })
    }

    fn name(&self, end: MeasuredEnd) -> String {
        match end {
            MeasuredEnd::Gpu(gpu) => self.graph.names()[gpu].clone(),
            MeasuredEnd::Host(_) => "the host".to_owned(),
        }
    }

    /// Pairs of one kind with equally many links are alike. Through the host, those that are
    /// equally far are alike. GPUs to the host are alike where their PCIe is the same.
    fn like(&self, pair: (MeasuredEnd, MeasuredEnd)) -> Like {
        let (MeasuredEnd::Gpu(a), MeasuredEnd::Gpu(b)) = pair else {
            let gpu =
                if let MeasuredEnd::Gpu(gpu) = pair.0 { gpu } else { return (3, String::new()) };
            let device = self.server.gpus()[gpu];
            let pcie = self.server.links().iter().find(|it| it.joins(device) && it.kind.is_pcie());
            let of =
                |link: &crate::system::Link| format!("{} of {}", link.kind.name(), link.bandwidth);
            return (2, pcie.map_or_else(|| "PCIe".to_owned(), of));
        };
        let Some(joined) = self.graph.pair(a, b) else { return (3, String::new()) };
        match joined.link {
            PairLink::Host { .. } => (
                1,
                self.near[a][b].map_or_else(|| "PCIe".to_owned(), |near| near.name().to_owned()),
            ),
            link => (0, link.label()),
        }
    }

    /// Gives what copies reach in one direction of a pair's own links, GB/s.
    fn expected(&self, pair: (MeasuredEnd, MeasuredEnd)) -> Option<f64> {
        let (MeasuredEnd::Gpu(a), MeasuredEnd::Gpu(b)) = pair else { return None };
        let joined = self.graph.pair(a, b)?;
        match joined.link {
            PairLink::Direct { kind, .. } | PairLink::Switched { kind, .. } => {
                let share = kind.reached_by_copies().share;
                Some(joined.nominal.as_gigabytes_per_second() * share)
            }
            PairLink::Host { .. } => None,
        }
    }
}
