//! Says how a library moves data: around rings, along trees, through switches, or between pairs.

use crate::collectives::schedule::collective::Collective;

/// Says how NCCL moves data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExpectedAlgorithm {
    /// Data goes around rings.
    Ring,
    /// Data goes up and down trees: a chain in each server, double binary trees between them.
    Tree,
    /// Data is reduced and multicast by the `NVSwitches` (NVLink SHARP), from Hopper on.
    Nvls,
    /// The `NVSwitches` reduce and multicast in each server, and trees join the GPUs of the servers that have the same part.
    NvlsTree,
    /// Data has a tree for each rank, of all-gathers and reduce-scatters over servers of one GPU each (PAT).
    Pat,
    /// Ranks send and receive between pairs.
    Pairs,
}

linkwright_ground::named_by_all!(ExpectedAlgorithm, "algorithm of NCCL");

impl ExpectedAlgorithm {
    /// Lists those that can be asked for.
    pub const ALL: [Self; 5] = [Self::Ring, Self::Tree, Self::Nvls, Self::NvlsTree, Self::Pat];

    /// Tells whether switches reduce.
    #[must_use]
    pub const fn is_in_switch(self) -> bool {
        matches!(self, Self::Nvls | Self::NvlsTree)
    }

    /// Gives its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Tree => "tree",
            Self::Nvls => "nvls",
            Self::NvlsTree => "nvls-tree",
            Self::Pat => "pat",
            Self::Pairs => "pairs",
        }
    }
}

/// Whether NCCL runs it as sends and receives between pairs, which it has since 2.7.
pub(in crate::collectives) const fn by_pairs(collective: Collective) -> bool {
    matches!(
        collective,
        Collective::Gather { .. } | Collective::Scatter { .. } | Collective::AllToAll
    )
}
