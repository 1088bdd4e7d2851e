//! Writes MSCCL++ execution plans, as the MSCCL++ executor loads them.
//!
//! It represents the schedule's data movement on memory channels, for GPUs that reach each other's
//! memory. The schema comes from microsoft/mscclpp's `execution_plan.cc` since its keys are in
//! snake case (`input_chunks`, `channel_type`, `remote_buffers`). The meaning of the operations
//! comes from its `execution_kernel.hpp` and `concurrency_device.hpp`.
//!
//! The mapping, chosen to be plainly right rather than fastest:
//!
//! - Every connection is a memory channel of its own. Data that a step receives lands in room of
//!   its own in the receiver's scratch buffer. The sender does `put` and `signal`, the receiver
//!   `wait` and then `copy`, `re` or `res` from there. No room is used twice in a run.
//! - A run must not overwrite what the run before has not read. So each receiver signals once when
//!   it starts, and the sender waits for that before its first `put`.
//! - A dependency between blocks is a semaphore from 0, one for each pair of blocks that depend.
//!   One block releases it and the other acquires it as often in each run.
//! - `nop` makes a block's threads wait for each other; it stands after every wait, and
//!   between operations on data and what tells of their end.
//! - The executor runs a plan once, over the whole message. So that data fills the pipeline, a
//!   plan may be cut into pieces, which follow one another through the blocks.
//! - Where a rank needs more thread blocks than run at once, connections of several channels
//!   share blocks.
//! - The executor takes messages that its chunks cut into whole units of 16 bytes only. So no
//!   message of a power of two takes a plan in 3 chunks. Where a size is named at which the plan
//!   must be taken, shares are rounded to 1/16, 1/64 or finer ([`sizes`]).
//! - A block takes 64 operations. A longer one is written as several blocks. Each starts when a
//!   semaphore says that the one before has ended.
//!
//! It leaves out `LL` packets, and port channels between servers (the executor's `flush` waits for
//! nothing there). It leaves out the work of switches except all-reduces ([`in_switch`]). It also
//! leaves out reductions other than the sum, which is the only one that the executor does.

mod best_pieces;
mod in_switch;
mod plan;
mod sizes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use self::plan::{Block, Buff, ChannelList, ChannelRefs, Gpu, Op, Plan, RemoteBuffer, RemoteRefs};
use self::plan::{Semaphore, Sequence};
use self::sizes::{Rounding, rounded};
use super::fold::fold_blocks;
use super::normal::{Connection, Connections, connections, normalise};
use super::{Export, ExportError, in_pieces, placement_notes};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{
    Buffer, Protocol, RankSchedule, Schedule, ScheduleStep, Slice, StepId, StepOperation,
};
use crate::units::Bytes;

pub use best_pieces::{BestPieces, best_pieces, to_fastest_mscclpp_json};
pub use sizes::TakenSizes;

const FORMAT: &str = "MSCCL++ JSON";
/// The executor moves data in units of this many bytes.
const ALIGNMENT: u64 = 16;
/// Gives `MAX_DEVICE_SEMAPHORES`, the most semaphores of one operation.
const MOST_SEMAPHORES: usize = 16;

/// Holds the values of the plan beside the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MscclppOptions {
    /// The smallest message that may use it.
    pub min_bytes: Bytes,
    /// Gives the largest; `None` for no bound.
    pub max_bytes: Option<Bytes>,
    /// Whether input and output are the same memory; where absent, only if the schedule
    /// cannot run otherwise.
    pub in_place: Option<bool>,
    /// Counts the threads of a thread block: a multiple of 32, at most 1,024.
    pub threads_per_block: u32,
    /// Limits the thread blocks of a rank, since all must run at once. It is the multiprocessors of
    /// its GPU (80 in a V100, 108 in an A100, 132 in an H100 SXM).
    pub block_limit: u32,
    /// Into how many pieces the data is cut, which follow one another through the plan; 1 for
    /// none. Each takes its own operations.
    pub pieces: u32,
    /// A message that the executor must take the plan at, if shares can be rounded so; where absent,
    /// shares stay exact.
    pub taken_at: Option<Bytes>,
}

impl Default for MscclppOptions {
    fn default() -> Self {
        Self {
            min_bytes: Bytes(0),
            max_bytes: None,
            in_place: None,
            threads_per_block: 1024,
            block_limit: 80,
            pieces: 1,
            taken_at: None,
        }
    }
}

/// Writes a schedule as an MSCCL++ execution plan.
///
/// # Errors
/// Returns [`ExportError::NoCollective`] for those that the executor has no word for. Returns
/// [`ExportError::Limit`] where a rank needs more thread blocks than run at once. Returns
/// [`ExportError::Broken`] for a schedule that breaks its own rules, and
/// [`ExportError::BadOption`].
pub fn to_mscclpp_json(
    schedule: &Schedule,
    options: &MscclppOptions,
) -> Result<Export, ExportError> {
    let collective = collective_word(schedule.collective)?;
    let in_place = check_options(schedule, options)?;
    let form = form(schedule, options)?;
    let sizes = form.sizes();
    let (least, most) = sizes.within(options.min_bytes, options.max_bytes)?;
    let mut notes = notes(&form.schedule);
    notes.extend(sizes.notes(options));
    notes.extend(form.rounding.as_ref().map(Rounding::note));
    if form.is_folded {
        notes.push("Connections of several channels share thread blocks.".to_owned());
    }
    let plan = Plan {
        name: &schedule.name,
        collective,
        protocol: "Simple",
        inplace: in_place,
        reuse_resources: false,
        gpus: form.gpus,
        num_threads_per_block: options.threads_per_block,
        use_double_scratch_buffer: false,
        buffer_alignment: ALIGNMENT,
        min_message_size: least.0,
        max_message_size: most.0,
    };
    let text = serde_json::to_string_pretty(&plan).map_err(|error| ExportError::Broken {
        place: "it".to_owned(),
        problem: format!("cannot be written ({error})"),
    })?;
    Ok(Export { text: text + "\n", notes })
}

/// Holds the form of a schedule in the file.
struct Form {
    schedule: Schedule,
    gpus: Vec<Gpu>,
    /// Says whether connections of several channels share blocks in it.
    is_folded: bool,
    /// How its shares were rounded, where they were.
    rounding: Option<Rounding>,
}

impl Form {
    /// The messages that the executor takes it at.
    fn sizes(&self) -> TakenSizes {
        let scratch = self.gpus.iter().map(|gpu| u64::from(gpu.scratch_chunks)).max();
        TakenSizes::of(self.schedule.longest_buffer() as u64, scratch.unwrap_or(0), ALIGNMENT)
    }
}

/// Returns a schedule in rounded shares, cut into pieces, with as few blocks as the options ask
/// for.
fn form(schedule: &Schedule, options: &MscclppOptions) -> Result<Form, ExportError> {
    if schedule.first_in_switch().is_some() {
        let (schedule, rounding) = rounded(schedule.clone(), options);
        let gpus = in_switch::written(&schedule, options.block_limit)?;
        return match options.pieces {
            1 => Ok(Form { schedule, gpus, is_folded: false, rounding }),
            pieces => Err(ExportError::BadOption {
                option: "pieces",
                value: pieces.into(),
                remedy: "choose 1 for what a switch reduces, which the kernel pipelines itself",
            }),
        };
    }
    let (mut schedule, rounding) = rounded(normalise(schedule)?, options);
    if options.pieces != 1 {
        schedule = in_pieces(&schedule, options.pieces).ok_or(ExportError::BadOption {
            option: "pieces",
            value: options.pieces.into(),
            remedy: "choose 1 for this schedule, whose steps do not cut",
        })?;
    }
    let refused = match written(&schedule, options.block_limit) {
        Ok(gpus) => return Ok(Form { schedule, gpus, is_folded: false, rounding }),
        Err(refused) => refused,
    };
    let folded = fold_blocks(&schedule).ok_or_else(|| refused.clone())?;
    let gpus = written(&folded, options.block_limit).map_err(|_| refused)?;
    Ok(Form { schedule: folded, gpus, is_folded: true, rounding })
}

fn written(schedule: &Schedule, block_limit: u32) -> Result<Vec<Gpu>, ExportError> {
    let ends = connections(schedule)?;
    let programs = schedule.programs.iter().enumerate();
    let landings = programs.map(|(rank, program)| Landing::of(rank, program));
    let landings: Vec<Landing> = landings.collect::<Result<_, _>>()?;
    let write = |rank| Writer::new(schedule, &ends, &landings, rank).write(block_limit);
    (0..schedule.ranks()).map(write).collect()
}

fn notes(schedule: &Schedule) -> Vec<String> {
    let mut notes = placement_notes(schedule, "MSCCL++");
    if schedule.protocol != Protocol::Simple {
        notes.push(format!(
            "The schedule asks for {}; the plan uses Simple, with signals instead of flags in \
             the data.",
            schedule.protocol.name()
        ));
    }
    if schedule.first_in_switch().is_some() {
        notes.push(
            "Input and output must be memory that NVSwitches can address (`multimem`), of GPUs from \
             Hopper on. The plan is in one piece: the kernel reduces 16 bytes a thread at a \
             time, which fills the switches' pipeline."
                .to_owned(),
        );
    } else {
        notes.push(
            "The executor runs the plan once, over the whole message: without pieces there is no \
             pipeline."
                .to_owned(),
        );
    }
    if schedule.collective.reduces() {
        notes.push("The executor reduces by sum only.".to_owned());
    }
    notes.push("All GPUs must reach each other's memory.".to_owned());
    notes
}

fn collective_word(collective: Collective) -> Result<&'static str, ExportError> {
    Ok(match collective {
        Collective::Broadcast { .. } => "broadcast",
        Collective::AllReduce => "allreduce",
        Collective::AllGather => "allgather",
        Collective::ReduceScatter => "reducescatter",
        Collective::AllToAll => "alltoall",
        Collective::Reduce { .. } | Collective::Gather { .. } | Collective::Scatter { .. } => {
            let remedy = "export it as MSCCL XML";
            return Err(ExportError::NoCollective { format: FORMAT, collective, remedy });
        }
        Collective::Barrier | Collective::Scan => {
            let remedy = "draw it (dot)";
            return Err(ExportError::NoCollective { format: FORMAT, collective, remedy });
        }
    })
}

/// Checks the options and returns whether the plan is one for in-place calls.
fn check_options(schedule: &Schedule, options: &MscclppOptions) -> Result<bool, ExportError> {
    let bad = |option, value, remedy| Err(ExportError::BadOption { option, value, remedy });
    let threads = options.threads_per_block;
    if !threads.is_multiple_of(32) || !(32..=1024).contains(&threads) {
        return bad("threads_per_block", threads.into(), "choose a multiple of 32 up to 1024");
    }
    if let Some(most) = options.max_bytes.filter(|most| *most < options.min_bytes) {
        return bad("max_bytes", most.0, "choose at least min_bytes, or none for no bound");
    }
    let in_place = options.in_place.unwrap_or(!schedule.out_of_place);
    if (in_place && schedule.in_place) || (!in_place && schedule.out_of_place) {
        return Ok(in_place);
    }
    bad("in_place", in_place.into(), "the schedule runs the other way only")
}

/// Where what a rank receives lands in its scratch buffer: behind the schedule's own.
struct Landing {
    /// Gives the offset of the landing place for each step of each block.
    offsets: Vec<Vec<u32>>,
    /// Counts the chunks of the whole scratch buffer.
    chunks: u32,
}

impl Landing {
    fn of(rank: usize, program: &RankSchedule) -> Result<Self, ExportError> {
        let mut next = u64::from(program.scratch_chunks);
        let mut offsets = Vec::with_capacity(program.blocks.len());
        for block in &program.blocks {
            let mut of_block = Vec::with_capacity(block.steps.len());
            for step in &block.steps {
                of_block.push(next as u32);
                next += if step.operation.receives() { u64::from(step.count) } else { 0 };
            }
            offsets.push(of_block);
        }
        let most = u64::from(u32::MAX);
        if next > most {
            return Err(ExportError::Limit {
                format: FORMAT,
                what: "chunks in its scratch buffer",
                place: format!("rank {rank}"),
                count: next,
                most,
                remedy: "plan with fewer chunks",
            });
        }
        Ok(Self { offsets, chunks: next as u32 })
    }
}

/// Writes one rank.
struct Writer<'a> {
    schedule: &'a Schedule,
    ends: &'a Connections,
    landings: &'a [Landing],
    rank: usize,
    /// The connections of the rank; both ends list those of a pair in this order.
    channels: Vec<Connection>,
    /// The ranks whose scratch buffer it writes to.
    remotes: Vec<usize>,
    /// For each step that others wait for, the semaphores that it releases.
    releases: BTreeMap<StepId, Vec<usize>>,
    /// The semaphore of each pair of blocks: who releases, who acquires.
    pairs: BTreeMap<(u32, u32), usize>,
}

impl<'a> Writer<'a> {
    fn new(
        schedule: &'a Schedule,
        ends: &'a Connections,
        landings: &'a [Landing],
        rank: usize,
    ) -> Self {
        let channels: Vec<Connection> =
            ends.sends.keys().filter(|(_, a, b)| *a == rank || *b == rank).copied().collect();
        let sends = channels.iter().filter(|(_, from, _)| *from == rank);
        let mut remotes: Vec<usize> = sends.map(|(_, _, to)| *to).collect();
        remotes.sort_unstable();
        remotes.dedup();
        let mut releases: BTreeMap<StepId, Vec<usize>> = BTreeMap::new();
        let mut pairs = BTreeMap::new();
        for (index, block) in schedule.programs[rank].blocks.iter().enumerate() {
            for id in block.steps.iter().flat_map(|step| &step.after) {
                let next = pairs.len();
                let semaphore = *pairs.entry((id.block, index as u32)).or_insert(next);
                releases.entry(*id).or_default().push(semaphore);
            }
        }
        Self { schedule, ends, landings, rank, channels, remotes, releases, pairs }
    }

    fn write(&self, block_limit: u32) -> Result<Gpu, ExportError> {
        let mut semaphores = self.pairs.len();
        let mut threadblocks = Vec::new();
        for index in 0..self.schedule.programs[self.rank].blocks.len() {
            let (channels, buffers) = self.resources(index);
            for ops in self.sequence(index).cut(&mut semaphores) {
                threadblocks.push(Block {
                    id: threadblocks.len(),
                    ops,
                    channels: channels.clone(),
                    remote_buffer_refs: buffers.clone(),
                });
            }
        }
        let (count, most) = (threadblocks.len() as u64, u64::from(block_limit));
        if count > most {
            return Err(ExportError::Limit {
                format: FORMAT,
                what: "thread blocks that must run at once",
                place: format!("rank {}", self.rank),
                count,
                most,
                remedy: "plan with fewer chunks or channels, or raise the block limit to the \
                         GPU's multiprocessors",
            });
        }
        let chunks = |buffer| match self.schedule.collective {
            Collective::Broadcast { .. } => self.schedule.chunks as usize,
            _ => self.schedule.buffer_chunks(self.rank, buffer),
        };
        let peer = |(_, from, to): &Connection| if *from == self.rank { *to } else { *from };
        let connected_to: Vec<usize> = self.channels.iter().map(peer).collect();
        let channels = ChannelList::memory(connected_to);
        let remote = |rank: &usize| RemoteBuffer {
            rank: *rank,
            kind: "s",
            access_channel_types: ["memory"],
        };
        Ok(Gpu {
            id: self.rank,
            input_chunks: chunks(Buffer::Input),
            output_chunks: chunks(Buffer::Output),
            scratch_chunks: self.landings[self.rank].chunks,
            threadblocks,
            channels: if self.channels.is_empty() { Vec::new() } else { vec![channels] },
            remote_buffers: self.remotes.iter().map(remote).collect(),
            semaphores: (0..semaphores).map(|_| Semaphore { init_value: 0 }).collect(),
        })
    }

    /// The connections that a block uses: the one it receives on, the one it sends on.
    fn block_connections(&self, index: usize) -> [Option<Connection>; 2] {
        let block = &self.schedule.programs[self.rank].blocks[index];
        let receives = block.receive.map(|from| (block.channel, from, self.rank));
        let sends = block.send.map(|to| (block.channel, self.rank, to));
        [
            receives.filter(|connection| self.ends.receives.contains_key(connection)),
            sends.filter(|connection| self.ends.sends.contains_key(connection)),
        ]
    }

    /// The channels and remote buffers that a block names, in the order of its own numbers.
    fn resources(&self, index: usize) -> (Vec<ChannelRefs>, Vec<RemoteRefs>) {
        let used = self.block_connections(index);
        let number = |connection: &Connection| self.channels.binary_search(connection).ok();
        let ids: Vec<usize> = used.iter().flatten().filter_map(number).collect();
        let channels = ChannelRefs { channel_type: "memory", channel_ids: ids.clone() };
        let to = used[1].and_then(|(_, _, to)| self.remotes.binary_search(&to).ok());
        let buffers =
            to.map(|id| RemoteRefs { access_channel_type: "memory", remote_buffer_ids: [id] });
        (if ids.is_empty() { Vec::new() } else { vec![channels] }, buffers.into_iter().collect())
    }

    fn sequence(&self, index: usize) -> Sequence {
        let used = self.block_connections(index);
        let receiving = 0;
        let sending = usize::from(used[0].is_some());
        let mut sequence = Sequence::default();
        if used[0].is_some() {
            sequence.tell(Op::on_channel("signal", receiving));
        }
        let mut sent = 0;
        for (number, step) in
            self.schedule.programs[self.rank].blocks[index].steps.iter().enumerate()
        {
            sequence.start_group();
            let semaphore = |id: &StepId| self.pairs[&(id.block, index as u32)];
            let acquired: Vec<usize> = step.after.iter().map(semaphore).collect();
            for ids in acquired.chunks(MOST_SEMAPHORES) {
                sequence.wait(Op::on_semaphores("sem_acquire", ids));
            }
            if step.operation.sends() && sent == 0 {
                sequence.wait(Op::on_channel("wait", sending));
            }
            if step.operation.receives() {
                sequence.wait(Op::on_channel("wait", receiving));
            }
            let landing = Slice::scratch(self.landings[self.rank].offsets[index][number]);
            let far = used[1].filter(|_| step.operation.sends()).map(|connection| {
                sent += 1;
                self.far_landing(connection, sent - 1)
            });
            move_data(&mut sequence, step, landing, far);
            if step.operation.sends() {
                sequence.tell(Op::on_channel("signal", sending));
            }
            let id = StepId { block: index as u32, step: number as u32 };
            for ids in
                self.releases.get(&id).into_iter().flat_map(|ids| ids.chunks(MOST_SEMAPHORES))
            {
                sequence.tell(Op::on_semaphores("sem_release", ids));
            }
        }
        sequence
    }

    /// Where the peer has room for what is sent as the nth on a connection.
    fn far_landing(&self, connection: Connection, nth: usize) -> u32 {
        let (block, steps) = &self.ends.receives[&connection];
        self.landings[connection.2].offsets[*block][steps[nth]]
    }
}

/// Writes the operations on data of one step.
fn move_data(sequence: &mut Sequence, step: &ScheduleStep, landing: Slice, far: Option<u32>) {
    let count = step.count;
    let local = |slice: Slice| Buff::local(slice, count);
    let source = step.source.unwrap_or(landing);
    let destination = step.destination.unwrap_or(landing);
    let remote = far.map(|offset| Buff::remote(offset, count));
    let put = |from: Slice| Op::data("put", vec![local(from)], remote.into_iter().collect());
    let reduce = |kept: Slice| {
        let name = if remote.is_some() { "res" } else { "re" };
        let inputs = vec![local(source), local(landing)];
        Op::data(name, inputs, std::iter::once(local(kept)).chain(remote).collect())
    };
    match step.operation {
        StepOperation::Send => sequence.data(put(source)),
        StepOperation::Receive => {
            sequence.data(Op::data("copy", vec![local(landing)], vec![local(destination)]));
        }
        StepOperation::ReceiveCopySend => {
            sequence.data(put(landing));
            // Both read what landed and neither writes it, so they need no wait in between.
            let copy = Op::data("copy", vec![local(landing)], vec![local(destination)]);
            sequence.data_beside(copy);
        }
        StepOperation::ReceiveReduceSend => sequence.data(reduce(landing)),
        StepOperation::ReceiveReduceCopy | StepOperation::ReceiveReduceCopySend => {
            sequence.data(reduce(destination));
        }
        StepOperation::Copy => {
            sequence.data(Op::data("copy", vec![local(source)], vec![local(destination)]));
        }
        StepOperation::Reduce => {
            let inputs = vec![local(destination), local(source)];
            sequence.data(Op::data("re", inputs, vec![local(destination)]));
        }
        StepOperation::SwitchReduce
        | StepOperation::Multicast
        | StepOperation::SwitchReduceMulticast
        | StepOperation::Nop => {}
    }
}
