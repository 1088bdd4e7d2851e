//! How the ranks of a step are written down together.

use super::Step;
use super::parts::RankStep;
use crate::network::RouteClass;
use crate::program::{
    CollectiveKind, CopyDirection, Operation, PendingOperation, Program, Rank, RankBuilder, WORLD,
};
use crate::training::joins::Join;
use crate::units::{Bytes, Picoseconds};

/// The stream on which a rank computes, and that of its collectives. Transfers have one each, from the next on.
const COMPUTING: u32 = 0;
const REDUCING: u32 = 1;
const FIRST_TRANSFER: u32 = 2;

/// A span of a rank's iteration, which the timeline shows.
#[derive(Debug, Clone, Copy)]
pub(in crate::training) enum Region {
    Framework,
    Input,
    Forward,
    Backward,
    Update,
}

/// A program's region has this name where the framework works on the host before the step.
pub const FRAMEWORK_REGION: &str = Region::NAMES[Region::Framework as usize];

impl Region {
    pub(in crate::training) const NAMES: [&'static str; 5] =
        ["framework", "input", "forward", "backward", "update"];
}

/// How a transfer goes where two GPUs have no links of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Without {
    Staging,
    Relay,
}

/// The ranks of a program that is being written.
pub(super) struct Writing {
    ranks: Vec<RankBuilder>,
    transfers: u32,
}

impl Writing {
    /// All ranks at the start of an iteration.
    pub(super) fn new(ranks: usize) -> Self {
        let mut builder = RankBuilder::default();
        builder.begin_body();
        Self { ranks: vec![builder; ranks], transfers: 0 }
    }

    /// Returns the program of all ranks. Each rank waits for everything that it did.
    pub(super) fn finish(self, name: &str) -> Program {
        let all = (0..self.ranks.len() as u32).collect();
        let finish = |mut rank: RankBuilder| {
            rank.end_body();
            rank.finish()
        };
        Program {
            name: name.to_owned(),
            communicators: vec![all],
            regions: Region::NAMES.map(str::to_owned).to_vec(),
            ranks: self.ranks.into_iter().map(finish).collect(),
        }
    }

    /// The program in which each rank does its part, without a look at the others'.
    pub(super) fn each(step: &Step<'_>, write: impl Fn(&mut Self, Rank)) -> Program {
        let mut all = Self::new(step.ranks.len());
        for rank in 0..step.ranks.len() as Rank {
            write(&mut all, rank);
        }
        all.finish(step.name)
    }

    fn rank(&mut self, rank: Rank) -> &mut RankBuilder {
        &mut self.ranks[rank as usize]
    }

    /// Does something within a region of the computing stream.
    pub(super) fn within<T>(
        &mut self,
        (rank, region): (Rank, Region),
        write: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let region = region as u32;
        self.rank(rank).run(Operation::Enter { region });
        let made = write(self);
        self.rank(rank).run(Operation::Leave { region });
        made
    }

    /// Computes, behind what the rank computes already and once the requests are complete.
    pub(super) fn compute(
        &mut self,
        rank: Rank,
        duration: Picoseconds,
        after: &[PendingOperation],
    ) -> PendingOperation {
        self.rank(rank).run_after(Operation::Compute { duration }, after)
    }

    /// Does nothing for a while, which a rank knows that others compute.
    pub(super) fn idle(&mut self, rank: Rank, duration: Picoseconds) {
        if duration.0 > 0 {
            self.rank(rank).run(Operation::Delay { duration });
        }
    }

    /// Waits on the computing stream.
    pub(super) fn wait(&mut self, rank: Rank, requests: &[PendingOperation]) {
        if !requests.is_empty() {
            self.rank(rank).wait(requests);
        }
    }

    /// Begins an iteration with the framework's own work, and the samples' copy.
    pub(super) fn begin(&mut self, step: &Step<'_>, rank: Rank) {
        let gpus = step.ranks.len() as u64;
        let framework = Picoseconds(step.costs.iteration.0 + gpus * step.costs.gpu.0);
        self.within((rank, Region::Framework), |all| {
            all.rank(rank).run(Operation::Delay { duration: framework })
        });
        let input = step.ranks[rank as usize].input;
        if input.0 > 0 {
            self.within((rank, Region::Input), |all| {
                all.host_copy(rank, CopyDirection::HostToDevice, input)
            });
        }
    }

    /// Computes the forward pass as a whole.
    pub(super) fn forward(&mut self, rank: Rank, step: &RankStep) -> PendingOperation {
        self.within((rank, Region::Forward), |all| all.compute(rank, step.forward(), &[]))
    }

    /// Copies between GPU and host on the computing stream.
    pub(super) fn host_copy(
        &mut self,
        rank: Rank,
        direction: CopyDirection,
        size: Bytes,
    ) -> PendingOperation {
        self.rank(rank).run(Operation::Copy { direction, size, route: RouteClass::Any })
    }

    /// On the stream of collectives: behind those before it, once the requests are complete.
    pub(super) fn collective(
        &mut self,
        rank: Rank,
        (kind, size): (CollectiveKind, Bytes),
        cost: Picoseconds,
        after: &[PendingOperation],
    ) -> PendingOperation {
        self.on_stream(rank, REDUCING, |rank| {
            let mut last = rank.run_after(Operation::Join, after);
            if cost.0 > 0 {
                last = rank.run(Operation::Delay { duration: cost });
            }
            if size.0 > 0 {
                let (root, communicator) = (0, WORLD);
                last = rank.run(Operation::Collective { kind, root, communicator, size });
            }
            last
        })
    }

    /// Adds the gradients from a given number of ranks and computes new weights, beside the rank's
    /// other computing.
    pub(super) fn reduce(
        &mut self,
        rank: Rank,
        (size, update): (Bytes, Picoseconds),
        after: &[PendingOperation],
    ) -> PendingOperation {
        let stream = self.next_stream();
        self.on_stream(rank, stream, |rank| {
            rank.run_after(Operation::Join, after);
            if size.0 > 0 {
                rank.run(Operation::Reduce { size, rate: None });
            }
            rank.run(Operation::Compute { duration: update })
        })
    }

    /// Copies between a GPU and its host beside what the rank computes.
    pub(super) fn beside(
        &mut self,
        rank: Rank,
        (direction, size): (CopyDirection, Bytes),
        after: &[PendingOperation],
    ) -> PendingOperation {
        let stream = self.next_stream();
        self.copy(rank, (stream, direction, size), RouteClass::Any, after)
    }

    /// Copies from one GPU to another, once the requests of the first are complete; returns what the second waits for.
    pub(super) fn transfer(
        &mut self,
        step: &Step<'_>,
        (from, to): (Rank, Rank),
        (size, without): (Bytes, Without),
        after: &[PendingOperation],
    ) -> PendingOperation {
        let stream = self.next_stream();
        let relay = || step.joins.relay(from, to);
        match step.joins.of_pair(from, to) {
            Join::Fabric => {
                let sent = self.copy(
                    from,
                    (stream, CopyDirection::Peer(to), size),
                    RouteClass::Any,
                    after,
                );
                self.signal((from, to), &[sent])
            }
            Join::Pcie | Join::Staged if without == Without::Relay && relay().is_some() => {
                let by = relay().unwrap_or(from);
                let sent = self.copy(
                    from,
                    (stream, CopyDirection::Peer(by), size),
                    RouteClass::Any,
                    after,
                );
                let come = self.signal((from, by), &[sent]);
                let sent = self.copy(
                    by,
                    (stream, CopyDirection::Peer(to), size),
                    RouteClass::Any,
                    &[come],
                );
                self.signal((by, to), &[sent])
            }
            Join::Pcie => {
                let sent = self.copy(
                    from,
                    (stream, CopyDirection::Peer(to), size),
                    RouteClass::Host,
                    after,
                );
                self.signal((from, to), &[sent])
            }
            Join::Staged | Join::Network => {
                let out = (stream, CopyDirection::DeviceToHost, size);
                let sent = self.copy(from, out, RouteClass::Any, after);
                let come = self.signal((from, to), &[sent]);
                let into = (stream, CopyDirection::HostToDevice, size);
                self.copy(to, into, RouteClass::Any, &[come])
            }
        }
    }

    /// Reads or writes another GPU's memory: data that moves without a copy engine. Returns what the first has sent
    /// and what the second has received.
    pub(super) fn access(
        &mut self,
        (from, to): (Rank, Rank),
        size: Bytes,
        after: &[PendingOperation],
    ) -> (PendingOperation, PendingOperation) {
        let stream = self.next_stream();
        let (tag, communicator) = (stream, WORLD);
        let sent = self.on_stream(from, stream, |rank| {
            let route = RouteClass::Any;
            rank.run_after(Operation::Send { to, tag, communicator, size, route }, after)
        });
        let from = Some(from);
        let come = self.on_stream(to, stream, |rank| {
            rank.run(Operation::Receive { from, tag: Some(tag), communicator, size })
        });
        (sent, come)
    }

    /// Tells another rank that requests of this one are complete.
    pub(super) fn signal(
        &mut self,
        ends: (Rank, Rank),
        after: &[PendingOperation],
    ) -> PendingOperation {
        self.access(ends, Bytes(0), after).1
    }

    fn copy(
        &mut self,
        rank: Rank,
        (stream, direction, size): (u32, CopyDirection, Bytes),
        route: RouteClass,
        after: &[PendingOperation],
    ) -> PendingOperation {
        self.on_stream(rank, stream, |rank| {
            rank.run_after(Operation::Copy { direction, size, route }, after)
        })
    }

    fn next_stream(&mut self) -> u32 {
        self.transfers += 1;
        FIRST_TRANSFER + self.transfers
    }

    fn on_stream<T>(
        &mut self,
        rank: Rank,
        stream: u32,
        write: impl FnOnce(&mut RankBuilder) -> T,
    ) -> T {
        let rank = self.rank(rank);
        rank.on_stream(stream);
        let made = write(rank);
        rank.on_stream(COMPUTING);
        made
    }
}
