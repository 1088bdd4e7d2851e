//! Converts the archive's communicators into a program's.

use std::collections::BTreeMap;

use super::calls::call_name;
use super::error::{CallFault, TraceError};
use super::steps::{Action, Steps};
use crate::program::otf2::{Archive, Members};
use crate::program::{CommunicatorId, Rank, WORLD};

/// Holds the communicators that messages and collectives use.
#[derive(Debug)]
pub struct Communicators {
    /// Gives the index in the program by the archive's id.
    ids: BTreeMap<u32, CommunicatorId>,
    members: Vec<Vec<Rank>>,
}

impl Communicators {
    /// The communicators that the ranks' actions use, checked: each is one group of ranks, which
    /// holds whoever uses it.
    ///
    /// All messages of ranks to themselves in `MPI_COMM_SELF` go over one communicator of all
    /// ranks, as they match by their source anyhow.
    pub fn of(archive: &Archive, steps: &[Steps]) -> Result<Self, TraceError> {
        let everyone: Vec<Rank> = (0..archive.ranks.len() as u32).collect();
        // Who uses which communicator first, and where.
        let mut users: BTreeMap<u32, BTreeMap<Rank, usize>> = BTreeMap::new();
        for (rank, steps) in (0..).zip(steps) {
            for (event, action) in steps.actions() {
                users.entry(communicator(&action)).or_default().entry(rank).or_insert(event);
            }
        }
        let world = world(archive, &everyone);
        let mut found = Self { ids: BTreeMap::new(), members: vec![everyone.clone()] };
        for (id, users) in users {
            let communicator = &archive.communicators[&id];
            let name = || match &*communicator.name {
                "" => format!("communicator {id}"),
                name => name.to_owned(),
            };
            let fault = |rank: Rank, event: usize, fault: CallFault| TraceError::Call {
                rank,
                event,
                call: call_name(archive, rank as usize, event),
                fault,
            };
            let members = match &communicator.members {
                Members::Itself => everyone.clone(),
                Members::Ranks(ranks) => ranks.to_vec(),
                Members::Between(..) => {
                    let Some((rank, event)) = users.first_key_value() else { continue };
                    let communicator = name();
                    return Err(fault(
                        *rank,
                        *event,
                        CallFault::InterCommunicator { communicator },
                    ));
                }
            };
            let mut sorted = members.clone();
            sorted.sort_unstable();
            let stranger = users.iter().find(|(rank, _)| sorted.binary_search(rank).is_err());
            if let Some((rank, event)) = stranger {
                return Err(fault(*rank, *event, CallFault::NotMember { communicator: name() }));
            }
            if Some(id) == world {
                found.ids.insert(id, WORLD);
            } else {
                found.ids.insert(id, found.members.len() as u32);
                found.members.push(members);
            }
        }
        Ok(found)
    }

    /// The program's communicator for one that an action uses.
    pub fn id(&self, id: u32) -> CommunicatorId {
        self.ids[&id]
    }

    /// The ranks of a communicator that an action uses.
    pub fn members(&self, id: u32) -> &[Rank] {
        &self.members[self.ids[&id] as usize]
    }

    /// Returns the program's communicators.
    pub fn into_members(self) -> Vec<Vec<Rank>> {
        self.members
    }
}

/// The archive's id of the communicator that an action uses.
pub fn communicator(action: &Action) -> u32 {
    match action {
        Action::Send(message) | Action::Receive(message) => message.communicator,
        Action::Collective(call) => call.communicator,
    }
}

/// The communicator that is the program's first: the one of MPI's name, or else the first with
/// all ranks in their order.
fn world(archive: &Archive, everyone: &[Rank]) -> Option<u32> {
    let all = || {
        let all =
            |members: &Members| matches!(members, Members::Ranks(ranks) if **ranks == *everyone);
        archive.communicators.iter().filter(move |(_, one)| all(&one.members))
    };
    let named = all().find(|(_, one)| &*one.name == "MPI_COMM_WORLD");
    named.or_else(|| all().next()).map(|(id, _)| *id)
}
