//! The network of a cluster as a scenario's table describes it.

mod build;
mod read;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub(super) use read::{factor, keys_of_fabrics};

use super::fields::FileName;
use super::files::Files;
use super::known_gpus::KnownGpus;
use super::registries::Registries;
use super::servers::ServerEntry;
use super::source::Place;
use crate::network::PacketSettings;
use crate::network::packet::{Arbitration, NicPolicy};
use crate::network::routing::RoutingKind;
#[cfg(doc)]
use crate::network::routing::SHORTEST_PATH;
use crate::runtime::MpiProtocol;
#[cfg(doc)]
use crate::simulation::cluster::Cluster;
use crate::simulation::cluster::{CollectiveChoices, Fidelity};
use crate::system::AbstractNode;
use crate::system::composition::{InterfaceRule, PortOrder};
use crate::system::fabric::FabricSpecification;
#[cfg(doc)]
use crate::system::fabric::read_fabric;
use crate::units::Bandwidth;

/// Where the fabric comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FabricSource {
    /// Holds a kind with its parameters.
    Specification(Box<FabricSpecification>),
    /// A file in any of the formats that [`read_fabric`] reads.
    File(FileName),
}

/// Gives the bandwidth of the links between the GPUs of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuBandwidth {
    /// Scales the bandwidth of the first node's link to the network, itself scaled, by this factor:
    /// numerator and denominator.
    Times(u32, u32),
    /// Takes this bandwidth, whatever the network has.
    Fixed(Bandwidth),
}

/// A network as written: all that a [`Cluster`] needs but the files it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkSettings {
    /// Where the fabric comes from.
    pub fabric: FabricSource,
    /// A file of routing tables, which [`SHORTEST_PATH`] then follows.
    pub routing_table: Option<FileName>,
    /// Scales every bandwidth of the fabric: numerator and denominator.
    pub bandwidth_scale: (u32, u32),
    /// Which way packets go; that of the fabric's shape where nobody says.
    pub routing: Option<&'static dyn RoutingKind>,
    /// Which message a network interface sends first.
    pub nic: NicPolicy,
    /// Which packet a channel takes first.
    pub arbitration: &'static dyn Arbitration,
    /// How closely the network is simulated.
    pub fidelity: Fidelity,
    /// Holds packets, buffers and delays.
    pub packets: PacketSettings,
    /// The servers; none where every port has an abstract node.
    pub servers: Vec<ServerEntry>,
    /// Holds facts of their GPUs that differ from the models' files.
    pub gpus: KnownGpus,
    /// Says which ports the servers' interfaces take.
    pub port_order: PortOrder,
    /// Through which interface a GPU of a server sends to others.
    pub interface_rule: InterfaceRule,
    /// Whether anything is said of a fabric: without, a lone server has none.
    pub has_fabric: bool,
    /// The first key that says what the fabric is; a machine with a network of its own allows none.
    pub fabric_key: Option<String>,
    /// Describes an abstract node, except its bandwidth, which `gpu_bandwidth` gives.
    pub node: AbstractNode,
    /// Gives the bandwidth of the links between the GPUs of a node.
    pub gpu_bandwidth: GpuBandwidth,
    /// Gives the software costs of messages.
    pub protocol: MpiProtocol,
    /// Says how collectives become messages.
    pub collectives: CollectiveChoices,
    /// Where the table stands, and its routing if it names one.
    pub places: NetworkPlaces,
    /// Gives its names their meaning.
    pub registries: Registries,
    /// Gives the place and the text of each given parameter of the fabric, by its key.
    pub parameters: BTreeMap<String, (Place, String)>,
    /// The files that the text holds itself, by their names there.
    pub files: Files,
}

impl NetworkSettings {
    /// The files that it names.
    pub fn named_files(&self) -> impl Iterator<Item = &FileName> {
        let fabric = match &self.fabric {
            FabricSource::File(file) => Some(file),
            FabricSource::Specification(_) => None,
        };
        let servers = self.servers.iter().filter_map(ServerEntry::file);
        servers.chain(fabric).chain(&self.routing_table).chain(&self.gpus.file)
    }

    /// The files that were given, with those that the text holds itself.
    pub(super) fn with_own<'a>(&self, given: &'a Files) -> Cow<'a, Files> {
        if self.files.is_empty() {
            return Cow::Borrowed(given);
        }
        let mut all = given.clone();
        all.extend(self.files.clone());
        Cow::Owned(all)
    }
}

/// Holds the places that errors of building a network point at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkPlaces {
    /// Points at the table.
    pub table: Place,
    /// Points at its routing.
    pub routing: Place,
    /// Points at the fabric's kind or file.
    pub fabric: Place,
    /// Points at the factor of bandwidths.
    pub bandwidth_scale: Place,
    /// Points at the GPUs of a node.
    pub node: Place,
    /// Points at the servers.
    pub servers: Place,
}

#[cfg(test)]
mod tests {
    use crate::scenario::{Registries, settings};
    use crate::system::fabric::{LINK_KEYS, fabrics};

    #[test]
    fn the_settings_hold_those_of_specifications() {
        let all = settings(&Registries::default());
        let kinds = fabrics();
        let keys = kinds.iter().flat_map(|kind| kind.keys()).chain(&LINK_KEYS).copied();
        for key in keys.map(|key| key.key.replace('-', "_")).chain(["kind".to_owned()]) {
            let known = all.iter().filter(|it| it.table == "system.network" && it.key == key);
            assert_eq!(known.count(), 1, "{key}");
        }
    }
}
