//! The settings in a scenario's table, with what stands for those that it leaves out.

use serde::Deserialize;
use toml::{Table, Value};

use super::{FabricSource, GpuBandwidth, NetworkPlaces, NetworkSettings, OF_FABRIC};
use crate::diagnostic::{InputError, instead_of};
use crate::network::packet::{ArbitrationPolicy, NicPolicy, SettingsError, Switching};
use crate::network::{PacketSettings, RoutingKind};
use crate::runtime::{MpiProtocol, Rendezvous};
use crate::simulation::cluster::Fidelity;
use crate::simulation::cluster::collectives::CollectiveChoices;
use crate::simulation::cluster::fields::Fields;
use crate::simulation::cluster::servers;
use crate::system::fabric::{FABRICS, FabricSpecification};
use crate::system::{AbstractNode, NodeError};
use crate::units::{Bandwidth, Bytes, Picoseconds};

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
        toml::from_str(include_str!("../defaults.toml")).expect(VALID)
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
const RENDEZVOUS: [(&str, Rendezvous); 2] =
    [("sender", Rendezvous::Sender), ("receiver", Rendezvous::Receiver)];
const FIDELITIES: [(&str, Fidelity); 2] = [("packet", Fidelity::Packet), ("flow", Fidelity::Flow)];

/// The value of a name among a few.
fn named<T: Copy>(known: &[(&'static str, T)], what: &str, name: &str) -> Result<T, String> {
    let found = known.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        format!("unknown {what}; {}", instead_of(name, &names))
    })
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
        return Ok(FabricSource::Specification(Box::new(specification(fields)?)));
    };
    let keys = FabricSpecification::KEYS.iter().map(|key| key.replace('-', "_"));
    if let Some(key) = keys.chain(["preset".to_owned()]).find(|key| fields.has(key)) {
        let remedy = format!("the file says what the network is; remove `{key}` or `file`");
        return Err(fields.refuse(&key, "a network from a file and from keys", remedy));
    }
    Ok(FabricSource::File(file))
}

fn protocol(fields: Option<&Fields<'_>>) -> Result<MpiProtocol, InputError> {
    let default = MpiProtocol::default();
    let Some(fields) = fields else { return Ok(default) };
    Ok(MpiProtocol {
        send_overhead: fields.or("send_overhead", default.send_overhead)?,
        receive_overhead: fields.or("receive_overhead", default.receive_overhead)?,
        copy_per_byte: fields.or("copy_per_byte", default.copy_per_byte)?,
        eager_limit: fields.or("eager_limit", default.eager_limit)?,
        rendezvous: fields
            .named("rendezvous", |name| named(&RENDEZVOUS, "rendezvous", name))?
            .unwrap_or(default.rendezvous),
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
    pub(in crate::simulation::cluster) fn read(
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
        let given = FabricSpecification::KEYS.iter().map(|key| key.replace('-', "_"));
        let given = given.filter(|key| fields.has(key));
        let parameters = given.map(|key| {
            let place = fields.place(&key);
            let written = fields.source.text.get(place.clone()).unwrap_or_default();
            (key, (fields.source.position(&place), written.to_owned()))
        });
        let parameters = parameters.collect();
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
            parameters,
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
