//! Gives Python `linkwright.Pattern`.

use linkwright::allocation::counters::{EdgeTraffic, pattern_from_counters};
use linkwright::allocation::shares::WHOLE;
use linkwright::allocation::traffic::traffic_of_program;
use linkwright::allocation::{self, EdgeShare, MAX_GPUS, PatternShape};
use linkwright::diagnostic::{Diagnosis, Named as _};
use pyo3::prelude::*;

use crate::argument::given;
use crate::errors;
use crate::program::Program;
use crate::system::System;

/// Holds an edge's two vertices and the bytes from the first to the second and back.
type Traffic = (usize, usize, u64, u64);

fn tuple_of(edge: &EdgeTraffic) -> Traffic {
    (edge.a, edge.b, edge.bytes_a_to_b.0, edge.bytes_b_to_a.0)
}

/// Says which of a job's GPUs talk to which: MAPA's application graph.
///
/// Examples:
///     >>> from linkwright import Pattern
///     >>> Pattern("ring", 4).edges
///     [(0, 1), (0, 3), (1, 2), (2, 3)]
#[pyclass(frozen, eq, hash, module = "linkwright.allocation")]
#[derive(PartialEq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Pattern(pub allocation::Pattern);

#[pymethods]
impl Pattern {
    /// Makes a named shape (see `pattern_names`) on `size` GPUs.
    ///
    /// Raises:
    ///     AllocationError: If the shape is unknown or the size is not 1 to 65,536; of `all-to-all`, 1,024.
    #[new]
    #[pyo3(signature = (shape: "PatternName", size: "int"))]
    fn new(
        #[pyo3(from_py_with = given)] shape: &str,
        #[pyo3(from_py_with = given)] size: i128,
    ) -> PyResult<Self> {
        let shape = PatternShape::from_name(shape).map_err(errors::allocation_choice)?;
        let size = pattern_size(size, shape.most())?;
        allocation::Pattern::new(shape, size).map(Self).map_err(errors::allocation)
    }

    /// Makes a pattern of its own: edges between vertices 0 to `size` - 1.
    ///
    /// Raises:
    ///     AllocationError: If an edge is no edge of such a graph.
    #[staticmethod]
    #[pyo3(signature = (size: "int", edges: "Sequence[tuple[int, int]]"))]
    fn from_edges(
        #[pyo3(from_py_with = given)] size: i128,
        #[pyo3(from_py_with = given)] edges: Vec<(i128, i128)>,
    ) -> PyResult<Self> {
        let size = pattern_size(size, MAX_GPUS)?;
        let edge = |(a, b): &(i128, i128)| edge_of(size, *a, *b);
        let edges: Vec<(usize, usize)> = edges.iter().map(edge).collect::<PyResult<_>>()?;
        allocation::Pattern::from_edges(size, &edges).map(Self).map_err(errors::allocation)
    }

    /// Makes a pattern of its own whose edges carry shares of its traffic.
    ///
    /// Args:
    ///     size: The number of its vertices.
    ///     edges: Two vertices each, and the traffic from the first to the second and back. It is
    ///         in any one unit; edges of one pair add up.
    ///
    /// Raises:
    ///     AllocationError: If an edge is no edge of such a graph, or a share is negative or no number.
    #[staticmethod]
    #[pyo3(signature = (size: "int", edges: "Sequence[tuple[int, int, float, float]]"))]
    fn with_shares(
        #[pyo3(from_py_with = given)] size: i128,
        #[pyo3(from_py_with = given)] edges: Vec<(i128, i128, f64, f64)>,
    ) -> PyResult<Self> {
        let size = pattern_size(size, MAX_GPUS)?;
        let edge = |(a, b, forth, back): &(i128, i128, f64, f64)| {
            let (a, b) = edge_of(size, *a, *b)?;
            Ok(EdgeShare { a, b, forth: *forth, back: *back })
        };
        let edges: Vec<EdgeShare> = edges.iter().map(edge).collect::<PyResult<_>>()?;
        allocation::Pattern::with_shares(size, &edges).map(Self).map_err(errors::allocation)
    }

    /// Reads a line per edge: two vertex numbers from zero, `#` for comments.
    ///
    /// Behind them may stand what the edge carries of the traffic, both ways, or forth and back.
    ///
    /// Raises:
    ///     InputError: If a line is no edge, with its place.
    #[staticmethod]
    #[pyo3(signature = (text: "str", file: "str" = "<text>"))]
    fn from_edge_list(
        #[pyo3(from_py_with = given)] text: &str,
        #[pyo3(from_py_with = given)] file: &str,
    ) -> PyResult<Self> {
        allocation::Pattern::read_edge_list(file, text).map(Self).map_err(errors::allocation)
    }

    /// Makes the pattern of a program: which of its ranks exchange data.
    ///
    /// Messages and copies between GPUs join two ranks. A collective joins the neighbours in NCCL's
    /// ring over its ranks, or all of them where each has a part for each.
    ///
    /// Raises:
    ///     AllocationError: If the program has more than 128 ranks.
    #[staticmethod]
    #[pyo3(signature = (program: "Program"))]
    fn from_program(#[pyo3(from_py_with = given)] program: &Program) -> PyResult<Self> {
        allocation::Pattern::of_program(&program.0).map(Self).map_err(errors::allocation)
    }

    /// Says what the ranks of a program send each other over the edges of its pattern.
    ///
    /// Returns:
    ///     For each edge of `from_program` both vertices and the bytes that go from the first to the
    ///     second and back. A collective counts as its ring, star or chain carries it, a main loop once.
    ///
    /// Raises:
    ///     AllocationError: If the program has more than 128 ranks.
    #[staticmethod]
    #[pyo3(signature = (program: "Program"))]
    fn traffic_of_program(
        #[pyo3(from_py_with = given)] program: &Program,
    ) -> PyResult<Vec<Traffic>> {
        let found = traffic_of_program(&program.0).map_err(errors::allocation)?;
        Ok(found.iter().map(tuple_of).collect())
    }

    /// Finds the pattern that two snapshots of `nvidia-smi nvlink` counters show.
    ///
    /// Args:
    ///     before: The earlier snapshot: its file's name and its text.
    ///     after: The later one.
    ///     system: Whose counters they are.
    ///
    /// Returns:
    ///     The pattern, the GPU of each of its vertices, and each edge's traffic: both its
    ///     vertices, the bytes that went from the first to the second, and those that went back.
    ///
    /// Raises:
    ///     InputError: If a line is no counter, a counter went backwards, or the traffic
    ///         fits no pattern or several.
    #[staticmethod]
    #[pyo3(signature = (before: "tuple[str, str]", after: "tuple[str, str]", system: "System"))]
    fn from_counters(
        #[pyo3(from_py_with = given)] before: (String, String),
        #[pyo3(from_py_with = given)] after: (String, String),
        #[pyo3(from_py_with = given)] system: &System,
    ) -> PyResult<(Self, Vec<usize>, Vec<Traffic>)> {
        let server = system.listed()?;
        let derived = pattern_from_counters((&before.0, &before.1), (&after.0, &after.1), &server)
            .map_err(errors::allocation)?;
        let traffic = derived.traffic.iter().map(tuple_of).collect();
        Ok((Self(derived.pattern), derived.gpus, traffic))
    }

    /// The shape's name; an edge list that is a ring counts as one.
    #[getter]
    fn shape(&self) -> &'static str {
        self.0.shape().name()
    }

    /// How many GPUs it needs.
    #[getter]
    fn size(&self) -> usize {
        self.0.size()
    }

    /// Gives its edges, each once, lower vertex first.
    #[getter]
    fn edges(&self) -> Vec<(usize, usize)> {
        self.0.edges().to_vec()
    }

    /// Gives what each edge carries from its lower vertex and back, as a part of the most.
    #[getter]
    fn shares(&self) -> Vec<(f64, f64)> {
        let part = |share: u32| f64::from(share) / f64::from(WHOLE);
        let of = |edge| self.0.share(edge).map(part);
        (0..self.0.edges().len()).map(of).map(|[forth, back]| (forth, back)).collect()
    }

    /// Whether it stands for an all-reduce: a ring, a tree, or both, as NCCL uses them.
    #[getter]
    fn is_collective(&self) -> bool {
        self.0.is_collective()
    }

    fn __repr__(&self) -> String {
        let (shape, size, edges) = (self.shape(), self.size(), self.0.edges().len());
        format!("<Pattern {shape:?}: {size} GPUs, {edges} edges>")
    }
}

/// Gives the vertices of an edge, which must lie below `size`.
fn edge_of(size: usize, a: i128, b: i128) -> PyResult<(usize, usize)> {
    let vertex = |value: i128| usize::try_from(value).ok().filter(|vertex| *vertex < size);
    vertex(a).zip(vertex(b)).ok_or_else(|| {
        errors::allocation_choice(Diagnosis::of(format!(
            "edge {a}-{b} does not join two different vertices from 0 to {}",
            size.saturating_sub(1)
        )))
    })
}

/// The number of a pattern's GPUs; the core says which it takes.
fn pattern_size(size: i128, most: usize) -> PyResult<usize> {
    usize::try_from(size).map_err(|_| {
        errors::allocation_choice(
            Diagnosis::of(format!("a pattern of {size} GPUs cannot be placed"))
                .remedy(format!("ask for 1 to {most}")),
        )
    })
}

/// The shapes that `Pattern` knows by name.
#[pyfunction]
#[pyo3(signature = () -> "list[PatternName]")]
pub fn pattern_names() -> Vec<&'static str> {
    PatternShape::names()
}
