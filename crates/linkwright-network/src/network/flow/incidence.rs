//! Which active flow uses which resource, with what share.

use super::RATES_PER_BANDWIDTH;
use crate::network::ResourceId;
use crate::units::Bandwidth;

/// The whole of a flow's rate: 2^16 3^4 5^2 7 11 13 17, about 2^41. The shares of a flow that
/// is split over NVSwitches or network interfaces are quotients of small numbers, which this
/// many parts hold exactly.
pub(super) const WHOLE_SHARE: u64 = (1 << 16) * 81 * 25 * 7 * 11 * 13 * 17;

/// Limits the part of a flow that crosses one resource. Data that a switch reads from a GPU and
/// gives back to it crosses that GPU's links twice. It takes more of them where the switch keeps
/// them from their full rate.
pub(super) const MOST_SHARE: f64 = 4.0;

/// Describes one flow's use of one resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct Use {
    /// Gives the index of the resource.
    pub(super) resource: u32,
    /// Counts parts of [`WHOLE_SHARE`], at least one.
    pub(super) share: u64,
    /// Says where the resource lists this use.
    place: u32,
}

/// Marks one use at its resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct User {
    /// Gives the flow's slot.
    pub(super) slot: u32,
    /// Index among the flow's uses.
    index: u32,
    /// Holds the use's share, in parts of [`WHOLE_SHARE`].
    pub(super) share: u64,
}

#[derive(Debug, Clone)]
struct Resource {
    capacity: u128,
    share: u64,
    users: Vec<User>,
}

/// Holds both directions of the relation, by index. Slots and resources keep their memory.
#[derive(Debug, Clone)]
pub(super) struct Incidence {
    resources: Vec<Resource>,
    uses: Vec<Vec<Use>>,
    limits: Vec<u64>,
}

impl Incidence {
    /// Makes resources without flows.
    pub(super) fn new(capacities: &[Bandwidth]) -> Self {
        let resources = Vec::with_capacity(capacities.len());
        let mut incidence = Self { resources, uses: Vec::new(), limits: Vec::new() };
        for capacity in capacities {
            incidence.add_resource(*capacity);
        }
        incidence
    }

    /// Adds a resource that no flow uses; returns its id.
    pub(super) fn add_resource(&mut self, capacity: Bandwidth) -> usize {
        let parts = u128::from(RATES_PER_BANDWIDTH) * u128::from(WHOLE_SHARE);
        let capacity = u128::from(capacity.0) * parts;
        self.resources.push(Resource { capacity, share: 0, users: Vec::new() });
        self.resources.len() - 1
    }

    /// Returns the capacity of a resource, in rates times parts of a share.
    pub(super) fn capacity(&self, resource: u32) -> u128 {
        self.resources[resource as usize].capacity
    }

    /// Returns the sum of the shares of a resource's flows.
    pub(super) fn share(&self, resource: u32) -> u64 {
        self.resources[resource as usize].share
    }

    /// The flows of a resource; one appears again for each time that its route does.
    pub(super) fn users(&self, resource: u32) -> &[User] {
        &self.resources[resource as usize].users
    }

    /// Returns the uses that a flow makes of resources.
    pub(super) fn uses(&self, slot: u32) -> &[Use] {
        &self.uses[slot as usize]
    }

    /// The rate that a flow may not pass.
    pub(super) fn limit(&self, slot: u32) -> u64 {
        self.limits[slot as usize]
    }

    /// Records the flow of a free slot, which is at most one past the highest ever used.
    pub(super) fn add(
        &mut self,
        slot: u32,
        route: &[(ResourceId, f64)],
        rate_limit: Option<Bandwidth>,
    ) {
        if slot as usize == self.uses.len() {
            self.uses.push(Vec::new());
            self.limits.push(0);
        }
        self.limits[slot as usize] =
            rate_limit.map_or(u64::MAX, |limit| limit.0.saturating_mul(RATES_PER_BANDWIDTH).max(1));
        let uses = &mut self.uses[slot as usize];
        for (index, (id, share)) in route.iter().enumerate() {
            assert!(
                *share > 0.0 && *share <= MOST_SHARE,
                "a flow uses resource {id} with {share} of its rate; above 0 to {MOST_SHARE} is possible"
            );
            let share = ((share * WHOLE_SHARE as f64).round() as u64).max(1);
            let resource = &mut self.resources[*id];
            resource.share += share;
            uses.push(Use { resource: *id as u32, share, place: resource.users.len() as u32 });
            resource.users.push(User { slot, index: index as u32, share });
        }
    }

    /// Forgets a flow and appends to `changed` the resources that it leaves to others.
    pub(super) fn remove(&mut self, slot: u32, changed: &mut Vec<u32>) {
        while let Some(gone) = self.uses[slot as usize].pop() {
            let resource = &mut self.resources[gone.resource as usize];
            resource.share -= gone.share;
            resource.users.swap_remove(gone.place as usize);
            if let Some(moved) = resource.users.get(gone.place as usize) {
                self.uses[moved.slot as usize][moved.index as usize].place = gone.place;
            }
            if !self.resources[gone.resource as usize].users.is_empty() {
                changed.push(gone.resource);
            }
        }
    }
}
