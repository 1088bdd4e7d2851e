//! `linkwright.Tree` shows a tree behind a plan.

use linkwright::collectives::lowering::RootedTree;
use pyo3::prelude::*;

/// Holds a spanning tree of a job's GPUs and its share of the data.
#[pyclass(frozen, eq, module = "linkwright.collectives")]
#[derive(PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Tree {
    root: usize,
    edges: Vec<(usize, usize)>,
    depth: usize,
    share: f64,
}

impl Tree {
    /// Converts a plan's trees to the ids of its GPUs.
    pub fn of_plan(trees: &[RootedTree], gpus: &[usize]) -> Vec<Self> {
        let whole: u64 = trees.iter().map(|tree| u64::from(tree.chunks)).sum();
        let of_tree = |tree: &RootedTree| {
            let outward = tree.outward();
            let mut depths = vec![0; tree.parent.len()];
            let mut edges = Vec::with_capacity(outward.len());
            for rank in outward {
                if let Some(parent) = tree.parent[rank] {
                    depths[rank] = depths[parent] + 1;
                    edges.push((gpus[parent], gpus[rank]));
                }
            }
            Self {
                root: gpus[tree.root()],
                edges,
                depth: depths.into_iter().max().unwrap_or(0),
                share: f64::from(tree.chunks) / whole as f64,
            }
        };
        trees.iter().map(of_tree).collect()
    }

    /// Returns the title that stands above it in a picture.
    pub fn title(&self) -> String {
        format!("{:.4} % of the data", self.share * 100.0)
    }
}

#[pymethods]
impl Tree {
    /// Returns the GPU at its root.
    #[getter]
    fn root(&self) -> usize {
        self.root
    }

    /// Lists its edges from the root outwards, each as the nearer GPU and the farther one.
    #[getter]
    fn edges(&self) -> Vec<(usize, usize)> {
        self.edges.clone()
    }

    /// Returns the most edges between the root and a GPU.
    #[getter]
    fn depth(&self) -> usize {
        self.depth
    }

    /// Its part of the data that all trees carry, from 0 to 1.
    #[getter]
    fn share(&self) -> f64 {
        self.share
    }

    fn __repr__(&self) -> String {
        let (root, depth, percent) = (self.root, self.depth, self.share * 100.0);
        format!("<Tree from GPU {root}: {percent:.1} % of the data, depth {depth}>")
    }
}
