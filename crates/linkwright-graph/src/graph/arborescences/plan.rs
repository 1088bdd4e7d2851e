//! From a graph to its best packing: checks, scales, tries, and names the result.

use std::collections::BTreeMap;

use super::dense_flow::{Capacities, LIMIT};
use super::pack::{Order, Tree, pack};
use super::reduce::{Reduced, Share, reduce};
use super::switches::{Logical, Problem, Splitting, split_off};
use super::{
    Arborescence, ArborescenceError, ArborescencePacking, DirectedGraph, Fraction, LogicalArc,
    Preference, SwitchRoute, greatest_common_divisor, rate,
};

/// The work after which no further order is tried: flows times nodes squared.
const WORK: u64 = 2_000_000;

/// From how many vertices, evenly spaced, the others are numbered.
const ROTATIONS: usize = 4;

/// How many times larger than the split capacities the result's numbers may have to be, to
/// spread routes over switches that act as one.
const ROOM: u64 = 1 << 8;

/// The highest rate at which one terminal can send the same data to all others.
///
/// # Errors
/// Refuses a malformed graph, a root that is a switch, and a switch out of balance. Refuses a
/// terminal that the root does not reach, and numbers that are too large: see
/// [`ArborescenceError`].
pub fn pack_from_root(
    graph: &DirectedGraph,
    root: usize,
    preference: Preference,
) -> Result<ArborescencePacking, ArborescenceError> {
    let checked = Checked::new(graph)?;
    if root >= graph.vertices {
        return Err(ArborescenceError::UnknownVertex { vertex: root, vertices: graph.vertices });
    }
    let place = checked.vertices[..checked.terminals].binary_search(&root);
    let place = place.map_err(|_| ArborescenceError::RootIsSwitch(root))?;
    let share = rate::from_root(&checked.capacity, checked.terminals, place);
    let share = share.map_err(|error| checked.named(error))?;
    checked.pack((Some(place), share, 1), preference)
}

/// The highest rate at which every terminal can send its own data to all others at once, each
/// as fast as any other.
///
/// # Errors
/// A malformed graph, a switch out of balance, a terminal that another does not reach, or
/// numbers too large: see [`ArborescenceError`].
pub fn pack_from_every_root(
    graph: &DirectedGraph,
    preference: Preference,
) -> Result<ArborescencePacking, ArborescenceError> {
    let checked = Checked::new(graph)?;
    let found = rate::from_every_terminal(&checked.capacity, checked.terminals);
    let (share, scale) = found.map_err(|error| checked.named(error))?;
    checked.pack((None, share, scale), preference)
}

/// The rate of [`pack_from_every_root`] alone, which takes a small part of its time.
///
/// # Errors
/// Fails as [`pack_from_every_root`] does.
pub fn rate_from_every_root(graph: &DirectedGraph) -> Result<Fraction, ArborescenceError> {
    let checked = Checked::new(graph)?;
    let found = rate::from_every_terminal(&checked.capacity, checked.terminals);
    let (share, scale) = found.map_err(|error| checked.named(error))?;
    checked.fraction(share, scale)
}

/// Holds a well-formed graph in its capacities' greatest common unit, terminals first, and with as
/// few switches as act differently.
struct Checked {
    capacity: Capacities,
    terminals: usize,
    /// Gives the graph's number of each vertex.
    vertices: Vec<usize>,
    /// Holds the graph with fewer switches, and the way back.
    reduced: Reduced,
    unit: u64,
}

impl Checked {
    fn new(graph: &DirectedGraph) -> Result<Self, ArborescenceError> {
        let DirectedGraph { vertices, terminals, arcs } = graph;
        let known = |vertex: usize| match vertex < *vertices {
            true => Ok(vertex),
            false => Err(ArborescenceError::UnknownVertex { vertex, vertices: *vertices }),
        };
        let mut is_terminal = vec![false; *vertices];
        for terminal in terminals {
            if std::mem::replace(&mut is_terminal[known(*terminal)?], true) {
                return Err(ArborescenceError::RepeatedTerminal(*terminal));
            }
        }
        if terminals.len() < 2 {
            return Err(ArborescenceError::TooFewTerminals(terminals.len()));
        }
        let unit = arcs.iter().fold(0, |unit, arc| greatest_common_divisor(unit, arc.2)).max(1);
        let total: u128 = arcs.iter().map(|arc| u128::from(arc.2 / unit)).sum();
        if total > u128::from(LIMIT) {
            return Err(ArborescenceError::TooLarge);
        }
        let mut whole = Capacities::new(*vertices);
        for (from, to, value) in arcs {
            if known(*from)? != known(*to)? {
                whole.add(*from, *to, value / unit);
            }
        }
        for switch in (0..*vertices).filter(|vertex| !is_terminal[*vertex]) {
            let (entering, leaving) = (whole.entering(switch), whole.leaving(switch));
            if entering != leaving {
                let (entering, leaving) = (entering * u128::from(unit), leaving * u128::from(unit));
                return Err(ArborescenceError::UnbalancedSwitch { switch, entering, leaving });
            }
        }
        let reduced = reduce(whole, &is_terminal);
        let (mut order, switches): (Vec<usize>, Vec<usize>) =
            (0..*vertices).partition(|vertex| is_terminal[*vertex]);
        order.extend(switches.into_iter().filter(|switch| reduced.capacity.leaving(*switch) > 0));
        let mut capacity = Capacities::new(order.len());
        for (from, global_from) in order.iter().enumerate() {
            for (to, global_to) in order.iter().enumerate() {
                capacity.set(from, to, reduced.capacity.get(*global_from, *global_to));
            }
        }
        Ok(Self { capacity, terminals: terminals.len(), vertices: order, reduced, unit })
    }

    /// Returns the error in the graph's own numbers.
    fn named(&self, error: ArborescenceError) -> ArborescenceError {
        match error {
            ArborescenceError::Unreachable { from, to } => {
                ArborescenceError::Unreachable { from: self.vertices[from], to: self.vertices[to] }
            }
            other => other,
        }
    }

    fn pack(
        &self,
        (root, share, scale): (Option<usize>, u64, u64),
        preference: Preference,
    ) -> Result<ArborescencePacking, ArborescenceError> {
        let capacity = self.capacity.scaled(scale).ok_or(ArborescenceError::TooLarge)?;
        let terminals = self.terminals;
        let ceiling = LIMIT / ROOM / self.unit;
        let problem = Problem { terminals, capacity, root, share, scale, ceiling };
        let plan = best(&problem, preference);
        self.name(self.fraction(share, scale)?, &plan)
    }

    /// Returns a share in the graph's own unit, in lowest terms.
    fn fraction(&self, share: u64, scale: u64) -> Result<Fraction, ArborescenceError> {
        let whole = u128::from(share) * u128::from(self.unit);
        let divisor = greatest_common_divisor(whole, scale.into());
        let lowest = |value: u128| u64::try_from(value / divisor);
        let (Ok(numerator), Ok(denominator)) = (lowest(whole), lowest(scale.into())) else {
            return Err(ArborescenceError::TooLarge);
        };
        Ok(Fraction { numerator, denominator })
    }

    /// Returns the result in the graph's own numbers and unit.
    fn name(
        &self,
        rate: Fraction,
        Plan { logical, trees, .. }: &Plan,
    ) -> Result<ArborescencePacking, ArborescenceError> {
        let mut lifted = Vec::new();
        let mut parts = 1_u64;
        for ((from, to), used) in use_of_arcs(trees) {
            let mut shares: Vec<(Share, u64)> = Vec::new();
            for (path, units) in shortest_first(&logical.routes[&(from, to)], used) {
                let path: Vec<usize> = path.iter().map(|vertex| self.vertices[*vertex]).collect();
                for share in self.reduced.lift(&path)? {
                    let known = greatest_common_divisor(share.denominator, units);
                    let missing = share.denominator / known;
                    parts = (parts / greatest_common_divisor(parts, missing))
                        .checked_mul(missing)
                        .ok_or(ArborescenceError::TooLarge)?;
                    shares.push((share, units));
                }
            }
            lifted.push(((from, to), shares));
        }
        // Everything in `unit / (scale * parts)`; then without the common divisor.
        let scale = u128::from(logical.problem.scale) * u128::from(parts);
        let factor = u128::from(self.unit) * u128::from(parts);
        let weight = |weight: u64| factor.checked_mul(weight.into());
        let units = |share: &Share, units: u64| {
            let whole = weight(units)?.checked_mul(share.numerator.into())?;
            Some(whole / u128::from(share.denominator))
        };
        let mut numbers = vec![Some(scale)];
        numbers.extend(trees.iter().map(|tree| weight(tree.weight)));
        let shares = lifted.iter().flat_map(|(_, shares)| shares);
        numbers.extend(shares.map(|(share, amount)| units(share, *amount)));
        let numbers: Option<Vec<u128>> = numbers.into_iter().collect();
        let numbers = numbers.ok_or(ArborescenceError::TooLarge)?;
        let divisor =
            numbers.iter().fold(0, |divisor, number| greatest_common_divisor(divisor, *number));
        let small = numbers.iter().map(|number| u64::try_from(number / divisor));
        let small: Result<Vec<u64>, _> = small.collect();
        let small = small.map_err(|_| ArborescenceError::TooLarge)?;
        let mut rest = small.into_iter();
        let mut next = || rest.next().unwrap_or(0);
        let denominator = next();
        let name = |vertex: usize| self.vertices[vertex];
        let trees = trees
            .iter()
            .map(|tree| Arborescence {
                root: name(tree.root),
                arcs: tree.arcs.iter().map(|(from, to)| (name(*from), name(*to))).collect(),
                weight: next(),
            })
            .collect();
        let logical_arcs = lifted
            .into_iter()
            .map(|((from, to), shares)| {
                let mut by_path: BTreeMap<Vec<usize>, u64> = BTreeMap::new();
                for (share, _) in shares {
                    *by_path.entry(share.path).or_default() += next();
                }
                let routes = by_path.into_iter().map(|(path, units)| SwitchRoute { path, units });
                LogicalArc { from: name(from), to: name(to), routes: routes.collect() }
            })
            .collect();
        Ok(ArborescencePacking { rate, denominator, trees, logical_arcs })
    }
}

/// One way to pack, and how it ranks: the less, the better.
struct Plan {
    cost: [usize; 3],
    logical: Logical,
    trees: Vec<Tree>,
}

/// Returns the preferred plan of those that the orders lead to, the first among equal ones.
fn best(problem: &Problem, preference: Preference) -> Plan {
    let has_switches = problem.capacity.vertices > problem.terminals;
    let splittings =
        if has_switches { &[Splitting::Even, Splitting::Wide][..] } else { &[Splitting::Wide] };
    let mut found: Option<Plan> = None;
    for splitting in splittings {
        let logical = split_off(problem, *splitting);
        let mut work = 0;
        for order in orders(problem) {
            // Nothing beats one star for each root.
            let is_star = |tree: &Tree| tree.max_depth() == 1;
            let ideal = |plan: &Plan| plan.trees.iter().all(is_star);
            if work > WORK || found.as_ref().is_some_and(ideal) {
                break;
            }
            let (trees, flows) = pack(&logical.problem, order);
            work += flows * (problem.terminals * problem.terminals) as u64;
            let depth = trees.iter().map(Tree::max_depth).max().unwrap_or(0);
            let total = trees.iter().map(Tree::total_depth).sum();
            let cost = match preference {
                Preference::FewTrees => [trees.len(), depth, total],
                Preference::LowDepth => [depth, trees.len(), total],
            };
            if found.as_ref().is_none_or(|known| cost < known.cost) {
                found = Some(Plan { cost, logical: logical.clone(), trees });
            }
        }
    }
    found.expect("there is at least one splitting and one order")
}

/// Lists the orders to try, the most promising first.
fn orders(problem: &Problem) -> impl Iterator<Item = Order> {
    let terminals = problem.terminals;
    (0..terminals).step_by(terminals.div_ceil(ROTATIONS)).flat_map(|first| {
        [(false, true), (false, false), (true, true), (true, false)]
            .map(|(deepest_first, tightest_first)| Order { deepest_first, tightest_first, first })
    })
}

/// Sums how much the trees send over each arc.
fn use_of_arcs(trees: &[Tree]) -> BTreeMap<(usize, usize), u64> {
    let mut used = BTreeMap::new();
    for tree in trees {
        for arc in &tree.arcs {
            *used.entry(*arc).or_default() += tree.weight;
        }
    }
    used
}

/// Chooses routes that carry the used flow, those through the fewest switches first.
fn shortest_first(routes: &[super::switches::Route], used: u64) -> Vec<(&Vec<usize>, u64)> {
    let mut routes: Vec<_> = routes.iter().collect();
    routes.sort_by_key(|(path, units)| (path.len(), std::cmp::Reverse(*units)));
    let mut left = used;
    let mut chosen = Vec::new();
    for (path, units) in routes {
        let units = left.min(*units);
        left -= units;
        if units > 0 {
            chosen.push((path, units));
        }
    }
    chosen
}
