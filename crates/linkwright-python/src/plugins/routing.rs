//! Asks a class of one's own which way packets go, once for each pair of nodes.

use std::collections::HashMap;

use linkwright::diagnostic::{Diagnosis, Registered as _};
use linkwright::network::routing::contract::MOST_HOPS;
use linkwright::network::routing::{
    AnyRouting, Hop, Load, PacketRoute, Routing, RoutingError, RoutingKind,
};
use linkwright::system::fabric::{End, Fabric, NodeId, SwitchId};
use pyo3::intern;
use pyo3::prelude::*;

use crate::argument::Argument as _;
use crate::errors;
use crate::fabric;
use crate::plug_in::{PlugIn, known};
use crate::raised::{raise, raised};

/// A channel has at most this number of virtual channels.
const MOST_VIRTUAL_CHANNELS: u8 = 32;

/// A packet on its way, as a routing of one's own is told of it.
#[pyclass(frozen, module = "linkwright.contracts")]
pub struct Packet {
    source: NodeId,
    destination: NodeId,
    hops: u8,
    virtual_channel: u8,
}

#[pymethods]
impl Packet {
    /// Names the node where it started.
    #[getter]
    fn source(&self) -> NodeId {
        self.source
    }

    /// The node where it goes.
    #[getter]
    fn destination(&self) -> NodeId {
        self.destination
    }

    /// How many switches it has left so far.
    #[getter]
    fn hops(&self) -> u8 {
        self.hops
    }

    /// Names the virtual channel in which it came; 0 from its node.
    #[getter]
    fn virtual_channel(&self) -> u8 {
        self.virtual_channel
    }
}

/// The paths that an object of the class has given so far. Each is asked for once, and checked whole.
struct StaticPaths {
    rule: &'static PlugIn,
    object: Py<PyAny>,
    fabric: Fabric,
    virtual_channels: u8,
    paths: HashMap<(NodeId, NodeId), Vec<Hop>>,
}

/// The error of a routing whose class raised what [`raise`] keeps.
fn unmade(rule: &PlugIn) -> RoutingError {
    RoutingError::Unmade { routing: rule.name() }
}

impl PlugIn {
    fn static_paths(&'static self, fabric: &Fabric) -> PyResult<StaticPaths> {
        Python::attach(|py| {
            let class = self.class(py).ok_or_else(|| {
                let problem = format!("`{}` is no class", self.name());
                let remedy = "give the class: each network makes an object of its own";
                errors::broken_contract(Diagnosis::of(problem).remedy(remedy))
            })?;
            let object = class.call1((fabric::Fabric::of_graph(fabric),))?;
            let value = object.call_method0("virtual_channels")?;
            let count = i128::read(&value).ok().and_then(|count| u8::try_from(count).ok());
            let count = count.filter(|count| (1..=MOST_VIRTUAL_CHANNELS).contains(count));
            let virtual_channels = count.ok_or_else(|| {
                let remedy = format!("give 1 to {MOST_VIRTUAL_CHANNELS}");
                let why = "a channel cannot have as many virtual channels";
                self.refuse("virtual_channels", &value, why, &remedy)
            })?;
            let (object, fabric, paths) = (object.unbind(), fabric.clone(), HashMap::new());
            Ok(StaticPaths { rule: self, object, fabric, virtual_channels, paths })
        })
    }
}

impl RoutingKind for PlugIn {
    fn make(&self, fabric: &Fabric, _: u64) -> Result<Option<AnyRouting>, RoutingError> {
        let this = known().into_iter().find(|it| std::ptr::eq(*it, self));
        match this.map(|this| this.static_paths(fabric)) {
            Some(Ok(paths)) => Ok(Some(AnyRouting::of(paths))),
            Some(Err(error)) => {
                raise(error);
                Err(unmade(self))
            }
            None => Err(unmade(self)),
        }
    }

    fn most_links(&self, fewest: usize) -> usize {
        let asked = Python::attach(|py| {
            let Some(method) = self.attribute(py, "most_links")? else { return Ok(fewest) };
            let value = method.call1((fewest,))?;
            let most = i128::read(&value).ok().and_then(|most| usize::try_from(most).ok());
            most.ok_or_else(|| self.refuse("most_links", &value, "that is no number", "give one"))
        });
        asked.unwrap_or_else(|error| {
            raise(error);
            fewest
        })
    }
}

impl StaticPaths {
    /// Asks for each hop of a path, from the source's switch to the destination's node.
    fn walk(&self, source: NodeId, destination: NodeId) -> PyResult<Vec<Hop>> {
        let (mut at, mut hops) = (self.fabric.switch_of(source), Vec::new());
        let mut virtual_channel = 0;
        loop {
            let passed = hops.len();
            let (hop, to) = Python::attach(|py| {
                let packet = Packet { source, destination, hops: passed as u8, virtual_channel };
                let asked = (at, packet);
                let value = self.object.bind(py).call_method1(intern!(py, "route"), asked)?;
                let refuse = |why: &str, remedy: &str| {
                    let way = format!("from node {source} to node {destination}, {why}");
                    self.rule.refuse("route", &value, &way, remedy)
                };
                let pair: Option<(i128, i128)> = <(i128, i128)>::read(&value).ok();
                let Some((channel, virtual_channel)) = pair else {
                    return Err(refuse("that is no hop", "give a channel and a virtual channel"));
                };
                let from_here = || {
                    let own = self.fabric.outgoing(at).iter().take(8).map(u32::to_string);
                    format!("give one of the channels from there, such as {}", {
                        own.collect::<Vec<_>>().join(", ")
                    })
                };
                let found = u32::try_from(channel).ok();
                let found =
                    found.and_then(|it| Some((it, self.fabric.channels().get(it as usize)?)));
                let found = found.filter(|(_, it)| it.from == End::Switch(at));
                let Some((channel, wires)) = found else {
                    let why = format!("no channel {channel} leaves switch {at}");
                    return Err(refuse(&why, &from_here()));
                };
                let within = u8::try_from(virtual_channel).ok();
                let Some(within) = within.filter(|it| *it < self.virtual_channels) else {
                    let last = self.virtual_channels - 1;
                    let why = format!("there is no virtual channel {virtual_channel}");
                    return Err(refuse(&why, &format!("give 0 to {last}")));
                };
                if let End::Node(node) = wires.to
                    && node != destination
                {
                    let why = format!("it ends at node {node}");
                    return Err(refuse(&why, &format!("give a channel to node {destination}")));
                }
                if passed + 1 == MOST_HOPS {
                    let why = format!("it does not end within {MOST_HOPS} hops");
                    return Err(refuse(&why, "give the next channel of a shorter path"));
                }
                Ok((Hop { channel, virtual_channel: within }, wires.to))
            })?;
            hops.push(hop);
            virtual_channel = hop.virtual_channel;
            match to {
                End::Switch(switch) => at = switch,
                End::Node(_) => return Ok(hops),
            }
        }
    }
}

impl Routing for StaticPaths {
    fn virtual_channels(&self) -> u8 {
        self.virtual_channels
    }

    fn in_order(&self) -> bool {
        true
    }

    fn route(&mut self, _: SwitchId, packet: &mut PacketRoute, _: &mut dyn Load) -> Hop {
        let ends = (packet.source, packet.destination);
        let known = |paths: &HashMap<_, Vec<Hop>>| {
            paths.get(&ends).and_then(|path| path.get(usize::from(packet.hops))).copied()
        };
        if let Some(hop) = known(&self.paths) {
            return hop;
        }
        // Anywhere will do once the run ends, as long as the way is short.
        let out = Hop { channel: Fabric::ejection(packet.destination), virtual_channel: 0 };
        if raised() {
            return out;
        }
        match self.walk(packet.source, packet.destination) {
            Ok(path) => {
                self.paths.insert(ends, path);
                known(&self.paths).unwrap_or(out)
            }
            Err(error) => {
                raise(error);
                out
            }
        }
    }
}
