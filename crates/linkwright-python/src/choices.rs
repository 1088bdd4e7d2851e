//! Choices that Python names by text.

use linkwright::allocation::{BandwidthModel, Ties};
use linkwright::collectives::Protocol;
use linkwright::collectives::baselines::{
    CrossNic, ElementType, ExpectedAlgorithm, ReduceOperation,
};
use linkwright::collectives::link_graph::{LinkClass, fabric_name};
use linkwright::collectives::plan::Links;
use linkwright::collectives::time::Processes;
use linkwright::diagnostic::{Named, UnknownName};
use linkwright::memory::kernel::benchmarks::Benchmark;
use linkwright::memory::{Distribution, DramTiming};
use linkwright::simulation::cluster::Fidelity;
use linkwright::simulation::played::GpuSpeed;
use linkwright::simulation::{QueueDiscipline, RunTime, ServerChoice};
use linkwright::system::{BandwidthProfile, LinkKind, Server, System};
use linkwright::training::{
    AskedKernel, ContextExchange, FlagsOf, KernelNumbers, Kernels, ModelPrecision, Optimizer,
    Precision, Way,
};

use pyo3::prelude::*;

use crate::errors;

/// A closed set of named values, with what Python gets of a name that none has.
pub trait Choice: Named {
    /// Makes the exception.
    const REFUSE: fn(UnknownName) -> PyErr;

    /// Returns the value of that name.
    fn named(name: &str) -> PyResult<Self> {
        Self::from_name(name).map_err(Self::REFUSE)
    }
}

/// Lists choices by the function of `errors` that refuses their names.
macro_rules! choices {
    ($refuse:path: $($choice:ty),*) => {
        $(impl Choice for $choice {
            const REFUSE: fn(UnknownName) -> PyErr = $refuse;
        })*
    };
}

choices!(
    errors::allocation_choice: BandwidthModel,
    BandwidthProfile,
    Fidelity,
    GpuSpeed,
    QueueDiscipline,
    RunTime,
    ServerChoice,
    Ties
);
choices!(errors::machine: LinkKind);
choices!(errors::range: Benchmark, ContextExchange, Distribution, DramTiming, FlagsOf, AskedKernel, KernelNumbers, Kernels, ModelPrecision, Optimizer, Precision, Way);
choices!(errors::collective: CrossNic, Links, Processes, WantedLinks, Protocol, ExpectedAlgorithm, ElementType, ReduceOperation);

/// The profile of that name, or that of the machine where none is named.
pub fn profile_of(machine: &Server, name: Option<&str>) -> PyResult<BandwidthProfile> {
    name.map_or_else(|| Ok(BandwidthProfile::default_of(machine)), BandwidthProfile::named)
}

/// Says which links a plan may use.
#[derive(Clone, Copy, PartialEq)]
pub enum WantedLinks {
    /// Uses one class of links.
    Of(Links),
    /// Uses NVLink and PCIe at once.
    Hybrid,
}

impl Named for WantedLinks {
    const WHAT: &'static str = Links::WHAT;
    const NAMED: &'static [(&'static str, Self)] = &{
        let mut named = [("hybrid", Self::Hybrid); Links::NAMED.len() + 1];
        let mut at = 0;
        while at < Links::NAMED.len() {
            named[at] = (Links::NAMED[at].0, Self::Of(Links::NAMED[at].1));
            at += 1;
        }
        named
    };
}

/// Names a plan's links on a system, whose fabric has a name of its own.
pub fn links_name(links: LinkClass, system: Option<&System>) -> &'static str {
    let is_xgmi = system.and_then(fabric_name) == Some("xGMI");
    if links == LinkClass::Fabric && is_xgmi { "xgmi" } else { links.name() }
}
