//! The servers of a system as a scenario writes them.
//!
//! ```toml
//! [network]
//! machine = "dgx1-v100"             # a preset, or a file in any format that machines are read from
//! servers = 4                       # how many, one where absent
//! port_order = "rails"              # which ports their interfaces take; "plain" where absent
//! interfaces = "in-turn"            # which one a GPU sends through; "nearest" where absent
//!
//! # or, where they are not alike:
//! [[system.server]]
//! kind = "dgx-a100"
//! count = 2
//!
//! [[system.server]]
//! kind = "my-server.toml"
//! ```
//!
//! Without either, every port of the fabric has an abstract node, whose numbers are `gpus_per_node`,
//! `gpu_bandwidth` and `gpu_latency`.

use std::sync::Arc;

use super::fields::{Fields, FileName};
use super::files::{Files, text_of};
use crate::diagnostic::{InputError, Position, instead_of};
use crate::system::composition::{InterfaceRule, PortOrder};
use crate::system::presets::{NAMES, preset};
use crate::system::{ImportOptions, Server, SystemError, import};

/// The keys of an entry of `[[system.server]]`.
pub(super) const KEYS: &[&str] = &["kind", "count"];

/// The keys of a network's table that an abstract node has, and no other server.
const OF_NODES: [&str; 3] = ["gpus_per_node", "gpu_bandwidth", "gpu_latency"];

/// Equal servers in a row, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEntry {
    /// A preset's name or a file's, and where it stands.
    pub kind: FileName,
    /// How many.
    pub count: u32,
}

impl ServerEntry {
    /// The file that it names: what has an ending or a folder; None of a preset.
    #[must_use]
    pub fn file(&self) -> Option<&FileName> {
        let name = &self.kind.name;
        let is_preset = NAMES.contains(&name.as_str());
        (!is_preset && name.contains(['.', '/', '\\'])).then_some(&self.kind)
    }

    /// The server.
    ///
    /// # Errors
    /// A file that is not given, or that no reader of machines takes.
    fn server(&self, scenario: &str, files: &Files) -> Result<Server, InputError> {
        let name = &self.kind.name;
        let Some(file) = self.file() else {
            return preset(name).map_err(|_| {
                let remedy = instead_of(name, &NAMES);
                let problem = "there is no server of this name";
                InputError::at(scenario, self.kind.position, problem, name, remedy)
            });
        };
        let text = text_of(scenario, file, files)?;
        import(name, text, None, &ImportOptions::default()).map_err(|error| match error {
            SystemError::Input(error) => error,
            other => at(scenario, self.kind.position, &other, name),
        })
    }
}

fn at(scenario: &str, position: Position, error: &SystemError, value: &str) -> InputError {
    let message = error.to_string();
    let (problem, remedy) = message.split_once("; ").unwrap_or((&message, "give another server"));
    InputError::at(scenario, position, problem, value, remedy)
}

/// The servers that a network's table and the entries of `[[system.server]]` name; none where the
/// ports have abstract nodes.
pub(super) fn read(
    network: &Fields<'_>,
    listed: &[Fields<'_>],
) -> Result<Vec<ServerEntry>, InputError> {
    let count = |fields: &Fields<'_>, key: &str| match fields.or(key, 1_u32)? {
        0 => Err(fields.refuse(key, "no server", "give 1 or more")),
        count => Ok(count),
    };
    let of_network = match network.file("machine")? {
        Some(kind) => Some(ServerEntry { kind, count: count(network, "servers")? }),
        None if network.has("servers") => {
            let remedy = "say which with `machine`, a preset or a file";
            return Err(network.refuse("servers", "a number of servers of no kind", remedy));
        }
        None => None,
    };
    if let (Some(_), Some(entry)) = (&of_network, listed.first()) {
        let remedy = "write `machine`, or `[[system.server]]`";
        return Err(entry.refuse("kind", "servers in two places", remedy));
    }
    let mut entries: Vec<ServerEntry> = of_network.into_iter().collect();
    for fields in listed {
        let Some(kind) = fields.file("kind")? else {
            let remedy = "name a preset or a file with `kind`";
            return Err(fields.refuse("kind", "a server of no kind", remedy));
        };
        entries.push(ServerEntry { kind, count: count(fields, "count")? });
    }
    if let Some(key) = OF_NODES.iter().find(|key| network.has(key) && !entries.is_empty()) {
        let remedy = format!("remove `{key}`, which is of abstract nodes");
        return Err(network.refuse(key, "the servers say what their GPUs are joined by", remedy));
    }
    let of_interfaces = ["port_order", "interfaces"].into_iter().find(|key| network.has(key));
    if let Some(key) = of_interfaces.filter(|_| entries.is_empty()) {
        let remedy = "say which servers with `machine`";
        return Err(network.refuse(key, "abstract nodes have one interface each", remedy));
    }
    Ok(entries)
}

/// The order in which interfaces take the fabric's ports.
pub(super) fn port_order(network: &Fields<'_>) -> Result<PortOrder, InputError> {
    let names = PortOrder::NAMES.map(|(name, _)| name);
    let order = network.named("port_order", |name| {
        let found = PortOrder::NAMES.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, order)| *order)
            .ok_or_else(|| format!("there is no such order of ports; {}", instead_of(name, &names)))
    })?;
    Ok(order.unwrap_or_default())
}

/// Through which interface a GPU sends to other servers.
pub(super) fn interface_rule(network: &Fields<'_>) -> Result<InterfaceRule, InputError> {
    let names = InterfaceRule::NAMES.map(|(name, _)| name);
    let rule = network.named("interfaces", |name| {
        let found = InterfaceRule::NAMES.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, rule)| *rule)
            .ok_or_else(|| format!("there is no such rule; {}", instead_of(name, &names)))
    })?;
    Ok(rule.unwrap_or_default())
}

/// The servers themselves, those of one kind made once.
pub(super) fn build(
    entries: &[ServerEntry],
    scenario: &str,
    files: &Files,
) -> Result<Vec<(Arc<Server>, u32)>, InputError> {
    let mut made: Vec<(&str, Arc<Server>)> = Vec::new();
    let mut servers = Vec::new();
    for entry in entries {
        let name = entry.kind.name.as_str();
        let known = made.iter().find(|(known, _)| *known == name).map(|(_, it)| Arc::clone(it));
        let server = match known {
            Some(server) => server,
            None => {
                let server = Arc::new(entry.server(scenario, files)?);
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
    use crate::simulation::cluster::{Files, read_scenario};
    use crate::system::composition::InterfaceRule;

    const JOB: &str = "\n[[job]]\nprogram = \"stencil4d\"\nranks = 16\n";

    fn build(network: &str) -> Result<crate::simulation::cluster::Cluster, String> {
        let scenario = read_scenario("s.toml", &format!("{network}{JOB}"));
        let built = scenario.and_then(|scenario| scenario.build(&Files::new()));
        built.map(|built| built.cluster).map_err(|error| error.to_string())
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
            read_scenario("s.toml", &text).unwrap().build(&files)
        };
        assert_eq!(built("").unwrap().cluster.system.fabric(), None);
        let refused = built("servers = 2\n").unwrap_err().to_string();
        assert!(refused.contains("neither a network interface nor a CPU"), "{refused}");
    }

    /// Two servers of a GPU, a CPU and an interface each, and a switch.
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
            let built = read_scenario("s.toml", &text).unwrap().build(&files);
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
        let error = read_scenario("s.toml", &text).unwrap().build(&files).unwrap_err().to_string();
        assert!(error.starts_with("s.toml:2:11: ") && error.contains("`b/NIC`"), "{error}");
    }

    #[test]
    fn what_servers_cannot_be_is_refused_with_its_place() {
        for (text, place, says) in [
            ("[network]\nmachine = \"dgx1-v10\"\n", "2:11", "did you mean `dgx1-v100`?"),
            ("[network]\nservers = 4\n", "2:11", "`machine`"),
            ("[network]\nmachine = \"dgx2\"\nservers = 0\n", "3:11", "1 or more"),
            (
                "[network]\nmachine = \"dgx2\"\ngpus_per_node = 2\n",
                "3:17",
                "remove `gpus_per_node`",
            ),
            ("[network]\nport_order = \"rails\"\n", "2:14", "`machine`"),
            ("[network]\ninterfaces = \"first\"\n", "2:14", "`machine`"),
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
                "32 fewer than the 36 that are needed",
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
