//! The PCIe tree of a host, rebuilt from how close its devices are to one another.
//!
//! The result is the smallest tree of sockets, host bridges and PCIe switches that fits. In it,
//! every pair of devices is as close as the input says. Such inputs do not give ports, lanes and
//! bus numbers, so these are left out. A pair without a relation (NVLink hides it) is put as far
//! apart as the other pairs allow.

use crate::system::identity::Identity;
use crate::system::import::sockets::{self, Sockets};
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::locality::{Affinity, Locality};
use crate::system::server::{Device, DeviceId, ServerBuilder, ServerError};

/// Says which parts two devices have to cross to reach each other over PCIe, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::system) enum Relation {
    /// Means one PCIe switch.
    Switch,
    /// Means several PCIe switches, no host bridge.
    Switches,
    /// Means one host bridge.
    HostBridge,
    /// Means two host bridges of one socket.
    Socket,
    /// Means the link between two sockets.
    System,
}

/// Describes a device at a leaf of the tree.
#[derive(Debug, Clone)]
pub(in crate::system) struct Endpoint {
    /// Names it in the machine.
    pub(in crate::system) name: String,
    /// Says whether it is a GPU or a NIC.
    pub(in crate::system) kind: DeviceKind,
    /// Its product, where the input names it.
    pub(in crate::system) model: Option<String>,
    /// Tells its socket: the NUMA nodes near it, or the CPU cores.
    pub(in crate::system) affinity: Option<Affinity>,
    /// All that the input says of its make.
    pub(in crate::system) identity: Identity,
    /// All that the input says of its place.
    pub(in crate::system) locality: Locality,
}

impl Endpoint {
    fn device(&self) -> Device {
        let named = Device::new(&self.name, self.kind, self.model.as_deref());
        Device { identity: self.identity.clone(), locality: self.locality.clone(), ..named }
    }
}

/// The devices of a host and what is known of each pair; the relations are symmetric.
#[derive(Debug, Clone)]
pub(in crate::system) struct Host {
    /// Lists the devices.
    pub(in crate::system) endpoints: Vec<Endpoint>,
    /// Holds the relation of each pair, where the input gives one.
    pub(in crate::system) relations: Vec<Vec<Option<Relation>>>,
}

/// A relation that no tree can have beside the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::system) struct Contradiction {
    /// Gives one device of the pair.
    pub(in crate::system) a: usize,
    /// Gives the other.
    pub(in crate::system) b: usize,
    /// A device that is closer to both than they are to each other, where one device does it.
    pub(in crate::system) through: Option<usize>,
}

/// Holds a host's tree, not yet in a machine.
#[derive(Debug)]
pub(in crate::system) struct HostTree {
    endpoints: Vec<Endpoint>,
    sockets: usize,
    host_bridges: usize,
    switches: usize,
    /// Each device below and what it hangs from.
    links: Vec<(Place, Place)>,
    assumptions: Vec<String>,
}

/// Holds the ids that a tree's devices got in a machine.
#[derive(Debug)]
pub(in crate::system) struct Installed {
    /// Gives one id for each endpoint.
    pub(in crate::system) endpoints: Vec<DeviceId>,
    /// Gives one id for each fabric switch.
    pub(in crate::system) fabric_switches: Vec<DeviceId>,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Endpoint(usize),
    Socket(usize),
    HostBridge(usize),
    Switch(usize),
}

impl Host {
    pub(in crate::system) fn relation(&self, a: usize, b: usize) -> Option<Relation> {
        self.relations[a][b]
    }

    /// Splits the devices into groups that chains of relations no farther than `level` join. Each
    /// group and the groups among themselves are in the order of the devices.
    pub(in crate::system) fn groups(&self, members: &[usize], level: Relation) -> Vec<Vec<usize>> {
        let mut unseen: Vec<usize> = members.to_vec();
        let mut groups = Vec::new();
        while let Some(first) = unseen.first().copied() {
            let mut group = vec![first];
            unseen.remove(0);
            let mut next = 0;
            while let Some(from) = group.get(next).copied() {
                next += 1;
                let near = |to: &usize| self.relation(from, *to).is_some_and(|r| r <= level);
                group.extend(unseen.extract_if(.., |to| near(to)));
            }
            group.sort_unstable();
            groups.push(group);
        }
        groups
    }

    fn contradiction(&self) -> Option<Contradiction> {
        let all: Vec<usize> = (0..self.endpoints.len()).collect();
        let levels = [Relation::Switch, Relation::Switches, Relation::HostBridge, Relation::Socket];
        for level in levels {
            for group in self.groups(&all, level) {
                let pairs = group.iter().flat_map(|a| group.iter().map(move |b| (*a, *b)));
                let too_far =
                    |(a, b): &(usize, usize)| self.relation(*a, *b).is_some_and(|r| r > level);
                if let Some((a, b)) = { pairs }.find(too_far) {
                    let near = |x, y| self.relation(x, y).is_some_and(|r| r <= level);
                    let through = group.iter().copied().find(|c| near(a, *c) && near(*c, b));
                    return Some(Contradiction { a, b, through });
                }
            }
        }
        None
    }

    /// Lists the assumptions that place devices below their sockets.
    fn placement_assumptions(&self) -> Vec<String> {
        let all: Vec<usize> = (0..self.endpoints.len()).collect();
        let name = |device: usize| self.endpoints[device].name.as_str();
        let unknown = |a: usize, b: usize| a != b && self.relation(a, b).is_none();
        let mut assumptions = Vec::new();
        let groups = self.groups(&all, Relation::HostBridge);
        let alone = groups.iter().filter(|group| group.len() == 1).map(|group| group[0]);
        let unplaced: Vec<&str> =
            alone.filter(|a| all.iter().any(|b| unknown(*a, *b))).map(name).collect();
        if !unplaced.is_empty() {
            assumptions.push(format!(
                "Nothing says which PCIe switch or host bridge holds {}; each is taken to have \
                 a PCIe link of its own to its socket.",
                unplaced.join(", ")
            ));
        }
        let inside = groups.iter().flat_map(|group| {
            let pairs = group.iter().flat_map(move |a| group.iter().map(move |b| (*a, *b)));
            pairs.filter(|(a, b)| a < b && unknown(*a, *b))
        });
        let pairs: Vec<String> = inside.map(|(a, b)| format!("{}-{}", name(a), name(b))).collect();
        if !pairs.is_empty() {
            assumptions.push(format!(
                "Links between GPUs hide how near these pairs are over PCIe: {}; each is taken \
                 to be as far apart as the other relations allow.",
                pairs.join(", ")
            ));
        }
        let many = |group: &&Vec<usize>| self.groups(group, Relation::Switch).len() > 1;
        let groups = self.groups(&all, Relation::Switches);
        let stacked: Vec<&str> = groups.iter().filter(many).flatten().map(|d| name(*d)).collect();
        if !stacked.is_empty() {
            assumptions.push(format!(
                "The input does not arrange the PCIe switches between {}; devices that share \
                 none have one each, below one upstream switch.",
                stacked.join(", ")
            ));
        }
        assumptions
    }
}

impl HostTree {
    /// The smallest tree that gives every pair its relation.
    ///
    /// # Errors
    /// The first pair whose relation no tree can have.
    pub(in crate::system) fn rebuild(host: Host) -> Result<Self, Contradiction> {
        if let Some(contradiction) = host.contradiction() {
            return Err(contradiction);
        }
        let Sockets { members, mut assumptions } = sockets::assign(&host);
        assumptions.extend(host.placement_assumptions());
        let mut tree = Self {
            endpoints: host.endpoints.clone(),
            sockets: members.len(),
            host_bridges: 0,
            switches: 0,
            links: Vec::new(),
            assumptions,
        };
        for (socket, members) in members.iter().enumerate() {
            for group in host.groups(members, Relation::HostBridge) {
                tree.hang_host_bridge(&host, &group, Place::Socket(socket));
            }
        }
        Ok(tree)
    }

    fn hang_host_bridge(&mut self, host: &Host, members: &[usize], parent: Place) {
        let parts = host.groups(members, Relation::Switches);
        if parts.len() == 1 {
            return self.hang_switches(host, members, parent);
        }
        let bridge = Place::HostBridge(self.host_bridges);
        self.host_bridges += 1;
        self.links.push((bridge, parent));
        for part in parts {
            self.hang_switches(host, &part, bridge);
        }
    }

    fn hang_switches(&mut self, host: &Host, members: &[usize], parent: Place) {
        let parts = host.groups(members, Relation::Switch);
        if parts.len() == 1 && members.len() == 1 {
            return self.links.push((Place::Endpoint(members[0]), parent));
        }
        if parts.len() == 1 {
            return self.hang_switch(members, parent);
        }
        let upstream = self.new_switch(parent);
        for part in parts {
            self.hang_switch(&part, upstream);
        }
    }

    fn hang_switch(&mut self, members: &[usize], parent: Place) {
        let switch = self.new_switch(parent);
        self.links.extend(members.iter().map(|member| (Place::Endpoint(*member), switch)));
    }

    fn new_switch(&mut self, parent: Place) -> Place {
        let switch = Place::Switch(self.switches);
        self.switches += 1;
        self.links.push((switch, parent));
        switch
    }

    /// Puts the tree into a machine. Its PCIe links are all of kind `pcie`, and its sockets are
    /// joined pairwise. The NVSwitches stand among its devices so that devices stay in the usual
    /// order.
    ///
    /// # Errors
    /// An endpoint whose name is taken.
    pub(in crate::system) fn install(
        self,
        builder: &mut ServerBuilder,
        pcie: LinkKind,
        nvswitches: usize,
    ) -> Result<Installed, ServerError> {
        let series = |builder: &mut ServerBuilder, name: &str, kind, count| {
            let ids = (0..count).map(|n| builder.device(&format!("{name}{n}"), kind, None));
            ids.collect::<Result<Vec<DeviceId>, ServerError>>()
        };
        let mut endpoints = vec![0; self.endpoints.len()];
        let add = |builder: &mut ServerBuilder, ids: &mut [DeviceId], kind| {
            for (endpoint, id) in self.endpoints.iter().zip(ids) {
                if endpoint.kind == kind {
                    *id = builder.add(endpoint.device())?;
                }
            }
            Ok(())
        };
        add(builder, &mut endpoints, DeviceKind::Gpu)?;
        let sockets = series(builder, "CPU", DeviceKind::Cpu, self.sockets)?;
        let bridges = series(builder, "HostBridge", DeviceKind::HostBridge, self.host_bridges)?;
        let switches = series(builder, "PCIeSwitch", DeviceKind::PcieSwitch, self.switches)?;
        let fabric_switches = series(builder, "NVSwitch", DeviceKind::NvSwitch, nvswitches)?;
        add(builder, &mut endpoints, DeviceKind::Nic)?;
        let id = |place| match place {
            Place::Endpoint(n) => endpoints[n],
            Place::Socket(n) => sockets[n],
            Place::HostBridge(n) => bridges[n],
            Place::Switch(n) => switches[n],
        };
        for (below, above) in &self.links {
            let inside = matches!(below, Place::HostBridge(_));
            let kind = if inside { LinkKind::OnDie } else { pcie };
            builder.data_sheet_link(id(*below), id(*above), kind, 1)?;
        }
        for assumption in &self.assumptions {
            builder.assume(assumption.as_str());
        }
        let kind = sockets::default_link(sockets.len());
        sockets::join(builder, &[sockets], kind)?;
        Ok(Installed { endpoints, fabric_switches })
    }
}
