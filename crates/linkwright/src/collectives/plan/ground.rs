//! Which of a job's links a plan stands on.

use super::super::baselines::by_server;
use super::super::link_graph::{LinkClass, LinkGraph, LinkGraphError, check_gpus, fabric_name};
use super::{Links, PlanError, rails};
use crate::system::Server;

/// The links that a plan may use.
pub(super) struct Ground {
    pub(super) class: LinkClass,
    pub(super) graph: LinkGraph,
    /// Whether the graph's links are the machine's own, not pairs of GPUs on different servers.
    pub(super) is_whole: bool,
}

/// The graph that a plan stands on, and what a person should know of it.
pub(super) fn choose_links(
    machine: &Server,
    gpus: &[usize],
    links: Links,
    notes: &mut Vec<String>,
) -> Result<Ground, PlanError> {
    let over = |class: LinkClass| {
        let graph = LinkGraph::new(machine, gpus, class)?;
        Ok(Ground { class, graph, is_whole: true })
    };
    match links {
        Links::Fabric => Ok(over(LinkClass::Fabric)?),
        Links::Host => Ok(over(LinkClass::Host)?),
        Links::Auto | Links::Every => {
            check_gpus(machine, gpus)?;
            let refused: LinkGraphError = match over(LinkClass::Fabric) {
                Ok(ground) => return Ok(ground),
                Err(refused) => refused,
            };
            let fabric = fabric_name(machine);
            if by_server(machine, gpus).len() < 2 {
                let ground = over(LinkClass::Host).or_else(|_| over(LinkClass::Network))?;
                // A machine without any such links lacks nothing.
                if fabric.is_some() {
                    notes.push(format!("{refused}; planned over PCIe"));
                }
                return Ok(ground);
            }
            if links == Links::Auto
                && let Some(graph) = rails::graph(machine, gpus)
            {
                return Ok(Ground { class: LinkClass::Network, graph, is_whole: false });
            }
            let ground = over(LinkClass::Network)?;
            if links == Links::Auto && fabric.is_some() {
                notes.extend(apart_on_a_server(machine, gpus));
            }
            Ok(ground)
        }
    }
}

/// What to say of the first server whose GPUs its fabric does not join.
fn apart_on_a_server(machine: &Server, gpus: &[usize]) -> Option<String> {
    let servers = by_server(machine, gpus);
    let mut servers = servers.iter().filter(|ranks| ranks.len() > 1);
    servers.find_map(|ranks| {
        let own: Vec<usize> = ranks.iter().map(|rank| gpus[*rank]).collect();
        let refused = LinkGraph::new(machine, &own, LinkClass::Fabric).err()?;
        Some(format!("{refused}, which is on its server; planned over PCIe, too"))
    })
}
