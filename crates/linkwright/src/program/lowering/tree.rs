//! Trees: broadcast, reduce, gather and scatter.
//!
//! Ranks count from the root: the rank of number `n` has the index `root + n`, around the last.

use super::plan::{Content, Plan, Transfer};

/// What the edges of a binomial tree carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// The vector.
    Vector,
    /// The blocks of the ranks below the edge.
    Subtree,
}

fn number(ranks: u32, index: u32, root: u32) -> u32 {
    (index + (ranks - root)) % ranks
}

fn index(ranks: u32, number: u32, root: u32) -> u32 {
    ((u64::from(number) + u64::from(root)) % u64::from(ranks)) as u32
}

/// The numbers of a heap's children.
fn children(ranks: u32, me: u32) -> impl Iterator<Item = u32> {
    [1, 2]
        .into_iter()
        .map(move |side| 2 * u64::from(me) + side)
        .filter_map(move |child| u32::try_from(child).ok().filter(|child| *child < ranks))
}

fn binary_edges(
    ranks: u32,
    me: u32,
    root: u32,
    content: Content,
) -> (Vec<Transfer>, Vec<Transfer>) {
    let me = number(ranks, me, root);
    let edge = |number| Transfer { peer: index(ranks, number, root), content };
    let below = children(ranks, me).map(edge).collect();
    let above = me.checked_sub(1).map(|before| edge(before / 2)).into_iter().collect();
    (below, above)
}

/// From the leaves of a binary tree to its root.
pub fn binary_up(plan: &mut Plan, ranks: u32, me: u32, root: u32, content: Content) {
    let (below, above) = binary_edges(ranks, me, root, content);
    plan.phase(0, below, Vec::new());
    plan.phase(0, Vec::new(), above);
    plan.end_stage(1);
}

/// From the root of a binary tree to its leaves.
pub fn binary_down(plan: &mut Plan, ranks: u32, me: u32, root: u32, content: Content) {
    let (below, above) = binary_edges(ranks, me, root, content);
    plan.phase(0, above, Vec::new());
    plan.phase(0, Vec::new(), below);
    plan.end_stage(1);
}

/// The edge of a binomial tree from a rank of this number to its parent: the bit by which
/// their numbers differ, and what it carries.
fn binomial_edge(ranks: u32, child: u32, root: u32, load: Load) -> (u32, Content) {
    let bit = child.trailing_zeros();
    let content = match load {
        Load::Vector => Content::Vector,
        Load::Subtree => Content::Blocks {
            first: index(ranks, child, root),
            count: (1 << bit).min(ranks - child),
        },
    };
    (bit, content)
}

/// The numbers of a binomial tree's children, the smallest subtree first.
fn binomial_children(ranks: u32, me: u32) -> Vec<u32> {
    let bits = if me == 0 { u32::BITS } else { me.trailing_zeros() };
    let below = (0..bits).map(|bit| u64::from(me) + (1 << bit));
    below.take_while(|child| *child < u64::from(ranks)).map(|child| child as u32).collect()
}

fn levels(ranks: u32) -> u32 {
    ranks.next_power_of_two().trailing_zeros()
}

/// From the leaves of a binomial tree to its root, small subtrees first.
pub fn binomial_up(plan: &mut Plan, ranks: u32, me: u32, root: u32, load: Load) {
    let me = number(ranks, me, root);
    for child in binomial_children(ranks, me) {
        let (bit, content) = binomial_edge(ranks, child, root, load);
        plan.receive(bit, index(ranks, child, root), content);
    }
    if me > 0 {
        let (bit, content) = binomial_edge(ranks, me, root, load);
        plan.send(bit, index(ranks, me & (me - 1), root), content);
    }
    plan.end_stage(levels(ranks));
}

/// From the root of a binomial tree to its leaves, large subtrees first.
pub fn binomial_down(plan: &mut Plan, ranks: u32, me: u32, root: u32, load: Load) {
    let (me, last) = (number(ranks, me, root), levels(ranks) - 1);
    if me > 0 {
        let (bit, content) = binomial_edge(ranks, me, root, load);
        plan.receive(last - bit, index(ranks, me & (me - 1), root), content);
    }
    for child in binomial_children(ranks, me).into_iter().rev() {
        let (bit, content) = binomial_edge(ranks, child, root, load);
        plan.send(last - bit, index(ranks, child, root), content);
    }
    plan.end_stage(levels(ranks));
}

fn parts(ranks: u32, root: u32) -> Vec<Transfer> {
    let others = (1..ranks).map(|number| index(ranks, number, root));
    others
        .map(|peer| Transfer { peer, content: Content::Blocks { first: peer, count: 1 } })
        .collect()
}

/// Each rank straight to the root.
pub fn linear_gather(plan: &mut Plan, ranks: u32, me: u32, root: u32) {
    if me == root {
        plan.phase(0, parts(ranks, root), Vec::new());
    } else {
        plan.send(0, root, Content::Blocks { first: me, count: 1 });
    }
    plan.end_stage(1);
}

/// The root straight to each rank.
pub fn linear_scatter(plan: &mut Plan, ranks: u32, me: u32, root: u32) {
    if me == root {
        plan.phase(0, Vec::new(), parts(ranks, root));
    } else {
        plan.receive(0, root, Content::Blocks { first: me, count: 1 });
    }
    plan.end_stage(1);
}
