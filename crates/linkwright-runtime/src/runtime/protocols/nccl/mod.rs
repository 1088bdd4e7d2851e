//! NCCL's protocol: collectives that run as kernels, over connections that were opened for them.
//!
//! A rank's call launches its blocks. A block starts a step when its data has arrived, the steps
//! that it waits for have ended and its connection has a slot free. It is busy while it sends. It
//! writes data that it takes and does not send on to its GPU's memory, one step after the other. It
//! goes on meanwhile where nothing needs the written data. Sent data arrives a connection's latency
//! after its last byte, and holds its slot until the receiver's step has ended. Where streams are
//! used again, connections of one lane take turns, the block that is furthest behind first. Else
//! they share. Transfers that end at a time end before anything that comes then is looked at.
//!
//! The model leaves out that blocks share their GPU's memory. It leaves out all work of a rank's
//! library: kernels run beside it.

mod running;

use std::collections::{BTreeMap, VecDeque};

use self::running::{Member, Running};
use super::protocol::{Ports, ProtocolCall, ProtocolOffer, ProtocolState, StuckCall};
use crate::program::kernel::KernelCall;
use crate::program::lowering::CollectiveCall;
use crate::runtime::error::RuntimeError;
use crate::runtime::slab::Slab;
use crate::units::Picoseconds;

/// Something that happens to a kernel, by its place.
#[derive(Debug, Clone, Copy)]
struct Happening {
    kernel: u32,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// Begins the blocks of a rank, by its place in the communicator.
    Launch(u32),
    /// A connection that was late opens.
    Opening(u32),
    /// Says that data sent over a connection has arrived.
    Arrival(u32),
    /// A block has written what it took in a step to its GPU's memory.
    Copied { block: u32, step: u32 },
}

/// Holds the kernels at work.
#[derive(Debug, Clone)]
pub(super) struct Kernels {
    running: Vec<Running>,
    free: Vec<u32>,
    /// The kernel of each context in which some rank has called one.
    of_context: BTreeMap<u32, u32>,
    /// Holds the events that are to happen at a time.
    timed: Slab<Happening>,
    /// Holds the events that have come at the current time and wait for the ends of transfers.
    come: VecDeque<Happening>,
    /// Blocks that may be able to go on.
    woken: Vec<u32>,
}

impl Kernels {
    pub(super) const fn new() -> Self {
        Self {
            running: Vec::new(),
            free: Vec::new(),
            of_context: BTreeMap::new(),
            timed: Slab::new(),
            come: VecDeque::new(),
            woken: Vec::new(),
        }
    }

    /// The kernel of a collective, which the first of its ranks to call it begins.
    fn of(&mut self, first: &ProtocolCall, call: KernelCall) -> u32 {
        if let Some(kernel) = self.of_context.get(&first.context) {
            return *kernel;
        }
        let kernel = match self.free.pop() {
            Some(kernel) => {
                self.running[kernel as usize].begin(call, first.context);
                kernel
            }
            None => {
                self.running.push(Running::new(call, first.context));
                (self.running.len() - 1) as u32
            }
        };
        self.of_context.insert(first.context, kernel);
        kernel
    }

    /// Notes what is to happen to a kernel, and asks for the time.
    fn expect(&mut self, time: Picoseconds, happening: Happening, ports: &mut dyn Ports) {
        self.running[happening.kernel as usize].owed += 1;
        ports.wake(time, self.timed.insert(happening));
    }

    /// Keeps what comes until no transfer ends at this time, where the network settles.
    fn come(&mut self, happening: Happening, ports: &mut dyn Ports) -> Result<(), RuntimeError> {
        if ports.settle_later() {
            self.come.push_back(happening);
            return Ok(());
        }
        self.happen(happening, ports)
    }

    fn happen(
        &mut self,
        Happening { kernel, what }: Happening,
        ports: &mut dyn Ports,
    ) -> Result<(), RuntimeError> {
        let Self { running, woken, timed, .. } = self;
        let of_kernel = &mut running[kernel as usize];
        of_kernel.owed -= 1;
        match what {
            What::Launch(member) => {
                let mut openings = 0;
                of_kernel.launch(member, ports.now().0, woken, |connection, opens| {
                    openings += 1;
                    let what = What::Opening(connection);
                    ports.wake(Picoseconds(opens), timed.insert(Happening { kernel, what }));
                });
                of_kernel.owed += openings;
            }
            What::Opening(connection) => of_kernel.opened(connection, woken),
            What::Arrival(connection) => of_kernel.arrived(connection, woken),
            What::Copied { block, step } => of_kernel.copied(block, step, woken),
        }
        self.go_on(kernel, ports)
    }

    /// Lets every block of a kernel go on that may; the calls of ranks whose blocks have all ended
    /// are complete. A kernel's room is given back once nothing is to be heard of it.
    fn go_on(&mut self, kernel: u32, ports: &mut dyn Ports) -> Result<(), RuntimeError> {
        let running = &mut self.running[kernel as usize];
        while let Some(block) = self.woken.pop() {
            running.advance(block, kernel, &mut self.woken, &mut self.timed, ports)?;
        }
        if running.finished.is_empty() && running.unfinished > 0 {
            return Ok(());
        }
        for index in running.finished.drain(..) {
            let Member { call, transfers, bytes, .. } = running.members[index as usize];
            let Some(call) = call else { continue };
            ports.count_messages(&call, transfers, bytes);
            ports.complete(&call);
        }
        if running.unfinished == 0 && running.owed == 0 {
            self.of_context.remove(&running.context);
            self.free.push(kernel);
        }
        Ok(())
    }

    /// Lists the kernels at work, in the order of their beginnings.
    fn at_work(&self) -> impl Iterator<Item = &Running> {
        self.of_context.values().map(|kernel| &self.running[*kernel as usize])
    }
}

impl ProtocolState for Kernels {
    /// A rank calls a collective that is played as a kernel: its blocks are launched.
    fn enter(
        &mut self,
        offer: &mut ProtocolOffer,
        ports: &mut dyn Ports,
    ) -> Result<bool, RuntimeError> {
        let Some(kernel) = offer.kernel.take() else { return Ok(false) };
        let CollectiveCall { kind, index, ranks, .. } = offer.call.call;
        if kernel.kernel.ranks() != ranks {
            let problem = format!("is a kernel of {} ranks", kernel.kernel.ranks());
            return Err(RuntimeError::Lowering { kind, index, ranks, problem });
        }
        let launch = kernel.protocol.launch.0;
        let place = self.of(&offer.call, kernel);
        self.running[place as usize].members[index as usize].call = Some(offer.call);
        let launched = Happening { kernel: place, what: What::Launch(index) };
        let time = Picoseconds(ports.now().0.saturating_add(launch));
        self.expect(time, launched, ports);
        Ok(true)
    }

    fn wake(&mut self, timed: u32, ports: &mut dyn Ports) -> Result<(), RuntimeError> {
        let happening = self.timed[timed];
        self.timed.release(timed);
        match happening.what {
            What::Launch(_) => self.happen(happening, ports),
            What::Opening(_) | What::Arrival(_) | What::Copied { .. } => {
                self.come(happening, ports)
            }
        }
    }

    fn sent(&mut self, transfer: u64, ports: &mut dyn Ports) -> Result<(), RuntimeError> {
        let (kernel, connection) = of_transfer(transfer);
        self.running[kernel as usize].sent(connection, &mut self.woken);
        self.go_on(kernel, ports)
    }

    fn delivered(&mut self, transfer: u64, ports: &mut dyn Ports) -> Result<(), RuntimeError> {
        let (kernel, connection) = of_transfer(transfer);
        self.come(Happening { kernel, what: What::Arrival(connection) }, ports)
    }

    fn settle(&mut self, ports: &mut dyn Ports) -> Result<bool, RuntimeError> {
        if let Some(happening) = self.come.pop_front() {
            self.happen(happening, ports)?;
        }
        Ok(!self.come.is_empty())
    }

    fn waiting(&self) -> Vec<ProtocolCall> {
        let of_all = self.at_work().filter(|running| running.unfinished > 0);
        of_all.flat_map(|running| running.members.iter().filter_map(|member| member.call)).collect()
    }

    fn stuck(&self) -> Option<StuckCall> {
        self.at_work().filter(|running| running.is_complete()).find_map(|running| {
            let (member, block, step) = running.first_waiting()?;
            let call = running.members[member as usize].call?;
            Some(StuckCall { call, at: (block, step) })
        })
    }

    #[cfg(test)]
    fn room(&self) -> usize {
        self.running.len()
    }
}

/// Names a transfer by its kernel and its connection.
fn transfer(kernel: u32, connection: u32) -> u64 {
    u64::from(kernel) << 32 | u64::from(connection)
}

/// Returns the kernel and the connection of a transfer.
fn of_transfer(transfer: u64) -> (u32, u32) {
    ((transfer >> 32) as u32, transfer as u32)
}
