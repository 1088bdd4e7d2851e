//! Finds routing algorithms by name.

use std::fmt;

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, Registered, Registry, shown};
use crate::engine::Random;
use crate::network::transport::Message;
use crate::system::fabric::{Fabric, FabricError, FabricShape, SwitchId};

use super::{
    ADAPTIVE, DIMENSION_ORDER, ECMP, Hop, Load, MINIMAL, PROGRESSIVE, PacketRoute, Routing,
    SHORTEST_PATH, STATIC, UGAL, VALIANT,
};

/// An algorithm of routing, which people choose by its name and which is made for a fabric.
pub trait RoutingKind: Registered + fmt::Debug {
    /// Says what networks it is for.
    fn wanted(&self) -> &'static str {
        "any network"
    }

    /// Makes the routing of a fabric, whose choices by chance the seed fixes ([`random_of`]); `None`
    /// of a network of another shape.
    ///
    /// # Errors
    /// A graph on which no tables can be computed.
    fn make(&self, fabric: &Fabric, seed: u64) -> Result<Option<AnyRouting>, RoutingError>;

    /// Returns the most links between switches that a packet takes where `fewest` would do. The contract
    /// of routings holds it to that.
    fn most_links(&self, fewest: usize) -> usize {
        fewest
    }
}

impl PartialEq for dyn RoutingKind {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn RoutingKind {}

/// Lists Linkwright's own algorithms.
#[must_use]
pub fn routing_kinds() -> Registry<dyn RoutingKind> {
    Registry::new(
        "routing",
        &[
            STATIC,
            ADAPTIVE,
            MINIMAL,
            VALIANT,
            UGAL,
            PROGRESSIVE,
            DIMENSION_ORDER,
            SHORTEST_PATH,
            ECMP,
        ],
    )
}

/// Chooses the routing that the TraceR-CODES study or the field uses for a shape of network.
#[must_use]
pub const fn routing_for(shape: &FabricShape) -> &'static dyn RoutingKind {
    match shape {
        FabricShape::FatTree(_) => ADAPTIVE,
        FabricShape::Dragonfly(_) => PROGRESSIVE,
        FabricShape::Torus(_) => DIMENSION_ORDER,
        FabricShape::SingleSwitch | FabricShape::Graph => SHORTEST_PATH,
    }
}

/// Makes what a routing draws its choices from.
#[must_use]
pub fn random_of(seed: u64) -> Random {
    Random::stream(seed, u64::from(u32::from_be_bytes(*b"rout")))
}

/// A routing that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum RoutingError {
    /// Refuses a routing for another shape of network.
    WrongShape {
        /// Names the routing.
        routing: &'static str,
        /// The shape that it is for.
        wanted: &'static str,
        /// Names the fabric.
        network: String,
        /// Names a routing that would work.
        instead: &'static str,
    },
    /// A graph on which no tables can be computed.
    #[error(transparent)]
    Table(#[from] FabricError),
    /// One that could not be made, and has told why elsewhere.
    Unmade {
        /// Names the routing.
        routing: &'static str,
    },
    /// Ways longer than there are virtual channels.
    TooLong {
        /// How many links it has, or at least has.
        hops: u32,
    },
}

impl Diagnose for RoutingError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::WrongShape { routing, wanted, network, instead } => Diagnosis::of(format!(
                "routing `{routing}` needs {wanted}, but `{}` is another network",
                shown(network)
            ))
            .remedy(format!("use {instead}")),
            Self::Table(error) => error.diagnosis(),
            Self::Unmade { routing } => {
                Diagnosis::of(format!("routing `{routing}` could not be made for this network"))
                    .remedy("use another routing, or mend it")
            }
            Self::TooLong { hops } => Diagnosis::of(format!(
                "a shortest route crosses {hops} links between switches, but at most 32 are allowed"
            ))
            .remedy("use a network with shorter routes, or give routing tables"),
        }
    }
}

/// Takes packets over a fabric by any routing.
pub struct AnyRouting(Box<dyn Routing>);

impl AnyRouting {
    /// Takes a routing.
    #[must_use]
    pub fn of(routing: impl Routing + 'static) -> Self {
        Self(Box::new(routing))
    }

    /// Makes the routing of a kind on a fabric.
    ///
    /// # Errors
    /// An algorithm for another shape of network, or a graph that is not connected.
    pub fn new(kind: &dyn RoutingKind, fabric: &Fabric, seed: u64) -> Result<Self, RoutingError> {
        kind.make(fabric, seed)?.ok_or_else(|| RoutingError::WrongShape {
            routing: kind.name(),
            wanted: kind.wanted(),
            network: fabric.name().to_owned(),
            instead: routing_for(fabric.shape()).name(),
        })
    }
}

impl Routing for AnyRouting {
    fn virtual_channels(&self) -> u8 {
        self.0.virtual_channels()
    }

    fn in_order(&self) -> bool {
        self.0.in_order()
    }

    fn start(&self, packet: &mut PacketRoute, message: &Message) {
        self.0.start(packet, message);
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, load: &mut dyn Load) -> Hop {
        self.0.route(at, packet, load)
    }
}
