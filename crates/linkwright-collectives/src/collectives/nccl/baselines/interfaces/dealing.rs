//! Says what a release and the settings make of network interfaces.

use serde::{Deserialize, Serialize};

use crate::diagnostic::Named;

/// Says whether a ring or tree may leave a server by another interface than it entered by (`NCCL_CROSS_NIC`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub enum CrossNic {
    /// It may not: every ring stays on its rail.
    Never,
    /// It always may.
    Always,
    /// It may where that carries more.
    #[default]
    IfBetter,
}

impl Named for CrossNic {
    const WHAT: &'static str = "value of NCCL_CROSS_NIC";
    const NAMED: &'static [(&'static str, Self)] =
        &[("0", Self::Never), ("1", Self::Always), ("2", Self::IfBetter)];
}

/// Says what a release and the settings make of interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::collectives) struct Dealing {
    pub(in crate::collectives::nccl::baselines) cross: CrossNic,
    /// Tells whether a GPU far from an interface sends through a GPU near it.
    pub(in crate::collectives::nccl::baselines) pxn: bool,
    /// Lets interfaces read and write the memory of GPUs.
    pub(in crate::collectives::nccl::baselines) gpudirect: bool,
    /// Lets rings that cross go by pairs. Every other server exchanges the two, so that they stay on rails.
    pub(in crate::collectives::nccl::baselines) paired: bool,
    /// Whether it is RCCL, which has a list for eight MI300X.
    pub(in crate::collectives::nccl::baselines) listed: bool,
}

/// How much of the best a way to deal may lack that is tried before it.
pub(super) const AS_GOOD: f64 = 0.98;
