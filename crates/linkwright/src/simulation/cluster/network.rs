//! The network of a cluster as a scenario's table describes it.

use std::sync::Arc;

use serde::Deserialize;
use toml::{Table, Value};

use super::collectives::CollectiveChoices;
use super::fields::{Fields, FileName};
use super::files::{Files, text_of};
use super::servers::{self, ServerEntry};
use super::{Cluster, Fidelity};
use crate::diagnostic::{InputError, Position, instead_of};
use crate::network::packet::{ArbitrationPolicy, NicPolicy, SettingsError, Switching};
use crate::network::routing::TableRouting;
use crate::network::{AnyRouting, PacketSettings, RoutingKind};
use crate::replay::Protocol;
use crate::system::composition::{InterfaceRule, PortOrder, lists_network, split};
use crate::system::fabric::RoutingTables;
use crate::system::fabric::{FABRICS, FabricSpecification, read_fabric, read_routing};
use crate::system::{AbstractNode, Fabric, FabricError, NodeError, Server, System};
use crate::units::{Bandwidth, Bytes, Picoseconds};

/// The keys of settings that stand alone: those of the table, and what a scenario has beside.
pub(super) const SETTINGS_KEYS: &[&str] = &[
    "preset",
    "file",
    "routing_table",
    "bandwidth_scale",
    "routing",
    "nic",
    "arbitration",
    "switching",
    "fidelity",
    "packet_size",
    "buffer_packets",
    "router_delay",
    "nic_delay",
    "machine",
    "servers",
    "port_order",
    "interfaces",
    "gpus_per_node",
    "gpu_bandwidth",
    "gpu_latency",
    "kind",
    "levels",
    "radix",
    "pods",
    "leaves",
    "tapering",
    "leaves_per_pod",
    "nodes_per_leaf",
    "uplinks",
    "cores",
    "nodes_per_switch",
    "switches_per_group",
    "global_links_per_switch",
    "groups",
    "ports",
    "dimensions",
    "bandwidth",
    "latency",
    "node_bandwidth",
    "node_latency",
    "global_bandwidth",
    "global_latency",
    "intra_group_detours",
    "hop_weights",
    "links",
    "seed",
    "protocol",
    "collectives",
    "system",
];

/// The keys of the table: its own, then those of a fabric's specification, which are
/// spelt with underscores here.
pub(super) const KEYS: &[&str] = SETTINGS_KEYS.split_at(SETTINGS_KEYS.len() - 4).0;

/// The keys that only a fabric has: with any of them, a lone server stands on one, too.
const OF_FABRIC: [&str; 4] = ["routing", "nic", "routing_table", "bandwidth_scale"];

/// The keys of the table of the messaging library.
pub(super) const PROTOCOL_KEYS: &[&str] = &[
    "send_overhead",
    "receive_overhead",
    "copy_per_byte",
    "eager_limit",
    "rendezvous_delay",
    "control_size",
];

/// Where the fabric comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FabricSource {
    /// A kind with its parameters.
    Specification(Box<FabricSpecification>),
    /// A file in any of the formats that [`read_fabric`] reads.
    File(FileName),
}

/// Bandwidth of the links between the GPUs of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuBandwidth {
    /// So many times that of the first node's link to the network, as scaled.
    Times(u32),
    /// So much, whatever the network has.
    Fixed(Bandwidth),
}

/// A network as written: all that a [`Cluster`] needs but the files it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkSettings {
    /// Where the fabric comes from.
    pub fabric: FabricSource,
    /// A file of routing tables, which [`RoutingKind::ShortestPath`] then follows.
    pub routing_table: Option<FileName>,
    /// What every bandwidth of the fabric is multiplied by: numerator and denominator.
    pub bandwidth_scale: (u32, u32),
    /// Which way packets go; that of the fabric's shape where nobody says.
    pub routing: Option<RoutingKind>,
    /// Which message a network interface sends first.
    pub nic: NicPolicy,
    /// Which packet a channel takes first.
    pub arbitration: ArbitrationPolicy,
    /// How closely the network is simulated.
    pub fidelity: Fidelity,
    /// Packets, buffers and delays.
    pub packets: PacketSettings,
    /// The servers; none where every port has an abstract node.
    pub servers: Vec<ServerEntry>,
    /// Which ports the servers' interfaces take.
    pub port_order: PortOrder,
    /// Through which interface a GPU of a server sends to others.
    pub interface_rule: InterfaceRule,
    /// Whether anything is said of a fabric: without, a lone server has none.
    pub has_fabric: bool,
    /// The first key that says what the fabric is; a machine with a network of its own allows none.
    pub fabric_key: Option<String>,
    /// What an abstract node is, but for its bandwidth, which is that of `gpu_bandwidth`.
    pub node: AbstractNode,
    /// The links between the GPUs of a node.
    pub gpu_bandwidth: GpuBandwidth,
    /// What messages cost in software.
    pub protocol: Protocol,
    /// How collectives become messages.
    pub collectives: CollectiveChoices,
    /// Where the table stands, and its routing if it names one.
    pub places: NetworkPlaces,
}

/// What the errors of building a network point at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkPlaces {
    /// The table.
    pub table: Position,
    /// Its routing.
    pub routing: Position,
    /// The fabric's kind or file.
    pub fabric: Position,
    /// The factor of bandwidths.
    pub bandwidth_scale: Position,
    /// The GPUs of a node.
    pub gpus_per_node: Position,
    /// The servers.
    pub servers: Position,
}

/// The file of defaults.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Defaults {
    packet_size: Bytes,
    buffer_packets: u16,
    router_delay: Picoseconds,
    nic_delay: Picoseconds,
    switching: String,
    arbitration: String,
    nic: String,
    fidelity: String,
    gpus_per_node: u32,
    gpu_bandwidth_factor: u32,
    gpu_latency: Picoseconds,
}

const VALID: &str = "the defaults are valid, as the tests check";

impl Defaults {
    fn read() -> Self {
        toml::from_str(include_str!("defaults.toml")).expect(VALID)
    }

    fn node(&self) -> AbstractNode {
        AbstractNode {
            gpus: self.gpus_per_node,
            bandwidth: Bandwidth(1),
            latency: self.gpu_latency,
        }
    }

    fn packets(&self) -> PacketSettings {
        PacketSettings {
            packet_size: self.packet_size,
            buffer_packets: self.buffer_packets,
            router_delay: self.router_delay,
            nic_delay: self.nic_delay,
            switching: named(&SWITCHINGS, "switching", &self.switching).expect(VALID),
            seed: 0,
        }
    }
}

const SWITCHINGS: [(&str, Switching); 2] =
    [("store-and-forward", Switching::StoreAndForward), ("cut-through", Switching::CutThrough)];
const FIDELITIES: [(&str, Fidelity); 2] = [("packet", Fidelity::Packet), ("flow", Fidelity::Flow)];

/// The value of a name among a few.
fn named<T: Copy>(known: &[(&'static str, T)], what: &str, name: &str) -> Result<T, String> {
    let found = known.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        format!("unknown {what}; {}", instead_of(name, &names))
    })
}

impl Fidelity {
    /// Its name: `packet` or `flow`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packet => "packet",
            Self::Flow => "flow",
        }
    }
}

/// A factor as a fraction: `2`, `0.5`, `"2x"`, `"x/4"`, `"1/16"` or `"x"`.
fn fraction(text: &str) -> Option<(u32, u32)> {
    let text = text.trim();
    let (whole, divisor) = text.split_once('/').unwrap_or((text, "1"));
    let whole = whole.trim().strip_suffix('x').map_or(whole.trim(), str::trim);
    let whole = if whole.is_empty() && text.contains('x') { "1" } else { whole };
    let (number, decimals) = whole.split_once('.').unwrap_or((whole, ""));
    let digits = format!("{number}{decimals}");
    let is_number =
        |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number(&digits) || number.is_empty() || !is_number(divisor.trim()) {
        return None;
    }
    let numerator: u32 = digits.parse().ok()?;
    let power = 10_u32.checked_pow(u32::try_from(decimals.len()).ok()?)?;
    let denominator = power.checked_mul(divisor.trim().parse().ok()?)?;
    (numerator > 0 && denominator > 0).then_some((numerator, denominator))
}

fn scale(fields: &Fields<'_>) -> Result<(u32, u32), InputError> {
    let text = match fields.value("bandwidth_scale") {
        None => return Ok((1, 1)),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    fraction(&text).ok_or_else(|| {
        let remedy = "write a factor above zero, such as 2, 0.5, \"2x\" or \"x/16\"";
        fields.refuse("bandwidth_scale", "no factor of bandwidths", remedy)
    })
}

/// The specification in a table, whose keys are those of a file with underscores.
fn specification(fields: &Fields<'_>) -> Result<FabricSpecification, InputError> {
    let kind_key = if fields.has("preset") { "preset" } else { "kind" };
    let mut table = Table::new();
    let kind = fields.value(kind_key).cloned();
    if let Some(Value::String(name)) = &kind
        && !FABRICS.contains(&name.as_str())
    {
        let remedy = format!("{}, and `file`", instead_of(name, &FABRICS));
        return Err(fields.refuse(kind_key, "unknown kind of network", remedy));
    }
    table.insert("kind".to_owned(), kind.unwrap_or_else(|| Value::String("fat-tree".to_owned())));
    for key in FabricSpecification::KEYS.iter().skip(1) {
        let written = key.replace('-', "_");
        if let Some(value) = fields.value(&written) {
            table.insert((*key).to_owned(), value.clone());
            read_table(&table).map_err(|error| {
                fields.refuse_as(&written, &error, "see the file format in the reference")
            })?;
        } else {
            read_table(&table).map_err(|error| {
                fields.refuse_as(kind_key, &error, "see the file format in the reference")
            })?;
        }
    }
    let read = read_table(&table);
    read.map_err(|error| fields.refuse_as(kind_key, &error, "see the file format in the reference"))
}

fn read_table(table: &Table) -> Result<FabricSpecification, String> {
    let read = table.clone().try_into();
    read.map_err(|error: toml::de::Error| error.message().trim_end().replace('\n', ", "))
}

fn fabric_source(fields: &Fields<'_>) -> Result<FabricSource, InputError> {
    if fields.has("preset") && fields.has("kind") {
        let remedy = "both name the kind of network; write one of them";
        return Err(fields.refuse("preset", "a preset and a kind", remedy));
    }
    let Some(file) = fields.file("file")? else {
        let specification = specification(fields)?;
        // The parameters are refused here, where their places are known.
        specification.build().map_err(|error| {
            let key = error.parameter().unwrap_or("kind").replace('-', "_");
            fields.refuse_as(&key, &error, "give other sizes")
        })?;
        return Ok(FabricSource::Specification(Box::new(specification)));
    };
    let keys = FabricSpecification::KEYS.iter().map(|key| key.replace('-', "_"));
    if let Some(key) = keys.chain(["preset".to_owned()]).find(|key| fields.has(key)) {
        let remedy = format!("the file says what the network is; remove `{key}` or `file`");
        return Err(fields.refuse(&key, "a network from a file and from keys", remedy));
    }
    Ok(FabricSource::File(file))
}

fn protocol(fields: Option<&Fields<'_>>) -> Result<Protocol, InputError> {
    let default = Protocol::default();
    let Some(fields) = fields else { return Ok(default) };
    Ok(Protocol {
        send_overhead: fields.or("send_overhead", default.send_overhead)?,
        receive_overhead: fields.or("receive_overhead", default.receive_overhead)?,
        copy_per_byte: fields.or("copy_per_byte", default.copy_per_byte)?,
        eager_limit: fields.or("eager_limit", default.eager_limit)?,
        rendezvous_delay: fields.or("rendezvous_delay", default.rendezvous_delay)?,
        control_size: fields.or("control_size", default.control_size)?,
    })
}

/// The key that a setting out of range comes from.
fn key_of(error: &SettingsError) -> &'static str {
    match error {
        SettingsError::PacketSize { .. } => "packet_size",
        SettingsError::Buffer { .. } => "buffer_packets",
        SettingsError::Ports { .. } | SettingsError::Path(_) => "file",
        SettingsError::VirtualChannels { .. } => "routing",
    }
}

impl NetworkSettings {
    /// The settings in a table, in that of the messaging library and in that of collectives.
    pub(super) fn read(
        fields: &Fields<'_>,
        protocol_fields: Option<&Fields<'_>>,
        collective_fields: Option<&Fields<'_>>,
        listed: &[Fields<'_>],
        seed: u64,
    ) -> Result<Self, InputError> {
        let default = Defaults::read();
        let absent = default.packets();
        let gpu_bandwidth = match fields.optional("gpu_bandwidth")? {
            Some(fixed) => GpuBandwidth::Fixed(fixed),
            None => GpuBandwidth::Times(default.gpu_bandwidth_factor),
        };
        let switching = fields.named("switching", |name| named(&SWITCHINGS, "switching", name))?;
        let packets = PacketSettings {
            packet_size: fields.or("packet_size", absent.packet_size)?,
            buffer_packets: fields.or("buffer_packets", absent.buffer_packets)?,
            router_delay: fields.or("router_delay", absent.router_delay)?,
            nic_delay: fields.or("nic_delay", absent.nic_delay)?,
            switching: switching.unwrap_or(absent.switching),
            seed,
        };
        let absent = default.node();
        let node = AbstractNode {
            gpus: fields.or("gpus_per_node", absent.gpus)?,
            bandwidth: match gpu_bandwidth {
                GpuBandwidth::Fixed(bandwidth) => bandwidth,
                GpuBandwidth::Times(_) => absent.bandwidth,
            },
            latency: fields.or("gpu_latency", absent.latency)?,
        };
        node.check().map_err(|error| {
            let key = match error {
                NodeError::Gpus { .. } => "gpus_per_node",
                NodeError::Bandwidth => "gpu_bandwidth",
            };
            fields.refuse_as(key, &error, "give a value in range")
        })?;
        packets
            .check()
            .map_err(|error| fields.refuse_as(key_of(&error), &error, "give a value in range"))?;
        let nic = fields.named("nic", NicPolicy::from_name)?;
        let arbitration = fields.named("arbitration", ArbitrationPolicy::from_name)?;
        let fidelity = fields.named("fidelity", |name| named(&FIDELITIES, "fidelity", name))?;
        let position = |key: &str| fields.source.position(&fields.place(key));
        let fabric = fabric_source(fields)?;
        let source_key = ["file", "preset", "kind"].into_iter().find(|key| fields.has(key));
        let routing_table = fields.file("routing_table")?;
        let routing = fields.named("routing", RoutingKind::from_name)?;
        if routing_table.is_some() && routing.is_some_and(|kind| kind != RoutingKind::ShortestPath)
        {
            let remedy = "a table is what `shortest-path` follows; remove `routing` or the table";
            return Err(fields.refuse("routing", "a routing beside a routing table", remedy));
        }
        Ok(Self {
            fabric,
            routing_table,
            bandwidth_scale: scale(fields)?,
            routing,
            nic: nic.unwrap_or_else(|| NicPolicy::from_name(&default.nic).expect(VALID)),
            arbitration: arbitration.unwrap_or_else(|| {
                ArbitrationPolicy::from_name(&default.arbitration).expect(VALID)
            }),
            fidelity: fidelity
                .unwrap_or_else(|| named(&FIDELITIES, "", &default.fidelity).expect(VALID)),
            packets,
            fabric_key: ["file", "preset"]
                .into_iter()
                .map(str::to_owned)
                .chain(FabricSpecification::KEYS.iter().map(|key| key.replace('-', "_")))
                .find(|key| fields.has(key)),
            has_fabric: source_key.is_some() || OF_FABRIC.iter().any(|key| fields.has(key)),
            servers: servers::read(fields, listed)?,
            port_order: servers::port_order(fields)?,
            interface_rule: servers::interface_rule(fields)?,
            node,
            gpu_bandwidth,
            protocol: protocol(protocol_fields)?,
            collectives: CollectiveChoices::read(collective_fields)?,
            places: NetworkPlaces {
                table: fields.source.position(&fields.span),
                routing: position("routing"),
                fabric: position(source_key.unwrap_or("kind")),
                bandwidth_scale: position("bandwidth_scale"),
                gpus_per_node: position("gpus_per_node"),
                servers: match (listed.first(), fields.has("servers")) {
                    (Some(entry), _) => entry.source.position(&entry.span),
                    (None, true) => position("servers"),
                    (None, false) => position("machine"),
                },
            },
        })
    }

    /// The cluster, with the files that it names; `file` names the scenario in errors.
    ///
    /// # Errors
    /// A file that is not given or that its reader refuses, a factor that no bandwidth can be
    /// multiplied by, a routing for another network.
    pub fn build(&self, file: &str, files: &Files) -> Result<Cluster, InputError> {
        let at = |position, error: &dyn std::fmt::Display, remedy: &str| {
            let message = error.to_string();
            let (problem, remedy) = message.split_once("; ").unwrap_or((&message, remedy));
            InputError::at(file, position, problem, "", remedy)
        };
        let listed = servers::build(&self.servers, file, files)?;
        let own = match self.beside_own_network(&listed) {
            None => None,
            Some(Ok(machine)) => Some(
                split(machine)
                    .map_err(|error| at(self.places.servers, &error, "mend the machine"))?,
            ),
            Some(Err(key)) => {
                let problem = "the machine lists a network of its own";
                let remedy = format!("remove `{key}`, or give a machine without a network");
                return Err(at(self.places.servers, &problem, &remedy));
            }
        };
        let named = own.is_some().then(|| listed[0].0.name().to_owned());
        let (listed, own) = match own {
            Some((servers, fabric)) => (servers, Some(fabric)),
            None => (listed, None),
        };
        let refuse = |error: &dyn std::fmt::Display| {
            at(self.places.servers, error, "give fewer servers, or a larger network")
        };
        // A lone server needs no port, and so no interface; what it is not on says its routing.
        let alone = match &listed[..] {
            [(server, 1)] if !self.has_fabric && own.is_none() => Some(server),
            _ => None,
        };
        let sized = |built: Result<Fabric, FabricError>| {
            let place = self.places.fabric;
            built.map_err(|error| at(place, &error, "give other sizes"))
        };
        let fabric = match (own, &self.fabric) {
            (Some(own), _) => own,
            (None, FabricSource::File(name)) => {
                read_fabric(&name.name, text_of(file, name, files)?)?
            }
            (None, FabricSource::Specification(specification)) => {
                if listed.is_empty() || alone.is_some() {
                    sized(specification.build())?
                } else {
                    let ports = System::ports_for(&listed).map_err(|error| refuse(&error))?;
                    sized(specification.for_ports(ports))?
                }
            }
        };
        let tables = match &self.routing_table {
            None => None,
            Some(name) => Some(read_routing(&name.name, text_of(file, name, files)?, &fabric)?),
        };
        let (numerator, denominator) = self.bandwidth_scale;
        let fabric = fabric
            .with_bandwidth_times(numerator, denominator)
            .map_err(|error| at(self.places.bandwidth_scale, &error, "give a smaller factor"))?;
        let routing = match self.routing {
            Some(routing) => routing,
            None if tables.is_some() => RoutingKind::ShortestPath,
            None => RoutingKind::default_for(fabric.shape()),
        };
        let checked = match &tables {
            None => AnyRouting::new(routing, &fabric, self.packets.seed).map(|_| ()),
            Some(tables) => TableRouting::new(&fabric, tables).map(|_| ()),
        };
        checked.map_err(|error| at(self.places.routing, &error, "choose another routing"))?;
        if let Some(server) = alone {
            return Ok(self.of_server(Arc::clone(server)));
        }
        if !listed.is_empty() {
            let system = System::new(&listed, fabric, self.port_order);
            let system = system.map_err(|error| refuse(&error))?;
            let mut system = system.with_interface_rule(self.interface_rule);
            if let Some(name) = named {
                system = system.renamed(&name);
            }
            return Ok(self.cluster(system, routing, tables));
        }
        let mut node = self.node;
        node.bandwidth = self.node_bandwidth(&fabric).ok_or_else(|| {
            let problem = "the links between a node's GPUs have no bandwidth that can be counted";
            at(self.places.gpus_per_node, &problem, "give `gpu_bandwidth`")
        })?;
        let system = System::of_nodes(fabric, node)
            .map_err(|error| at(self.places.gpus_per_node, &error, "give fewer GPUs"))?;
        Ok(self.cluster(system, routing, tables))
    }

    /// The machine, where it is alone and lists several servers and their network; or the key
    /// that says of another network, or of more servers, beside it.
    fn beside_own_network<'a>(
        &self,
        listed: &'a [(Arc<Server>, u32)],
    ) -> Option<Result<&'a Server, String>> {
        let [(machine, count)] = listed else { return None };
        if !lists_network(machine) {
            return None;
        }
        let of_ports = || (self.port_order != PortOrder::Plain).then(|| "port_order".to_owned());
        let several = (*count > 1).then(|| "servers".to_owned());
        let beside = several.or_else(of_ports).or_else(|| self.fabric_key.clone());
        Some(beside.map_or(Ok(machine.as_ref()), Err))
    }

    fn cluster(
        &self,
        system: System,
        routing: RoutingKind,
        tables: Option<RoutingTables>,
    ) -> Cluster {
        Cluster {
            system: Arc::new(system),
            settings: self.packets,
            routing,
            tables,
            nic: self.nic,
            arbitration: self.arbitration,
            protocol: self.protocol,
            collectives: self.collectives.clone(),
            fidelity: self.fidelity,
        }
    }

    /// A lone server with these settings, whatever they say of servers and a fabric.
    #[must_use]
    pub fn of_server(&self, server: Arc<Server>) -> Cluster {
        self.cluster(System::of_server(server), RoutingKind::ShortestPath, None)
    }

    fn node_bandwidth(&self, fabric: &Fabric) -> Option<Bandwidth> {
        match self.gpu_bandwidth {
            GpuBandwidth::Fixed(bandwidth) => Some(bandwidth),
            GpuBandwidth::Times(factor) => {
                let link = fabric.channels()[Fabric::injection(0) as usize].bandwidth;
                link.0.checked_mul(u64::from(factor)).map(Bandwidth)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_hold_those_of_specifications() {
        for key in FabricSpecification::KEYS {
            assert!(KEYS.contains(&key.replace('-', "_").as_str()), "{key}");
        }
    }

    #[test]
    fn factors_are_exact_fractions() {
        for (text, expected) in [
            ("2", (2, 1)),
            ("2x", (2, 1)),
            ("0.5", (5, 10)),
            ("x/16", (1, 16)),
            ("1/4", (1, 4)),
            ("3x/2", (3, 2)),
            ("x", (1, 1)),
            ("16.0", (160, 10)),
        ] {
            assert_eq!(fraction(text), Some(expected), "{text}");
        }
        for text in ["", "0", "-1", "x/0", "1e3", "two", "/2", "1/2/3", "99999999999", "."] {
            assert_eq!(fraction(text), None, "{text}");
        }
    }
}
