//! NCCL's protocol: collectives that run as kernels, over connections that were opened for them.
//!
//! What it represents: a rank's call launches its blocks. A block starts a step when its data has
//! arrived, the steps that it waits for have ended and its connection has a slot free, and is busy
//! while it sends. What it takes and does not send on it writes to its GPU's memory, one step after the
//! other, and goes on meanwhile where nothing needs what is written. What is sent arrives a
//! connection's latency after its last byte, and holds its slot until the receiver's step has ended.
//! Connections of one lane take turns, the block that is furthest behind first, where streams are
//! used again; else they share. Transfers that end at a time end before anything that comes then is
//! looked at.
//!
//! What it leaves out: that blocks share their GPU's memory, and everything that a rank's library would
//! do: kernels run beside it.

mod running;

use std::collections::{BTreeMap, VecDeque};

use crate::engine::Scheduler;
use crate::network::{Transport, TransportError};
use crate::program::CollectiveKind;
use crate::program::kernel::KernelCall;
use crate::program::lowering::{CollectiveCall, Lowering};
use crate::units::{Bytes, Picoseconds};

use self::running::Running;
use super::super::error::RuntimeError;
use super::super::frames::OperationRef;
use super::super::observer::{KernelRecord, Observer};
use super::super::plan::STARTED;
use super::super::slab::Slab;
use super::super::state::Runtime;
use super::super::works::RuntimeEvent;

/// Marks the token of a kernel's transfer, of which the rest is the kernel and its connection.
pub(in crate::runtime) const OF_KERNEL: u64 = 1 << 63;

/// Something that happens to a kernel, by its place.
#[derive(Debug, Clone, Copy)]
struct Happening {
    kernel: u32,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// The blocks of a rank, by its place in the communicator, begin.
    Launch(u32),
    /// A connection that was late opens.
    Opening(u32),
    /// What was sent over a connection has arrived.
    Arrival(u32),
    /// A block has written what it took in a step to its GPU's memory.
    Copied { block: u32, step: u32 },
}

/// The kernels at work.
#[derive(Debug, Clone)]
pub(in crate::runtime) struct Kernels {
    running: Vec<Running>,
    free: Vec<u32>,
    /// The kernel of each context in which some rank has called one.
    of_context: BTreeMap<u32, u32>,
    /// What is to happen at a time.
    timed: Slab<Happening>,
    /// What has come at the current time and waits for the ends of transfers.
    come: VecDeque<Happening>,
    /// Blocks that may be able to go on.
    woken: Vec<u32>,
}

/// The first thing in a kernel that waits for ever.
#[derive(Debug, Clone, Copy)]
pub(in crate::runtime) struct StuckBlock {
    call: OperationRef,
    kind: CollectiveKind,
    block: u32,
    step: u32,
}

/// A rank that waits in a kernel.
#[derive(Debug, Clone, Copy)]
pub(in crate::runtime) struct WaitingRank {
    pub(in crate::runtime) call: OperationRef,
    pub(in crate::runtime) kind: CollectiveKind,
    pub(in crate::runtime) size: Bytes,
    pub(in crate::runtime) since: u64,
}

impl Kernels {
    pub(in crate::runtime) const fn new() -> Self {
        Self {
            running: Vec::new(),
            free: Vec::new(),
            of_context: BTreeMap::new(),
            timed: Slab::new(),
            come: VecDeque::new(),
            woken: Vec::new(),
        }
    }

    /// The kernel of a context, which the first of its ranks to call it begins.
    fn of(&mut self, context: u32, of: &CollectiveCall, call: KernelCall) -> u32 {
        if let Some(kernel) = self.of_context.get(&context) {
            return *kernel;
        }
        let kernel = match self.free.pop() {
            Some(kernel) => {
                self.running[kernel as usize].begin(call, of, context);
                kernel
            }
            None => {
                self.running.push(Running::new(call, of, context));
                (self.running.len() - 1) as u32
            }
        };
        self.of_context.insert(context, kernel);
        kernel
    }

    /// Notes what is to happen to a kernel, and asks for the time.
    fn expect<E>(
        &mut self,
        time: Picoseconds,
        happening: Happening,
        scheduler: &mut impl Scheduler<RuntimeEvent<E>>,
    ) {
        self.running[happening.kernel as usize].owed += 1;
        scheduler.schedule(time, RuntimeEvent::Kernel(self.timed.insert(happening)));
    }

    /// Lets every block of a kernel go on that may.
    fn go_on<T: Transport>(
        &mut self,
        kernel: u32,
        transport: &mut T,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), TransportError> {
        let running = &mut self.running[kernel as usize];
        let token = OF_KERNEL | u64::from(kernel) << 32;
        let Self { woken, timed, .. } = self;
        while let Some(block) = woken.pop() {
            running.advance(block, token, woken, timed, transport, scheduler)?;
        }
        Ok(())
    }

    /// Gives a kernel's room back once nothing is to be heard of it.
    fn release_finished(&mut self, kernel: u32) {
        let running = &self.running[kernel as usize];
        if running.unfinished == 0 && running.owed == 0 {
            self.of_context.remove(&running.context);
            self.free.push(kernel);
        }
    }

    /// For how many kernels there is room.
    #[cfg(test)]
    pub(in crate::runtime) fn rooms(&self) -> usize {
        self.running.len()
    }

    /// The kernels at work, in the order of their beginnings.
    fn at_work(&self) -> impl Iterator<Item = &Running> {
        self.of_context.values().map(|kernel| &self.running[*kernel as usize])
    }

    /// The ranks that wait in a kernel.
    pub(in crate::runtime) fn waiting(&self) -> impl Iterator<Item = WaitingRank> + '_ {
        let of_all = self.at_work().filter(|running| running.unfinished > 0);
        of_all.flat_map(|running| {
            running.members.iter().filter_map(|member| {
                let call = member.parent?;
                let Running { kind, size, .. } = *running;
                Some(WaitingRank { call, kind, size, since: member.since })
            })
        })
    }

    /// The first block that waits for ever in a kernel that all of its ranks have called.
    pub(in crate::runtime) fn stuck(&self) -> Option<StuckBlock> {
        self.at_work().filter(|running| running.is_complete()).find_map(|running| {
            let (member, block, step) = running.first_waiting()?;
            let call = running.members[member as usize].parent?;
            Some(StuckBlock { call, kind: running.kind, block, step })
        })
    }
}

impl<T: Transport, L: Lowering, O: Observer> Runtime<'_, T, L, O> {
    /// A rank calls a collective that is played as a kernel: its blocks are launched.
    pub(in crate::runtime) fn enter_kernel(
        &mut self,
        at: OperationRef,
        call: &CollectiveCall,
        context: u32,
        kernel: KernelCall,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        if kernel.kernel.ranks() != call.ranks {
            let CollectiveCall { kind, index, ranks, .. } = *call;
            let problem = format!("is a kernel of {} ranks", kernel.kernel.ranks());
            return Err(RuntimeError::Lowering { kind, index, ranks, problem });
        }
        self.frames.propagate(at, STARTED);
        let launch = kernel.protocol.launch.0;
        let place = self.kernels.of(context, call, kernel);
        let member = &mut self.kernels.running[place as usize].members[call.index as usize];
        (member.parent, member.since) = (Some(at), self.now);
        let launched = Happening { kernel: place, what: What::Launch(call.index) };
        let time = Picoseconds(self.now.saturating_add(launch));
        self.kernels.expect(time, launched, scheduler);
        Ok(())
    }

    /// The time of something has come that was to happen to a kernel.
    pub(in crate::runtime) fn kernel_event(
        &mut self,
        timed: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let happening = self.kernels.timed[timed];
        self.kernels.timed.release(timed);
        match happening.what {
            What::Launch(_) => self.happen_to_kernel(happening, scheduler),
            What::Opening(_) | What::Arrival(_) | What::Copied { .. } => {
                self.come_to_kernel(happening, scheduler)
            }
        }
    }

    /// A transfer of a kernel has left.
    pub(in crate::runtime) fn kernel_sent(
        &mut self,
        token: u64,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let (kernel, connection) = of_token(token);
        let Kernels { running, woken, .. } = &mut self.kernels;
        running[kernel as usize].sent(connection, woken);
        self.kernel_goes_on(kernel, scheduler)
    }

    /// A transfer of a kernel has arrived.
    pub(in crate::runtime) fn kernel_delivered(
        &mut self,
        token: u64,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let (kernel, connection) = of_token(token);
        self.come_to_kernel(Happening { kernel, what: What::Arrival(connection) }, scheduler)
    }

    /// Keeps what comes until no transfer ends at this time, where the network settles.
    fn come_to_kernel(
        &mut self,
        happening: Happening,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        if T::SETTLES {
            self.kernels.come.push_back(happening);
            return Ok(());
        }
        self.happen_to_kernel(happening, scheduler)
    }

    /// Takes up the first that has come to kernels at this time; whether there was any.
    pub(in crate::runtime) fn settle_kernels(
        &mut self,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<bool, RuntimeError> {
        let Some(happening) = self.kernels.come.pop_front() else { return Ok(false) };
        self.now = scheduler.now().0;
        self.happen_to_kernel(happening, scheduler)?;
        Ok(true)
    }

    fn happen_to_kernel(
        &mut self,
        Happening { kernel, what }: Happening,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        let Kernels { running, woken, timed, .. } = &mut self.kernels;
        let of_kernel = &mut running[kernel as usize];
        of_kernel.owed -= 1;
        match what {
            What::Launch(member) => {
                let mut openings = 0;
                of_kernel.launch(member, self.now, woken, |connection, opens| {
                    openings += 1;
                    let what = What::Opening(connection);
                    let timed = timed.insert(Happening { kernel, what });
                    scheduler.schedule(Picoseconds(opens), RuntimeEvent::Kernel(timed));
                });
                of_kernel.owed += openings;
            }
            What::Opening(connection) => of_kernel.opened(connection, woken),
            What::Arrival(connection) => of_kernel.arrived(connection, woken),
            What::Copied { block, step } => of_kernel.copied(block, step, woken),
        }
        self.kernel_goes_on(kernel, scheduler)
    }

    /// What a person reads of a kernel that waits for ever.
    pub(in crate::runtime) fn stuck_kernel(&self, stuck: StuckBlock) -> RuntimeError {
        let StuckBlock { call: parent, kind, block, step } = stuck;
        let id = self.ranks.id(self.frames.rank_of(parent));
        let (call, _) = self.frames.origin(parent);
        let job = self.jobs.name(id.job).to_owned();
        RuntimeError::StuckKernel { job, rank: id.rank, kind, call, block, step }
    }

    /// Lets a kernel go on; the calls of ranks whose blocks have all ended are complete.
    fn kernel_goes_on(
        &mut self,
        kernel: u32,
        scheduler: &mut impl Scheduler<RuntimeEvent<T::Event>>,
    ) -> Result<(), RuntimeError> {
        self.kernels.go_on(kernel, self.transport, scheduler)?;
        let of_kernel = &mut self.kernels.running[kernel as usize];
        if of_kernel.finished.is_empty() && of_kernel.unfinished > 0 {
            return Ok(());
        }
        let mut finished = std::mem::take(&mut of_kernel.finished);
        for index in finished.drain(..) {
            let running = &self.kernels.running[kernel as usize];
            let Running { kind, size, .. } = *running;
            let member = running.members[index as usize];
            let Some(parent) = member.parent else { continue };
            let rank = self.frames.rank_of(parent);
            let (id, start) = (self.ranks.id(rank), Picoseconds(member.since));
            let record = KernelRecord { rank: id, kind, size, start };
            self.observer.ran(&record, Picoseconds(self.now));
            self.ranks.count_messages(rank, member.transfers, member.bytes);
            self.complete_communication(parent, 0);
        }
        self.kernels.running[kernel as usize].finished = finished;
        self.kernels.release_finished(kernel);
        Ok(())
    }
}

/// The kernel and the connection of a transfer.
fn of_token(token: u64) -> (u32, u32) {
    (((token & !OF_KERNEL) >> 32) as u32, token as u32)
}
