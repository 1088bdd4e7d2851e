//! Finds the pattern that a program ran with, from its NVLink traffic.
//!
//! MAPA profiles a program by its links' byte counters (SC'21, Fig. 9b). It takes a snapshot before
//! the program and one after it. The bytes that the links moved in between show which GPUs talk. A
//! counter does not say where its link leads, so the ends are matched. Two GPUs talk where one's
//! link sent as many bytes as the other's received, both ways. The machine must join the two by a
//! link that is free for it. The pattern is given only where no other one fits.
//!
//! It leaves out traffic over PCIe or NVSwitches, and traffic that a third GPU passed on.

mod matching;
mod snapshot;

use std::collections::BTreeMap;

use self::matching::{Matching, match_ends};
use self::snapshot::{LinkReading, Snapshot};
use super::error::AllocationError;
use super::pattern::Pattern;
use super::shares::ShareTable;
use crate::diagnostic::{InputError, Position};
use crate::system::{DeviceKind, Server};
use crate::units::Bytes;

/// A link that moved less than this, or less than a hundredth of the busiest link's bytes, is taken
/// for noise. Such traffic is set-up and control, not the program's data.
const LEAST_ACTIVE: u64 = 1 << 20;

/// Tells the user how to go on where counters are not enough.
const SETTLE: &str = "see where each link leads with `nvidia-smi nvlink -R`, and write the \
                      pattern as an edge list";

/// Holds the traffic between two GPUs of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeTraffic {
    /// Names the lower vertex of the pattern.
    pub a: usize,
    /// Names the higher vertex of the pattern.
    pub b: usize,
    /// Counts the bytes that `a` sent to `b`.
    pub bytes_a_to_b: Bytes,
    /// Counts the bytes that `b` sent to `a`.
    pub bytes_b_to_a: Bytes,
}

/// Holds a pattern seen in traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedPattern {
    /// Says who talks to whom.
    pub pattern: Pattern,
    /// Holds the id of the GPU that each vertex of the pattern ran on, ascending.
    pub gpus: Vec<usize>,
    /// Holds the traffic of each of the pattern's edges, in their order.
    pub traffic: Vec<EdgeTraffic>,
}

/// Describes one end of a link that moved data.
#[derive(Debug, Clone)]
struct End {
    gpu: usize,
    link: u32,
    sent: u64,
    received: u64,
    /// Where the later snapshot has it.
    position: Position,
    text: String,
}

/// Derives the pattern from two snapshots, each a file's name and text, of
/// `nvidia-smi nvlink -gt d` or, of older drivers, `nvidia-smi nvlink -g 0`.
/// `GPU n` of the snapshots is the machine's GPU with id `n`.
///
/// # Errors
/// Returns an [`InputError`] with the place in either snapshot. The input is refused for a line
/// that is no counter, and for a link in one snapshot only or twice with different values. It is
/// refused for a GPU that the machine lacks and for a counter that went backwards. It is also
/// refused for no traffic, for an end without a partner, and for ends that fit several patterns.
pub fn pattern_from_counters(
    before: (&str, &str),
    after: (&str, &str),
    machine: &Server,
) -> Result<DerivedPattern, AllocationError> {
    let (first, last) = (Snapshot::read(before.0, before.1)?, Snapshot::read(after.0, after.1)?);
    let wiring = Wiring::of(machine);
    let ends = differences(&first, &last, &wiring)?;
    let busiest = ends.iter().map(|end| end.sent.max(end.received)).max().unwrap_or(0);
    let least_active = LEAST_ACTIVE.max(busiest / 100);
    let is_active = |end: &End| end.sent.max(end.received) >= least_active;
    let mut ends: Vec<End> = ends.into_iter().filter(is_active).collect();
    if ends.is_empty() {
        let remedy = "take one snapshot before the program and one after it; a link counts \
                      from 1 MiB";
        let (position, line) = last.start();
        let problem = "no link moved data since the earlier snapshot";
        return Err(InputError::at(after.0, position, problem, line, remedy).into());
    }
    // Both ends count the same wire, but the GPUs are not read at one instant.
    let same = |a: u64, b: u64| {
        let (low, high) = (a.min(b), a.max(b));
        high < least_active || u128::from(high - low) * 100 <= u128::from(high)
    };
    let fits = |a: &End, b: &End| {
        let joined = a.gpu != b.gpu && wiring.links(a.gpu, b.gpu) > 0;
        joined && same(a.sent, b.received) && same(b.sent, a.received)
    };
    wiring.drop_host_traffic(&mut ends, &fits);
    let refuse = |end: &End, problem: String, remedy: &str| {
        InputError::at(after.0, end.position, problem, &end.text, remedy).into()
    };
    match match_ends(&ends, wiring.gpus, &wiring.links, &fits) {
        Matching::Forced(matched) => derive(&ends, &matched),
        Matching::NoPartner(alone) => {
            let End { gpu, link, sent, received, .. } = &ends[alone];
            let way = if wiring.switched[*gpu] { "; NVSwitches hide the other end" } else { "" };
            let problem = format!(
                "GPU {gpu} link {link} sent {} and received {}, and no link of a GPU joined to \
                 it moved the same{way}",
                Bytes(*sent),
                Bytes(*received)
            );
            let remedy = format!("check the line and the machine, or {SETTLE}");
            Err(refuse(&ends[alone], problem, &remedy))
        }
        Matching::Impossible => {
            let problem = "the links that moved data cannot be paired on this machine".to_owned();
            let remedy = format!("check that the machine has the program's links, or {SETTLE}");
            Err(refuse(&ends[0], problem, &remedy))
        }
        Matching::Ambiguous(open) => {
            let names: Vec<String> = open
                .iter()
                .map(|end| format!("GPU {} link {}", ends[*end].gpu, ends[*end].link))
                .collect();
            let problem = format!("several patterns fit; open is where {} lead", names.join(", "));
            Err(refuse(&ends[open[0]], problem, SETTLE))
        }
        Matching::TooMany => {
            let problem = "the links that moved data fit in too many ways to try".to_owned();
            Err(refuse(&ends[0], problem, SETTLE))
        }
    }
}

/// How a machine's GPUs are wired for direct traffic.
struct Wiring {
    gpus: usize,
    /// Counts the direct links per pair, row by row.
    links: Vec<u32>,
    /// Links of each GPU to a CPU.
    host: Vec<u32>,
    /// Whether each GPU has links to NVSwitches.
    switched: Vec<bool>,
}

impl Wiring {
    fn of(machine: &Server) -> Self {
        let gpus = machine.gpus().len();
        let mut wiring = Self {
            gpus,
            links: vec![0; gpus * gpus],
            host: vec![0; gpus],
            switched: vec![false; gpus],
        };
        let id = |device| machine.gpus().iter().position(|gpu| *gpu == device);
        for link in machine.links().iter().filter(|link| link.kind.is_gpu_fabric()) {
            match (id(link.a), id(link.b)) {
                (Some(a), Some(b)) => {
                    for at in [a * gpus + b, b * gpus + a] {
                        wiring.links[at] = wiring.links[at].saturating_add(link.count);
                    }
                }
                (Some(gpu), None) | (None, Some(gpu)) => {
                    let other = link.other_end(machine.gpus()[gpu]);
                    if machine.devices()[other].kind == DeviceKind::NvSwitch {
                        wiring.switched[gpu] = true;
                    } else {
                        wiring.host[gpu] = wiring.host[gpu].saturating_add(link.count);
                    }
                }
                (None, None) => {}
            }
        }
        wiring
    }

    fn links(&self, a: usize, b: usize) -> u32 {
        self.links[a * self.gpus + b]
    }

    /// Drops traffic with the host. Where GPUs have NVLinks to a CPU, as on POWER9, those carry it.
    /// As many ends as there are such links need no partner.
    fn drop_host_traffic(&self, ends: &mut Vec<End>, fits: &dyn Fn(&End, &End) -> bool) {
        let mut host = self.host.clone();
        let all = ends.clone();
        ends.retain(|end| {
            let to_host = host[end.gpu] > 0 && !all.iter().any(|other| fits(end, other));
            host[end.gpu] -= u32::from(to_host);
            !to_host
        });
    }
}

/// Returns the bytes that every link moved between the snapshots.
fn differences(
    first: &Snapshot,
    last: &Snapshot,
    wiring: &Wiring,
) -> Result<Vec<End>, AllocationError> {
    first.check_same_links(last)?;
    last.check_same_links(first)?;
    let mut ends = Vec::new();
    for ((gpu, link), reading) in &last.links {
        let refuse = |problem: String, remedy: String| {
            InputError::at(&last.file, reading.position, problem, &reading.text, remedy)
        };
        if *gpu >= wiring.gpus {
            let problem = format!("the machine has no GPU {gpu}");
            let remedy = format!("its GPUs are 0 to {}; choose the right machine", wiring.gpus - 1);
            return Err(refuse(problem, remedy).into());
        }
        let earlier: &LinkReading = &first.links[&(*gpu, *link)];
        let grown = |what: &str, then: u64, now: u64| {
            now.checked_sub(then).ok_or_else(|| {
                let (file, line) = (&first.file, earlier.position.line);
                let problem = format!("less {what} than in {file}, line {line}");
                let remedy = "the counter was reset in between, or the snapshots are swapped; \
                              take both again without `nvidia-smi nvlink -r` or a restart";
                refuse(problem, remedy.to_owned())
            })
        };
        ends.push(End {
            gpu: *gpu,
            link: *link,
            sent: grown("sent", earlier.sent, reading.sent)?,
            received: grown("received", earlier.received, reading.received)?,
            position: reading.position,
            text: reading.text.clone(),
        });
    }
    Ok(ends)
}

/// The pattern of matched ends.
fn derive(ends: &[End], matched: &[(usize, usize)]) -> Result<DerivedPattern, AllocationError> {
    let mut between: BTreeMap<(usize, usize), (u64, u64)> = BTreeMap::new();
    for (one, other) in matched {
        let (low, high) = if ends[*one].gpu < ends[*other].gpu {
            (&ends[*one], &ends[*other])
        } else {
            (&ends[*other], &ends[*one])
        };
        let (up, down) = between.entry((low.gpu, high.gpu)).or_default();
        *up = up.saturating_add(low.sent);
        *down = down.saturating_add(high.sent);
    }
    let mut gpus: Vec<usize> = between.keys().flat_map(|(a, b)| [*a, *b]).collect();
    gpus.sort_unstable();
    gpus.dedup();
    let vertex = |gpu: usize| gpus.partition_point(|known| *known < gpu);
    let traffic: Vec<EdgeTraffic> = between
        .iter()
        .map(|((a, b), (up, down))| EdgeTraffic {
            a: vertex(*a),
            b: vertex(*b),
            bytes_a_to_b: Bytes(*up),
            bytes_b_to_a: Bytes(*down),
        })
        .collect();
    let mut shares = ShareTable::new(gpus.len());
    for EdgeTraffic { a, b, bytes_a_to_b, bytes_b_to_a } in &traffic {
        shares.add(*a, *b, bytes_a_to_b.0 as f64);
        shares.add(*b, *a, bytes_b_to_a.0 as f64);
    }
    Ok(DerivedPattern { pattern: shares.of_what_runs()?, gpus, traffic })
}

#[cfg(test)]
mod tests;
