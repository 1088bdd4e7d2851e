//! The rows that error bars come from: `errors.tsv`, which `make calibrate` writes.
//!
//! A line has the rows of one system that are alike in all that an error depends on. Tabs divide
//! its columns. The first are the system, its GPU's model, how many GPUs, what joins them, the library and the servers.
//! Then come the collective, the algorithm, the least size of the decade in bytes, and the errors as thousandths of
//! what was measured.

use std::fmt;
use std::sync::LazyLock;

use crate::collectives::schedule::time::Peers;
use crate::system::{Device, DeviceKind, LinkKind, Wire, Wiring};
use crate::units::Bytes;

/// Names what joins a job's GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// Links of one kind.
    Links {
        /// Names their kind.
        kind: LinkKind,
        /// Tells whether they lead to switches between GPUs.
        switched: bool,
    },
    /// Copies through the memory of their host.
    HostMemory,
    /// A network between servers joins them.
    Network,
}

impl fmt::Display for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Links { kind, switched: true } => write!(f, "{} to switches", kind.name()),
            Self::Links { kind, switched: false } => f.write_str(kind.name()),
            Self::HostMemory => f.write_str("host memory"),
            Self::Network => f.write_str("network"),
        }
    }
}

impl Joined {
    /// Reads what [`Self`] displays.
    fn of(text: &str) -> Option<Self> {
        match text {
            "host memory" => return Some(Self::HostMemory),
            "network" => return Some(Self::Network),
            _ => {}
        }
        let (name, switched) = match text.strip_suffix(" to switches") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let kind = LinkKind::ALL.into_iter().find(|kind| kind.name() == name)?;
        Some(Self::Links { kind, switched })
    }
}

/// Holds what the error of a job's times depends on, whatever it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likeness {
    /// The GPUs' model; none where it is not known.
    pub gpu: Option<String>,
    /// How many they are.
    pub gpus: usize,
    /// Names what joins them; none where that differs.
    pub joined: Option<Joined>,
    /// It is NCCL, or RCCL.
    pub library: String,
    /// In how many servers they are.
    pub servers: usize,
}

impl Likeness {
    /// Looks at a job's GPUs, which may reach each other's memory or not.
    #[must_use]
    pub fn of(wiring: &Wiring, gpus: &[usize], p2p: bool) -> Self {
        let mut servers: Vec<Option<usize>> =
            gpus.iter().map(|gpu| wiring.server_of(*gpu)).collect();
        servers.sort_unstable();
        servers.dedup();
        let first = gpus.first().and_then(|gpu| wiring.described(wiring.gpu(*gpu)));
        let is_rccl = wiring.wires().iter().any(|wire| wire.kind.is_some_and(LinkKind::is_xgmi));
        Self {
            gpu: first.and_then(Device::gpu_model).map(|model| model.name.to_owned()),
            gpus: gpus.len(),
            joined: joined(wiring, gpus, p2p),
            library: if is_rccl { "RCCL" } else { "NCCL" }.to_owned(),
            servers: servers.len(),
        }
    }
}

/// Rows of one system that are alike.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rows {
    pub system: String,
    pub like: Likeness,
    pub collective: String,
    pub algorithm: String,
    /// Gives the least size of their decade.
    pub from: Bytes,
    /// Each as a part of what was measured, without its sign.
    pub errors: Vec<f64>,
}

impl Rows {
    fn of(line: &str) -> Option<Self> {
        let mut columns = line.split('\t');
        let mut text = || columns.next().map(str::to_owned);
        Some(Self {
            system: text()?,
            like: Likeness {
                gpu: text().filter(|name| !name.is_empty()),
                gpus: text()?.parse().ok()?,
                joined: Joined::of(&text()?),
                library: text()?,
                servers: text()?.parse().ok()?,
            },
            collective: text()?,
            algorithm: text()?,
            from: Bytes(text()?.parse().ok()?),
            errors: text()?
                .split(' ')
                .map(|error| Some(error.parse::<f64>().ok()? / 1e3))
                .collect::<Option<_>>()?,
        })
    }
}

pub(super) static ROWS: LazyLock<Vec<Rows>> = LazyLock::new(|| {
    let lines = include_str!("errors.tsv").lines().skip(1);
    lines.map(|line| Rows::of(line).expect("the file is tested")).collect()
});

/// Tells what joins the GPUs. It is the network between servers. In one server it is the kind of their links, and
/// whether these lead to switches between GPUs. None where GPUs differ in that.
fn joined(wiring: &Wiring, gpus: &[usize], p2p: bool) -> Option<Joined> {
    let server = wiring.server_of(*gpus.first()?);
    if gpus.iter().any(|gpu| wiring.server_of(*gpu) != server) {
        return Some(Joined::Network);
    }
    if !p2p {
        return Some(Joined::HostMemory);
    }
    let wires = |gpu: &usize, is_it: fn(&Wire) -> bool| {
        let own = wiring.gpu(*gpu);
        let mut all = wiring.adjacency()[own].iter().map(|at| &wiring.wires()[*at]);
        all.find(|wire| is_it(wire) && wire.kind.is_some()).and_then(|wire| {
            let switched = wiring.devices()[wire.other_end(own)].kind == DeviceKind::NvSwitch;
            Some(Joined::Links { kind: wire.kind?, switched })
        })
    };
    let all = |is_it: fn(&Wire) -> bool| {
        let found: Option<Vec<_>> = gpus.iter().map(|gpu| wires(gpu, is_it)).collect();
        found.filter(|all| all.windows(2).all(|pair| pair[0] == pair[1]))?.first().copied()
    };
    all(Wire::is_gpu_fabric).or_else(|| {
        let mut peers = Peers::new(wiring, gpus);
        let mut pairs = gpus.iter().zip(gpus.iter().skip(1));
        let is_staged = pairs.any(|(from, to)| peers.copy_through_memory(*from, *to));
        if is_staged { Some(Joined::HostMemory) } else { all(Wire::is_pcie) }
    })
}
