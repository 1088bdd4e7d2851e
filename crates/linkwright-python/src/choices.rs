//! Choices that Python names by text.

use linkwright::allocation::{BandwidthModel, Ties};
use linkwright::collectives::Protocol;
use linkwright::collectives::baselines::ExpectedAlgorithm;
use linkwright::collectives::link_graph::{LinkClass, fabric_name};
use linkwright::collectives::plan::Links;
use linkwright::collectives::time::Processes;
use linkwright::diagnostic::Named;
use linkwright::memory::kernel::benchmarks::Benchmark;
use linkwright::memory::{Distribution, DramTiming};
use linkwright::simulation::cluster::Fidelity;
use linkwright::simulation::played::GpuSpeed;
use linkwright::simulation::{QueueDiscipline, RunTime, ServerChoice};
use linkwright::system::{BandwidthProfile, NetworkKind, Server, System};
use linkwright::training::{Optimizer, Precision, Way};

use pyo3::prelude::*;

use crate::errors;

/// A closed set of named values.
pub trait Choice: Copy + PartialEq + 'static {
    /// What the values are, for messages.
    const WHAT: &'static str;
    /// Every value with its name.
    const NAMED: &'static [(&'static str, Self)];

    /// The value of that name.
    fn named(name: &str) -> PyResult<Self> {
        let found = Self::NAMED.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let known: Vec<&str> = Self::NAMED.iter().map(|(name, _)| *name).collect();
            Self::refuse(name, &known)
        })
    }

    /// The error for a name that none of the values has.
    fn refuse(name: &str, known: &[&str]) -> PyErr {
        errors::unknown_choice(Self::WHAT, name, known)
    }

    /// The name of the value.
    fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| *name)
    }
}

/// Choices whose names the core has.
macro_rules! of_core {
    ($($choice:ty),*) => {
        $(impl Choice for $choice {
            const WHAT: &'static str = <Self as Named>::WHAT;
            const NAMED: &'static [(&'static str, Self)] = <Self as Named>::NAMED;
        })*
    };
}

of_core!(
    BandwidthModel,
    BandwidthProfile,
    Fidelity,
    GpuSpeed,
    QueueDiscipline,
    RunTime,
    ServerChoice,
    Ties
);

/// Likewise, of what runs inside GPUs and of training.
macro_rules! of_gpus {
    ($($choice:ty),*) => {
        $(impl Choice for $choice {
            const WHAT: &'static str = <Self as Named>::WHAT;
            const NAMED: &'static [(&'static str, Self)] = <Self as Named>::NAMED;

            fn refuse(name: &str, known: &[&str]) -> PyErr {
                errors::unknown_gpu_choice(<Self as Choice>::WHAT, name, known)
            }
        })*
    };
}

of_gpus!(Benchmark, Distribution, DramTiming, Optimizer, Precision, Way);

/// The profile of that name, or that of the machine where none is named.
pub fn profile_of(machine: &Server, name: Option<&str>) -> PyResult<BandwidthProfile> {
    name.map_or_else(|| Ok(BandwidthProfile::default_of(machine)), BandwidthProfile::named)
}

impl Choice for Links {
    const WHAT: &'static str = "choice of links";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("nvlink", Self::Fabric),
        ("xgmi", Self::Fabric),
        ("pcie", Self::Host),
    ];

    fn refuse(name: &str, known: &[&str]) -> PyErr {
        errors::unknown_collective_choice(Self::WHAT, name, known)
    }
}

impl Choice for Processes {
    const WHAT: &'static str = "choice of processes";
    const NAMED: &'static [(&'static str, Self)] = &[("each", Self::Each), ("one", Self::Shared)];

    fn refuse(name: &str, known: &[&str]) -> PyErr {
        errors::unknown_collective_choice(Self::WHAT, name, known)
    }
}

/// What a plan may be told of links.
#[derive(Clone, Copy, PartialEq)]
pub enum WantedLinks {
    /// One class of them.
    Of(Links),
    /// NVLink and PCIe at once.
    Hybrid,
}

impl Choice for WantedLinks {
    const WHAT: &'static str = "choice of links";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("auto", Self::Of(Links::Auto)),
        ("nvlink", Self::Of(Links::Fabric)),
        ("xgmi", Self::Of(Links::Fabric)),
        ("pcie", Self::Of(Links::Host)),
        ("hybrid", Self::Hybrid),
    ];

    fn refuse(name: &str, known: &[&str]) -> PyErr {
        errors::unknown_collective_choice(Self::WHAT, name, known)
    }
}

/// What a plan's links are called on a system, whose fabric has a name of its own.
pub fn links_name(links: LinkClass, system: Option<&System>) -> &'static str {
    let is_xgmi = system.and_then(fabric_name) == Some("xGMI");
    if links == LinkClass::Fabric && is_xgmi { "xgmi" } else { links.name() }
}

impl Choice for LinkClass {
    const WHAT: &'static str = "class of links";
    const NAMED: &'static [(&'static str, Self)] =
        &[("nvlink", Self::Fabric), ("pcie", Self::Host), ("network", Self::Network)];

    fn refuse(name: &str, known: &[&str]) -> PyErr {
        errors::unknown_collective_choice(Self::WHAT, name, known)
    }
}

impl Choice for Protocol {
    const WHAT: &'static str = "protocol";
    const NAMED: &'static [(&'static str, Self)] =
        &[("LL", Self::LL), ("LL128", Self::LL128), ("Simple", Self::Simple)];

    fn refuse(name: &str, known: &[&str]) -> PyErr {
        errors::unknown_collective_choice(Self::WHAT, name, known)
    }
}

impl Choice for ExpectedAlgorithm {
    const WHAT: &'static str = "algorithm of NCCL";
    const NAMED: &'static [(&'static str, Self)] =
        &[("ring", Self::Ring), ("tree", Self::Tree), ("nvls", Self::Nvls)];

    fn refuse(name: &str, known: &[&str]) -> PyErr {
        errors::unknown_collective_choice(Self::WHAT, name, known)
    }
}

impl Choice for NetworkKind {
    const WHAT: &'static str = "kind of network";
    const NAMED: &'static [(&'static str, Self)] =
        &[("infiniband", Self::Infiniband), ("ethernet", Self::Ethernet)];

    fn refuse(name: &str, known: &[&str]) -> PyErr {
        errors::unknown_network(name, known)
    }
}
