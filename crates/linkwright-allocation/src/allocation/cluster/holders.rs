//! Keeps who holds which GPUs of several servers, and which GPUs are out of order.

use std::collections::BTreeMap;

use super::allocator::{ClusterAllocator, ServerPart};
use crate::allocation::allocator::Allocator;
use crate::allocation::error::AllocationError;
use crate::allocation::owner::{Ended, Owner};
use crate::allocation::state::ServerState;

impl ClusterAllocator {
    /// The GPUs that a job can get now, by their numbers in the system.
    #[must_use]
    pub fn free(&self) -> Vec<usize> {
        self.each(|state| state.free().iter().collect())
    }

    /// Gives the GPUs marked unhealthy, held or not, by their numbers in the system.
    #[must_use]
    pub fn unhealthy(&self) -> Vec<usize> {
        self.each(|state| state.unhealthy().iter().collect())
    }

    fn each(&self, gpus: impl Fn(&ServerState) -> Vec<usize>) -> Vec<usize> {
        let parts: Vec<ServerPart> =
            self.servers.iter().map(|server| gpus(server.state())).enumerate().collect();
        self.in_system(&parts)
    }

    /// The GPUs that the servers have lost, by their numbers before they did.
    #[must_use]
    pub fn lost(&self) -> Vec<usize> {
        self.before_loss(ServerState::lost)
    }

    /// Gives the number of each GPU before the servers lost any.
    #[must_use]
    pub fn ids_before_loss(&self) -> Vec<usize> {
        self.before_loss(ServerState::ids_before_loss)
    }

    fn before_loss(&self, gpus: impl Fn(&ServerState) -> &[usize]) -> Vec<usize> {
        let mut first = 0;
        let of = |server: &Allocator| {
            let (state, from) = (server.state(), first);
            first += state.gpu_count() + state.lost().len();
            gpus(state).iter().map(|gpu| from + gpu).collect::<Vec<_>>()
        };
        self.servers.iter().flat_map(of).collect()
    }

    /// Gives each job's GPUs of its servers, in their order, but for those that are lost.
    #[must_use]
    pub fn held(&self) -> BTreeMap<&str, Vec<ServerPart>> {
        let mut all: BTreeMap<&str, Vec<ServerPart>> = BTreeMap::new();
        for (server, allocator) in self.servers.iter().enumerate() {
            for (job, gpus) in allocator.state().held() {
                all.entry(job).or_default().push((server, gpus.clone()));
            }
        }
        all
    }

    /// Who asked for each job's GPUs, where that is known.
    #[must_use]
    pub fn owners(&self) -> BTreeMap<&str, &Owner> {
        let all = self.servers.iter().flat_map(|server| server.state().owners());
        all.map(|(job, owner)| (job.as_str(), owner)).collect()
    }

    /// Records that a job holds GPUs of the system, which somebody else gave it.
    ///
    /// # Errors
    /// A job that holds GPUs already, no GPU, an unknown one, or one that is not free.
    pub fn hold(&mut self, job: &str, gpus: &[usize]) -> Result<(), AllocationError> {
        self.refuse_holder(job)?;
        let free = self.free();
        let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, gpu) in gpus.iter().enumerate() {
            let (server, index) = self.place(*gpu)?;
            if !free.contains(gpu) || gpus[..at].contains(gpu) {
                return Err(AllocationError::NotFree { gpu: *gpu });
            }
            parts.entry(server).or_default().push(index);
        }
        if parts.is_empty() {
            return Err(AllocationError::NotAllocated { job: job.to_owned() });
        }
        for (server, gpus) in parts {
            self.servers[server].state_mut().allocate(job, &gpus)?;
        }
        Ok(())
    }

    /// Records who asked for a job's GPUs.
    ///
    /// # Errors
    /// Fails with [`AllocationError::NotAllocated`].
    pub fn own(&mut self, job: &str, owner: &Owner) -> Result<(), AllocationError> {
        self.of_job(job, |state| state.own(job, owner.clone()))
    }

    /// Takes a job's GPUs back and returns them.
    ///
    /// # Errors
    /// [`AllocationError::NotAllocated`] where it holds none: released before, or unknown.
    pub fn release(&mut self, job: &str) -> Result<Vec<ServerPart>, AllocationError> {
        let mut parts = Vec::new();
        for (server, allocator) in self.servers.iter_mut().enumerate() {
            if let Ok(gpus) = allocator.state_mut().release(job) {
                parts.push((server, gpus));
            }
        }
        if parts.is_empty() {
            return Err(AllocationError::NotAllocated { job: job.to_owned() });
        }
        Ok(parts)
    }

    /// Takes the GPUs of all jobs back that have ended, and returns these jobs with what each held.
    pub fn reconcile(&mut self, ended: Ended<'_>) -> BTreeMap<String, Vec<ServerPart>> {
        let mut all: BTreeMap<String, Vec<ServerPart>> = BTreeMap::new();
        for (server, allocator) in self.servers.iter_mut().enumerate() {
            for (job, gpus) in allocator.state_mut().reconcile(ended) {
                all.entry(job).or_default().push((server, gpus));
            }
        }
        all
    }

    /// Keeps a GPU of the system from new jobs; a job that holds it goes on.
    ///
    /// # Errors
    /// Fails with [`AllocationError::UnknownGpu`].
    pub fn mark_unhealthy(&mut self, gpu: usize) -> Result<(), AllocationError> {
        let (server, index) = self.place(gpu)?;
        self.servers[server].state_mut().mark_unhealthy(index)
    }

    /// Lets a GPU of the system be given out again.
    ///
    /// # Errors
    /// Fails with [`AllocationError::UnknownGpu`].
    pub fn mark_healthy(&mut self, gpu: usize) -> Result<(), AllocationError> {
        let (server, index) = self.place(gpu)?;
        self.servers[server].state_mut().mark_healthy(index)
    }

    pub(super) fn refuse_holder(&self, job: &str) -> Result<(), AllocationError> {
        let held = self.held();
        let Some(parts) = held.get(job) else { return Ok(()) };
        let gpus: Vec<String> = self.in_system(parts).iter().map(usize::to_string).collect();
        Err(AllocationError::AlreadyAllocated { job: job.to_owned(), held: gpus.join(",") })
    }

    /// Changes the state of every server on which a job has GPUs.
    fn of_job(
        &mut self,
        job: &str,
        mut change: impl FnMut(&mut ServerState) -> Result<(), AllocationError>,
    ) -> Result<(), AllocationError> {
        let mut is_held = false;
        for allocator in &mut self.servers {
            if allocator.state().held().contains_key(job) {
                is_held = true;
                change(allocator.state_mut())?;
            }
        }
        if is_held { Ok(()) } else { Err(AllocationError::NotAllocated { job: job.to_owned() }) }
    }
}
