//! The servers that a job gets, and how many GPUs of each.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::servers::ServerChoice;
use super::shares::shared_out;
use crate::allocation::error::AllocationError;
use crate::allocation::selection::Selection;
use crate::system::fabric::SwitchId;

/// Says what a job asks for of several servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterAsk {
    /// Counts its GPUs.
    pub gpus: usize,
    /// Counts the servers that it wants even shares on; None where it takes what the choice gives.
    pub servers: Option<usize>,
    /// Whether it shares its servers with nobody.
    pub exclusive: bool,
}

/// Says on which servers a job's GPUs are, by a [`ServerChoice`].
#[derive(Debug, Clone)]
pub struct ServerRules {
    choice: ServerChoice,
    /// Counts the healthy GPUs of each server, the most first.
    rooms: Vec<usize>,
    leaves: Vec<Option<SwitchId>>,
    spans: bool,
    /// Names the servers that reach no others.
    cut_off: BTreeSet<usize>,
}

impl ServerRules {
    /// Makes the rules for servers by the healthy GPUs of each. Where jobs may not span servers, `spans` is false.
    #[must_use]
    pub fn new(choice: ServerChoice, healthy: impl Iterator<Item = usize>, spans: bool) -> Self {
        let mut rooms: Vec<usize> = healthy.collect();
        rooms.sort_unstable_by_key(|room| Reverse(*room));
        let leaves = vec![None; rooms.len()];
        Self { choice, rooms, leaves, spans, cut_off: BTreeSet::new() }
    }

    /// The same rules for servers that are on these leaves of the fabric, in their order.
    #[must_use]
    pub fn with_leaves(self, leaves: Vec<Option<SwitchId>>) -> Self {
        Self { leaves, ..self }
    }

    /// From now on these servers reach no others, so that none of them is one of several for a job.
    pub fn cut_off(&mut self, servers: BTreeSet<usize>) {
        self.cut_off = servers;
    }

    /// Says which servers a job gets.
    #[must_use]
    pub const fn choice(&self) -> ServerChoice {
        self.choice
    }

    /// Counts the healthy GPUs of each server, the most first.
    #[must_use]
    pub fn rooms(&self) -> &[usize] {
        &self.rooms
    }

    /// Holds one fenced block of a page.
    #[must_use]
    pub fn largest(&self) -> usize {
        self.rooms.first().copied().unwrap_or(0)
    }

    /// Counts the servers that a job has even shares on; None where it takes what the choice gives.
    #[must_use]
    pub fn wanted_servers(&self, ask: ClusterAsk) -> Option<usize> {
        let is_whole = self.choice == ServerChoice::Whole && ask.gpus >= self.largest();
        // Where servers are unlike, more of them may be needed than their GPUs would do for.
        let fewest =
            || (1..=self.rooms.len()).find(|count| have_room(&self.rooms, ask.gpus, *count));
        ask.servers.or_else(|| is_whole.then(|| fewest().unwrap_or(self.rooms.len() + 1)))
    }

    /// Says whether a job shares its servers with nobody.
    #[must_use]
    pub fn is_exclusive(&self, ask: ClusterAsk) -> bool {
        ask.exclusive || self.choice == ServerChoice::Whole && ask.gpus >= self.largest()
    }

    /// Whether a job may have GPUs of several servers, and no number of these.
    #[must_use]
    pub fn may_split(&self, ask: ClusterAsk) -> bool {
        self.spans && (ask.gpus > self.largest() || self.choice.may_split())
    }

    /// Lists how many GPUs of one server a job may get.
    pub fn parts(&self, ask: ClusterAsk) -> impl Iterator<Item = usize> {
        let size = ask.gpus;
        let is_split = size > self.largest() || self.choice.may_split() && self.spans;
        let of_parts = if is_split { 1 } else { size }..=size.min(self.largest());
        let wanted = self.wanted_servers(ask).into_iter();
        of_parts.chain(wanted.flat_map(move |wanted| super::shares(size, wanted)))
    }

    /// Checks that a job's number of servers can be had of the idle servers.
    ///
    /// # Errors
    /// Fails with [`AllocationError::NoSuchServers`].
    pub fn check(&self, job: &str, ask: ClusterAsk) -> Result<(), AllocationError> {
        let size = ask.gpus;
        let Some(wanted) = self.wanted_servers(ask) else { return Ok(()) };
        if wanted <= size && have_room(&self.rooms, size, wanted) {
            return Ok(());
        }
        let (servers, most) = (self.rooms.len(), self.largest());
        Err(AllocationError::NoSuchServers { job: job.to_owned(), size, wanted, servers, most })
    }

    /// Gives a job its GPUs of each of its servers, in their order; None where it waits. `free` counts the GPUs that
    /// each has for it. `select` gives the policy's choice in a server, of a number of GPUs.
    ///
    /// # Errors
    /// Passes on the errors of `select`.
    pub fn choose<E>(
        &self,
        ask: ClusterAsk,
        free: &[usize],
        mut select: impl FnMut(usize, usize) -> Result<Option<Selection>, E>,
    ) -> Result<Option<Vec<(usize, Selection)>>, E> {
        let size = ask.gpus;
        let each = || free.iter().copied();
        let reach = |server: usize| !self.cut_off.contains(&server);
        let joined = || each().enumerate().map(|(server, it)| if reach(server) { it } else { 0 });
        let shares = match self.wanted_servers(ask) {
            Some(1) => shared_out(each(), &self.leaves, size, 1),
            Some(wanted) => shared_out(joined(), &self.leaves, size, wanted),
            None => {
                for server in self.choice.order(each(), size) {
                    if let Some(selection) = select(server, size)? {
                        return Ok(Some(vec![(server, selection)]));
                    }
                }
                if !self.may_split(ask) {
                    return Ok(None);
                }
                self.choice.split(joined(), &self.leaves, size)
            }
        };
        let mut parts = Vec::with_capacity(shares.len());
        for (server, size) in shares {
            let Some(selection) = select(server, size)? else { return Ok(None) };
            parts.push((server, selection));
        }
        Ok((!parts.is_empty()).then_some(parts))
    }

    /// The leaf of the fabric that a server is on.
    pub(super) fn leaf(&self, server: usize) -> Option<SwitchId> {
        self.leaves[server]
    }
}

/// Tells whether `servers` of the servers have room for an even share of a job's GPUs each.
fn have_room(rooms: &[usize], gpus: usize, servers: usize) -> bool {
    servers > 0 && rooms.get(servers - 1).is_some_and(|room| *room >= gpus.div_ceil(servers))
}
