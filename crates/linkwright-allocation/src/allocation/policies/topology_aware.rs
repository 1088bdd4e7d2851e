//! Splits the machine in two, again and again, along its PCIe and NUMA tree.
//!
//! This is the policy of Amaral et al. (SC'17) as MAPA cites it. The physical graph is cut in two
//! along its weakest links, again and again. A job goes into the smallest part that holds it, which
//! in effect keeps it under one PCIe tree or CPU socket. Where both halves hold the job, it takes
//! the fuller one, to keep the other whole. A job that neither holds fills the half with more free
//! GPUs and takes the rest from the other. Amaral's terms for the interference of jobs that already
//! run are left out.

use crate::allocation::policy::{Policy, Request};
use crate::allocation::{Effort, GpuSet, Objective, PreparedMachine, Selection, Ties};
use crate::diagnostic::Registered;
use crate::system::HostTree;

/// Takes GPUs that are close in the PCIe and NUMA tree; NVLink plays no part.
#[derive(Debug)]
pub struct TopologyAware;

impl Registered for TopologyAware {
    fn name(&self) -> &'static str {
        "topology-aware"
    }
}

impl Policy for TopologyAware {
    fn rule(&self, _: &Request<'_>, ties: Ties) -> String {
        format!(
            "the smallest part of the PCIe and NUMA tree, cut in two each time, that holds the \
             job; between two, the fuller one, then {}",
            ties.rule()
        )
    }

    fn objective(&self, _: &Request<'_>) -> Option<Objective> {
        None
    }

    fn choose(
        &self,
        machine: &PreparedMachine,
        request: &Request<'_>,
        free: GpuSet,
        effort: &mut Effort<'_>,
    ) -> Option<Selection> {
        let size = request.pattern.size();
        if free.len() < size {
            return None;
        }
        let nearer = |a: GpuSet, b: GpuSet| machine.compare_ties(a, b, free).is_lt();
        let gpus = take(std::slice::from_ref(machine.tree()), size, free, &nearer);
        Some(machine.place(request.pattern, gpus, free, effort))
    }
}

/// `size` free GPUs of a part of the tree that has at least that many. Of two equally full
/// halves the right one is taken where what it gives is nearer.
fn take(
    part: &[HostTree],
    size: usize,
    free: GpuSet,
    nearer: &dyn Fn(GpuSet, GpuSet) -> bool,
) -> GpuSet {
    let free = leaves(part).intersection(free);
    if free.len() == size {
        return free;
    }
    let (left, right) = match part {
        [HostTree::Group { children, .. }] => halves(children),
        _ => halves(part),
    };
    let free_in = |half: &[HostTree]| leaves(half).intersection(free).len();
    let (in_left, in_right) = (free_in(left), free_in(right));
    let take = |half, size| take(half, size, free, nearer);
    let first = |half, in_half: usize, other| match size > in_half {
        true => take(half, in_half).union(take(other, size - in_half)),
        false => take(half, size),
    };
    let from_left = || first(left, in_left, right);
    let from_right = || first(right, in_right, left);
    match (in_left >= size, in_right >= size) {
        _ if in_left == in_right => {
            let (left, right) = (from_left(), from_right());
            if nearer(right, left) { right } else { left }
        }
        (true, true) if in_right < in_left => from_right(),
        (true, _) => from_left(),
        (_, true) => from_right(),
        _ if in_left > in_right => from_left(),
        _ => from_right(),
    }
}

/// Cuts siblings in two parts of as equal numbers of GPUs as their order allows.
fn halves(siblings: &[HostTree]) -> (&[HostTree], &[HostTree]) {
    let total = leaves(siblings).len();
    let imbalance = |cut: &usize| (2 * leaves(&siblings[..*cut]).len()).abs_diff(total);
    let cut = (1..siblings.len()).min_by_key(imbalance).unwrap_or(siblings.len());
    siblings.split_at(cut)
}

fn leaves(part: &[HostTree]) -> GpuSet {
    part.iter().fold(GpuSet::EMPTY, |set, node| match node {
        HostTree::Gpu(gpu) => set.with(*gpu),
        HostTree::Group { children, .. } => set.union(leaves(children)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Proximity;

    fn group(proximity: Proximity, children: Vec<HostTree>) -> HostTree {
        HostTree::Group { proximity, children }
    }

    fn dgx1() -> HostTree {
        let switch = |a| group(Proximity::Pix, vec![HostTree::Gpu(a), HostTree::Gpu(a + 1)]);
        let socket = |a| group(Proximity::Node, vec![switch(a), switch(a + 2)]);
        group(Proximity::Sys, vec![socket(0), socket(4)])
    }

    fn taken(size: usize, free: &[usize]) -> Vec<usize> {
        let by_ids = |_, _| false;
        take(&[dgx1()], size, free.iter().copied().collect(), &by_ids).iter().collect()
    }

    #[test]
    fn a_job_stays_in_the_smallest_part_that_holds_it() {
        assert_eq!(taken(2, &[0, 1, 2, 3, 4, 5, 6, 7]), [0, 1]);
        assert_eq!(taken(2, &[1, 2, 3, 4, 5, 6, 7]), [2, 3], "switch 0 is broken into");
        assert_eq!(taken(3, &[1, 3, 4, 5, 6, 7]), [4, 5, 6], "no three left in socket 0");
        assert_eq!(taken(1, &[1, 2, 3, 4, 5, 6, 7]), [1], "the fuller half first");
        assert_eq!(taken(1, &[0, 1, 2, 3, 4]), [4], "also where that is the right one");
        assert_eq!(taken(2, &[0, 1, 2, 3, 4, 5, 6]), [4, 5]);
    }

    #[test]
    fn a_job_that_fits_nowhere_is_split_once() {
        assert_eq!(taken(5, &[0, 1, 2, 3, 4, 5, 6, 7]), [0, 1, 2, 3, 4]);
        assert_eq!(taken(4, &[0, 1, 4, 5, 6]), [0, 4, 5, 6]);
        assert_eq!(taken(8, &[0, 1, 2, 3, 4, 5, 6, 7]), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
