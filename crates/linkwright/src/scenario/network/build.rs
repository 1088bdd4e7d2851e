//! Builds the cluster of a network's settings: puts servers, fabric and routing together.

use std::sync::Arc;

use super::{FabricSource, GpuBandwidth, NetworkSettings};
use crate::diagnostic::{Diagnosis, InputError};
use crate::network::routing::{AnyRouting, RoutingKind, SHORTEST_PATH, TableRouting, routing_for};
use crate::scenario::files::{Files, text_of};
use crate::scenario::servers;
use crate::scenario::source::Place;
use crate::simulation::cluster::Cluster;
use crate::system::composition::{InterfaceSpeeds, PortOrder, lists_network, split};
use crate::system::fabric::{FabricText, RoutingTables, read_routing};
use crate::system::{Fabric, FabricError, Server, System};
use crate::units::Bandwidth;

impl NetworkSettings {
    /// The cluster, with the files that it names; `file` names the scenario in errors.
    ///
    /// # Errors
    /// A file that is not given or that its reader refuses, a factor that no bandwidth can be
    /// multiplied by, a routing for another network. It refuses changes of GPUs that are not known, too.
    pub fn build(&self, file: &str, files: &Files) -> Result<Cluster, InputError> {
        let files = &*self.with_own(files);
        self.gpus.on(self.with_plain_gpus(file, files)?, file, files)
    }

    /// Gives the same with GPUs as their models' files have them.
    fn with_plain_gpus(&self, file: &str, files: &Files) -> Result<Cluster, InputError> {
        let at =
            |place: Place, error: Diagnosis, remedy: &str| place.refuse_as(file, error, "", remedy);
        let listed = servers::build(&self.servers, file, files, &self.registries)?;
        let own = match self.beside_own_network(&listed) {
            None => None,
            Some(Ok(machine)) => Some(
                split(machine)
                    .map_err(|error| at(self.places.servers, error.into(), "mend the machine"))?,
            ),
            Some(Err(key)) => {
                let problem = Diagnosis::of("the machine lists a network of its own");
                let remedy = format!("remove `{key}`, or give a machine without a network");
                return Err(at(self.places.servers, problem, &remedy));
            }
        };
        let named = own.is_some().then(|| listed[0].0.name().to_owned());
        let (listed, own) = match own {
            Some((servers, fabric)) => (servers, Some(fabric)),
            None => (listed, None),
        };
        let refuse = |error: Diagnosis| {
            at(self.places.servers, error, "give fewer servers, or a larger network")
        };
        // A lone server needs no port, and so no interface. The network that it is not on says its
        // routing.
        let alone = match &listed[..] {
            [(server, 1)] if !self.has_fabric && own.is_none() => Some(server),
            _ => None,
        };
        let sized = |built: Result<Fabric, FabricError>| {
            built.map_err(|error| {
                let key = error.parameter().map(|parameter| parameter.replace('-', "_"));
                let of_table = (self.places.fabric, String::new());
                let given = key.and_then(|key| self.parameters.get(&key));
                let (place, written) = given.unwrap_or(&of_table);
                place.refuse_as(file, &error, written, "give other sizes")
            })
        };
        let speeds = (!listed.is_empty() && alone.is_none() && own.is_none())
            .then(|| InterfaceSpeeds::of(&listed, self.port_order))
            .transpose()
            .map_err(|error| refuse(error.into()))?;
        let fastest = speeds.as_ref().and_then(InterfaceSpeeds::fastest);
        // Its links carry this where nobody names their speed, and that of interfaces is not known.
        let mut unsaid = None;
        // The routing that its kind says fits it.
        let mut fitting = None;
        let fabric = match (own, &self.fabric) {
            (Some(own), _) => own,
            (None, FabricSource::File(name)) => {
                let text = text_of(file, name, files)?;
                let read = FabricText::read(&name.name, text, &self.registries.fabrics)?;
                unsaid = read.unsaid_speed();
                fitting = read.routing();
                read.build(&name.name, text, fastest)?
            }
            (None, FabricSource::Specification(specification)) => {
                unsaid = specification.unsaid_speed();
                fitting = specification.kind().routing();
                let specification = specification.at_speed(fastest);
                sized(match &speeds {
                    Some(speeds) => specification.for_ports(speeds.count()),
                    None => specification.build(),
                })?
            }
        };
        let fabric = match (&speeds, unsaid) {
            (Some(speeds), Some(unsaid)) if !speeds.are_alike() => {
                fabric.with_port_speeds(&speeds.ports_or(unsaid))
            }
            _ => fabric,
        };
        let tables = match &self.routing_table {
            None => None,
            Some(name) => Some(read_routing(&name.name, text_of(file, name, files)?, &fabric)?),
        };
        let (numerator, denominator) = self.bandwidth_scale;
        let fabric = fabric.with_bandwidth_times(numerator, denominator).map_err(|error| {
            at(self.places.bandwidth_scale, error.into(), "give a smaller factor")
        })?;
        let routing =
            match self.routing {
                Some(routing) => routing,
                None if tables.is_some() => SHORTEST_PATH,
                None => match fitting {
                    None => routing_for(fabric.shape()),
                    Some(name) => self.registries.routings.get(name).map_err(|error| {
                        at(self.places.fabric, error.into(), "choose a `routing`")
                    })?,
                },
            };
        let checked = match &tables {
            None => AnyRouting::new(routing, &fabric, self.packets.seed).map(|_| ()),
            Some(tables) => TableRouting::new(&fabric, tables).map(|_| ()),
        };
        checked.map_err(|error| at(self.places.routing, error.into(), "choose another routing"))?;
        if let Some(server) = alone {
            return Ok(self.of_server(Arc::clone(server)));
        }
        if !listed.is_empty() {
            let system = System::new(&listed, fabric, self.port_order);
            let system = system.map_err(|error| refuse(error.into()))?;
            let mut system = system.with_interface_rule(self.interface_rule);
            if let Some(name) = named {
                system = system.renamed(&name);
            }
            if let (Some(speeds), Some(fabric), Some(_)) = (speeds, system.fabric(), unsaid) {
                let (source, assumption) = speeds.said(fabric);
                system = system.with_unnamed_speed(source, assumption);
            }
            return Ok(self.cluster(system, routing, tables));
        }
        let mut node = self.node;
        node.bandwidth = self.node_bandwidth(&fabric).ok_or_else(|| {
            let problem = "the links between a node's GPUs have no bandwidth that can be counted";
            let remedy = "give the `bandwidth` of `system.server`";
            at(self.places.node, Diagnosis::of(problem), remedy)
        })?;
        let system = System::of_nodes(fabric, node)
            .map_err(|error| at(self.places.node, error.into(), "give fewer GPUs"))?;
        let system = if unsaid.is_some() { system.with_assumed_speed() } else { system };
        Ok(self.cluster(system, routing, tables))
    }

    /// Returns the machine, where it is alone and lists several servers and their network. Where a
    /// key beside it says another network or more servers, it returns that key.
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
        routing: &'static dyn RoutingKind,
        tables: Option<RoutingTables>,
    ) -> Cluster {
        Cluster {
            system: Arc::new(system),
            settings: self.packets,
            routing,
            routing_is_default: self.routing.is_none() && tables.is_none(),
            failures: crate::simulation::cluster::SystemFailures::default(),
            tables,
            nic: self.nic,
            arbitration: self.arbitration,
            protocol: self.protocol,
            collectives: self.collectives.clone(),
            fidelity: self.fidelity,
        }
    }

    /// Builds a lone server with these settings, whatever they say of servers and a fabric.
    #[must_use]
    pub fn of_server(&self, server: Arc<Server>) -> Cluster {
        self.cluster(System::of_server(server), SHORTEST_PATH, None)
    }

    fn node_bandwidth(&self, fabric: &Fabric) -> Option<Bandwidth> {
        match self.gpu_bandwidth {
            GpuBandwidth::Fixed(bandwidth) => Some(bandwidth),
            GpuBandwidth::Times(numerator, denominator) => {
                let link = fabric.channels()[Fabric::injection(0) as usize].bandwidth;
                let product = u128::from(link.0) * u128::from(numerator);
                let quotient = (product / u128::from(denominator)).max(1);
                u64::try_from(quotient).ok().map(Bandwidth)
            }
        }
    }
}
