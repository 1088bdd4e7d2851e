//! Says how much each edge of a pattern carries of its traffic.
//!
//! MAPA's weights play no part in matching. Here an edge's share says how much of the job's data
//! crosses it, from its lower vertex to the other and back. It is the same on all edges, or what
//! counters, a program or a person say.

use super::error::AllocationError;
use super::pattern::{MOST_EDGES, Pattern, PatternShape};

/// The share of the edge that carries the most, in the direction in which it does.
pub const WHOLE: u32 = 1 << 16;

/// Shares of at least this beside a whole one are taken for equal where they were counted.
const EVEN: u32 = WHOLE / 100 * 98;

/// How much crosses an edge between two vertices, in any unit that all edges of a pattern have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EdgeShare {
    /// Names one vertex.
    pub a: usize,
    /// Names the other.
    pub b: usize,
    /// Counts what goes from the first to the second.
    pub forth: f64,
    /// Counts what goes back.
    pub back: f64,
}

impl EdgeShare {
    /// Gives as much in both directions.
    #[must_use]
    pub const fn both(a: usize, b: usize, share: f64) -> Self {
        Self { a, b, forth: share, back: share }
    }

    /// Says whether something may carry it.
    fn is_sound(share: f64) -> bool {
        share.is_finite() && share >= 0.0
    }
}

/// Holds the sums of directed shares between vertices, by rows.
#[derive(Debug, Clone)]
pub(super) struct ShareTable {
    size: usize,
    shares: Vec<f64>,
}

impl ShareTable {
    pub(super) fn new(size: usize) -> Self {
        Self { size, shares: vec![0.0; size * size] }
    }

    pub(super) fn add(&mut self, from: usize, to: usize, share: f64) {
        self.shares[from * self.size + to] += share;
    }

    /// The pairs between which something goes, with what goes forth and back.
    pub(super) fn edges(&self) -> impl Iterator<Item = ((usize, usize), [f64; 2])> + '_ {
        let pairs = (0..self.size).flat_map(|a| (a + 1..self.size).map(move |b| (a, b)));
        let share = |from: usize, to: usize| self.shares[from * self.size + to];
        pairs
            .map(move |(a, b)| ((a, b), [share(a, b), share(b, a)]))
            .filter(|(_, [forth, back])| *forth > 0.0 || *back > 0.0)
    }

    /// The pattern of what a program or counters show. A ring is one whatever goes round it: it stands for an all-reduce.
    /// Shares that differ by less than counters read at two instants do are equal.
    ///
    /// # Errors
    /// Fails as [`Pattern::from_edges`] does.
    pub(super) fn of_what_runs(&self) -> Result<Pattern, AllocationError> {
        let edges: Vec<_> = self.edges().map(|(edge, _)| edge).collect();
        let pattern = Pattern::from_edges(self.size, &edges)?;
        let carrying = self.pattern()?;
        let is_even = carrying.shares().iter().flatten().all(|part| *part >= EVEN);
        Ok(if pattern.is_collective() || is_even { pattern } else { carrying })
    }

    /// The pattern of what goes between the vertices.
    ///
    /// # Errors
    /// Fails as [`Pattern::from_edges`] does.
    pub(super) fn pattern(&self) -> Result<Pattern, AllocationError> {
        let (edges, shares): (Vec<_>, Vec<_>) = self.edges().unzip();
        let pattern = Pattern::from_edges(self.size, &edges)?;
        Ok(pattern.carrying(relative(&shares)))
    }
}

/// Shares as parts of the largest, of [`WHOLE`]; none where all are equal.
fn relative(shares: &[[f64; 2]]) -> Vec<[u32; 2]> {
    let largest = shares.iter().flatten().copied().fold(0.0, f64::max);
    let part = |share: f64| match share > 0.0 {
        true => ((share / largest * f64::from(WHOLE)).round() as u32).max(1),
        false => 0,
    };
    let parts: Vec<[u32; 2]> = shares.iter().map(|share| share.map(part)).collect();
    if parts.iter().flatten().all(|part| *part == WHOLE) { Vec::new() } else { parts }
}

impl Pattern {
    /// A pattern whose edges carry these shares; those of one pair add up, and an edge that carries nothing is none.
    ///
    /// # Errors
    /// As [`Self::from_edges`]; a share that is negative or no number.
    pub fn with_shares(size: usize, edges: &[EdgeShare]) -> Result<Self, AllocationError> {
        let pairs: Vec<_> = edges.iter().map(|edge| (edge.a, edge.b)).collect();
        Self::from_edges(size, &pairs)?;
        let mut table = ShareTable::new(size);
        for EdgeShare { a, b, forth, back } in edges.iter().copied() {
            if let Some(share) = [forth, back].into_iter().find(|it| !EdgeShare::is_sound(*it)) {
                return Err(AllocationError::Share { a, b, share: share.to_string() });
            }
            table.add(a, b, forth);
            table.add(b, a, back);
        }
        table.pattern()
    }

    /// As [`Self::with_shares`], of a list in which an edge may stand twice where all carry the same.
    pub(super) fn of_list(size: usize, edges: &[EdgeShare]) -> Result<Self, AllocationError> {
        if edges.iter().any(|edge| edge.forth != 1.0 || edge.back != 1.0) {
            return Self::with_shares(size, edges);
        }
        let pairs: Vec<_> = edges.iter().map(|edge| (edge.a, edge.b)).collect();
        Self::from_edges(size, &pairs)
    }

    /// Reads the edges of a pattern from one line, between vertices below `size`, such as
    /// `0-1 1-2:3 2-3:1/0.5`. Each may say what it carries both ways, or forth and back. It carries
    /// one where nothing is said.
    ///
    /// # Errors
    /// As [`Self::with_shares`]; a word that is no such edge.
    pub fn read_edges(size: usize, text: &str) -> Result<Self, AllocationError> {
        let edge = |word: &str| {
            let (ends, shares) = word.split_once(':').unwrap_or((word, "1"));
            let (a, b) = ends.split_once('-')?;
            let (forth, back) = shares.split_once('/').unwrap_or((shares, shares));
            let share = |text: &str| text.parse().ok().filter(|share| EdgeShare::is_sound(*share));
            Some(EdgeShare {
                a: a.parse().ok()?,
                b: b.parse().ok()?,
                forth: share(forth)?,
                back: share(back)?,
            })
        };
        let mut edges = Vec::new();
        for word in text.split_whitespace() {
            if edges.len() == MOST_EDGES {
                return Err(AllocationError::TooManyEdges);
            }
            let refused = || AllocationError::EdgeText { word: word.to_owned() };
            edges.push(edge(word).ok_or_else(refused)?);
        }
        Self::of_list(size, &edges)
    }

    /// Writes the edges so that [`Self::read_edges`] gives back an equal pattern.
    #[must_use]
    pub fn edges_text(&self) -> String {
        let word = |(at, (a, b)): (usize, &(usize, usize))| match self.shares().get(at) {
            None => format!("{a}-{b}"),
            Some([forth, back]) => format!("{a}-{b}:{forth}/{back}"),
        };
        let words: Vec<String> = self.edges().iter().enumerate().map(word).collect();
        words.join(" ")
    }

    /// Gives the part between its first vertices, `size` in number.
    ///
    /// # Errors
    /// Fails as [`Self::from_edges`] does.
    pub fn first(&self, size: usize) -> Result<Self, AllocationError> {
        let mut table = ShareTable::new(size);
        for (edge, (a, b)) in self.edges().iter().enumerate().filter(|(_, (_, b))| *b < size) {
            let [forth, back] = self.share(edge).map(f64::from);
            table.add(*a, *b, forth);
            table.add(*b, *a, back);
        }
        table.pattern()
    }

    /// Gives the pattern of a part of the job: a named shape again, or the edges among the first vertices.
    ///
    /// # Errors
    /// Fails as [`Self::new`] does.
    pub fn on(&self, size: usize) -> Result<Self, AllocationError> {
        match self.shape() {
            _ if size == self.size() => Ok(self.clone()),
            PatternShape::Custom => self.first(size),
            shape => Self::new(shape, size),
        }
    }

    /// Gives what an edge carries from its lower vertex to the other and back, of [`WHOLE`].
    #[must_use]
    pub fn share(&self, edge: usize) -> [u32; 2] {
        self.shares().get(edge).copied().unwrap_or([WHOLE; 2])
    }

    /// Says whether two vertices carry the same to and from all others, and between them the same in both directions.
    #[must_use]
    pub(super) fn may_change_places(&self, a: usize, b: usize) -> bool {
        if self.shares().is_empty() {
            return true;
        }
        let [forth, back] = self.carried(a, b);
        let others = (0..self.size()).filter(|other| ![a, b].contains(other));
        forth == back && others.into_iter().all(|it| self.carried(a, it) == self.carried(b, it))
    }

    /// Gives what goes from one vertex to another and back.
    fn carried(&self, from: usize, to: usize) -> [u32; 2] {
        let Some(edge) = self.edge_between(from, to) else { return [0; 2] };
        let [forth, back] = self.share(edge);
        if from < to { [forth, back] } else { [back, forth] }
    }

    /// Finds the number of the edge between two vertices.
    #[must_use]
    pub(super) fn edge_between(&self, a: usize, b: usize) -> Option<usize> {
        self.edges().binary_search(&(a.min(b), a.max(b))).ok()
    }

    /// Whether it stands for an all-reduce: a ring, a tree, or both, as NCCL uses them. Other patterns are judged by
    /// their edges.
    #[must_use]
    pub const fn is_collective(&self) -> bool {
        self.shape().is_collective()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::allocation::PatternShape;

    #[test]
    fn shares_are_parts_of_the_largest() {
        let edges = [EdgeShare::both(1, 0, 2.0), EdgeShare { a: 2, b: 1, forth: 8.0, back: 0.0 }];
        let pattern = Pattern::with_shares(3, &edges).unwrap();
        assert_eq!(pattern.edges(), [(0, 1), (1, 2)]);
        assert_eq!([pattern.share(0), pattern.share(1)], [[WHOLE / 4; 2], [0, WHOLE]]);
        assert!(!pattern.is_collective());
    }

    #[test]
    fn equal_shares_are_those_of_the_shape() {
        let chain = [(0, 1), (1, 2), (2, 3)].map(|(a, b)| EdgeShare::both(a, b, 3.0));
        let edges = Pattern::from_edges(4, &[(0, 1), (1, 2), (2, 3)]).unwrap();
        assert_eq!(Pattern::with_shares(4, &chain).unwrap(), edges);
    }

    #[test]
    fn a_ring_of_other_shares_is_no_collective() {
        let ring = |last| {
            let edges = [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (0, 3, last)];
            let edges = edges.map(|(a, b, share)| EdgeShare::both(a, b, share));
            Pattern::with_shares(4, &edges).unwrap()
        };
        assert_eq!(ring(1.0).shape(), PatternShape::Ring);
        assert_eq!(ring(2.0).shape(), PatternShape::Custom);
    }

    #[test]
    fn edges_of_a_line_read_back() {
        for text in ["0-1 1-2", "0-1:3 1-2:1/0.5 0-3", "2-0:1/0"] {
            let pattern = Pattern::read_edges(4, text).unwrap();
            assert_eq!(Pattern::read_edges(4, &pattern.edges_text()), Ok(pattern), "{text}");
        }
        for text in ["0", "0-1:-3", "0-1:inf", "0-x", "0-1:1/", "0-9"] {
            assert!(Pattern::read_edges(4, text).is_err(), "{text}");
        }
        let many = "0-1 ".repeat(MOST_EDGES + 1);
        assert_eq!(Pattern::read_edges(4, &many), Err(AllocationError::TooManyEdges));
        let whole = Pattern::read_edges(4, "0-1 1-2:2 2-3").unwrap();
        assert_eq!(whole.first(2), Pattern::read_edges(2, "0-1"));
    }

    proptest! {
        #[test]
        fn any_edges_read_or_are_refused(text in "\\PC*", damaged in "[0-9:/.e -]{0,40}") {
            let _ = Pattern::read_edges(4, &text);
            let _ = Pattern::read_edges(4, &damaged);
            let _ = Pattern::read_edge_list("", &damaged.replace(':', "\n"));
        }
    }

    #[test]
    fn shares_that_nothing_carries_are_refused() {
        for share in [-1.0, f64::NAN, f64::INFINITY] {
            let error = Pattern::with_shares(2, &[EdgeShare::both(0, 1, share)]).unwrap_err();
            assert!(error.to_string().contains("edge 0-1"), "{error}");
        }
        let none = Pattern::with_shares(2, &[EdgeShare::both(0, 1, 0.0)]).unwrap();
        assert!(none.edges().is_empty());
    }
}
