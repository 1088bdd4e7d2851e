//! Holds what a scenario may choose by name: Linkwright's own, and the additions of a crate above it.

use super::recorded::{AccountingFormat, accounting_formats};
use crate::allocation::{self, Policy};
use crate::collectives::plan::{self, Planner};
use crate::diagnostic::Registry;
use crate::network::packet::{Arbitration, NicRule, arbiters, nic_rules};
use crate::network::routing::{RoutingKind, routing_kinds};
use crate::program::skeletons::{self, Application};
use crate::program::trace::{self, TraceReader};
use crate::runtime::ProtocolKind;
use crate::system::fabric::{FabricKind, fabrics};
use crate::system::gpus::{GpuFile, gpu_models};
use crate::system::presets::{Preset, servers};
use crate::system::{ImportFormat, importers};
use crate::training::{self, NamedWorkload};

/// One registry for each thing that others may add to.
///
/// It is not serialized, unlike a scenario's text: entries are code. Whoever sends a scenario to another
/// process sends the text ([`Given`](super::Given)), and gives the registries there.
///
/// ```
/// use linkwright::scenario::Registries;
///
/// let registries = Registries::default();
/// assert!(registries.policies.get("preserve").is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registries {
    /// Which GPUs a job gets: `allocation.policies`.
    pub policies: Registry<dyn Policy>,
    /// Which message a network interface sends first: `system.network.nic`.
    pub nic_policies: Registry<dyn NicRule>,
    /// Which packet a channel takes first: `system.network.arbitration`.
    pub arbitration_policies: Registry<dyn Arbitration>,
    /// Says which way packets go: `system.network.routing`.
    pub routings: Registry<dyn RoutingKind>,
    /// Holds what jobs run: `workload` and `generate.workloads` of `[jobs]`, job files, `workload` of a
    /// `[[job]]`.
    pub workloads: Registry<dyn NamedWorkload>,
    /// Holds the formats of recorded jobs, which a file shows by its look: `jobs.file`.
    pub accounting: Registry<dyn AccountingFormat>,
    /// How collectives are planned: `collectives.planner`.
    pub planners: Registry<dyn Planner>,
    /// Holds the networks that join servers: `system.network.kind`.
    pub fabrics: Registry<dyn FabricKind>,
    /// Files of servers are in these formats.
    pub importers: Registry<dyn ImportFormat>,
    /// Servers have these presets: `system.server`.
    pub servers: Registry<Preset>,
    /// GPUs of servers are of these models.
    pub gpus: Registry<GpuFile>,
    /// Make programs: `program` of a `[[job]]`.
    pub applications: Registry<dyn Application>,
    /// Read recorded traces: `trace` of a `[[job]]`, by the file's name.
    pub traces: Registry<dyn TraceReader>,
    /// Lists what plays collectives besides `mpi` and `nccl`: `collectives.protocol`.
    pub protocols: Registry<dyn ProtocolKind>,
}

impl Default for Registries {
    /// Gives what Linkwright has by itself.
    fn default() -> Self {
        Self {
            policies: allocation::policies(),
            planners: plan::planners(),
            fabrics: fabrics(),
            nic_policies: nic_rules(),
            arbitration_policies: arbiters(),
            routings: routing_kinds(),
            workloads: training::workloads(),
            accounting: accounting_formats(),
            importers: importers(),
            servers: servers(),
            gpus: gpu_models(),
            applications: skeletons::applications(),
            traces: trace::readers(),
            protocols: Registry::new("protocol of collectives", &[]),
        }
    }
}
