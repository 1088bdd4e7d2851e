//! Shows what an allocator decides: the GPUs of a job with their scores, and why it got these.

use std::hash::{Hash, Hasher};

use linkwright::allocation::cluster::ClusterAllocator;
use linkwright::allocation::links::LinkCounts;
use linkwright::allocation::{self, PreparedMachine, Selection};
use linkwright::table::{self, Column};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::cells;
use crate::table::Table;

/// Holds what a job has of one server.
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Part {
    server: u32,
    /// Numbers the server's first GPU in the system.
    first: usize,
    selection: Selection,
    /// The links that the pattern uses, by the machine's names, with their numbers.
    joined_by: Vec<(String, usize)>,
}

impl Part {
    fn gpus(&self) -> impl Iterator<Item = usize> + '_ {
        self.selection.chosen.placement.iter().map(|gpu| self.first + gpu)
    }
}

/// Places a pattern on GPUs, with its scores.
#[pyclass(frozen, eq, hash, module = "linkwright.allocation")]
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Match(Vec<Part>);

/// Equal matches are of the same GPUs.
impl Hash for Match {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.gpus().hash(state);
    }
}

impl Match {
    /// Makes a match of what was selected of each server, in their order.
    pub fn new(
        allocator: &ClusterAllocator,
        pattern: &allocation::Pattern,
        parts: Vec<(usize, Selection)>,
    ) -> PyResult<Self> {
        let first = allocator.first_gpus();
        let part = |(server, selection): (usize, Selection)| {
            let pattern = pattern.on(selection.chosen.placement.len());
            let pattern = pattern.map_err(crate::errors::allocation)?;
            let machine: &PreparedMachine = allocator.servers()[server].machine();
            let joined_by = machine.link_names(&pattern, &selection.chosen.placement);
            Ok(Part { server: server as u32, first: first[server], selection, joined_by })
        };
        parts.into_iter().map(part).collect::<PyResult<_>>().map(Self)
    }

    /// Gives the same in the ids that each server counts.
    fn within(self) -> Self {
        Self(self.0.into_iter().map(|part| Part { server: 0, first: 0, ..part }).collect())
    }

    fn sum(&self, of: impl Fn(&allocation::Match) -> f64) -> f64 {
        self.0.iter().map(|part| of(&part.selection.chosen)).sum()
    }
}

#[pymethods]
impl Match {
    /// Gives the GPU of each vertex of the pattern, as the system counts them.
    ///
    /// Lists the GPUs. Of several servers, those of the first come first.
    #[getter]
    fn gpus(&self) -> Vec<usize> {
        self.0.iter().flat_map(Part::gpus).collect()
    }

    /// The servers that the GPUs are in, counted from 0.
    #[getter]
    fn servers(&self) -> Vec<u32> {
        self.0.iter().map(|part| part.server).collect()
    }

    /// Gives each server with the match there, whose GPUs are as that server counts them.
    fn by_server(&self) -> Vec<(u32, Self)> {
        self.0.iter().map(|part| (part.server, Self(vec![part.clone()]).within())).collect()
    }

    /// How many pairs of GPUs that the pattern joins have which link, the widest first.
    ///
    /// The names are the machine's: `NV18` for 18 NVLinks, `XGMI1` for one of xGMI. A way through
    /// the host is named after what it crosses: `PIX`, `PXB`, `PHB`, `NODE` or `SYS`. Pairs in
    /// different servers have none.
    #[getter]
    fn joined_by<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut sums: Vec<(&str, usize)> = Vec::new();
        for (name, count) in self.0.iter().flat_map(|part| &part.joined_by) {
            match sums.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += count,
                None => sums.push((name, *count)),
            }
        }
        let named = PyDict::new(py);
        for (name, count) in sums {
            named.set_item(name, count)?;
        }
        Ok(named)
    }

    /// How many double NVLinks, single NVLinks and PCIe links the pattern uses.
    ///
    /// These are the classes of MAPA's Eq. 2.
    #[getter]
    fn links(&self) -> (usize, usize, usize) {
        let sum = |of: fn(&LinkCounts) -> usize| {
            self.0.iter().map(|part| of(&part.selection.chosen.links)).sum()
        };
        (sum(|it| it.double), sum(|it| it.single), sum(|it| it.pcie))
    }

    /// Eq. 1, in GB/s: the bandwidth of all pairs within servers that the pattern uses.
    #[getter]
    fn aggregated_bandwidth(&self) -> f64 {
        self.sum(|chosen| chosen.aggregated_bandwidth.as_gigabytes_per_second())
    }

    /// Predicted bandwidth of the pattern, in GB/s; None where it has no edges, or several servers.
    ///
    /// Of a ring, a tree or both, and of every pattern under Eq. 2, it is the bus bandwidth of an
    /// all-reduce. Of another under the sound model it is the rate of the edge with the largest
    /// share. All edges carry theirs at once then, both ways.
    #[getter]
    fn effective_bandwidth(&self) -> Option<f64> {
        match &self.0[..] {
            [part] => part.selection.chosen.effective_bandwidth,
            _ => None,
        }
    }

    /// Eq. 3, in GB/s, is the bandwidth between the GPUs that stay free in its servers.
    #[getter]
    fn preserved_bandwidth(&self) -> f64 {
        self.sum(|chosen| chosen.preserved_bandwidth.as_gigabytes_per_second())
    }

    /// How many sets of GPUs competed for the decision, in its servers.
    #[getter]
    fn candidates(&self) -> u64 {
        self.0.iter().fold(1, |product, part| product.saturating_mul(part.selection.candidates))
    }

    /// Whether no match in its servers can be better; true is a proof, false where it was not found.
    #[getter]
    fn optimal(&self) -> bool {
        self.0.iter().all(|part| part.selection.optimal)
    }

    /// By what fraction another match in its servers could be better at most.
    ///
    /// By the policy's objective, or, where that is certain, in aggregated bandwidth. 0.0 where this
    /// one is optimal, None where no bound is known.
    #[getter]
    fn gap(&self) -> Option<f64> {
        let gaps = self.0.iter().map(|part| part.selection.gap);
        gaps.collect::<Option<Vec<f64>>>().map(|gaps| gaps.into_iter().fold(0.0, f64::max))
    }

    fn __repr__(&self) -> String {
        let (gpus, links) = (self.gpus(), self.links());
        let aggregated = self.aggregated_bandwidth();
        format!("<Match GPUs {gpus:?}: links {links:?}, {aggregated} GB/s aggregated>")
    }
}

/// Says why a job got its GPUs of one server.
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Reasons {
    rule: String,
    decided_by: String,
    verdict: String,
    ranking: Vec<Match>,
}

/// Says why a decision came out as it did.
#[pyclass(frozen, eq, module = "linkwright.allocation")]
#[derive(PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Explanation {
    servers: Option<String>,
    parts: Vec<Reasons>,
}

impl Explanation {
    /// Makes an explanation of the candidates of each server.
    pub fn new(
        allocator: &ClusterAllocator,
        pattern: &allocation::Pattern,
        why: allocation::cluster::ClusterExplanation,
    ) -> PyResult<Self> {
        let reasons = |(server, why): (usize, allocation::Explanation)| {
            let Selection { candidates, optimal, gap, .. } = why.selection;
            // Whether the others are the next best is known, or it is not.
            let certain = (why.certain, why.certain.then_some(0.0));
            let each = why.ranking.into_iter().enumerate().map(|(place, chosen)| {
                let (optimal, gap) = if place == 0 { (optimal, gap) } else { certain };
                let selection = Selection { chosen, candidates, optimal, gap };
                Match::new(allocator, pattern, vec![(server, selection)])
            });
            let ranking = each.collect::<PyResult<_>>()?;
            let (rule, decided_by) = (why.rule, why.decided_by.to_owned());
            Ok(Reasons { rule, decided_by, verdict: why.verdict, ranking })
        };
        let parts = why.parts.into_iter().map(reasons).collect::<PyResult<_>>()?;
        Ok(Self { servers: why.servers, parts })
    }

    /// Gives the only server; None of several.
    fn only(&self) -> Option<&Reasons> {
        if let [only] = &self.parts[..] { Some(only) } else { None }
    }
}

#[pymethods]
impl Explanation {
    /// Why the job got its servers; None of a server that stands alone.
    #[getter]
    fn servers(&self) -> Option<&str> {
        self.servers.as_deref()
    }

    /// Gives each server with why it got its GPUs there, in the ids that the server counts.
    fn by_server(&self) -> Vec<(u32, Self)> {
        let part = |it: &Reasons| {
            let ranking = it.ranking.iter().cloned().map(Match::within).collect();
            let within = Reasons { ranking, ..it.clone() };
            (it.ranking[0].0[0].server, Self { servers: None, parts: vec![within] })
        };
        self.parts.iter().map(part).collect()
    }

    /// Says the policy's rule for this job, in one sentence.
    #[getter]
    fn rule(&self) -> &str {
        &self.parts[0].rule
    }

    /// Names the key in which the chosen match and the next best part.
    ///
    /// `effective bandwidth`, `aggregated bandwidth`, `preserved bandwidth`, `host proximity`,
    /// `near NICs`, `shared NICs`, `what stays whole` or `lowest ids`; `rule` where the policy
    /// compares nothing, `no other set` where nothing competed. `servers` of a job on several:
    /// `by_server` has the key in each.
    #[getter]
    fn decided_by(&self) -> &str {
        self.only().map_or("servers", |only| &only.decided_by)
    }

    /// Says why the chosen match beat the next best; of a job on several servers, why it got these.
    ///
    /// Of one of several servers it names that, and then GPUs as that counts them.
    #[getter]
    fn verdict(&self) -> String {
        match (self.only(), &self.servers) {
            (Some(only), None) => only.verdict.clone(),
            (Some(only), Some(_)) => {
                format!("node{}: {}", only.ranking[0].0[0].server, only.verdict)
            }
            (None, servers) => servers.clone().unwrap_or_default(),
        }
    }

    /// Gives the decision.
    #[getter]
    fn chosen(&self) -> Match {
        Match(self.parts.iter().flat_map(|part| part.ranking[0].0.clone()).collect())
    }

    /// Ranks the best candidates by the policy's own order, the chosen one first.
    ///
    /// Of a job on several servers it has the chosen one alone: `by_server` has those of each.
    #[getter]
    fn ranking(&self) -> Vec<Match> {
        self.only().map_or_else(|| vec![self.chosen()], |only| only.ranking.clone())
    }

    /// Shows the ranking below what decided.
    fn _repr_html_(&self) -> PyResult<String> {
        let ranking = self.ranking();
        let ids = |it: &Match| it.gpus().iter().map(|gpu| *gpu as u32).collect();
        let gigabytes = |of: fn(&Match) -> f64| Column::Float64(ranking.iter().map(of).collect());
        let effective = ranking.iter().map(Match::effective_bandwidth).collect();
        let table = table::Table::new()
            .with("gpus", "", ranking.iter().map(ids).collect::<Vec<Vec<u32>>>())
            .with("effective_bandwidth", "GB/s", Column::OptionalFloat64(effective))
            .with("aggregated_bandwidth", "GB/s", gigabytes(Match::aggregated_bandwidth))
            .with("preserved_bandwidth", "GB/s", gigabytes(Match::preserved_bandwidth));
        Ok(cells::titled(&self.__repr__(), &Table::new(table)?._repr_html_()))
    }

    fn __repr__(&self) -> String {
        let (ranking, by) = (self.ranking(), self.decided_by());
        format!("<Explanation: GPUs {:?} of {} ranked, by {by}>", ranking[0].gpus(), ranking.len())
    }
}
