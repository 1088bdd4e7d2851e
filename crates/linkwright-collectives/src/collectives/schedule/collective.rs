//! Says which result a collective must bring about.
//!
//! Every rank has an input and an output buffer of whole shards. Where ranks differ, a shard is the
//! part that one rank contributes or receives. Where they do not, it is the whole buffer. The
//! definitions are NCCL's (its user guide, "Collective Operations").

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::program::CollectiveKind as Kind;

/// An operation in which all ranks of a job take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Collective {
    /// Every rank gets the root's buffer.
    Broadcast {
        /// The rank that has the data.
        root: usize,
    },
    /// The root gets the reduction of all ranks' buffers.
    Reduce {
        /// The rank that gets the result.
        root: usize,
    },
    /// The root gets every rank's shard, in the order of the ranks.
    Gather {
        /// The rank that gets the shards.
        root: usize,
    },
    /// Every rank gets its shard of the root's buffer.
    Scatter {
        /// The rank that has the shards.
        root: usize,
    },
    /// Every rank gets the reduction of all ranks' buffers.
    AllReduce,
    /// Every rank gets every rank's shard, in the order of the ranks.
    AllGather,
    /// Every rank gets its shard of the reduction of all ranks' buffers.
    ReduceScatter,
    /// Every rank gets, from every rank, the shard that is meant for it.
    AllToAll,
    /// No rank leaves before all have entered: every rank's signal reaches every other.
    Barrier,
    /// Every rank gets the reduction of the buffers of all ranks up to itself.
    Scan,
}

/// Describes the content of one chunk of a buffer: a chunk of one rank's input, or its reduction
/// over all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Content {
    /// Holds a copy of this rank's input.
    From {
        /// Names the rank whose input it is.
        rank: usize,
        /// Names the shard of that input.
        shard: usize,
    },
    /// The reduction of all ranks' inputs.
    Reduced {
        /// Names the shard of every input.
        shard: usize,
    },
    /// Holds the reduction of the inputs of the first ranks.
    ReducedTo {
        /// Names the last of them.
        rank: usize,
        /// Names the shard of their inputs.
        shard: usize,
    },
}

impl Collective {
    /// Lists the names of all collectives, in the order in which people are told of plans. A collective is no `Named`: it
    /// may have a root.
    pub const NAMES: [&str; 10] = [
        Kind::Broadcast.name(),
        Kind::Reduce.name(),
        Kind::Gather.name(),
        Kind::Scatter.name(),
        Kind::AllReduce.name(),
        Kind::AllGather.name(),
        Kind::ReduceScatter.name(),
        Kind::AllToAll.name(),
        Kind::Barrier.name(),
        Kind::Scan.name(),
    ];

    /// The collective of that name, however its words are joined (`all_reduce` and `allreduce`
    /// are all-reduce, too); those with a root get this one.
    #[must_use]
    pub fn named(name: &str, root: usize) -> Option<Self> {
        let joined = |name: &str| name.to_lowercase().replace(['-', '_'], "");
        let name = joined(name);
        let found = Kind::ALL.into_iter().find(|kind| joined(kind.name()) == name);
        found.map(|kind| Self::of_program(kind, root))
    }

    /// Returns the collective that a program calls this. `root` is a rank, and ignored where there
    /// is none.
    #[must_use]
    pub const fn of_program(kind: Kind, root: usize) -> Self {
        match kind {
            Kind::Broadcast => Self::Broadcast { root },
            Kind::Reduce => Self::Reduce { root },
            Kind::Gather => Self::Gather { root },
            Kind::Scatter => Self::Scatter { root },
            Kind::AllReduce => Self::AllReduce,
            Kind::AllGather => Self::AllGather,
            Kind::ReduceScatter => Self::ReduceScatter,
            Kind::AllToAll => Self::AllToAll,
            Kind::Barrier => Self::Barrier,
            Kind::Scan => Self::Scan,
        }
    }

    /// Returns its kind in a program.
    #[must_use]
    pub const fn kind(self) -> Kind {
        match self {
            Self::Broadcast { .. } => Kind::Broadcast,
            Self::Reduce { .. } => Kind::Reduce,
            Self::Gather { .. } => Kind::Gather,
            Self::Scatter { .. } => Kind::Scatter,
            Self::AllReduce => Kind::AllReduce,
            Self::AllGather => Kind::AllGather,
            Self::ReduceScatter => Kind::ReduceScatter,
            Self::AllToAll => Kind::AllToAll,
            Self::Barrier => Kind::Barrier,
            Self::Scan => Kind::Scan,
        }
    }

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Broadcast { .. } => "broadcast",
            Self::Reduce { .. } => "reduce",
            Self::Gather { .. } => "gather",
            Self::Scatter { .. } => "scatter",
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllToAll => "all-to-all",
            Self::Barrier => "barrier",
            Self::Scan => "scan",
        }
    }

    /// The rank that alone has, or gets, the data; `None` where all ranks are alike.
    #[must_use]
    pub const fn root(self) -> Option<usize> {
        match self {
            Self::Broadcast { root }
            | Self::Reduce { root }
            | Self::Gather { root }
            | Self::Scatter { root } => Some(root),
            _ => None,
        }
    }

    /// Whether values of different ranks are combined.
    #[must_use]
    pub const fn reduces(self) -> bool {
        matches!(
            self,
            Self::Reduce { .. }
                | Self::AllReduce
                | Self::ReduceScatter
                | Self::Barrier
                | Self::Scan
        )
    }

    /// Whether a rank's contribution may be combined more than once: a signal says only that its
    /// rank has arrived, however often it is heard.
    #[must_use]
    pub const fn may_repeat(self) -> bool {
        matches!(self, Self::Barrier)
    }

    /// How many shards a rank's input buffer has.
    #[must_use]
    pub fn input_shards(self, ranks: usize, rank: usize) -> usize {
        match self {
            Self::Broadcast { root } => usize::from(rank == root),
            Self::Scatter { root } => {
                if rank == root {
                    ranks
                } else {
                    0
                }
            }
            Self::Reduce { .. } | Self::Gather { .. } | Self::AllReduce | Self::AllGather => 1,
            Self::Barrier | Self::Scan => 1,
            Self::ReduceScatter | Self::AllToAll => ranks,
        }
    }

    /// How many shards a rank's output buffer has.
    #[must_use]
    pub fn output_shards(self, ranks: usize, rank: usize) -> usize {
        match self {
            Self::Broadcast { .. } | Self::Scatter { .. } | Self::AllReduce => 1,
            Self::ReduceScatter | Self::Barrier | Self::Scan => 1,
            Self::Reduce { root } => usize::from(rank == root),
            Self::Gather { root } => {
                if rank == root {
                    ranks
                } else {
                    0
                }
            }
            Self::AllGather | Self::AllToAll => ranks,
        }
    }

    /// Returns the content that a shard of a rank's output must have at the end.
    #[must_use]
    pub fn expected(self, rank: usize, shard: usize) -> Content {
        match self {
            Self::Broadcast { root } => Content::From { rank: root, shard: 0 },
            Self::Scatter { root } => Content::From { rank: root, shard: rank },
            Self::Gather { .. } | Self::AllGather => Content::From { rank: shard, shard: 0 },
            Self::AllToAll => Content::From { rank: shard, shard: rank },
            Self::Reduce { .. } | Self::AllReduce | Self::Barrier => Content::Reduced { shard: 0 },
            Self::Scan => Content::ReducedTo { rank, shard: 0 },
            Self::ReduceScatter => Content::Reduced { shard: rank },
        }
    }

    /// Returns where a rank's buffers overlap when the operation runs in place. This is the first
    /// shard of its input and the first of its output that are the same memory, and how many
    /// follow. It is `None` where the rank has only one of the two, or in-place operation is not
    /// defined.
    #[must_use]
    pub fn in_place_overlap(self, ranks: usize, rank: usize) -> Option<(usize, usize, usize)> {
        let inputs = self.input_shards(ranks, rank);
        let outputs = self.output_shards(ranks, rank);
        if self == Self::AllToAll || inputs == 0 || outputs == 0 {
            return None;
        }
        Some(match (inputs > 1, outputs > 1) {
            (true, false) => (rank, 0, 1),
            (false, true) => (0, rank, 1),
            _ => (0, 0, 1),
        })
    }

    /// Returns nccl-tests' factor from algorithm bandwidth to bus bandwidth ("PERFORMANCE.md").
    #[must_use]
    pub fn bus_factor(self, ranks: usize) -> f64 {
        let ranks = ranks as f64;
        match self {
            Self::Broadcast { .. } | Self::Reduce { .. } | Self::Barrier | Self::Scan => 1.0,
            Self::AllReduce => 2.0 * (ranks - 1.0) / ranks,
            Self::Gather { .. }
            | Self::Scatter { .. }
            | Self::AllGather
            | Self::ReduceScatter
            | Self::AllToAll => (ranks - 1.0) / ranks,
        }
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.root().map_or(Ok(()), |root| write!(f, " from or to rank {root}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_names_its_collective() {
        for name in Collective::NAMES {
            let collective = Collective::named(name, 2).unwrap();
            assert_eq!((collective.name(), collective.kind().name()), (name, name));
            assert_eq!(Collective::of_program(collective.kind(), 2), collective);
        }
        assert_eq!(Collective::named("allreduce", 0), Some(Collective::AllReduce));
        assert_eq!(Collective::named("reduce-all", 0), None);
    }

    #[test]
    fn ranks_with_one_shard_share_it_in_place() {
        assert_eq!(Collective::AllReduce.in_place_overlap(4, 2), Some((0, 0, 1)));
        assert_eq!(Collective::AllGather.in_place_overlap(4, 2), Some((0, 2, 1)));
        assert_eq!(Collective::ReduceScatter.in_place_overlap(4, 2), Some((2, 0, 1)));
        assert_eq!(Collective::Broadcast { root: 1 }.in_place_overlap(4, 2), None);
        assert_eq!(Collective::AllToAll.in_place_overlap(4, 2), None);
    }
}
