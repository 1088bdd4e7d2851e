//! Which of a job's links a plan stands on.

use super::{Links, PlanError, rails};
use crate::collectives::nccl::baselines::by_server;
use crate::collectives::planners::link_graph::{LinkClass, LinkGraph, LinkGraphError, fabric_of};
use crate::system::Wiring;

/// The links that a plan may use.
pub(super) struct Ground {
    pub(super) class: LinkClass,
    pub(super) graph: LinkGraph,
    /// Whether the graph's links are the system's own, not pairs of GPUs on different servers.
    pub(super) is_whole: bool,
}

/// Returns the graph under a plan on GPUs that have been checked, and the notes on it for a person.
pub(super) fn choose_links(
    wiring: &Wiring,
    gpus: &[usize],
    links: Links,
    notes: &mut Vec<String>,
) -> Result<Ground, PlanError> {
    let over = |class: LinkClass| {
        let graph = LinkGraph::on(wiring, gpus, class)?;
        Ok(Ground { class, graph, is_whole: true })
    };
    match links {
        Links::Fabric => Ok(over(LinkClass::Fabric)?),
        Links::Host => Ok(over(LinkClass::Host)?),
        Links::Auto | Links::Every => {
            let refused: LinkGraphError = match over(LinkClass::Fabric) {
                Ok(ground) => return Ok(ground),
                Err(refused) => refused,
            };
            let fabric = fabric_of(wiring);
            if by_server(wiring, gpus).len() < 2 {
                let ground = over(LinkClass::Host).or_else(|_| over(LinkClass::Network))?;
                // A machine without any such links lacks nothing.
                if fabric.is_some() {
                    notes.push(format!("{refused}; planned over PCIe"));
                }
                return Ok(ground);
            }
            if links == Links::Auto
                && let Some(graph) = rails::graph(wiring, gpus)
            {
                return Ok(Ground { class: LinkClass::Network, graph, is_whole: false });
            }
            let ground = over(LinkClass::Network)?;
            if links == Links::Auto && fabric.is_some() {
                notes.extend(apart_on_a_server(wiring, gpus));
            }
            Ok(ground)
        }
    }
}

/// Returns the note on the first server whose GPUs its fabric does not join.
fn apart_on_a_server(wiring: &Wiring, gpus: &[usize]) -> Option<String> {
    let servers = by_server(wiring, gpus);
    let mut servers = servers.iter().filter(|ranks| ranks.len() > 1);
    servers.find_map(|ranks| {
        let own: Vec<usize> = ranks.iter().map(|rank| gpus[*rank]).collect();
        let refused = LinkGraph::on(wiring, &own, LinkClass::Fabric).err()?;
        Some(format!("{refused}, which is on its server; planned over PCIe, too"))
    })
}
