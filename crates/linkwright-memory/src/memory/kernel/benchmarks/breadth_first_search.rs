//! Runs breadth-first search, a level at each launch (SHOC). Half a wavefront takes 32 nodes, one
//! after another. Where a node is of the level before, its 32 lanes look at the neighbours
//! together.
//!
//! Which neighbours are looked at depends on the graph alone. With data, wavefronts go by what they
//! have loaded; the host finds the levels, too, so that the same addresses are touched without.

use std::convert::Infallible;
use std::rc::Rc;

use super::{Fact, KernelWorkload, Layout, Setting};
use crate::memory::kernel::{LANES, Launch, Mismatch, Wavefront};

/// Counts the lanes that look at a node's neighbours together, and the nodes that they take.
const HALF: usize = LANES / 2;
/// Counts the wavefronts of a group.
const WAVEFRONTS: u64 = 4;
/// Counts the edges of a node, in the mean.
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

/// Holds a graph by lists of neighbours, and the result of the search.
#[derive(Debug)]
struct Graph {
    /// Says where each node's neighbours start, and one more.
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

/// Makes the same, asking at each node of the graph whether to go on.
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
    let levels = wavefront.arrived(levels).await;
    let starts = wavefront.arrived(starts).await;
    let ends = wavefront.arrived(ends).await;
    // Whoever reads what is wrong stays within the graph.
    let (nodes, all_edges) = (graph.levels.len() as u32, graph.neighbours.len() as u32);
    let edges_of = |lane: usize| {
        let known = || graph.edges(wavefront.item(lane) as usize);
        let start = starts.word_or(lane, 0, || known().start);
        start..ends.word_or(lane, 0, || known().end).min(all_edges)
    };
    let level_of = |node: u32| graph.levels[node as usize];
    wavefront.lds(3).await;
    for turn in 0..HALF {
        wavefront.compute(4).await;
        // The edges of each half's node, where that is of the level.
        let edges = [0, HALF].map(|half| {
            let lane = half + turn;
            let found = levels.word_or(lane, 0, || level_of(wavefront.item(lane) as u32));
            if found == level { edges_of(lane) } else { 0..0 }
        });
        let steps = edges.clone().map(|edges| edges.len());
        for step in 0..steps[0].max(steps[1]).div_ceil(HALF) {
            let edge = |lane: usize| edges[lane / HALF].clone().nth(step * HALF + lane % HALF);
            let place = |lane| edge(lane).map(|edge| at.neighbours + 4 * u64::from(edge));
            let loaded = wavefront.load(1, place).await;
            let loaded = wavefront.arrived(loaded).await;
            let neighbour = |lane| {
                let edge = edge(lane)?;
                let node = loaded.word_or(lane, 0, || graph.neighbours[edge as usize]);
                (node < nodes).then_some(node)
            };
            let of_neighbour = |lane| neighbour(lane).map(|node| at.levels + 4 * u64::from(node));
            let seen = wavefront.load(1, of_neighbour).await;
            let seen = wavefront.arrived(seen).await;
            wavefront.compute(6).await;
            // Another wavefront may have been there in this level, or not yet: that changes no address.
            let new = |lane| {
                let node = neighbour(lane)?;
                (seen.word_or(lane, 0, || level_of(node)) > level)
                    .then_some(at.levels + 4 * u64::from(node))
            };
            wavefront.store(1, new, |_, _| level + 1).await;
        }
    }
}
