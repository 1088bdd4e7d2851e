//! Gives the costs of NCCL's kernels on a generation of GPUs, term by term, each with a cause of
//! its own.
//!
//! `terms.toml` has the values and says where each comes from. Most are NCCL's own constants, some
//! are fitted to measurements (`make calibrate`). The share of a link's peak that long transfers
//! reach is no term: it stands on the link's kind.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::collectives::nccl::baselines::{
    AMD, Generation, PARTS_OF_A_STEP, Silicon, by_pairs, by_server, has_cpu_of,
};
use crate::collectives::schedule::collective::Collective;
use crate::diagnostic::{InputError, Named, from_toml};
use crate::program::kernel::NcclProtocol;
use crate::system::{LaunchProcesses, LinkKind, MeasuredLaunch, System, Wiring};
use crate::units::{Bandwidth, Picoseconds};

use super::error::TimeError;
use super::play::wiring_of;
use crate::collectives::schedule::{Pacing, Protocol, Schedule};

/// A host has no more GPUs: a server of more is a rack of hosts in one NVLink domain.
pub const GPUS_OF_A_HOST: usize = 16;

/// Holds the values of all terms.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectiveTerms {
    /// Lists those that measurements gave.
    #[serde(rename = "fitted")]
    _fitted: Vec<String>,
    /// Makes all cycles longer by this part where there is a second die.
    die: Positive,
    launch: Launch,
    hop: Hop,
    message: Message,
    block: Block,
}

/// How a job's ranks are processes, on which the launch of a kernel depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processes {
    /// Has one process for each rank.
    Each,
    /// Has one process on each server, which launches a kernel on one of its GPUs after the other.
    Shared,
    /// Has one process on each server, which launches on all of its GPUs as one (NCCL up to 2.8).
    Group,
}

impl Named for Processes {
    const WHAT: &'static str = "choice of processes";
    const NAMED: &'static [(&'static str, Self)] =
        &[("each", Self::Each), ("one", Self::Shared), ("group", Self::Group)];
}

impl Processes {
    /// Returns the processes of a usual run of nccl-tests. Within a server one process has all GPUs
    /// (`-g 8`). Between servers, and in a rack of several hosts, every rank has its own. Where the
    /// server was calibrated, they are as in that run.
    #[must_use]
    pub fn usual(wiring: &Wiring, gpus: &[usize]) -> Self {
        let server = |gpu: &usize| wiring.server_of(*gpu);
        let is_alone = gpus.windows(2).all(|pair| server(&pair[0]) == server(&pair[1]))
            && gpus
                .first()
                .is_none_or(|gpu| wiring.in_template(*gpu).0.gpus().len() <= GPUS_OF_A_HOST);
        let calibration = gpus.first().and_then(|gpu| wiring.in_template(*gpu).0.calibration());
        match calibration.and_then(|it| it.launch.processes) {
            Some(LaunchProcesses::Each) => Self::Each,
            _ if is_alone => Self::Shared,
            _ => Self::Each,
        }
    }

    /// Returns the same under a release that launches all GPUs of a process as one, or not.
    pub(in crate::collectives) const fn of(self, launches_as_group: bool) -> Self {
        match self {
            Self::Shared if launches_as_group => Self::Group,
            other => other,
        }
    }
}

/// Says where a collective's kernels run.
#[derive(Debug, Clone, Copy)]
pub struct KernelSetting<'a> {
    /// Holds the links that join the GPUs.
    pub wiring: &'a Wiring,
    /// Names the GPU of each rank.
    pub gpus: &'a [usize],
    /// Names the collective that they run.
    pub collective: Collective,
    /// Says how blocks share links.
    pub pacing: Pacing,
    /// How ranks are processes.
    pub processes: Processes,
}

impl<'a> KernelSetting<'a> {
    /// Returns the setting of a schedule, with the usual processes.
    #[must_use]
    pub fn usual(schedule: &'a Schedule, wiring: &'a Wiring) -> Self {
        let Schedule { gpus, collective, pacing, .. } = schedule;
        let processes = Processes::usual(wiring, gpus);
        Self { wiring, gpus, collective: *collective, pacing: *pacing, processes }
    }
}

/// Holds a time in microseconds, up to a second.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
struct Microseconds(f64);

impl TryFrom<f64> for Microseconds {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        let is_time = (0.0..=1e6).contains(&value);
        is_time.then_some(Self(value)).ok_or_else(|| format!("{value} us are not from 0 to 1e6"))
    }
}

/// Holds GB/s, or a factor, above zero.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
struct Positive(f64);

impl TryFrom<f64> for Positive {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        let is_positive = (1e-6..=1e6).contains(&value);
        is_positive.then_some(Self(value)).ok_or_else(|| format!("{value} is not from 1e-6 to 1e6"))
    }
}

/// Counts thousands of a GPU's cycles: microseconds at one gigahertz.
type Kilocycles = Microseconds;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Launch {
    alone: Kilocycles,
    /// Adds to a kernel of sends and receives: once, and for each other rank.
    pairs: [Kilocycles; 2],
    /// Adds to kernels of Simple that go around rings, up and down trees, and through switches.
    simple: Kilocycles,
    group: Microseconds,
    each: Microseconds,
    hosts: Scale,
}

/// Holds values by protocol: LL, LL128, Simple.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hop {
    direct: [Kilocycles; 3],
    /// Takes the place of Simple's between pairs.
    pair: Kilocycles,
    host: [Microseconds; 3],
    network: [Microseconds; 3],
}

/// Says what a message over the network costs beside its bytes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    post: Microseconds,
    /// Gives the same for AMD's CPUs.
    post_amd: Microseconds,
}

impl Message {
    /// Gives what it takes to post a message to each rank on another server.
    fn posts(&self, wiring: &Wiring, gpus: &[usize]) -> Picoseconds {
        let servers = by_server(wiring, gpus);
        let least = servers.iter().map(Vec::len).min().unwrap_or(0);
        let elsewhere = if servers.len() > 1 { gpus.len() - least } else { 0 };
        let post = if has_cpu_of(wiring, &AMD) { self.post_amd } else { self.post };
        microseconds(post.0 * elsewhere as f64)
    }
}

/// Rates blocks, in GB/s of Volta.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    copy: Positive,
    ll: Positive,
    rate: Positive,
    /// Is what all blocks of a GPU together write to its own memory on rings and trees.
    own: Positive,
    /// Leaves this part of it to each direction of a pair.
    pair: Positive,
    switch: Positive,
    scale: Scale,
}

/// Parts of what Volta has.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scale {
    pascal: Positive,
    volta: Positive,
    ampere: Positive,
    hopper: Positive,
    blackwell: Positive,
}

impl Scale {
    const fn of(&self, generation: Generation) -> f64 {
        let part = match generation {
            Generation::Pascal => self.pascal,
            Generation::Volta => self.volta,
            Generation::Ampere => self.ampere,
            Generation::Hopper => self.hopper,
            Generation::Blackwell => self.blackwell,
        };
        part.0
    }
}

/// Counts the pieces of a chain that a connection holds: the parts of eight steps (`NCCL_STEPS`).
const SLOTS_OF_A_CHAIN: u32 = 8 * PARTS_OF_A_STEP;

static SHIPPED: LazyLock<CollectiveTerms> =
    LazyLock::new(|| toml::from_str(CollectiveTerms::TEXT).expect("the file is tested"));

impl CollectiveTerms {
    /// The file of those that linkwright has.
    pub const TEXT: &str = include_str!("terms.toml");

    /// Reads such a file; `file` names it in errors.
    ///
    /// # Errors
    /// Refuses a text that is no such TOML, and a value out of its range, with line and column.
    pub fn read(file: &str, text: &str) -> Result<Self, InputError> {
        from_toml(file, text)
    }

    /// Those that linkwright has.
    #[must_use]
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Returns the time until the last of some GPUs begins. It was measured of their hosts, or
    /// follows from these terms.
    pub(in crate::collectives) fn launch_of(
        &self,
        processes: Processes,
        gpus: &[usize],
        wiring: &Wiring,
    ) -> Picoseconds {
        let Launch { alone, group, each, hosts, .. } = &self.launch;
        let alone = alone.0 * self.cycle(Silicon::of(wiring, gpus));
        let hosts = hosts.of(generation_of_hosts(wiring, Generation::of(wiring, gpus)));
        let of_a_server = by_server(wiring, gpus).iter().map(Vec::len).max().unwrap_or(0);
        let further = of_a_server.saturating_sub(1) as f64;
        let known = |measured: Option<Picoseconds>, term: f64| {
            measured.map_or(term, |time| time.0 as f64 / 1e6)
        };
        let on_host = |measured: MeasuredLaunch| {
            microseconds(match processes {
                Processes::Each => known(measured.alone, alone),
                Processes::Shared => {
                    let each = known(measured.each, each.0 * hosts);
                    known(measured.alone, alone) + each * further
                }
                Processes::Group => known(measured.group, group.0),
            })
        };
        let measured = gpus.iter().map(|gpu| {
            let calibration = wiring.in_template(*gpu).0.calibration();
            calibration.map_or_else(MeasuredLaunch::default, |it| it.launch)
        });
        measured.map(on_host).max().unwrap_or_default()
    }

    /// Gives the microseconds of a thousand cycles.
    fn cycle(&self, Silicon { gigahertz, dies }: Silicon) -> f64 {
        self.die.0.mul_add(f64::from(dies - 1), 1.0) / gigahertz
    }

    /// Returns the cost of a protocol where a collective runs.
    ///
    /// A process with several GPUs launches on one after the other, and all ranks wait for the last.
    #[must_use]
    pub fn protocol(
        &self,
        protocol: Protocol,
        KernelSetting { wiring, gpus, collective, pacing, processes }: KernelSetting<'_>,
    ) -> NcclProtocol {
        let Self { hop, block, .. } = self;
        let cycle = self.cycle(Silicon::of(wiring, gpus));
        let of_protocol = |hops: &[Microseconds; 3]| hops[protocol as usize].0;
        let is_pairs = by_pairs(collective);
        let direct = match protocol {
            Protocol::Simple if is_pairs => hop.pair.0,
            _ => of_protocol(&hop.direct),
        };
        let direct = direct * cycle;
        let scale = block.scale.of(Generation::of(wiring, gpus));
        let blocks = match pacing {
            Pacing::SideBySide { blocks, .. } => blocks,
            Pacing::InTurns | Pacing::InParallel => None,
        };
        let shared = if is_pairs { block.pair.0 } else { 1.0 };
        let rate = block.rate.0 * scale * shared;
        let more = if is_pairs {
            let [all, each] = self.launch.pairs;
            let own = microseconds(each.0.mul_add(gpus.len() as f64 - 1.0, all.0) * cycle);
            Picoseconds(own.0 + self.message.posts(wiring, gpus).0)
        } else {
            Picoseconds(0)
        };
        let is_around = collective.root().is_none() && !is_pairs;
        let more = match protocol {
            Protocol::Simple if is_around => microseconds(self.launch.simple.0 * cycle),
            _ => more,
        };
        let is_chain = blocks == Some(1) && collective.root().is_some() && !is_pairs;
        NcclProtocol {
            launch: Picoseconds(self.launch_of(processes, gpus, wiring).0 + more.0),
            fabric_hop: microseconds(direct),
            host_hop: microseconds(of_protocol(&hop.host)),
            network_hop: microseconds(of_protocol(&hop.network)),
            data_share: match protocol {
                Protocol::LL => 0.5,
                Protocol::LL128 => 0.92,
                Protocol::Simple => 1.0,
            },
            copy_bandwidth: match blocks {
                None => gigabytes(block.copy.0 * scale),
                Some(1) if is_around => gigabytes(block.own.0 * scale),
                Some(1) => gigabytes(rate),
                Some(many) => gigabytes(block.switch.0 * scale * f64::from(many)),
            },
            send_bandwidth: match (blocks, protocol) {
                (Some(1), Protocol::LL128 | Protocol::Simple) => Some(gigabytes(rate)),
                (None, Protocol::LL) => Some(gigabytes(block.ll.0 * scale)),
                _ => None,
            },
            slots: if is_chain { SLOTS_OF_A_CHAIN } else { 2 },
            stream_reuse: pacing == Pacing::InTurns,
            peer_access_switch: Picoseconds(0),
        }
    }
}

/// Of whose day the hosts are: AMD's GPUs are none of NVIDIA's generations.
fn generation_of_hosts(wiring: &Wiring, of_gpus: Generation) -> Generation {
    let is_mi300 = |kind: LinkKind| matches!(kind, LinkKind::XgmiMi300 | LinkKind::XgmiMi350);
    let has_mi300 = wiring.wires().iter().any(|wire| wire.kind.is_some_and(is_mi300));
    if has_mi300 { Generation::Hopper } else { of_gpus }
}

/// Returns the cost of a schedule's protocol on a system, with linkwright's own terms and the usual
/// processes.
///
/// # Errors
/// [`TimeError::UnknownGpu`] where the system has no such GPU.
pub fn protocol_of(schedule: &Schedule, system: &System) -> Result<NcclProtocol, TimeError> {
    protocol_as(schedule, schedule.protocol, system)
}

/// Works as [`protocol_of`], with another protocol than the schedule's.
///
/// # Errors
/// Fails as [`protocol_of`] does.
pub fn protocol_as(
    schedule: &Schedule,
    protocol: Protocol,
    system: &System,
) -> Result<NcclProtocol, TimeError> {
    protocol_launched(schedule, protocol, None, system)
}

/// As [`protocol_as`], with ranks that are launched so; as usual where nothing is said.
///
/// # Errors
/// Fails as [`protocol_of`] does.
pub fn protocol_launched(
    schedule: &Schedule,
    protocol: Protocol,
    processes: Option<Processes>,
    system: &System,
) -> Result<NcclProtocol, TimeError> {
    let wiring = wiring_of(schedule, system)?;
    let usual = KernelSetting::usual(schedule, &wiring);
    let setting = KernelSetting { processes: processes.unwrap_or(usual.processes), ..usual };
    Ok(CollectiveTerms::shipped().protocol(protocol, setting))
}

/// Works as [`protocol_of`], on the servers of the schedule's GPUs.
pub(in crate::collectives) fn protocol_on(schedule: &Schedule, wiring: &Wiring) -> NcclProtocol {
    protocol_for(schedule, schedule.protocol, wiring)
}

/// Works as [`protocol_as`], on the servers of the schedule's GPUs.
pub(in crate::collectives) fn protocol_for(
    schedule: &Schedule,
    protocol: Protocol,
    wiring: &Wiring,
) -> NcclProtocol {
    CollectiveTerms::shipped().protocol(protocol, KernelSetting::usual(schedule, wiring))
}

fn microseconds(value: f64) -> Picoseconds {
    Picoseconds((value * 1e6).round() as u64)
}

fn gigabytes(value: f64) -> Bandwidth {
    Bandwidth((value * 1e9).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shipped_can_be_read_and_what_is_out_of_range_is_told_with_its_place() {
        assert_eq!(
            CollectiveTerms::read("terms.toml", CollectiveTerms::TEXT).as_ref(),
            Ok(CollectiveTerms::shipped())
        );
        for (from, to, words) in [
            ("network = [2.7,", "network = [-1.0,", "-1 us are not from 0 to 1e6"),
            ("ll = 6.5", "ll = 0", "0 is not from 1e-6 to 1e6"),
            ("ll = 6.5", "ll = nan", "NaN is not from 1e-6 to 1e6"),
            ("copy = 26.98", "copied = 26.98", "copied"),
        ] {
            let text = CollectiveTerms::TEXT.replacen(from, to, 1);
            assert_ne!(text, CollectiveTerms::TEXT);
            let line = 1 + CollectiveTerms::TEXT[..CollectiveTerms::TEXT.find(from).unwrap()]
                .matches('\n')
                .count();
            let error = CollectiveTerms::read("terms.toml", &text).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
            assert_eq!(error.position.line, line, "{error}");
        }
    }
}
