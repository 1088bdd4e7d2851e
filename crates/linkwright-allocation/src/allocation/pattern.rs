//! Describes application patterns: which of a job's ranks talk to which.
//!
//! A pattern is MAPA's application graph (Section 3.1, Fig. 8): vertices are the GPUs that
//! the job asks for, edges say that two of them communicate. Weights play no part.

use super::error::AllocationError;
use super::gpu_set::MAX_GPUS;
use super::shares::{EdgeShare, ShareTable};
use crate::diagnostic::{InputError, Named as _, Position};
use crate::program::{CollectiveKind, CopyDirection, Operation, Program, Rank};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Limits the edges of a list to any pair of 128 GPUs in both directions, several times.
pub const MOST_EDGES: usize = 100_000;

/// Names the shape of a pattern, as job files do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PatternShape {
    /// NCCL's ring; of two GPUs it is one edge.
    Ring,
    /// Stands for a line.
    Chain,
    /// Stands for a complete binary tree filled level by level, as NCCL's trees within a server.
    Tree,
    /// GPU 0 talks to every other, as a parameter server does.
    Star,
    /// Lets everybody talk to everybody.
    AllToAll,
    /// Joins the ring and the tree in one pattern (Fig. 8, right).
    RingTree,
    /// Stands for any other edges.
    Custom,
}

linkwright_ground::named_by_all!(PatternShape, "pattern");

impl PatternShape {
    /// The shapes that have a name.
    pub const ALL: [Self; 6] =
        [Self::Ring, Self::Chain, Self::Tree, Self::Star, Self::AllToAll, Self::RingTree];

    /// Gives the shape that it is on a number of GPUs: of few, several are a ring.
    #[must_use]
    pub const fn on(self, size: usize) -> Self {
        match self {
            Self::Chain | Self::Tree | Self::Star | Self::AllToAll if size <= 2 => Self::Ring,
            Self::AllToAll | Self::RingTree if size == 3 => Self::Ring,
            other => other,
        }
    }

    /// Counts the GPUs of the largest job with a pattern of this shape. All to all has half a million edges then.
    #[must_use]
    pub const fn most(self) -> usize {
        match self {
            Self::AllToAll => 1_024,
            Self::Custom => MAX_GPUS,
            _ => 65_536,
        }
    }

    /// Whether it stands for an all-reduce, as NCCL uses a ring, a tree, or both.
    #[must_use]
    pub const fn is_collective(self) -> bool {
        matches!(self, Self::Ring | Self::Tree | Self::RingTree)
    }

    /// Returns the name in job files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Chain => "chain",
            Self::Tree => "tree",
            Self::Star => "star",
            Self::AllToAll => "all-to-all",
            Self::RingTree => "ring+tree",
            Self::Custom => "custom",
        }
    }
}

/// Holds an application graph on vertices `0..size`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pattern {
    shape: PatternShape,
    size: usize,
    edges: Vec<(usize, usize)>,
    /// Holds what each edge carries, from its lower vertex and back; empty where all are alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shares: Vec<[u32; 2]>,
}

impl Pattern {
    /// Makes the named shape on `size` GPUs.
    ///
    /// # Errors
    /// A size of zero or above [`PatternShape::most`], or [`PatternShape::Custom`], which has edges of its own.
    pub fn new(shape: PatternShape, size: usize) -> Result<Self, AllocationError> {
        let most = shape.most();
        if size == 0 || size > most {
            return Err(AllocationError::PatternSize { size, most });
        }
        let chain = (1..size).map(|v| (v - 1, v));
        let ring = chain.clone().chain((size > 2).then(|| (0, size - 1)));
        let tree = (1..size).map(|v| ((v - 1) / 2, v));
        let edges: Vec<(usize, usize)> = match shape {
            PatternShape::Ring => ring.collect(),
            PatternShape::Chain => chain.collect(),
            PatternShape::Tree => tree.collect(),
            PatternShape::Star => (1..size).map(|v| (0, v)).collect(),
            PatternShape::AllToAll => (1..size).flat_map(|b| (0..b).map(move |a| (a, b))).collect(),
            PatternShape::RingTree => ring.chain(tree).collect(),
            PatternShape::Custom => {
                let unknown = PatternShape::unknown(shape.name());
                return Err(AllocationError::UnknownPattern(unknown));
            }
        };
        Ok(Self::with_shape(shape, size, edges))
    }

    /// A pattern from its edges; order, direction and repetition do not matter.
    ///
    /// # Errors
    /// A size of zero or above [`MAX_GPUS`], an edge to itself, or one that leaves `0..size`.
    pub fn from_edges(size: usize, edges: &[(usize, usize)]) -> Result<Self, AllocationError> {
        if size == 0 || size > MAX_GPUS {
            return Err(AllocationError::PatternSize { size, most: MAX_GPUS });
        }
        if let Some((a, b)) = edges.iter().find(|(a, b)| a == b || *a >= size || *b >= size) {
            return Err(AllocationError::PatternEdge { a: *a, b: *b, size });
        }
        Ok(Self::with_shape(PatternShape::Custom, size, edges.to_vec()))
    }

    /// Makes the pattern of a program: an edge joins each two ranks that exchange data. They do so
    /// by messages, by copies, or as neighbours in what a collective makes of its ranks. Edges
    /// carry shares as their bytes do, a main loop counted once; a ring stands for an all-reduce,
    /// whatever goes round it.
    ///
    /// A collective that combines or spreads data is NCCL's ring over its communicator (MAPA,
    /// Section 3.1). One with a part for each rank at a root is a star, an all-to-all joins all, a
    /// scan is a chain. An operation that carries no data, as a barrier or a signal, has no edge.
    ///
    /// # Errors
    /// Refuses more ranks than [`MAX_GPUS`].
    pub fn of_program(program: &Program) -> Result<Self, AllocationError> {
        Self::exchanged(program)?.of_what_runs()
    }

    /// Sums up the bytes that each rank of a program sends to each other, a main loop counted once.
    ///
    /// # Errors
    /// Fails as [`Self::of_program`] does.
    pub(super) fn exchanged(program: &Program) -> Result<ShareTable, AllocationError> {
        let size = program.ranks.len();
        if size == 0 || size > MAX_GPUS {
            return Err(AllocationError::PatternSize { size, most: MAX_GPUS });
        }
        let mut traffic = ShareTable::new(size);
        let mut join = |from: Rank, to: Rank, bytes: f64| {
            if from != to {
                traffic.add(from as usize, to as usize, bytes);
            }
        };
        for (rank, operations) in (0..).zip(&program.ranks) {
            for operation in operations.operations() {
                if operation.size() == Bytes(0) {
                    continue;
                }
                let bytes = operation.size().0 as f64;
                match *operation {
                    Operation::Send { to, .. } => join(rank, to, bytes),
                    Operation::Copy { direction: CopyDirection::Peer(to), .. } => {
                        join(rank, to, bytes);
                    }
                    Operation::Collective { kind, root, communicator, .. } => {
                        // Each rank calls it; the first one's call counts for all.
                        let ranks = &program.communicators[communicator as usize];
                        if ranks.first() == Some(&rank) {
                            joined(kind, (root, bytes), ranks, &mut join);
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(traffic)
    }

    fn with_shape(shape: PatternShape, size: usize, mut edges: Vec<(usize, usize)>) -> Self {
        for edge in &mut edges {
            *edge = (edge.0.min(edge.1), edge.0.max(edge.1));
        }
        edges.sort_unstable();
        edges.dedup();
        // Equal graphs get one form, so that the fast ways serve an edge list as well.
        let shape = match shape {
            PatternShape::Custom if is_cycle_or_edge(size, &edges) => PatternShape::Ring,
            PatternShape::Custom if edges.len() == size * (size - 1) / 2 => PatternShape::AllToAll,
            other => other.on(size),
        };
        Self { shape, size, edges, shares: Vec::new() }
    }

    /// Reads an edge list: a line per edge, two vertex numbers from zero, `#` for comments. Behind
    /// them may stand one or two numbers. The edge carries a single number both ways. Of two
    /// numbers the first goes from the first vertex to the second, and the second goes back. Where
    /// none stands, the edge carries one.
    ///
    /// # Errors
    /// Anything else on a line, an edge to itself, more than [`MOST_EDGES`] edges, or shares that
    /// are no numbers from zero. A number that is skipped is an error, too: the vertices must be
    /// `0..size` without a gap.
    pub fn read_edge_list(file: &str, text: &str) -> Result<Self, AllocationError> {
        let mut edges: Vec<EdgeShare> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or_default();
            let fields: Vec<&str> = content.split_whitespace().collect();
            if fields.is_empty() {
                continue;
            }
            let position = |field: &str| {
                let offset = field.as_ptr() as usize - line.as_ptr() as usize;
                Position { line: index + 1, column: line[..offset].chars().count() + 1 }
            };
            let refuse = |field: &str, problem: &str| {
                let remedy = "write two different vertex numbers from zero, as in `0 1`";
                InputError::at(file, position(field), problem, field, remedy)
            };
            let [a, b, ref shares @ ..] = fields[..] else {
                return Err(refuse(fields[0], "not an edge").into());
            };
            if edges.len() == MOST_EDGES {
                let remedy = "write each pair once; 128 GPUs have 8,128";
                let problem = "more edges than a pattern has";
                return Err(InputError::at(file, position(a), problem, content, remedy).into());
            }
            let vertex = |field: &str| match field.parse::<usize>() {
                Ok(vertex) if vertex < MAX_GPUS => Ok(vertex),
                _ => Err(refuse(field, "not a vertex number below 128")),
            };
            let (from, to) = (vertex(a)?, vertex(b)?);
            if from == to {
                return Err(refuse(b, "an edge from a vertex to itself").into());
            }
            let share = |field: &str| match field.parse::<f64>() {
                Ok(share) if share.is_finite() && share >= 0.0 => Ok(share),
                _ => {
                    let remedy = "write a number from zero, such as `2.5`, or none";
                    Err(InputError::at(file, position(field), "not a share", field, remedy))
                }
            };
            edges.push(match shares {
                [] => EdgeShare::both(from, to, 1.0),
                [both] => EdgeShare::both(from, to, share(both)?),
                [forth, back] => {
                    EdgeShare { a: from, b: to, forth: share(forth)?, back: share(back)? }
                }
                [_, _, more, ..] => {
                    return Err(refuse(more, "more than an edge and its two shares").into());
                }
            });
        }
        let size = edges.iter().map(|edge| edge.a.max(edge.b) + 1).max().unwrap_or(0);
        let used = |vertex: &usize| edges.iter().any(|it| it.a == *vertex || it.b == *vertex);
        if let Some(gap) = (0..size.max(1)).find(|vertex| !used(vertex)) {
            let problem = if size == 0 { "no edge in the file" } else { "a vertex without edges" };
            let remedy = "number the vertices from zero without a gap";
            let start = Position { line: 1, column: 1 };
            let error = InputError::at(file, start, problem, &gap.to_string(), remedy);
            return Err(error.into());
        }
        Self::of_list(size, &edges)
    }

    /// The same with what each edge carries; nothing where all carry the same.
    pub(super) fn carrying(self, shares: Vec<[u32; 2]>) -> Self {
        let shape = if shares.is_empty() { self.shape } else { PatternShape::Custom };
        Self { shape, shares, ..self }
    }

    /// Gives what each edge carries, from its lower vertex and back, of
    /// [`WHOLE`](super::shares::WHOLE); empty where all carry the same.
    #[must_use]
    pub fn shares(&self) -> &[[u32; 2]] {
        &self.shares
    }

    /// The shape; an edge list that is a ring counts as one.
    #[must_use]
    pub const fn shape(&self) -> PatternShape {
        self.shape
    }

    /// How many GPUs the job needs.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Returns the edges, each once, lower vertex first, sorted.
    #[must_use]
    pub fn edges(&self) -> &[(usize, usize)] {
        &self.edges
    }
}

/// Joins what a collective of some bytes makes neighbours of, with what each sends.
fn joined(
    kind: CollectiveKind,
    (root, bytes): (Rank, f64),
    ranks: &[Rank],
    join: &mut impl FnMut(Rank, Rank, f64),
) {
    let chain = ranks.windows(2);
    let count = ranks.len() as f64;
    match kind {
        CollectiveKind::Barrier => {}
        CollectiveKind::Gather => ranks.iter().for_each(|rank| join(*rank, root, bytes)),
        CollectiveKind::Scatter => ranks.iter().for_each(|rank| join(root, *rank, bytes)),
        CollectiveKind::AllToAll => {
            for from in ranks {
                ranks.iter().for_each(|to| join(*from, *to, bytes));
            }
        }
        CollectiveKind::Scan => chain.for_each(|pair| join(pair[0], pair[1], bytes)),
        CollectiveKind::Broadcast
        | CollectiveKind::Reduce
        | CollectiveKind::AllReduce
        | CollectiveKind::AllGather
        | CollectiveKind::ReduceScatter => {
            // A rank of a ring sends this to the next.
            let sent = match kind {
                CollectiveKind::AllReduce => bytes * 2.0 * (count - 1.0) / count,
                // Each rank has a part of its own, and gets those of all others.
                CollectiveKind::AllGather => bytes * (count - 1.0),
                CollectiveKind::ReduceScatter => bytes * (count - 1.0) / count,
                _ => bytes,
            };
            chain.for_each(|pair| join(pair[0], pair[1], sent));
            if let [first, .., last] = ranks {
                join(*last, *first, sent);
            }
        }
    }
}

fn is_cycle_or_edge(size: usize, edges: &[(usize, usize)]) -> bool {
    if size <= 2 {
        return edges.len() == size - 1;
    }
    if edges.len() != size {
        return false;
    }
    let neighbours = |v: usize| {
        let ends = edges.iter().filter(move |(a, b)| *a == v || *b == v);
        ends.map(move |(a, b)| a + b - v)
    };
    if (0..size).any(|v| neighbours(v).count() != 2) {
        return false;
    }
    let (mut before, mut at, mut length) = (usize::MAX, 0, 0);
    loop {
        let Some(next) = neighbours(at).find(|v| *v != before) else { return false };
        (before, at, length) = (at, next, length + 1);
        if at == 0 {
            return length == size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{RankBuilder, WORLD};

    #[test]
    fn shapes_have_the_edges_of_the_paper() {
        let edges = |shape, size| Pattern::new(shape, size).unwrap().edges().len();
        assert_eq!(edges(PatternShape::Ring, 1), 0);
        assert_eq!(edges(PatternShape::Ring, 2), 1);
        assert_eq!(edges(PatternShape::Ring, 5), 5);
        assert_eq!(edges(PatternShape::Chain, 5), 4);
        assert_eq!(edges(PatternShape::Tree, 7), 6);
        assert_eq!(edges(PatternShape::Star, 5), 4);
        assert_eq!(edges(PatternShape::AllToAll, 5), 10);
        assert_eq!(edges(PatternShape::RingTree, 5), 8);
    }

    #[test]
    fn a_program_joins_what_exchanges_data() {
        let program = |operations: &[Vec<Operation>]| {
            let rank = |operations: &Vec<Operation>| {
                let mut rank = RankBuilder::default();
                operations.iter().for_each(|operation| {
                    rank.run(*operation);
                });
                rank.finish()
            };
            let ranks: Vec<_> = operations.iter().map(rank).collect();
            let communicators = vec![(0..ranks.len() as Rank).collect(), vec![1, 2]];
            Program { name: String::new(), communicators, regions: Vec::new(), ranks }
        };
        let send = |to, size| {
            let (tag, communicator, route) = (0, WORLD, Default::default());
            Operation::Send { to, tag, communicator, size: Bytes(size), route }
        };
        let call = |kind, communicator| Operation::Collective {
            kind,
            root: 0,
            communicator,
            size: Bytes(8),
        };
        let copy = |to| {
            let (direction, route) = (CopyDirection::Peer(to), Default::default());
            Operation::Copy { direction, size: Bytes(8), route }
        };
        let found = |operations: &[Vec<Operation>]| {
            Pattern::of_program(&program(operations)).unwrap().edges().to_vec()
        };
        assert_eq!(found(&[vec![send(2, 8), send(1, 0)], vec![], vec![]]), [(0, 2)]);
        assert_eq!(found(&[vec![], vec![copy(0)], vec![]]), [(0, 1)]);
        let of_all =
            |kind, ranks| Pattern::of_program(&program(&vec![vec![call(kind, WORLD)]; ranks]));
        assert_eq!(of_all(CollectiveKind::AllReduce, 5).unwrap().shape(), PatternShape::Ring);
        assert_eq!(of_all(CollectiveKind::AllToAll, 5).unwrap().shape(), PatternShape::AllToAll);
        assert_eq!(of_all(CollectiveKind::Gather, 4).unwrap().edges(), [(0, 1), (0, 2), (0, 3)]);
        assert_eq!(of_all(CollectiveKind::Barrier, 3).unwrap().edges(), []);
        assert!(of_all(CollectiveKind::AllReduce, 129).is_err());
        let some = vec![call(CollectiveKind::AllReduce, 1)];
        assert_eq!(found(&[vec![], some.clone(), some, vec![]]), [(1, 2)]);
    }

    #[test]
    fn an_edge_list_that_is_a_ring_is_a_ring() {
        let ring = Pattern::read_edge_list("ring", "2 0\n0 3 # back\n\n3 1\n1 2\n").unwrap();
        assert_eq!((ring.shape(), ring.size()), (PatternShape::Ring, 4));
        let two_triangles = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)];
        let apart = Pattern::from_edges(6, &two_triangles).unwrap();
        assert_eq!(apart.shape(), PatternShape::Custom);
    }

    #[test]
    fn bad_edge_lists_name_the_place() {
        for (text, place) in [
            ("0 1\n1 x\n", "2:3"),
            ("0 1 2 3 4\n", "1:9"),
            ("0 1 -2\n", "1:5"),
            ("0 1 2 nan\n", "1:7"),
            ("0 1 much\n", "1:5"),
            ("0\n", "1:1"),
            ("1 1\n", "1:3"),
            ("0 2\n", "1:1"),
            ("", "1:1"),
            ("0 999\n", "1:3"),
        ] {
            let error = Pattern::read_edge_list("e.txt", text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("e.txt:{place}: ")), "{text:?}: {error}");
        }
    }
}
