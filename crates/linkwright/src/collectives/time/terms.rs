//! What NCCL's kernels cost on a generation of GPUs, term by term, each with a cause of its own.
//!
//! `terms.toml` has the values and says where each comes from: most are NCCL's own constants, some are
//! fitted to measurements (`make calibrate`). What long transfers reach of a link's peak is no term:
//! it stands on the link's kind.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::collectives::baselines::Generation;
use crate::collectives::collective::Collective;
use crate::diagnostic::{InputError, Position, from_toml};
use crate::program::kernel::NcclProtocol;
use crate::system::{LinkKind, System, Wiring};
use crate::units::{Bandwidth, Picoseconds};

use super::super::schedule::{Pacing, Protocol, Schedule};
use super::error::TimeError;
use super::play::wiring_of;

/// The values of all terms.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// Those that measurements gave.
    #[serde(rename = "fitted")]
    _fitted: Vec<String>,
    launch: Launch,
    hop: Hop,
    block: Block,
}

/// How a job's ranks are processes, on which the launch of a kernel depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processes {
    /// One for each rank.
    Each,
    /// One with all GPUs, which launches a kernel on one after the other.
    Shared,
    /// One with all GPUs, which launches them as one (NCCL up to 2.8).
    Group,
}

impl Processes {
    /// How nccl-tests is usually run: within a server one process has all GPUs (`-g 8`), between
    /// servers every rank has its own.
    #[must_use]
    pub fn usual(wiring: &Wiring, gpus: &[usize]) -> Self {
        let server = |gpu: &usize| wiring.server_of(*gpu);
        let is_alone = gpus.windows(2).all(|pair| server(&pair[0]) == server(&pair[1]));
        if is_alone { Self::Shared } else { Self::Each }
    }

    /// The same under a release that launches all GPUs of a process as one, or not.
    pub(in crate::collectives) const fn of(self, launches_as_group: bool) -> Self {
        match self {
            Self::Shared if launches_as_group => Self::Group,
            other => other,
        }
    }
}

/// Where a collective's kernels run.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// What joins the GPUs.
    pub wiring: &'a Wiring,
    /// The GPU of each rank.
    pub gpus: &'a [usize],
    /// What they do.
    pub collective: Collective,
    /// How blocks share links.
    pub pacing: Pacing,
    /// How ranks are processes.
    pub processes: Processes,
}

impl<'a> Setting<'a> {
    /// That of a schedule, with the usual processes.
    #[must_use]
    pub fn usual(schedule: &'a Schedule, wiring: &'a Wiring) -> Self {
        let Schedule { gpus, collective, pacing, .. } = schedule;
        let processes = Processes::usual(wiring, gpus);
        Self { wiring, gpus, collective: *collective, pacing: *pacing, processes }
    }
}

/// Microseconds.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Launch {
    alone: f64,
    group: f64,
    each: f64,
}

/// Microseconds by protocol: LL, LL128, Simple.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hop {
    direct: [f64; 3],
    /// Times that of `direct`.
    switch: f64,
    host: [f64; 3],
    network: [f64; 3],
}

/// GB/s.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    copy: f64,
    ll: f64,
    scale: Scales,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scales {
    copy: Scale,
    ll: Scale,
    /// Of the launches of a process.
    each: Scale,
}

/// Parts of what Volta has.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scale {
    pascal: f64,
    volta: f64,
    ampere: f64,
    hopper: f64,
    blackwell: f64,
}

impl Scale {
    const fn of(&self, generation: Generation) -> f64 {
        match generation {
            Generation::Pascal => self.pascal,
            Generation::Volta => self.volta,
            Generation::Ampere => self.ampere,
            Generation::Hopper => self.hopper,
            Generation::Blackwell => self.blackwell,
        }
    }
}

static SHIPPED: LazyLock<Terms> =
    LazyLock::new(|| toml::from_str(Terms::TEXT).expect("the file is tested"));

impl Terms {
    /// The file of those that linkwright has.
    pub const TEXT: &str = include_str!("terms.toml");

    /// Reads such a file; `file` names it in errors.
    ///
    /// # Errors
    /// What is no such TOML, with line and column; a value below zero or not finite, and a bandwidth
    /// that is not above zero.
    pub fn read(file: &str, text: &str) -> Result<Self, InputError> {
        let terms: Self = from_toml(file, text)?;
        let Self { launch, hop, block, .. } = &terms;
        let times = [launch.alone, launch.group, launch.each].into_iter();
        let times = times
            .chain([hop.direct, hop.host, hop.network].concat().into_iter().chain([hop.switch]));
        let of = |scale: &Scale| Generation::ALL.map(|it| scale.of(it));
        let bandwidths = [block.copy, block.ll].into_iter();
        let bandwidths = bandwidths
            .chain([&block.scale.copy, &block.scale.ll, &block.scale.each].map(of).concat());
        let is_time = |value: f64| value.is_finite() && (0.0..=1e6).contains(&value);
        let is_bandwidth = |value: f64| value.is_finite() && (1e-6..=1e6).contains(&value);
        let wrong = times.filter(|value| !is_time(*value));
        let wrong = wrong.chain(bandwidths.filter(|value| !is_bandwidth(*value)));
        match wrong.into_iter().next() {
            None => Ok(terms),
            Some(value) => Err(InputError::at(
                file,
                Position::of_offset(text, 0),
                "a term lies outside of its range".to_owned(),
                &value.to_string(),
                "give times from 0 to 1e6 us, and bandwidths from 1e-6 to 1e6 GB/s",
            )),
        }
    }

    /// Those that linkwright has.
    #[must_use]
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// What a protocol costs where a collective runs.
    ///
    /// Where one process has several GPUs, its launches follow one another, and what ranks do
    /// together waits for the last. From or to a root data flows one way: whoever is launched late
    /// catches up from what has come for it, and the next call overlaps.
    #[must_use]
    pub fn protocol(
        &self,
        protocol: Protocol,
        Setting { wiring, gpus, collective, pacing, processes }: Setting<'_>,
    ) -> NcclProtocol {
        let generation = Generation::of(wiring, gpus);
        let row = protocol as usize;
        let Launch { alone, group, each } = self.launch;
        let of_process = gpus.len() as f64;
        let is_mi300 = |kind: LinkKind| matches!(kind, LinkKind::XgmiMi300 | LinkKind::XgmiMi350);
        let of_amd = wiring.wires().iter().any(|wire| wire.kind.is_some_and(is_mi300));
        let host = self.block.scale.each.of(if of_amd { Generation::Hopper } else { generation });
        let launch = match processes {
            _ if collective.root().is_some() => alone,
            Processes::Each => alone,
            Processes::Shared => alone + each * host * (of_process - 1.0),
            Processes::Group => group,
        };
        let ll = gigabytes(self.block.ll * self.block.scale.ll.of(generation));
        NcclProtocol {
            launch: microseconds(launch),
            fabric_hop: microseconds(self.hop.direct[row]),
            switch_hop: microseconds(self.hop.direct[row] * self.hop.switch),
            host_hop: microseconds(self.hop.host[row]),
            network_hop: microseconds(self.hop.network[row]),
            data_share: match protocol {
                Protocol::LL => 0.5,
                Protocol::LL128 => 0.92,
                Protocol::Simple => 1.0,
            },
            copy_bandwidth: gigabytes(self.block.copy * self.block.scale.copy.of(generation)),
            send_bandwidth: (protocol == Protocol::LL).then_some(ll),
            slots: 2,
            stream_reuse: pacing == Pacing::InTurns,
            peer_access_switch: Picoseconds(0),
        }
    }
}

/// What a schedule's protocol costs on a system, with linkwright's own terms and the usual processes.
///
/// # Errors
/// [`TimeError::UnknownGpu`] where the system has no such GPU.
pub fn protocol_of(schedule: &Schedule, system: &System) -> Result<NcclProtocol, TimeError> {
    protocol_as(schedule, schedule.protocol, system)
}

/// As [`protocol_of`], with another protocol than the schedule's.
///
/// # Errors
/// As [`protocol_of`].
pub fn protocol_as(
    schedule: &Schedule,
    protocol: Protocol,
    system: &System,
) -> Result<NcclProtocol, TimeError> {
    let wiring = wiring_of(schedule, system)?;
    Ok(protocol_for(schedule, protocol, &wiring))
}

/// As [`protocol_of`], on the servers of the schedule's GPUs.
pub(in crate::collectives) fn protocol_on(schedule: &Schedule, wiring: &Wiring) -> NcclProtocol {
    protocol_for(schedule, schedule.protocol, wiring)
}

/// As [`protocol_as`], on the servers of the schedule's GPUs.
pub(in crate::collectives) fn protocol_for(
    schedule: &Schedule,
    protocol: Protocol,
    wiring: &Wiring,
) -> NcclProtocol {
    Terms::shipped().protocol(protocol, Setting::usual(schedule, wiring))
}

fn microseconds(value: f64) -> Picoseconds {
    Picoseconds((value * 1e6).round() as u64)
}

fn gigabytes(value: f64) -> Bandwidth {
    Bandwidth((value * 1e9).round() as u64)
}
