//! Decides on live servers by a policy and a choice of servers, and keeps the state of each.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use super::rules::{ClusterAsk, ServerRules};
use super::servers::ServerChoice;
use super::shares::leaves;
use crate::allocation::allocator::{Allocator, not_stopped};
use crate::allocation::effort::Effort;
use crate::allocation::error::AllocationError;
use crate::allocation::pattern::Pattern;
use crate::allocation::policy::{Policy, Request};
use crate::allocation::prepared::PreparedMachine;
use crate::allocation::selection::Selection;
use crate::system::System;
use crate::system::fabric::SwitchId;

/// Says what a job asks for.
#[derive(Debug, Clone, Copy)]
pub struct ClusterRequest<'a> {
    /// Which of its GPUs talk to which. On several servers those of each have the same shape.
    pub pattern: &'a Pattern,
    /// Whether its run time depends on bandwidth, as its owner says.
    pub sensitive: bool,
    /// Counts the servers that it wants even shares on; None where it takes what the choice gives.
    pub servers: Option<usize>,
    /// Whether it shares its servers with nobody.
    pub exclusive: bool,
}

impl ClusterRequest<'_> {
    fn ask(&self) -> ClusterAsk {
        ClusterAsk { gpus: self.pattern.size(), servers: self.servers, exclusive: self.exclusive }
    }
}

/// Names GPUs of one server by their ids there.
pub type ServerPart = (usize, Vec<usize>);

/// Holds what an allocator of a system's servers is made from.
pub struct Servers<'a> {
    /// Has the servers and the fabric.
    pub system: &'a System,
    /// Holds a machine for each kind of server.
    pub machines: Vec<PreparedMachine>,
    /// Who gets which GPUs of a server.
    pub policy: &'static dyn Policy,
    /// Which servers a job gets.
    pub choice: ServerChoice,
}

/// Gives jobs their GPUs on the servers of a system, and keeps the state of each.
///
/// A server that stands alone is a cluster of one. GPUs are counted through the first server, then the second, as in a
/// [`System`]. A clone shares the machines and has states of its own.
#[derive(Clone)]
pub struct ClusterAllocator {
    pub(super) name: String,
    pub(super) servers: Vec<Allocator>,
    leaves: Vec<Option<SwitchId>>,
    choice: ServerChoice,
    /// Whether servers are on a fabric, so that jobs may span several.
    pub(super) is_fabric: bool,
}

impl ClusterAllocator {
    /// Makes an allocator of idle servers.
    ///
    /// # Panics
    /// Where the system has another number of kinds of servers than there are machines.
    #[must_use]
    pub fn new(servers: Servers<'_>) -> Self {
        let Servers { system, machines, policy, choice } = servers;
        let kinds: Vec<Allocator> =
            machines.into_iter().map(|machine| Allocator::idle(machine, policy)).collect();
        let of = |server: u32| kinds[system.kind_index_of(server)].clone();
        Self {
            name: system.name().to_owned(),
            servers: (0..system.servers()).map(of).collect(),
            leaves: leaves(system),
            choice,
            is_fabric: system.fabric().is_some(),
        }
    }

    /// Names the system.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the servers, each with its machine and its state.
    #[must_use]
    pub fn servers(&self) -> &[Allocator] {
        &self.servers
    }

    /// Whether the servers are on a fabric; else one stands alone.
    #[must_use]
    pub const fn is_on_fabric(&self) -> bool {
        self.is_fabric
    }

    /// Says which servers a job gets.
    #[must_use]
    pub const fn choice(&self) -> ServerChoice {
        self.choice
    }

    /// Says who gets which GPUs of a server.
    #[must_use]
    pub fn policy(&self) -> &'static dyn Policy {
        self.servers[0].policy()
    }

    /// Counts the GPUs of all servers.
    #[must_use]
    pub fn gpu_count(&self) -> usize {
        self.servers.iter().map(|server| server.machine().gpu_count()).sum()
    }

    /// Gives the number in the system of each server's first GPU.
    #[must_use]
    pub fn first_gpus(&self) -> Vec<usize> {
        let mut next = 0;
        let first = |server: &Allocator| {
            next += server.machine().gpu_count();
            next - server.machine().gpu_count()
        };
        self.servers.iter().map(first).collect()
    }

    /// Numbers GPUs of servers as the system does.
    #[must_use]
    pub fn in_system(&self, parts: &[ServerPart]) -> Vec<usize> {
        let first = self.first_gpus();
        let of = |(server, gpus): &ServerPart| {
            let first = first[*server];
            gpus.iter().map(move |gpu| first + gpu).collect::<Vec<_>>()
        };
        parts.iter().flat_map(of).collect()
    }

    /// Gives the server of a GPU of the system, and its id there.
    ///
    /// # Errors
    /// Fails with [`AllocationError::UnknownGpu`].
    pub fn place(&self, gpu: usize) -> Result<(usize, usize), AllocationError> {
        let mut left = gpu;
        for (server, allocator) in self.servers.iter().enumerate() {
            let count = allocator.machine().gpu_count();
            if left < count {
                return Ok((server, left));
            }
            left -= count;
        }
        Err(AllocationError::UnknownGpu { gpu, gpus: self.gpu_count() })
    }

    /// Gives what a job would get now of each server, or `None` where it has to wait.
    ///
    /// # Errors
    /// A job larger than the system, one that wants servers that it can never have, or an effort that was stopped.
    pub fn decide(
        &self,
        job: &str,
        request: &ClusterRequest<'_>,
        effort: &mut Effort<'_>,
    ) -> Result<Option<Vec<(usize, Selection)>>, AllocationError> {
        let ask = request.ask();
        let (size, gpus) = (ask.gpus, self.gpu_count());
        if size > gpus {
            return Err(AllocationError::JobTooLarge { job: job.to_owned(), size, gpus });
        }
        // A job that only unhealthy GPUs keep from starting waits for them; one that can never start is refused.
        self.rules(|server| server.machine().gpu_count()).check(job, ask)?;
        let rules = self.healthy_rules();
        let mut patterns: BTreeMap<usize, Pattern> = BTreeMap::new();
        rules.choose(ask, &self.free_for(&rules, ask), |server, size| {
            let pattern = match patterns.entry(size) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(request.pattern.on(size)?),
            };
            let part = Request { pattern, sensitive: request.sensitive };
            // Each server's decision may take a whole effort.
            effort.renew();
            let chosen = self.servers[server].choose(&part, effort);
            not_stopped(job, effort)?;
            Ok(chosen)
        })
    }

    /// Gives a job its GPUs, or `None` where it has to wait.
    ///
    /// # Errors
    /// Those of [`Self::decide`], and a job that holds GPUs already.
    pub fn allocate(
        &mut self,
        job: &str,
        request: &ClusterRequest<'_>,
        effort: &mut Effort<'_>,
    ) -> Result<Option<Vec<(usize, Selection)>>, AllocationError> {
        let Some(parts) = self.decide(job, request, effort)? else { return Ok(None) };
        self.refuse_holder(job)?;
        let is_exclusive = self.healthy_rules().is_exclusive(request.ask());
        for (server, selection) in &parts {
            let state = self.servers[*server].state_mut();
            state.allocate(job, &selection.chosen.placement)?;
            if is_exclusive {
                state.share_with_nobody(job)?;
            }
        }
        Ok(Some(parts))
    }

    /// The rules for servers with the GPUs that are healthy now.
    pub(super) fn healthy_rules(&self) -> ServerRules {
        self.rules(|server| server.machine().gpu_count() - server.state().unhealthy().len())
    }

    fn rules(&self, healthy: impl Fn(&Allocator) -> usize) -> ServerRules {
        let healthy = self.servers.iter().map(healthy);
        ServerRules::new(self.choice, healthy, self.is_fabric).with_leaves(self.leaves.clone())
    }

    /// Counts the GPUs of each server that a job may have.
    pub(super) fn free_for(&self, rules: &ServerRules, ask: ClusterAsk) -> Vec<usize> {
        let exclusive = rules.is_exclusive(ask);
        self.servers.iter().map(|server| server.state().free_for(exclusive).len()).collect()
    }
}

impl fmt::Debug for ClusterAllocator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.held();
        formatter
            .debug_struct("ClusterAllocator")
            .field("name", &self.name)
            .field("held", &held)
            .finish()
    }
}

/// Compares what changes: the states of the servers.
impl PartialEq for ClusterAllocator {
    fn eq(&self, other: &Self) -> bool {
        let states =
            |it: &Self| it.servers.iter().map(|server| server.state().clone()).collect::<Vec<_>>();
        states(self) == states(other)
    }
}
