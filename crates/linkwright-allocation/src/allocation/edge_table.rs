//! Keeps the best matches of patterns that are judged by their edges, on a machine whose subsets are tabulated.
//!
//! A pattern's best match on a set of GPUs depends neither on what is free nor on what was asked before. Those that
//! a decision on the idle machine needs are found with the table. Other sets are searched when a decision first comes to them, each
//! within a limit of its own. The next decision looks them up. A table depends on the machine and the pattern alone.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::bandwidth::{copies::CopyPaths, demands::Demands};
use super::effort::Effort;
use super::gpu_set::GpuSet;
use super::matching::rank::{Floor, Rank};
use super::matching::search::Placement;
use super::pattern::Pattern;

/// The steps that the idle machine may take, and all sets that are searched later.
pub(super) const STEPS: u64 = 5_000_000;

/// The steps that one of these sets may take, however many there are.
const LEAST_ON_ONE: u64 = 1_000;

/// The steps that one of them may take at most.
const MOST_ON_ONE: u64 = 500_000;

/// For how many patterns a machine keeps a table: those that were asked for last.
const KEPT: usize = 32;

/// Keeps the tables of a machine's patterns, the one asked for last in front. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct EdgeTables(Arc<Mutex<VecDeque<Known>>>);

/// Holds a pattern with its table.
type Known = (Pattern, Arc<EdgeTable>);

impl EdgeTables {
    /// Gives the table of a pattern, which is made where it is not known.
    pub fn of(&self, pattern: &Pattern, make: impl FnOnce() -> EdgeTable) -> Arc<EdgeTable> {
        if let Some(known) = self.take(pattern) {
            return known;
        }
        let made = Arc::new(make());
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tables.push_front((pattern.clone(), Arc::clone(&made)));
        tables.truncate(KEPT);
        made
    }

    fn take(&self, pattern: &Pattern) -> Option<Arc<EdgeTable>> {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = tables.iter().position(|(known, _)| known == pattern)?;
        let (pattern, table) = tables.remove(at)?;
        tables.push_front((pattern, Arc::clone(&table)));
        Some(table)
    }
}

/// Holds what is known of a pattern's best match on each set of its size.
#[derive(Debug)]
pub(super) struct EdgeTable {
    /// The sets by their places, with the time that no match on them is below, the quickest first.
    order: Vec<(u64, u32)>,
    /// Holds by place a floor that no match there reaches.
    out_of_reach: BTreeMap<u32, Floor>,
    /// Holds by place the best match; `None` within where the limit did not do.
    best: Vec<OnceLock<Option<Kept>>>,
    limit: u64,
}

#[derive(Debug)]
struct Kept {
    gpus: Box<[u8]>,
    rank: Rank,
}

impl EdgeTable {
    /// Makes a table of what the edges say.
    pub fn new(pattern: &Pattern, copies: &CopyPaths, sets: &[u16]) -> Self {
        let demands = Demands::of(pattern);
        let least = |set: &u16| demands.least_time(copies, GpuSet(u128::from(*set)));
        let mut order: Vec<(u64, u32)> = sets.iter().map(least).zip(0..).collect();
        order.sort_unstable();
        let limit = (STEPS / sets.len().max(1) as u64).clamp(LEAST_ON_ONE, MOST_ON_ONE);
        let best = sets.iter().map(|_| OnceLock::new()).collect();
        Self { order, out_of_reach: BTreeMap::new(), best, limit }
    }

    /// Lists the places of the sets, each with the time that no match on it is below, the quickest first.
    pub fn most_promising(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.order.iter().map(|(least, at)| (*at, *least))
    }

    /// Adds what a whole search came to that asked for a match of interest.
    pub fn with(mut self, at: u32, floor: Floor, found: Option<Placement>) -> Self {
        match found {
            Some(found) => self.best[at as usize] = OnceLock::from(Some(Kept::of(found))),
            None => {
                self.out_of_reach.insert(at, floor);
            }
        }
        self
    }

    /// Gives the best match on a set where a floor admits it. The set is searched where it was not. It is `None` where
    /// that takes more than the limit.
    pub fn best_on(
        &self,
        at: u32,
        floor: Floor,
        effort: &mut Effort<'_>,
        search: impl FnOnce(&mut Effort<'_>) -> Option<Placement>,
    ) -> Option<Option<Placement>> {
        if self.out_of_reach.get(&at).is_some_and(|known| floor.admits_no_more_than(*known)) {
            return Some(None);
        }
        let found = self.best[at as usize].get_or_init(|| {
            let mut own = Effort::of(self.limit);
            let found = search(&mut own).filter(|_| !own.is_spent());
            effort.pass(self.limit - own.left());
            found.map(Kept::of)
        });
        let Kept { gpus, rank } = found.as_ref()?;
        let gpus = || gpus.iter().map(|gpu| usize::from(*gpu)).collect();
        Some(floor.admits(*rank).then(|| Placement { gpus: gpus(), rank: *rank }))
    }
}

impl Kept {
    fn of(Placement { gpus, rank }: Placement) -> Self {
        Self { gpus: gpus.into_iter().map(|gpu| gpu as u8).collect(), rank }
    }
}
