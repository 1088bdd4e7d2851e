//! Finds the cheapest spanning arborescence (Chu and Liu 1965, Edmonds 1967).

/// An arc with what it costs, never less than zero.
#[derive(Debug, Clone, Copy)]
pub(super) struct CostlyArc {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) cost: f64,
}

/// Returns, for each vertex but the root, the arc that leads to it in the arborescence of least
/// cost. Among equals the first counts. It is `None` where the root does not reach every vertex.
///
/// Every vertex takes its cheapest arc. The vertices of a cycle are taken together as one vertex.
/// Its incoming arcs have their added cost, and the graph is solved again.
pub(super) fn cheapest_arborescence(
    vertices: usize,
    arcs: &[CostlyArc],
    root: usize,
) -> Option<Vec<Option<usize>>> {
    let mut chosen: Vec<Option<usize>> = vec![None; vertices];
    for (index, arc) in arcs.iter().enumerate() {
        let cheaper = |known: usize| arc.cost < arcs[known].cost;
        if arc.from != arc.to && arc.to != root && chosen[arc.to].is_none_or(cheaper) {
            chosen[arc.to] = Some(index);
        }
    }
    if (0..vertices).any(|vertex| vertex != root && chosen[vertex].is_none()) {
        return None;
    }
    let (parts, part_of, on_cycle) = contracted(&chosen, arcs);
    if parts == vertices {
        return Some(chosen);
    }
    let mut smaller = Vec::new();
    let mut origins = Vec::new();
    for (index, arc) in arcs.iter().enumerate() {
        let (from, to) = (part_of[arc.from], part_of[arc.to]);
        if from != to {
            let spared = chosen[arc.to].filter(|_| on_cycle[arc.to]);
            let cost = arc.cost - spared.map_or(0.0, |spared| arcs[spared].cost);
            smaller.push(CostlyArc { from, to, cost });
            origins.push(index);
        }
    }
    for inner in cheapest_arborescence(parts, &smaller, part_of[root])?.into_iter().flatten() {
        let origin = origins[inner];
        chosen[arcs[origin].to] = Some(origin);
    }
    Some(chosen)
}

/// How many vertices are left when each cycle of chosen arcs becomes one, the number of each
/// vertex's, and whether it lies on a cycle.
fn contracted(chosen: &[Option<usize>], arcs: &[CostlyArc]) -> (usize, Vec<usize>, Vec<bool>) {
    let before = |vertex: usize| chosen[vertex].map(|arc| arcs[arc].from);
    // The walk that saw a vertex first; a walk that meets itself has found a cycle.
    let mut walk_of = vec![None; chosen.len()];
    let mut part_of: Vec<Option<usize>> = vec![None; chosen.len()];
    let mut on_cycle = vec![false; chosen.len()];
    let mut parts = 0;
    for start in 0..chosen.len() {
        let mut at = Some(start);
        while let Some(vertex) = at.filter(|vertex| walk_of[*vertex].is_none()) {
            walk_of[vertex] = Some(start);
            at = before(vertex);
        }
        let Some(first) = at.filter(|vertex| walk_of[*vertex] == Some(start)) else { continue };
        let mut around = first;
        while part_of[around].is_none() {
            (part_of[around], on_cycle[around]) = (Some(parts), true);
            around = before(around).expect("a cycle goes on");
        }
        parts += 1;
    }
    let numbered = part_of.into_iter().map(|part| {
        part.unwrap_or_else(|| {
            parts += 1;
            parts - 1
        })
    });
    let numbered = numbered.collect();
    (parts, numbered, on_cycle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_choice_of_arcs_is_cheaper(
            vertices in 1_usize..6,
            arcs in proptest::collection::vec((0_usize..6, 0_usize..6, 0_u32..9), 0..12),
        ) {
            let arcs: Vec<CostlyArc> = arcs
                .into_iter()
                .map(|(from, to, cost)| (from % vertices, to % vertices, f64::from(cost)))
                .map(|(from, to, cost)| CostlyArc { from, to, cost })
                .collect();
            let cost = |set: &[usize]| set.iter().map(|arc| arcs[*arc].cost).sum::<f64>();
            let spans = |set: &[usize]| {
                let mut reached = vec![false; vertices];
                reached[0] = true;
                for _ in 0..vertices {
                    for arc in set {
                        reached[arcs[*arc].to] |= reached[arcs[*arc].from];
                    }
                }
                reached.into_iter().all(|reached| reached)
            };
            let sets = (0_usize..1 << arcs.len()).filter(|set| set.count_ones() as usize + 1 == vertices);
            let sets = sets.map(|set| (0..arcs.len()).filter(|arc| set >> arc & 1 == 1).collect::<Vec<_>>());
            let least = sets.filter(|set| spans(set)).map(|set| cost(&set)).min_by(f64::total_cmp);
            let found = cheapest_arborescence(vertices, &arcs, 0);
            let found = found.map(|arcs| arcs.into_iter().flatten().collect::<Vec<_>>());
            prop_assert_eq!(found.is_some(), least.is_some());
            if let (Some(found), Some(least)) = (found, least) {
                prop_assert!(spans(&found));
                prop_assert_eq!(cost(&found), least);
            }
        }
    }
}
