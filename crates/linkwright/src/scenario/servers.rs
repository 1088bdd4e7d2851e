//! The servers of a system as a scenario writes them.
//!
//! ```toml
//! [system]
//! server = "dgx1-v100"              # a preset, or a file in any format that machines are read from
//! servers = 4                       # how many, one where absent
//! port_order = "rails"              # which ports their interfaces take; "plain" where absent
//! interfaces = "in-turn"            # which one a GPU sends through; "nearest" where absent
//!
//! # or nodes whose GPUs are joined all to all, one at every port:
//! server = { gpus = 4, bandwidth_scale = "2x" }
//!
//! # or, where they are not alike:
//! [[system.server]]
//! kind = "dgx-a100"
//! count = 2
//!
//! [[system.server]]
//! kind = "my-server.toml"
//! ```

use std::sync::Arc;

use super::fields::{Fields, FileName};
use super::files::{Files, text_of};
use super::network::{GpuBandwidth, factor};
use super::read::is_system;
use super::registries::Registries;
use super::settings::{SettingGroup, grouped};
use super::tree::Item;
use crate::diagnostic::{Diagnosis, InputError, instead_of};
use crate::system::composition::MOST_SERVERS;
use crate::system::import::import_of;
use crate::system::{AbstractNode, ImportOptions, NodeError, Server, SystemError};
use crate::units::Bandwidth;

/// Lists the keys of a node, which no other server has.
fn of_nodes() -> impl Iterator<Item = &'static str> {
    grouped("system.server", SettingGroup::Nodes)
}

/// Holds equal servers in a row, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEntry {
    /// A preset's name or a file's, and where it stands.
    pub kind: FileName,
    /// Whether it is a file's.
    pub is_file: bool,
    /// Counts the servers.
    pub count: u32,
}

impl ServerEntry {
    /// The file that it names; None of a preset.
    #[must_use]
    pub fn file(&self) -> Option<&FileName> {
        self.is_file.then_some(&self.kind)
    }

    /// Returns the entry for a name: a preset, or a file by its ending or folder.
    fn named(fields: &Fields<'_>, kind: FileName, count: u32) -> Result<Self, InputError> {
        let names = fields.source.registries.servers.names();
        let is_preset = names.contains(&kind.name.as_str());
        let is_file = !is_preset && kind.name.contains(['.', '/', '\\']);
        if !is_preset && !is_file {
            let remedy = format!("{}, and files with an ending", instead_of(&kind.name, &names));
            let problem = "there is no server of this name";
            return Err(kind.place.refuse(fields.source.file, problem, &kind.name, remedy));
        }
        Ok(Self { kind, is_file, count })
    }

    /// Builds the server.
    ///
    /// # Errors
    /// A file that is not given, or that no reader of machines takes.
    fn server(
        &self,
        scenario: &str,
        files: &Files,
        registries: &Registries,
    ) -> Result<Server, InputError> {
        let name = &self.kind.name;
        let at = |error: Diagnosis| {
            self.kind.place.refuse_as(scenario, error, name, "give another server")
        };
        let Some(file) = self.file() else {
            let preset = registries.servers.get(name).map_err(|error| at(error.into()))?;
            return preset.server().map_err(|error| at(error.into()));
        };
        let text = text_of(scenario, file, files)?;
        if is_system(text) {
            let problem = Diagnosis::of("the file describes servers and what joins them");
            let remedy = "write its tables into the scenario, or name the file of one server";
            return Err(at(problem.remedy(remedy)));
        }
        let read = |options: &ImportOptions| {
            import_of(name, text, &registries.importers, options).map_err(|error| match error {
                SystemError::Input(error) => error,
                other => at(other.into()),
            })
        };
        let server = read(&ImportOptions::default())?;
        let known = registries.importers.names();
        if !known.contains(&server.name()) {
            return Ok(server);
        }
        // The reader had no better name than its own; the file's says more.
        let stem = file.stem("").split('.').next().map(str::to_owned);
        read(&ImportOptions { name: stem, ..ImportOptions::default() })
    }
}

/// The servers that a system's table names; none where the ports have abstract nodes.
pub(super) fn read(system: &Fields<'_>) -> Result<Vec<ServerEntry>, InputError> {
    let entries = match system.node("server").map(|node| &node.item) {
        None => Vec::new(),
        Some(Item::List(_)) => {
            if system.has("servers") {
                let remedy = "write the `count` of each";
                return Err(system.refuse("servers", "a number of servers beside a list", remedy));
            }
            let listed = system.tables("server")?.into_iter().map(|fields| {
                if let Some(key) =
                    ["preset", "file"].into_iter().chain(of_nodes()).find(|it| fields.has(it))
                {
                    let remedy = "name each with `kind`, a preset or a file";
                    return Err(fields.refuse(key, "no key of a list of servers", remedy));
                }
                let Some(kind) = fields.file("kind")? else {
                    let remedy = "name a preset or a file with `kind`";
                    return Err(fields.refuse("kind", "a server of no kind", remedy));
                };
                let count = count(&fields, "count")?;
                ServerEntry::named(&fields, kind, count)
            });
            listed.collect::<Result<_, _>>()?
        }
        Some(Item::Table(_)) => of_table(system)?.into_iter().collect(),
        Some(Item::Plain(_)) => {
            let kind = system.file("server")?;
            let count = count(system, "servers")?;
            let entry = kind.map(|kind| ServerEntry::named(system, kind, count)).transpose()?;
            entry.into_iter().collect()
        }
    };
    let all: u64 = entries.iter().map(|entry| u64::from(entry.count)).sum();
    if all > u64::from(MOST_SERVERS) {
        return Err(system.refuse("server", &too_many(all), few_enough()));
    }
    if entries.is_empty() && system.has("servers") {
        let remedy = "say which with `server`, a preset or a file; of nodes, the network's size \
                      says how many there are";
        return Err(system.refuse("servers", "a number of servers of no kind", remedy));
    }
    let of_interfaces = ["port_order", "interfaces"].into_iter().find(|key| system.has(key));
    if let Some(key) = of_interfaces.filter(|_| entries.is_empty()) {
        let remedy = "say which servers with `server`";
        return Err(system.refuse(
            key,
            "GPUs of abstract nodes take their interfaces in turn",
            remedy,
        ));
    }
    Ok(entries)
}

fn count(fields: &Fields<'_>, key: &str) -> Result<u32, InputError> {
    match fields.or(key, 1_u32)? {
        0 => Err(fields.refuse(key, "no server", few_enough())),
        count @ ..=MOST_SERVERS => Ok(count),
        count => Err(fields.refuse(key, &too_many(count.into()), few_enough())),
    }
}

fn too_many(count: u64) -> String {
    format!("{count} servers are too many")
}

fn few_enough() -> String {
    format!("give 1 to {MOST_SERVERS} in all")
}

/// Reads the server of a table; returns None for a node.
fn of_table(system: &Fields<'_>) -> Result<Option<ServerEntry>, InputError> {
    let fields = system.table("server")?;
    if fields.has("count") {
        let remedy = "write `servers = N` in `[system]`, or a list of `[[system.server]]`";
        return Err(fields.refuse("count", "the count of a single server", remedy));
    }
    let sources = ["preset", "file", "kind"].map(|key| fields.has(key));
    match sources {
        [false, false, false] if fields.is_empty() => {
            let remedy = "write either `preset` or `file`";
            Err(fields.source.refuse(&fields.span, "not one source of the machine", remedy))
        }
        [false, false, false] => Ok(None),
        [true, false, false] => {
            let kind = fields.file("preset")?;
            let count = count(system, "servers")?;
            let known = |name: &str| {
                let names = system.source.registries.servers.names();
                let meant = instead_of(name, &names);
                names
                    .contains(&name)
                    .then_some(())
                    .ok_or_else(|| Diagnosis::of("unknown preset").remedy(meant))
            };
            fields.named("preset", known)?;
            Ok(kind.map(|kind| ServerEntry { kind, is_file: false, count }))
        }
        [false, true, false] => {
            let kind = fields.file("file")?;
            let count = count(system, "servers")?;
            Ok(kind.map(|kind| ServerEntry { kind, is_file: true, count }))
        }
        [false, false, true] => {
            let kind = fields.file("kind")?;
            let count = count(system, "servers")?;
            kind.map(|kind| ServerEntry::named(&fields, kind, count)).transpose()
        }
        _ => {
            let remedy = "write either `preset` or `file`";
            Err(fields.source.refuse(&fields.span, "not one source of the machine", remedy))
        }
    }
}

/// Reads the kind of the nodes at the ports, and how fast their GPUs are joined.
pub(super) fn node(system: &Fields<'_>) -> Result<(AbstractNode, GpuBandwidth), InputError> {
    let fields = match system.node("server").map(|node| &node.item) {
        Some(Item::Table(_)) => system.table("server")?,
        _ => Fields::none(system.source),
    };
    let named = ["preset", "file", "kind"].iter().find(|key| fields.has(key));
    if let (Some(_), Some(key)) = (named, of_nodes().find(|key| fields.has(key))) {
        let remedy = format!("remove `{}`, which is of abstract nodes", fields.key(key));
        return Err(fields.refuse(key, "the servers say what their GPUs are joined by", remedy));
    }
    let fixed: Option<Bandwidth> = fields.optional("bandwidth")?;
    if fixed.is_some() && fields.has("bandwidth_scale") {
        let remedy = "both say how fast a node's GPUs are joined; write one of them";
        return Err(fields.refuse("bandwidth_scale", "a bandwidth and a factor", remedy));
    }
    let joined = match fixed {
        Some(fixed) => GpuBandwidth::Fixed(fixed),
        None => {
            let (numerator, denominator) = factor(&fields, "system.server.bandwidth_scale")?;
            GpuBandwidth::Times(numerator, denominator)
        }
    };
    let node = AbstractNode {
        gpus: fields.setting("system.server.gpus")?,
        nics: fields.setting("system.server.nics")?,
        bandwidth: match joined {
            GpuBandwidth::Fixed(bandwidth) => bandwidth,
            // That of the network is known when it is built.
            GpuBandwidth::Times(..) => Bandwidth(1),
        },
        latency: fields.setting("system.server.latency")?,
    };
    node.check().map_err(|error| {
        let key = match error {
            NodeError::Gpus { .. } => "gpus",
            NodeError::Nics { .. } => "nics",
            NodeError::Bandwidth => "bandwidth",
        };
        fields.refuse_as(key, &error, "give a value in range")
    })?;
    Ok((node, joined))
}

/// Builds the servers themselves, those of one kind once.
pub(super) fn build(
    entries: &[ServerEntry],
    scenario: &str,
    files: &Files,
    registries: &Registries,
) -> Result<Vec<(Arc<Server>, u32)>, InputError> {
    let mut made: Vec<(&str, Arc<Server>)> = Vec::new();
    let mut servers = Vec::new();
    for entry in entries {
        let name = entry.kind.name.as_str();
        let known = made.iter().find(|(known, _)| *known == name).map(|(_, it)| Arc::clone(it));
        let server = match known {
            Some(server) => server,
            None => {
                let server = entry.server(scenario, files, registries)?;
                let server = Arc::new(server.with_gpu_models(&registries.gpus)?);
                made.push((name, Arc::clone(&server)));
                server
            }
        };
        servers.push((server, entry.count));
    }
    Ok(servers)
}

#[cfg(test)]
mod tests {
    use crate::scenario::tests::read;
    use crate::scenario::{Built, Files};
    use crate::simulation::cluster::Cluster;
    use crate::system::composition::InterfaceRule;

    const JOB: &str = "\n[[job]]\nprogram = \"stencil4d\"\nranks = 16\n";

    fn build(network: &str) -> Result<Cluster, String> {
        let scenario = read(&format!("{network}{JOB}"));
        let built = scenario.and_then(|scenario| scenario.build(&Files::new()));
        built.map(|Built { cluster, .. }| cluster).map_err(|error| error.to_string())
    }

    #[test]
    fn servers_are_named_by_the_network_or_listed() {
        let one = build("[network]\nmachine = \"dgx1-v100\"\nservers = 4\n").unwrap();
        assert_eq!((one.system.servers(), one.system.gpus()), (4, 32));
        let listed = "[[system.server]]\nkind = \"dgx1-v100\"\ncount = 3\n\n\
            [[system.server]]\nkind = \"dgx-a100\"\n\n[network]\nport_order = \"rails\"\n";
        let two = build(listed).unwrap();
        assert_eq!((two.system.servers(), two.system.kinds().len()), (4, 2));
        assert_eq!(two.system.interface_rule(), InterfaceRule::Nearest);
        let first = "[network]\nmachine = \"dgx2\"\nservers = 2\ninterfaces = \"first\"\n";
        assert_eq!(build(first).unwrap().system.interface_rule(), InterfaceRule::First);
        let alone = build("[network]\nmachine = \"dgx2\"\n").unwrap();
        assert_eq!((alone.system.gpus(), alone.system.fabric()), (16, None));
    }

    #[test]
    fn a_lone_server_needs_neither_interface_nor_cpu() {
        let bare = "name = \"bare\"\n[[device]]\nkind = \"gpu\"\nnames = [\"A\", \"B\"]\n\
            [[link]]\nkind = \"nvlink3\"\nbetween = [[\"A\", \"B\"]]\n";
        let files = Files::from([("bare.toml".to_owned(), bare.as_bytes().to_vec())]);
        let job = "\n[[job]]\nprogram = \"laghos\"\nranks = 2\n";
        let built = |network: &str| {
            let text = format!("[network]\nmachine = \"bare.toml\"\n{network}{job}");
            read(&text).unwrap().build(&files)
        };
        assert_eq!(built("").unwrap().cluster.system.fabric(), None);
        let refused = built("servers = 2\n").unwrap_err().to_string();
        assert!(refused.contains("neither a network interface nor a CPU"), "{refused}");
    }

    /// Describes two servers of a GPU, a CPU and an interface each, and a switch.
    const OWN_NETWORK: &str = "name = \"pair\"\n\
        [[device]]\nkind = \"gpu\"\nnames = [\"a/GPU\", \"b/GPU\"]\n\
        [[device]]\nkind = \"cpu\"\nnames = [\"a/CPU\", \"b/CPU\"]\n\
        [[device]]\nkind = \"nic\"\nnames = [\"a/NIC\", \"b/NIC\"]\n\
        [[device]]\nkind = \"network-switch\"\nnames = [\"switch\"]\n\
        [[link]]\nkind = \"pcie4\"\nbetween = [[\"a/GPU\", \"a/CPU\"], [\"a/NIC\", \"a/CPU\"], \
        [\"b/GPU\", \"b/CPU\"], [\"b/NIC\", \"b/CPU\"]]\n\
        [[link]]\nkind = \"infiniband\"\nbandwidth = \"25 GB/s\"\n\
        between = [[\"a/NIC\", \"switch\"], [\"b/NIC\", \"switch\"]]\n";

    #[test]
    fn a_machine_with_a_network_of_its_own_is_a_system() {
        let files = Files::from([("pair.toml".to_owned(), OWN_NETWORK.as_bytes().to_vec())]);
        let job = "\n[[job]]\nprogram = \"laghos\"\nranks = 2\n";
        let built = |network: &str| {
            let text = format!("[network]\nmachine = \"pair.toml\"\n{network}{job}");
            let built = read(&text).unwrap().build(&files);
            built.map(|built| built.cluster.system).map_err(|error| error.to_string())
        };
        let system = built("nic = \"rr\"\n").unwrap();
        assert_eq!((system.servers(), system.kinds().len(), system.gpus()), (2, 1, 2));
        let link = system.fabric().unwrap().channels()[0].bandwidth;
        assert_eq!(link.0, 25_000_000_000);
        let scaled = built("bandwidth_scale = 2\n").unwrap();
        assert_eq!(scaled.fabric().unwrap().channels()[0].bandwidth.0, 50_000_000_000);
        for key in
            ["servers = 2", "kind = \"torus\"", "port_order = \"rails\"", "latency = \"1 us\""]
        {
            let error = built(&format!("{key}\n")).unwrap_err();
            let word = key.split(' ').next().unwrap();
            assert!(
                error.starts_with("s.toml:") && error.contains(&format!("`{word}`")),
                "{error}"
            );
            assert!(error.contains("a network of its own"), "{error}");
        }
        let cut = OWN_NETWORK.replace(", [\"b/NIC\", \"switch\"]", "");
        let files = Files::from([("pair.toml".to_owned(), cut.into_bytes())]);
        let text = format!("[network]\nmachine = \"pair.toml\"\n{job}");
        let error = read(&text).unwrap().build(&files).unwrap_err().to_string();
        assert!(error.starts_with("s.toml:2:11: ") && error.contains("`b/NIC`"), "{error}");
    }

    #[test]
    fn what_servers_cannot_be_is_refused_with_its_place() {
        for (text, place, says) in [
            ("[network]\nmachine = \"dgx1-v10\"\n", "2:11", "did you mean `dgx1-v100`?"),
            ("[network]\nservers = 4\n", "2:11", "`server`"),
            ("[network]\nmachine = \"dgx2\"\nservers = 0\n", "3:11", "1 to 16384"),
            (
                "[network]\nmachine = \"dgx2\"\ngpus_per_node = 2\n",
                "3:17",
                "remove `gpus_per_node`",
            ),
            ("[network]\nport_order = \"rails\"\n", "2:14", "`server`"),
            ("[network]\ninterfaces = \"first\"\n", "2:14", "`server`"),
            (
                "[network]\nmachine = \"dgx2\"\ninterfaces = \"nearst\"\n",
                "3:14",
                "did you mean `nearest`?",
            ),
            (
                "[network]\nmachine = \"dgx2\"\nport_order = \"rail\"\n",
                "3:14",
                "did you mean `rails`?",
            ),
            (
                "[network]\nmachine = \"dgx1-v100\"\nservers = 9\nradix = 4\npods = 1\n",
                "4:9",
                "32 fewer than the 36 needed",
            ),
            ("[[system.server]]\ncount = 2\n", "1:1", "`kind`"),
            ("[[system.server]]\nkind = \"x\"\nnodes = 2\n", "3:1", "`nodes`"),
        ] {
            let error = build(text).unwrap_err();
            assert!(error.starts_with(&format!("s.toml:{place}")), "{error}");
            assert!(error.contains(says), "{error}");
        }
    }
}
