//! A fabric whose every node, switch and link is listed.

use super::links::{LinkRate, numberable};
use super::{Fabric, FabricError, FabricShape, NodeLink, SwitchLink, single_switch};
use crate::system::kinds::LinkKind;

/// The fabric of listed parts: one of a single switch where there is one and all of its links are
/// alike, else a graph. Each link between switches comes with how many there are of it.
///
/// # Errors
/// No node, too many links, or nodes that no path of links joins.
pub(in crate::system) fn of_listed(
    name: &str,
    kind: LinkKind,
    nodes: &[NodeLink],
    switch_names: Vec<String>,
    trunks: &[(SwitchLink, u32)],
) -> Result<Fabric, FabricError> {
    let [first, ..] = nodes else { return Err(FabricError::NoNode) };
    if switch_names.len() == 1 && nodes.iter().all(|node| node == first) {
        let rate = LinkRate { bandwidth: first.bandwidth, latency: first.latency };
        return Ok(single_switch(nodes.len() as u32, rate)?
            .with_links(kind)
            .with_switch_names(switch_names));
    }
    let all = trunks.iter().map(|(_, count)| u64::from(*count)).sum::<u64>();
    numberable(Some(all + nodes.len() as u64))?;
    let links: Vec<SwitchLink> = trunks
        .iter()
        .flat_map(|(link, count)| std::iter::repeat_n(*link, *count as usize))
        .collect();
    let fabric = Fabric::new(name, FabricShape::Graph, switch_names.len() as u32, nodes, &links)?
        .with_links(kind)
        .with_switch_names(switch_names);
    fabric.check_connected()?;
    Ok(fabric)
}
