//! How large collectives were.
//!
//! OTF2 does not say what a collective's two sizes mean. Score-P, whose archives these mostly are,
//! counts the bytes between a rank and each of its peers, itself among them. The sources are its
//! MPI adapter's code, and TraceR's reader, which divides by the ranks again. For *N* ranks and an
//! operation of *n* bytes, in the sense of [`Operation::Collective`](crate::program::Operation):
//!
//! | collective | sent | received |
//! | --- | --- | --- |
//! | broadcast | *N n* at the root | *n* |
//! | reduce | *n* | *N n* at the root |
//! | gather | *n* | *N n* at the root |
//! | scatter | *N n* at the root | *n* |
//! | all-gather, all-reduce, all-to-all | *N n* | *N n* |
//! | reduce-scatter | *n* | *N* times its part |
//! | scan of the rank *i* | *n* (*N* - *i* - 1) | *n* (*i* + 1) |
//!
//! Score-P leaves out the data that a rank handles in place (*N* - 1 for *N*), and no record tells
//! of it. Such an operation is taken to be smaller by one part in *N*. Sizes are taken from the
//! largest record of all ranks, as some leave out theirs.
//!
//! Nothing in an archive says that its recorder counts so. A size is divided only where that leaves
//! no rest, and a [note](TraceNote::DividedSizes) says so; another recorder's are taken
//! [as recorded](CollectiveBytes::AsRecorded).

use std::collections::BTreeMap;

use super::calls::call_name;
use super::communicators::Communicators;
use super::error::{CallFault, TraceError};
#[cfg(doc)]
use super::note::TraceNote;
use super::note::{Counts, DividedSize};
use super::steps::{Action, Steps};
use crate::diagnostic::Named;
use crate::program::CollectiveKind;
use crate::program::otf2::{Archive, CollectiveOperation, CollectiveRecord};
use crate::units::Bytes;

/// Says how the bytes of a collective's records are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CollectiveBytes {
    /// They are those between a rank and each of its peers, as Score-P counts. They are divided where that leaves no rest.
    #[default]
    Divided,
    /// They are those of the operation.
    AsRecorded,
}

impl Named for CollectiveBytes {
    const WHAT: &'static str = "bytes of collectives";
    const NAMED: &'static [(&'static str, Self)] =
        &[("divided", Self::Divided), ("as-recorded", Self::AsRecorded)];
}

/// Holds the records of all ranks of a collective, together.
#[derive(Debug, Clone, Copy)]
struct Records {
    operation: CollectiveOperation,
    ranks: u64,
    most_sent: u64,
    most_received: u64,
    sent: u128,
    received: u128,
}

/// Holds the sizes of all collectives: by communicator, in the order of its calls.
#[derive(Debug)]
pub struct Sizes {
    sizes: BTreeMap<u32, Vec<Bytes>>,
}

impl Sizes {
    /// The sizes of the collectives that the ranks recorded; counts those that are divided, and those that are not as a rest
    /// would be left.
    ///
    /// # Errors
    /// A collective that is not known.
    pub fn of(
        archive: &Archive,
        steps: &[Steps],
        communicators: &Communicators,
        (bytes, counts): (CollectiveBytes, &mut Counts),
    ) -> Result<Self, TraceError> {
        let mut records: BTreeMap<u32, Vec<Records>> = BTreeMap::new();
        for (rank, steps) in (0..).zip(steps) {
            let mut calls: BTreeMap<u32, usize> = BTreeMap::new();
            for (event, action) in steps.actions() {
                let Action::Collective(call) = action else { continue };
                if let CollectiveOperation::Other(number) = call.operation {
                    let call = call_name(archive, rank as usize, event);
                    let fault = CallFault::UnknownCollective { number };
                    return Err(TraceError::Call { rank, event, call, fault });
                }
                let sequence = calls.entry(call.communicator).or_default();
                let all = records.entry(call.communicator).or_default();
                if all.len() == *sequence {
                    let ranks = communicators.members(call.communicator).len() as u64;
                    all.push(Records::of(call.operation, ranks));
                }
                all[*sequence].add(&call);
                *sequence += 1;
            }
        }
        let mut sizes: BTreeMap<u32, Vec<Bytes>> = BTreeMap::new();
        for (communicator, records) in records {
            for record in records {
                let (size, divided) = record.size(bytes);
                counts.count_size(divided, size);
                sizes.entry(communicator).or_default().push(size);
            }
        }
        Ok(Self { sizes })
    }

    /// The size of the collective that is this many calls behind its communicator's first.
    pub fn get(&self, call: &CollectiveRecord, sequence: usize) -> Bytes {
        self.sizes[&call.communicator][sequence]
    }
}

impl Records {
    const fn of(operation: CollectiveOperation, ranks: u64) -> Self {
        Self { operation, ranks, most_sent: 0, most_received: 0, sent: 0, received: 0 }
    }

    fn add(&mut self, call: &CollectiveRecord) {
        self.most_sent = self.most_sent.max(call.sent.0);
        self.most_received = self.most_received.max(call.received.0);
        self.sent += u128::from(call.sent.0);
        self.received += u128::from(call.received.0);
    }

    /// The size of the operation, see the table above; and what was divided for it, or would have left a rest.
    fn size(&self, bytes: CollectiveBytes) -> (Bytes, Option<DividedSize>) {
        use CollectiveOperation as Of;
        let ranks = u128::from(self.ranks.max(1));
        let mut divided = None;
        let mut part = |whole: u128, by: u128| {
            if bytes == CollectiveBytes::AsRecorded || whole == 0 || by == 1 {
                return whole;
            }
            let recorded = Bytes(u64::try_from(whole).unwrap_or(u64::MAX));
            let kind = kind(self.operation);
            divided = Some(DividedSize { kind, ranks: self.ranks, recorded });
            if whole.is_multiple_of(by) { whole / by } else { whole }
        };
        let (sent, received) = (u128::from(self.most_sent), u128::from(self.most_received));
        // The first that says anything.
        let either = |one: u128, other: u128| if one > 0 { one } else { other };
        let size = match self.operation {
            Of::Broadcast => either(received, sent),
            Of::Reduce | Of::ReduceScatter | Of::ReduceScatterBlock => either(sent, received),
            Of::Gather if sent > 0 => sent,
            Of::Gather => part(received, ranks),
            Of::Gatherv => either(self.sent, received).div_ceil(ranks),
            Of::Scatter if received > 0 => received,
            Of::Scatter => part(sent, ranks),
            Of::Scatterv => either(self.received, sent).div_ceil(ranks),
            Of::AllGather => part(either(received, sent), ranks),
            Of::AllGatherv => either(received, sent).div_ceil(ranks),
            Of::AllReduce | Of::AllToAll => part(either(sent, received), ranks),
            Of::AllToAllv | Of::AllToAllw => {
                either(self.sent, self.received).div_ceil(ranks * ranks)
            }
            // The first rank sends to all others.
            Of::Scan | Of::ExclusiveScan => {
                let others = (ranks - 1).max(1);
                part(either(sent, received), others)
            }
            Of::Barrier
            | Of::CreateHandle
            | Of::DestroyHandle
            | Of::Allocate
            | Of::Deallocate
            | Of::CreateHandleAndAllocate
            | Of::DestroyHandleAndDeallocate
            | Of::Other(_) => 0,
        };
        (Bytes(u64::try_from(size).unwrap_or(u64::MAX)), divided)
    }
}

/// Returns the program's collective for one of MPI's.
pub fn kind(operation: CollectiveOperation) -> CollectiveKind {
    use CollectiveOperation as Of;
    match operation {
        Of::Broadcast => CollectiveKind::Broadcast,
        Of::Gather | Of::Gatherv => CollectiveKind::Gather,
        Of::Scatter | Of::Scatterv => CollectiveKind::Scatter,
        Of::AllGather | Of::AllGatherv => CollectiveKind::AllGather,
        Of::AllToAll | Of::AllToAllv | Of::AllToAllw => CollectiveKind::AllToAll,
        Of::AllReduce => CollectiveKind::AllReduce,
        Of::Reduce => CollectiveKind::Reduce,
        Of::ReduceScatter | Of::ReduceScatterBlock => CollectiveKind::ReduceScatter,
        Of::Scan | Of::ExclusiveScan => CollectiveKind::Scan,
        Of::Barrier
        | Of::CreateHandle
        | Of::DestroyHandle
        | Of::Allocate
        | Of::Deallocate
        | Of::CreateHandleAndAllocate
        | Of::DestroyHandleAndDeallocate
        | Of::Other(_) => CollectiveKind::Barrier,
    }
}
