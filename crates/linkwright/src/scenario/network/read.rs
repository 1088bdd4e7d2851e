//! The settings in a scenario's table, with what stands for those that it leaves out.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::de::DeserializeSeed;
use toml::Value;

use super::{FabricSource, NetworkPlaces, NetworkSettings};
use crate::collectives::baselines::Version;
use crate::diagnostic::{Chosen, InputError, Named as _, Registry, in_plain_words, instead_of};
use crate::network::packet::{NicPolicy, SettingsError};
use crate::network::routing::SHORTEST_PATH;
use crate::network::{PacketSettings, PcieSettings};
use crate::program::CollectiveKind;
use crate::runtime::MpiProtocol;
use crate::scenario::demand::is_day;
use crate::scenario::fields::{Fields, deadline};
use crate::scenario::files::held;
use crate::scenario::known_gpus::KnownGpus;
use crate::scenario::servers;
use crate::scenario::settings::{Setting, SettingGroup, grouped};
use crate::simulation::PlannedBy;
use crate::simulation::cluster::{
    CollectiveChoices, CollectiveMethod, CollectiveProtocol, Fidelity,
};
use crate::simulation::played::PlannerChoice;
use crate::system::fabric::{FabricKind, FabricSpecification, fabric_keys};

/// Reads a factor as a fraction: `2`, `0.5`, `"2x"`, `"x/4"`, `"1/16"` or `"x"`.
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

/// The factor of bandwidths that a setting is.
pub(in crate::scenario) fn factor(
    fields: &Fields<'_>,
    path: &str,
) -> Result<(u32, u32), InputError> {
    let setting = Setting::of(path);
    let text = match fields.value(&setting.key) {
        None => setting.absent.to_owned(),
        Some(Value::String(text)) => text,
        Some(value) => value.to_string(),
    };
    let refuse = || {
        let remedy = "write a factor above zero, such as 2, 0.5, \"2x\" or \"x/16\"";
        fields.refuse(&setting.key, "no factor of bandwidths", remedy)
    };
    fraction(&text).ok_or_else(refuse)
}

/// The keys that say of a fabric what it is, as a scenario spells them.
pub(in crate::scenario) fn keys_of_fabrics(kinds: &Registry<dyn FabricKind>) -> Vec<String> {
    let keys = fabric_keys(kinds).into_iter().map(|(key, _)| key.key.replace('-', "_"));
    std::iter::once("kind".to_owned()).chain(keys).collect()
}

/// The specification in a table, whose keys are those of a file with underscores.
fn specification(fields: &Fields<'_>) -> Result<FabricSpecification, InputError> {
    let kinds = &fields.source.registries.fabrics;
    let kind_key = if fields.has("preset") { "preset" } else { "kind" };
    let told = "see the file format in the reference";
    let absent = Setting::of("system.network.kind").absent;
    let name = fields.or(kind_key, absent.to_owned())?;
    let kind = kinds.get(&name).map_err(|error| {
        let remedy = format!("{}, and `file`", error.instead);
        fields.refuse(kind_key, "unknown kind of network", remedy)
    })?;
    let mut read = FabricSpecification::new(kind);
    for (key, _) in fabric_keys(kinds) {
        let written = key.key.replace('-', "_");
        if let Some(value) = fields.value(&written) {
            let value = key.takes.deserialize(value).map_err(|error: toml::de::Error| {
                fields.refuse_as(&written, in_plain_words(error.message()), told)
            })?;
            read = read.with(key.key, value);
        }
    }
    Ok(read)
}

fn fabric_source(fields: &Fields<'_>) -> Result<FabricSource, InputError> {
    if fields.has("preset") && fields.has("kind") {
        let remedy = "both name the kind of network; write one of them";
        return Err(fields.refuse("preset", "a preset and a kind", remedy));
    }
    let Some(file) = fields.file("file")? else {
        return Ok(FabricSource::Specification(Box::new(specification(fields)?)));
    };
    let keys = keys_of_fabrics(&fields.source.registries.fabrics);
    if let Some(key) = keys.into_iter().chain(["preset".to_owned()]).find(|key| fields.has(key)) {
        let remedy = format!("the file says what the network is; remove `{key}` or `file`");
        return Err(fields.refuse(&key, "a network from a file and from keys", remedy));
    }
    Ok(FabricSource::File(file))
}

fn protocol(fields: &Fields<'_>) -> Result<MpiProtocol, InputError> {
    let default = MpiProtocol::default();
    Ok(MpiProtocol {
        send_overhead: fields.or("send_overhead", default.send_overhead)?,
        receive_overhead: fields.or("receive_overhead", default.receive_overhead)?,
        copy_per_byte: fields.or("copy_per_byte", default.copy_per_byte)?,
        eager_limit: fields.or("eager_limit", default.eager_limit)?,
        rendezvous: fields.choice("rendezvous")?.unwrap_or(default.rendezvous),
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
        SettingsError::Pcie { setting, .. } => setting.key(),
    }
}

/// The PCIe bus of servers; None where nothing is said of one.
fn bus(scenario: &Fields<'_>) -> Result<Option<PcieSettings>, InputError> {
    if !scenario.has("pcie") {
        return Ok(None);
    }
    let fields = scenario.table("pcie")?;
    let settings = PcieSettings {
        arbitration: fields.chosen("pcie.arbitration")?,
        first: fields.chosen("pcie.first")?,
        bound: fields.setting("pcie.bound")?,
        deadline: deadline(&fields)?.map_or(PcieSettings::default().deadline, NonZeroU32::get),
        payload: fields.setting("pcie.payload")?,
        header: fields.setting("pcie.header")?,
        read_request: fields.setting("pcie.read_request")?,
        outstanding_reads: fields.setting("pcie.outstanding_reads")?,
        encoding: fields.chosen("pcie.encoding")?,
        buffer: fields.setting("pcie.buffer")?,
    };
    settings
        .check()
        .map_err(|error| fields.refuse_as(key_of(&error), &error, "give a value in range"))?;
    Ok(Some(settings))
}

/// Reads how collectives become messages, or kernels.
fn collectives(
    scenario: &Fields<'_>,
    fields: &Fields<'_>,
) -> Result<CollectiveChoices, InputError> {
    let mut read = CollectiveChoices::default();
    if let Some(name) = fields.optional::<String>("protocol")? {
        let others = &fields.source.registries.protocols;
        let known = [CollectiveProtocol::names(), others.names()].concat();
        match (CollectiveProtocol::from_name(&name), others.get(&name)) {
            (_, Ok(other)) => read.own_protocol = Some(Chosen(other)),
            (Ok(protocol), _) => read.protocol = protocol,
            (Err(error), Err(_)) => {
                let problem = format!("unknown {}", error.what);
                return Err(fields.refuse("protocol", &problem, instead_of(&name, &known)));
            }
        }
    }
    for kind in CollectiveKind::ALL {
        let key = kind.name().replace('-', "_");
        let choice = fields.named(&key, |name| CollectiveMethod::named(kind, name))?;
        read.chosen.extend(choice.map(|choice| (kind, choice)));
    }
    let planners = &fields.source.registries.planners;
    let planner = fields.named("planner", |name| PlannerChoice::named(name, planners))?;
    read.release = fields.named("nccl", str::parse::<Version>)?;
    read.planner = planner.map(|planner| planner.in_release(read.release));
    if fields.has("protocol") && scenario.has("jobs") && !scenario.has("job") {
        let remedy = "remove it: by flows, jobs that a policy places run under nccl's, \
            unless the \
                      planner is `mpi`";
        return Err(fields.refuse("protocol", "a protocol beside `[jobs]`", remedy));
    }
    // NCCL's choice is a kernel, and so is the fastest by its clock.
    let is_of_kernels = matches!(
        read.planner,
        Some(PlannerChoice::Plan(PlannedBy::Library(_) | PlannedBy::Fastest))
    );
    if is_of_kernels && scenario.has("job") && !fields.has("protocol") {
        read.protocol = CollectiveProtocol::Nccl;
    }
    if is_of_kernels && scenario.has("job") && !read.are_kernels() {
        let remedy = "write `protocol = \"nccl\"`, or name another planner";
        return Err(fields.refuse("planner", "a planner of kernels, not of messages", remedy));
    }
    if read.are_kernels() {
        let fidelity: Option<Fidelity> = scenario.choice("fidelity")?;
        let absent = if is_day(scenario)? { Fidelity::Flow } else { Fidelity::default() };
        if fidelity.unwrap_or(absent) == Fidelity::Packet {
            let remedy = "write `fidelity = \"flow\"`: kernels' connections go over flows";
            let key = if fields.has("protocol") { "protocol" } else { "planner" };
            return Err(fields.refuse(key, "kernels in a network of packets", remedy));
        }
        if read.planner == Some(PlannerChoice::Mpi) {
            let remedy = "name another, or remove it to take what NCCL chooses itself";
            return Err(fields.refuse("planner", "no planner of kernels", remedy));
        }
    }
    let size = "planned_message_size";
    read.planned_message_size = fields.or(size, read.planned_message_size)?;
    if read.planned_message_size.0 == 0 {
        let remedy = "write at least 1 B, such as \"1 MiB\"";
        return Err(fields.refuse(size, "messages of no bytes", remedy));
    }
    Ok(read)
}

impl NetworkSettings {
    /// The settings of a scenario whose keys are settled.
    pub(in crate::scenario) fn read(scenario: &Fields<'_>) -> Result<Self, InputError> {
        let source = scenario.source;
        let system = scenario.table("system")?;
        let network = system.table("network")?;
        let seed = scenario.or("seed", 0)?;
        let (node, gpu_bandwidth) = servers::node(&system)?;
        let packets = PacketSettings {
            packet_size: network.setting("system.network.packet_size")?,
            buffer_packets: network.optional("buffer_packets")?,
            router_delay: network.setting("system.network.router_delay")?,
            nic_delay: network.setting("system.network.nic_delay")?,
            switching: network.chosen("system.network.switching")?,
            seed,
            pcie: bus(scenario)?,
        };
        packets
            .check()
            .map_err(|error| network.refuse_as(key_of(&error), &error, "give a value in range"))?;
        let nic = |name: &str| NicPolicy::named(&source.registries.nic_policies, name);
        let nic = network.named("nic", nic)?.unwrap_or(NicPolicy::FCFS);
        let arbiters = &source.registries.arbitration_policies;
        let arbitration = network.registered("system.network.arbitration", arbiters)?;
        let fabric = fabric_source(&network)?;
        let keys = keys_of_fabrics(&source.registries.fabrics);
        let given = keys.into_iter().filter(|key| network.has(key));
        let fabric_key = ["file", "preset"]
            .into_iter()
            .filter(|key| network.has(key))
            .map(str::to_owned)
            .chain(given.clone())
            .next();
        let parameters = given.map(|key| {
            let written = source.written(&network.span_of(&key)).to_owned();
            let place = network.place(&key);
            (key, (place, written))
        });
        let parameters: BTreeMap<_, _> = parameters.collect();
        let source_key = ["file", "preset", "kind"].into_iter().find(|key| network.has(key));
        let routing_table = network.file("routing_table")?;
        let routing = network.named("routing", |name| source.registries.routings.get(name))?;
        if routing_table.is_some() && routing.is_some_and(|kind| kind != SHORTEST_PATH) {
            let remedy = "a table is what `shortest-path` follows; remove `routing` or the table";
            return Err(network.refuse("routing", "a routing beside a routing table", remedy));
        }
        let servers = servers::read(&system)?;
        let of_servers = if system.has("server") { "server" } else { "servers" };
        let of_servers = if system.has("servers") { "servers" } else { of_servers };
        Ok(Self {
            fabric,
            routing_table,
            bandwidth_scale: factor(&network, "system.network.bandwidth_scale")?,
            routing,
            nic,
            arbitration,
            fidelity: scenario.choice("fidelity")?.unwrap_or_default(),
            packets,
            fabric_key,
            has_fabric: source_key.is_some()
                || grouped("system.network", SettingGroup::Networks).any(|key| network.has(key)),
            gpus: KnownGpus::read(&system, !servers.is_empty())?,
            servers,
            port_order: system.chosen("system.port_order")?,
            interface_rule: system.chosen("system.interfaces")?,
            node,
            gpu_bandwidth,
            protocol: protocol(&scenario.table("protocol")?)?,
            collectives: collectives(scenario, &scenario.table("collectives")?)?,
            registries: source.registries.clone(),
            parameters,
            files: held(&scenario.table("files")?)?,
            places: NetworkPlaces {
                table: source.place(&network.span),
                routing: network.place("routing"),
                fabric: network.place(source_key.unwrap_or("kind")),
                bandwidth_scale: network.place("bandwidth_scale"),
                node: match system.table("server") {
                    Ok(server) => server.place("gpus"),
                    Err(_) => system.place("server"),
                },
                servers: system.place(of_servers),
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
