//! Routing algorithms by name.

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, instead_of, shown};
use crate::engine::Random;
use crate::system::fabric::{Fabric, FabricError, FabricShape, SwitchId};

use super::{
    DragonflyMinimal, DragonflyProgressive, DragonflyUgal, DragonflyValiant, EqualCostPaths,
    FatTreeAdaptive, FatTreeStatic, Hop, LeastLoadedPaths, Load, Nowhere, PacketRoute, Routing,
    TableRouting, TorusDimensionOrder,
};

/// The routing algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RoutingKind {
    /// [`FatTreeStatic`].
    Static,
    /// [`FatTreeAdaptive`]; on what is no fat-tree [`LeastLoadedPaths`].
    Adaptive,
    /// [`DragonflyMinimal`].
    Minimal,
    /// [`DragonflyValiant`].
    Valiant,
    /// [`DragonflyUgal`].
    Ugal,
    /// [`DragonflyProgressive`].
    Progressive,
    /// [`TorusDimensionOrder`].
    DimensionOrder,
    /// [`TableRouting::shortest`].
    ShortestPath,
    /// Stands for [`EqualCostPaths`].
    Ecmp,
}

/// A routing that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum RoutingError {
    /// A name that no routing has.
    Unknown {
        /// The name.
        name: String,
        /// The names that exist, or the one that was probably meant.
        advice: String,
    },
    /// A routing for another shape of network.
    WrongShape {
        /// The routing.
        routing: &'static str,
        /// The shape that it is for.
        wanted: &'static str,
        /// The fabric.
        network: String,
        /// What would work.
        instead: &'static str,
    },
    /// A graph on which no tables can be computed.
    #[error(transparent)]
    Table(#[from] FabricError),
    /// Ways longer than there are virtual channels.
    TooLong {
        /// How many links it has, or at least has.
        hops: u32,
    },
}

impl Diagnose for RoutingError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Unknown { name, advice } => {
                Diagnosis::of(format!("there is no routing `{}`", shown(name))).remedy(advice)
            }
            Self::WrongShape { routing, wanted, network, instead } => Diagnosis::of(format!(
                "routing `{routing}` is for {wanted}, which `{}` is not",
                shown(network)
            ))
            .remedy(format!("use {instead}")),
            Self::Table(error) => error.diagnosis(),
            Self::TooLong { hops } => Diagnosis::of(format!(
                "a shortest route has {hops} links between switches, and at most 32 are \
                     possible"
            ))
            .remedy("give a network of shorter ways, or routing tables"),
        }
    }
}

impl RoutingKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Static,
        Self::Adaptive,
        Self::Minimal,
        Self::Valiant,
        Self::Ugal,
        Self::Progressive,
        Self::DimensionOrder,
        Self::ShortestPath,
        Self::Ecmp,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Adaptive => "adaptive",
            Self::Minimal => "minimal",
            Self::Valiant => "valiant",
            Self::Ugal => "ugal",
            Self::Progressive => "progressive",
            Self::DimensionOrder => "dimension-order",
            Self::ShortestPath => "shortest-path",
            Self::Ecmp => "ecmp",
        }
    }

    /// The routing of a name.
    ///
    /// # Errors
    /// A name that no routing has.
    pub fn from_name(name: &str) -> Result<Self, RoutingError> {
        let names = Self::ALL.map(Self::name);
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let advice = instead_of(name, &names);
            RoutingError::Unknown { name: name.to_owned(), advice }
        })
    }

    /// The routing that the TraceR-CODES study or the field uses for a shape of network.
    #[must_use]
    pub const fn default_for(shape: &FabricShape) -> Self {
        match shape {
            FabricShape::FatTree(_) => Self::Adaptive,
            FabricShape::Dragonfly(_) => Self::Progressive,
            FabricShape::Torus(_) => Self::DimensionOrder,
            FabricShape::SingleSwitch | FabricShape::Graph => Self::ShortestPath,
        }
    }

    /// The shape of network that it is for.
    const fn wanted(self) -> &'static str {
        match self {
            Self::Static => "fat-trees",
            Self::Minimal | Self::Valiant | Self::Ugal | Self::Progressive => "dragonflies",
            Self::DimensionOrder => "tori",
            Self::Adaptive | Self::ShortestPath | Self::Ecmp => "any network",
        }
    }
}

/// Any of the algorithms, dispatched without a virtual call.
#[derive(Debug, Clone)]
pub enum AnyRouting {
    /// Destination-mod-k on a fat-tree.
    Static(FatTreeStatic),
    /// Least loaded on a fat-tree.
    Adaptive(FatTreeAdaptive),
    /// Takes the least loaded of all shortest paths on any graph.
    LeastLoaded(LeastLoadedPaths),
    /// Minimal on a dragonfly.
    Minimal(DragonflyMinimal),
    /// Valiant on a dragonfly.
    Valiant(DragonflyValiant),
    /// UGAL-L on a dragonfly.
    Ugal(DragonflyUgal),
    /// Progressive adaptive on a dragonfly.
    Progressive(DragonflyProgressive),
    /// Dimension order on a torus.
    DimensionOrder(TorusDimensionOrder),
    /// Shortest paths, or tables that were given, on any graph.
    Tables(TableRouting),
    /// Gives each connection a shortest path on any graph.
    Ecmp(EqualCostPaths),
    /// None, of a lone server.
    Nowhere(Nowhere),
}

impl AnyRouting {
    /// An algorithm on a fabric.
    ///
    /// # Errors
    /// An algorithm for another shape of network, or a graph that is not connected.
    pub fn new(kind: RoutingKind, fabric: &Fabric, seed: u64) -> Result<Self, RoutingError> {
        let random = Random::stream(seed, u64::from(u32::from_be_bytes(*b"rout")));
        let made = match kind {
            RoutingKind::Static => FatTreeStatic::new(fabric).map(Self::Static),
            RoutingKind::Adaptive => {
                let tree = FatTreeAdaptive::new(fabric, random.clone()).map(Self::Adaptive);
                let any = || LeastLoadedPaths::new(fabric, random).map(Self::LeastLoaded);
                Some(tree.map_or_else(any, Ok)?)
            }
            RoutingKind::Minimal => DragonflyMinimal::new(fabric, random).map(Self::Minimal),
            RoutingKind::Valiant => DragonflyValiant::new(fabric, random).map(Self::Valiant),
            RoutingKind::Ugal => DragonflyUgal::new(fabric, random).map(Self::Ugal),
            RoutingKind::Progressive => {
                DragonflyProgressive::new(fabric, random).map(Self::Progressive)
            }
            RoutingKind::DimensionOrder => {
                TorusDimensionOrder::new(fabric).map(Self::DimensionOrder)
            }
            RoutingKind::ShortestPath => Some(Self::Tables(TableRouting::shortest(fabric)?)),
            RoutingKind::Ecmp => Some(Self::Ecmp(EqualCostPaths::new(fabric, seed)?)),
        };
        made.ok_or_else(|| RoutingError::WrongShape {
            routing: kind.name(),
            wanted: kind.wanted(),
            network: fabric.name().to_owned(),
            instead: RoutingKind::default_for(fabric.shape()).name(),
        })
    }
}

macro_rules! each {
    ($any:expr, $routing:ident => $value:expr) => {
        match $any {
            AnyRouting::Static($routing) => $value,
            AnyRouting::Adaptive($routing) => $value,
            AnyRouting::LeastLoaded($routing) => $value,
            AnyRouting::Minimal($routing) => $value,
            AnyRouting::Valiant($routing) => $value,
            AnyRouting::Ugal($routing) => $value,
            AnyRouting::Progressive($routing) => $value,
            AnyRouting::DimensionOrder($routing) => $value,
            AnyRouting::Tables($routing) => $value,
            AnyRouting::Ecmp($routing) => $value,
            AnyRouting::Nowhere($routing) => $value,
        }
    };
}

impl Routing for AnyRouting {
    fn virtual_channels(&self) -> u8 {
        each!(self, routing => routing.virtual_channels())
    }

    fn in_order(&self) -> bool {
        each!(self, routing => routing.in_order())
    }

    fn start(&self, packet: &mut PacketRoute, connection: [u32; 2]) {
        each!(self, routing => routing.start(packet, connection));
    }

    fn route(&mut self, at: SwitchId, packet: &mut PacketRoute, load: &mut impl Load) -> Hop {
        each!(self, routing => routing.route(at, packet, load))
    }
}
