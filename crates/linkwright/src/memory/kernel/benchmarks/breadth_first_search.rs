//! Breadth-first search, a level at each launch (SHOC): half a wavefront takes 32 nodes, one after
//! another; where a node is of the level before, its 32 lanes look at the neighbours together.
//!
//! Which neighbours are looked at depends on the graph alone, so the host finds the levels first,
//! and the same addresses are touched with data and without. What is loaded decides nothing: old
//! copies of levels, which leases in logical time may leave behind a launch, change no answer.

use std::convert::Infallible;
use std::rc::Rc;

use super::{Fact, KernelWorkload, Layout, Setting};
use crate::memory::kernel::{LANES, Launch, Mismatch, Wavefront};

/// Lanes that look at a node's neighbours together, and nodes that they take.
const HALF: usize = LANES / 2;
/// Wavefronts of a group.
const WAVEFRONTS: u64 = 4;
/// Edges of a node, in the mean.
const DEGREE: u64 = 6;
/// The level of a node that is not reached.
const UNREACHED: u32 = u32::MAX;

pub(super) const FACT: Fact = Fact {
    what: "breadth-first search, 6 edges a node",
    size: "nodes",
    multiple: WAVEFRONTS * LANES as u64,
    small: 64 << 10,
    full: 16 << 20,
    most: 1 << 26,
    workload,
};

/// A graph by lists of neighbours, and what the search finds.
#[derive(Debug)]
struct Graph {
    /// Where each node's neighbours start, and one more.
    starts: Vec<u32>,
    neighbours: Vec<u32>,
    levels: Vec<u32>,
}

impl Graph {
    /// The same for the same number of nodes: each has 4 to 8 neighbours, anywhere. Asks at each node
    /// whether to go on.
    fn of<E>(nodes: u64, mut tick: impl FnMut() -> Result<(), E>) -> Result<Self, E> {
        let mixed = |at: u64| at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24;
        let mut starts = vec![0];
        let mut neighbours = Vec::new();
        for node in 0..nodes {
            for edge in 0..DEGREE - 2 + mixed(node) % 5 {
                neighbours.push((mixed(node * 16 + edge + 1) % nodes) as u32);
            }
            starts.push(neighbours.len() as u32);
            tick()?;
        }
        let mut graph = Self { starts, neighbours, levels: vec![UNREACHED; nodes as usize] };
        graph.levels[0] = 0;
        let (mut level, mut front) = (0, vec![0]);
        while !front.is_empty() {
            level += 1;
            let mut next = Vec::new();
            for node in front {
                tick()?;
                for edge in graph.edges(node) {
                    let neighbour = graph.neighbours[edge as usize] as usize;
                    if graph.levels[neighbour] == UNREACHED {
                        graph.levels[neighbour] = level;
                        next.push(neighbour);
                    }
                }
            }
            front = next;
        }
        Ok(graph)
    }

    fn edges(&self, node: usize) -> std::ops::Range<u32> {
        self.starts[node]..self.starts[node + 1]
    }
}

#[derive(Debug, Clone, Copy)]
struct Buffers {
    starts: u64,
    neighbours: u64,
    levels: u64,
}

fn workload(setting: Setting) -> KernelWorkload {
    let Ok(workload) = watched(setting, || Ok::<_, Infallible>(()));
    workload
}

/// The same, asking at each node of the graph whether to go on.
pub(super) fn watched<E>(
    setting: Setting,
    tick: impl FnMut() -> Result<(), E>,
) -> Result<KernelWorkload, E> {
    let Setting { page, size: nodes, .. } = setting;
    let graph = Rc::new(Graph::of(nodes, tick)?);
    let mut layout = Layout::new(page);
    let (starts, neighbours) = (Rc::clone(&graph), Rc::clone(&graph));
    let edges = graph.neighbours.len() as u64;
    let at = Buffers {
        starts: layout.input("starts", nodes + 1, move |at| starts.starts[at as usize]),
        neighbours: layout.input("neighbours", edges, move |at| neighbours.neighbours[at as usize]),
        levels: layout.input_and_output("levels", nodes, |at| if at == 0 { 0 } else { UNREACHED }),
    };
    let reached = graph.levels.iter().filter(|level| **level != UNREACHED);
    let last = reached.max().copied().unwrap_or(0);
    let launches = (0..=last).map(|level| {
        let graph = Rc::clone(&graph);
        let groups = nodes / LANES as u64 / WAVEFRONTS;
        Launch::new("level", (groups, WAVEFRONTS as u32), move |wavefront| {
            search(wavefront, at, level, Rc::clone(&graph))
        })
        .of_code(648, 31)
    });
    Ok(KernelWorkload {
        name: format!("bfs {nodes}"),
        buffers: layout.buffers(),
        launches: launches.collect(),
        check: Box::new(move |image| {
            Mismatch::words(image, ("levels", at.levels), nodes, |node| graph.levels[node as usize])
        }),
    })
}

async fn search(wavefront: Wavefront, at: Buffers, level: u32, graph: Rc<Graph>) {
    wavefront.compute(12).await;
    let levels = wavefront.load(1, |lane| Some(at.levels + 4 * wavefront.item(lane))).await;
    let starts = wavefront.load(1, |lane| Some(at.starts + 4 * wavefront.item(lane))).await;
    let ends = wavefront.load(1, |lane| Some(at.starts + 4 * (wavefront.item(lane) + 1))).await;
    wavefront.arrived(levels).await;
    wavefront.arrived(starts).await;
    wavefront.arrived(ends).await;
    wavefront.lds(3).await;
    for turn in 0..HALF {
        wavefront.compute(4).await;
        // The node of each half's turn, where it is of the level.
        let nodes = [0, HALF].map(|half| {
            let node = wavefront.item(half + turn) as usize;
            (graph.levels[node] == level).then_some(node)
        });
        let steps = nodes.map(|node| node.map_or(0, |node| graph.edges(node).len()));
        for step in 0..steps[0].max(steps[1]).div_ceil(HALF) {
            let edge = |lane: usize| {
                let mut edges = graph.edges(nodes[lane / HALF]?);
                edges.nth(step * HALF + lane % HALF)
            };
            let neighbour = |lane| edge(lane).map(|edge| graph.neighbours[edge as usize]);
            let place = |lane| edge(lane).map(|edge| at.neighbours + 4 * u64::from(edge));
            let loaded = wavefront.load(1, place).await;
            wavefront.arrived(loaded).await;
            let of_neighbour = |lane| neighbour(lane).map(|node| at.levels + 4 * u64::from(node));
            let loaded = wavefront.load(1, of_neighbour).await;
            wavefront.arrived(loaded).await;
            wavefront.compute(6).await;
            let new = |lane| {
                let node = neighbour(lane)?;
                (graph.levels[node as usize] == level + 1)
                    .then_some(at.levels + 4 * u64::from(node))
            };
            wavefront.store(1, new, |_, _| level + 1).await;
        }
    }
}
