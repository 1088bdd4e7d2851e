//! How fast the network interfaces of servers are, for links of a fabric that nobody gives a speed.

use std::sync::Arc;

use super::attachment::{self, PortOrder};
use super::numbers::Numbers;
use super::{ServerKind, System, interfaces, nics_of};
use crate::system::adapters::port_speed;
use crate::system::error::SystemError;
use crate::system::fabric::{Fabric, fabrics};
use crate::system::server::Server;
use crate::units::Bandwidth;

/// Where the speed of a fabric's links comes from that nobody named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpeedSource {
    /// It is that of the servers' interfaces.
    Interfaces,
    /// The speed of some interface is not known, so that the fabric's kind has one for it.
    Assumed,
}

impl SpeedSource {
    /// Gives the words behind the speed.
    const fn words(self) -> &'static str {
        match self {
            Self::Interfaces => "as the interfaces",
            Self::Assumed => "assumed",
        }
    }
}

/// Holds the speed of the interface at every port that servers take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceSpeeds {
    ports: Vec<Option<Bandwidth>>,
    unknown: Vec<String>,
}

impl InterfaceSpeeds {
    /// Finds the speeds for servers, each with its count, whose interfaces take ports in an order.
    ///
    /// # Errors
    /// Fails as [`System::ports_for`] does.
    pub fn of(servers: &[(Arc<Server>, u32)], order: PortOrder) -> Result<Self, SystemError> {
        let mut speeds = Vec::with_capacity(servers.len());
        let mut unknown: Vec<String> = Vec::new();
        let mut rows = Vec::with_capacity(servers.len());
        for (server, count) in servers.iter().filter(|(_, count)| *count > 0) {
            let (server, _) = interfaces::with_interfaces(server)?;
            let kind = ServerKind { nics: nics_of(&server), server };
            let known: Vec<Option<Bandwidth>> = kind.port_speeds().collect();
            let name = kind.server.name();
            if known.contains(&None) && !unknown.iter().any(|other| other == name) {
                unknown.push(name.to_owned());
            }
            rows.push((speeds.len() as u32, *count, kind.counts()));
            speeds.push(known);
        }
        let numbers = Numbers::new(&rows, 0)?;
        let mut ports = vec![None; numbers.total().nics as usize];
        for nic in 0..numbers.total().nics {
            let at = numbers.place(nic, |counts| counts.nics);
            let known = &speeds[numbers.kind_of(at.server) as usize];
            ports[attachment::port_of(order, &numbers, nic) as usize] = known[at.index as usize];
        }
        Ok(Self { ports, unknown })
    }

    /// Counts the ports that servers take.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.ports.len() as u32
    }

    /// The highest that is known.
    #[must_use]
    pub fn fastest(&self) -> Option<Bandwidth> {
        self.ports.iter().flatten().max().copied()
    }

    /// The speed at each port, which is `unknown` where nothing says it.
    #[must_use]
    pub fn ports_or(&self, unknown: Bandwidth) -> Vec<Bandwidth> {
        self.ports.iter().map(|speed| speed.unwrap_or(unknown)).collect()
    }

    /// Whether all ports have the same.
    #[must_use]
    pub fn are_alike(&self) -> bool {
        self.ports.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// Says where the links of a fabric, which has its speeds, take them from; and in a sentence.
    #[must_use]
    pub fn said(&self, fabric: &Fabric) -> (SpeedSource, String) {
        let speed = node_speeds(fabric, self.ports.len());
        if !self.unknown.is_empty() {
            let names = self.unknown.join(" and ");
            return (SpeedSource::Assumed, assumed(&format!("the interfaces of {names}"), &speed));
        }
        let between = if self.are_alike() {
            String::new()
        } else {
            let fastest = self.fastest().map(Bandwidth::in_bits).unwrap_or_default();
            format!(", each port as its own, and those between switches at {fastest}")
        };
        let said = format!(
            "no speed of the network is named, so that its links run at {speed}, as the \
             interfaces{between}"
        );
        (SpeedSource::Interfaces, said)
    }
}

impl ServerKind {
    /// How fast a port of each interface is, where its model or its description says it.
    fn port_speeds(&self) -> impl Iterator<Item = Option<Bandwidth>> + '_ {
        self.nics.iter().map(|nic| port_speed(&self.server.devices()[*nic]))
    }
}

impl System {
    /// Adds to its assumptions where the speed of the fabric's links comes from, as nobody named it.
    #[must_use]
    pub fn with_unnamed_speed(mut self, source: SpeedSource, assumption: String) -> Self {
        self.assumptions.push(assumption);
        self.unnamed_speed = Some(source);
        self
    }

    /// Lists its assumptions but that of the fabric's speed, which is the last.
    pub(super) fn assumed_of_servers(&self) -> &[String] {
        let last = self.assumptions.len() - usize::from(self.unnamed_speed.is_some());
        &self.assumptions[..last]
    }

    /// The same system of abstract nodes, whose links have the speed of the fabric's kind.
    #[must_use]
    pub fn with_assumed_speed(self) -> Self {
        let Some(fabric) = self.fabric() else { return self };
        let speed = node_speeds(fabric, fabric.nodes() as usize);
        self.with_unnamed_speed(SpeedSource::Assumed, assumed("the nodes' interfaces", &speed))
    }

    /// Says where the speed of the fabric's links comes from, and in a sentence. It is None where the
    /// speed was named, and of a lone server.
    #[must_use]
    pub fn unnamed_speed(&self) -> Option<(SpeedSource, &str)> {
        self.unnamed_speed.zip(self.assumptions.last().map(String::as_str))
    }

    /// The highest speed of its servers' interfaces that is known.
    #[must_use]
    pub fn fastest_interface(&self) -> Option<Bandwidth> {
        self.kinds.iter().flat_map(ServerKind::port_speeds).flatten().max()
    }

    /// Names the fabric and its speed: `fat-tree of 400 Gb/s, as the interfaces`; None of a lone server.
    #[must_use]
    pub fn fabric_words(&self) -> Option<String> {
        let fabric = self.fabric()?;
        let of_kind = fabric.name().rsplit_once('-').map(|(kind, _)| kind);
        let kinds = fabrics().names();
        let name = of_kind.filter(|kind| kinds.contains(kind)).unwrap_or(fabric.name());
        let speed = node_speeds(fabric, self.nics() as usize);
        let source = self.unnamed_speed().map(|(source, _)| format!(", {}", source.words()));
        Some(format!("{name} of {speed}{}", source.unwrap_or_default()))
    }
}

fn assumed(whose: &str, speed: &str) -> String {
    format!(
        "nothing says how fast {whose} are: links of {speed} are assumed; name a speed, as by \
         --network 400Gb/s or the network's `bandwidth`"
    )
}

/// Writes the speeds of the first ports' links: `400 Gb/s`, or `100 Gb/s to 400 Gb/s`.
fn node_speeds(fabric: &Fabric, ports: usize) -> String {
    let speeds = || fabric.channels()[..2 * ports].iter().map(|channel| channel.bandwidth);
    match (speeds().min(), speeds().max()) {
        (Some(least), Some(most)) if least < most => {
            format!("{} to {}", least.in_bits(), most.in_bits())
        }
        (least, _) => least.map(Bandwidth::in_bits).unwrap_or_default(),
    }
}
