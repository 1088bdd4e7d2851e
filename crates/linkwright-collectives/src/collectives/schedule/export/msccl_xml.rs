//! Writes MSCCL XML, as MSCCL's executors load it.
//!
//! It represents the whole schedule except transports, relays, GPUs and the root. The format has no
//! words for these, and the export's notes name them. The rules below come from the loaders of
//! Azure/msccl-executor-nccl and of ROCm/rccl (`msccl_parser.cc`, `msccl_struct.h`). They also come
//! from the kernel that runs the loaded files (`msccl_kernel_impl.h`), and from microsoft/msccl
//! before them:
//!
//! - The file starts with `<algo`: the loaders take no XML declaration. Attributes stand on
//!   one line, in double quotes, of at most 255 characters, and entities are not decoded.
//! - Each rank's loader keeps `algo`, every `gpu`, and its own `tb` and `step` elements. They are
//!   fewer than 4,096 together and have at most 1,024 children each. The loader does not always
//!   watch the end of its arrays.
//! - A step waits for one step of another block; `nop` steps before it each add one more,
//!   and the last must be the step's own. A waiting step reads a number that only steps with
//!   `hasdep="1"` advance.
//! - Steps `re` that follow each other with one destination and one source buffer are fused, with
//!   the count of the last. A step with `hasdep="1"` ends such a chain.
//! - `nchunksperloop` divides the count of elements of the call, times the number of ranks for
//!   all-gather, reduce-scatter and all-to-all.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::normal::{Connections, connections, normalise};
use super::peers::spread_peers;
use super::{Export, ExportError, placement_notes, refuse_in_switch};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::{Buffer, Schedule, ScheduleStep, Slice, StepOperation};
use crate::units::Bytes;

const FORMAT: &str = "MSCCL XML";
/// Gives `MAXCHANNELS`.
pub(super) const MOST_CHANNELS: u64 = 32;
/// Gives `MSCCL_MAX_COUNT` less one.
pub(super) const MOST_COUNT: u32 = 71;
/// Offsets are `int16_t`.
pub(super) const MOST_OFFSET: u64 = i16::MAX as u64;
/// Gives `MSCCL_MAX_NUM_THREAD_BLOCKS_PER_CHANNEL`, the most senders, and the most receivers, of a
/// channel.
const MOST_PEERS: u64 = 32;
/// `MAX_NODES` less one: the loader stops when the last is in use.
const MOST_ELEMENTS: u64 = 4095;
/// Gives `MAX_SUBS`.
const MOST_CHILDREN: u64 = 1024;
/// Gives `MAX_STR_LEN`, less the end of the string.
const LONGEST_NAME: u64 = 254;

/// Holds the values of the file beside the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MscclOptions {
    /// The smallest call that may use it.
    pub min_bytes: Bytes,
    /// The largest; `None` for no bound, which the file says as 0.
    pub max_bytes: Option<Bytes>,
    /// Limits the steps of a thread block, `nop` included. The executor was built with this number
    /// (`MSCCL_MAX_NUM_STEPS`): 64 in recent ones, 256 in microsoft/msccl, at most 1,024.
    pub step_limit: u32,
}

impl Default for MscclOptions {
    fn default() -> Self {
        Self { min_bytes: Bytes(0), max_bytes: None, step_limit: 64 }
    }
}

/// The word for a collective, where there is one.
pub(super) const fn collective_word(collective: Collective) -> Option<&'static str> {
    Some(match collective {
        Collective::Broadcast { .. } => "broadcast",
        Collective::Reduce { .. } => "reduce",
        Collective::Gather { .. } => "gather",
        Collective::Scatter { .. } => "scatter",
        Collective::AllReduce => "allreduce",
        Collective::AllGather => "allgather",
        Collective::ReduceScatter => "reducescatter",
        Collective::AllToAll => "alltoall",
        Collective::Barrier | Collective::Scan => return None,
    })
}

/// The words for what a step does.
pub(super) const STEP_WORDS: [(&str, StepOperation); 9] = [
    ("s", StepOperation::Send),
    ("r", StepOperation::Receive),
    ("rcs", StepOperation::ReceiveCopySend),
    ("rrs", StepOperation::ReceiveReduceSend),
    ("rrc", StepOperation::ReceiveReduceCopy),
    ("rrcs", StepOperation::ReceiveReduceCopySend),
    ("cpy", StepOperation::Copy),
    ("re", StepOperation::Reduce),
    ("nop", StepOperation::Nop),
];

/// How many shards the executor counts in a call: it cuts them into `nchunksperloop`.
pub(super) const fn shards_of_a_call(collective: Collective, ranks: usize) -> usize {
    match collective {
        Collective::AllGather | Collective::ReduceScatter | Collective::AllToAll => ranks,
        _ => 1,
    }
}

const fn buffer_letter(buffer: Buffer) -> char {
    match buffer {
        Buffer::Input => 'i',
        Buffer::Output => 'o',
        Buffer::Scratch => 's',
    }
}

fn limit(
    what: &'static str,
    place: impl Into<String>,
    (count, most): (u64, u64),
    remedy: &'static str,
) -> Result<(), ExportError> {
    if count <= most {
        return Ok(());
    }
    Err(ExportError::Limit { format: FORMAT, what, place: place.into(), count, most, remedy })
}

/// Writes a schedule as MSCCL XML.
///
/// Chunks are merged where all steps move multiples and a limit asks for it. A step of 72 chunks or
/// more becomes several, on both sides of its connection alike.
///
/// # Errors
/// [`ExportError::Limit`] where an executor's limit would still be passed,
/// [`ExportError::Broken`] for a schedule that breaks its own rules, and
/// [`ExportError::BadOption`].
pub fn to_msccl_xml(schedule: &Schedule, options: &MscclOptions) -> Result<Export, ExportError> {
    check_options(options)?;
    let collective = schedule.collective;
    let word = collective_word(collective).ok_or(ExportError::NoCollective {
        format: FORMAT,
        collective,
        remedy: "draw it (dot)",
    })?;
    refuse_in_switch(schedule, FORMAT, "draw it (dot), or plan it with packing")?;
    let mut schedule = normalise(schedule)?;
    connections(&schedule)?;
    check_name(&schedule.name)?;
    let mut notes = placement_notes(&schedule, "MSCCL");
    merge_chunks(&mut schedule, &mut notes);
    let moved = spread_peers(&mut schedule, MOST_PEERS as usize, MOST_CHANNELS as usize);
    if moved > 0 {
        notes.push(format!(
            "{moved} connections are on other channels than planned, since an executor takes \
             {MOST_PEERS} peers on each."
        ));
    }
    let ends = connections(&schedule)?;
    check_shape(&schedule)?;
    let ranks = schedule.ranks();
    let chunks = shards_of_a_call(schedule.collective, ranks) * schedule.chunks as usize;
    limit("chunks in a loop", "the schedule", (chunks as u64, MOST_OFFSET + 1), FEWER_CHUNKS)?;
    let mut text = format!(
        "<algo name=\"{}\" proto=\"{}\" nchannels=\"{}\" nchunksperloop=\"{chunks}\" \
         ngpus=\"{ranks}\" coll=\"{}\" inplace=\"{}\" outofplace=\"{}\" minBytes=\"{}\" \
         maxBytes=\"{}\">\n",
        schedule.name,
        schedule.protocol.name(),
        schedule.channels.len(),
        word,
        u8::from(schedule.in_place),
        u8::from(schedule.out_of_place),
        options.min_bytes.0,
        options.max_bytes.map_or(0, |bytes| bytes.0),
    );
    let mut split = 0;
    for rank in 0..ranks {
        split += write_rank(&mut text, &schedule, &ends, rank, options)?;
    }
    text.push_str("</algo>\n");
    if split > 0 {
        notes.push(format!(
            "{split} steps move more than {MOST_COUNT} chunks and are written as several."
        ));
    }
    Ok(Export { text, notes })
}

const FEWER_CHUNKS: &str = "plan with fewer chunks";
const FEWER_STEPS: &str =
    "plan with fewer chunks or more channels, or raise the step limit to the executor's";

fn check_options(options: &MscclOptions) -> Result<(), ExportError> {
    let bad = |option, value, remedy| Err(ExportError::BadOption { option, value, remedy });
    let (least, most) = (options.min_bytes.0, options.max_bytes.map(|bytes| bytes.0));
    if least > i64::MAX as u64 {
        return bad("min_bytes", least, "choose less than 8 EiB");
    }
    if let Some(most) = most.filter(|most| *most < least.max(1) || *most > i64::MAX as u64) {
        return bad("max_bytes", most, "choose at least min_bytes, or none for no bound");
    }
    if !(1..=MOST_CHILDREN).contains(&u64::from(options.step_limit)) {
        return bad("step_limit", options.step_limit.into(), "choose 1 to 1024");
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), ExportError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(plain) {
        let problem = "has a name of other than letters, digits, `-`, `_` and `.`";
        return Err(super::normal::broken("it", problem));
    }
    limit("characters", "the schedule's name", (name.len() as u64, LONGEST_NAME), "shorten it")
}

fn check_shape(schedule: &Schedule) -> Result<(), ExportError> {
    let channels = schedule.channels.len() as u64;
    limit("channels", "the schedule", (channels, MOST_CHANNELS), "plan with fewer trees or rings")?;
    let ranks = schedule.ranks() as u64;
    limit("ranks", "the schedule", (ranks, MOST_CHILDREN), "plan for fewer GPUs")?;
    for (rank, program) in schedule.programs.iter().enumerate() {
        let blocks = program.blocks.len() as u64;
        let remedy = "plan with fewer channels";
        limit("thread blocks", format!("rank {rank}"), (blocks, MOST_CHILDREN), remedy)?;
        for channel in 0..schedule.channels.len() {
            let of_channel = program.blocks.iter().filter(|block| block.channel == channel);
            let sends = of_channel.clone().filter(|block| block.send.is_some()).count();
            let receives = of_channel.filter(|block| block.receive.is_some()).count();
            let peers = sends.max(receives) as u64;
            let place = format!("rank {rank}, channel {channel}");
            limit(
                "peers",
                place,
                (peers, MOST_PEERS),
                "plan for fewer GPUs, or along trees with fewer branches",
            )?;
        }
        let slices = program.blocks.iter().flat_map(|block| &block.steps).flat_map(|step| {
            let last = step.count.saturating_sub(1);
            [step.source, step.destination].into_iter().flatten().map(move |s| s.offset + last)
        });
        let last = u64::from(slices.max().unwrap_or(0)).max(program.scratch_chunks.into());
        limit("chunks in a buffer", format!("rank {rank}"), (last, MOST_OFFSET), FEWER_CHUNKS)?;
    }
    Ok(())
}

/// Merges chunks that always move together, where a limit asks for it.
fn merge_chunks(schedule: &mut Schedule, notes: &mut Vec<String>) {
    let steps = || {
        schedule.programs.iter().flat_map(|program| &program.blocks).flat_map(|block| &block.steps)
    };
    let slices = || steps().flat_map(|step| [step.source, step.destination].into_iter().flatten());
    let large = steps().any(|step| step.count > MOST_COUNT)
        || slices().any(|slice| u64::from(slice.offset) > MOST_OFFSET);
    if !large {
        return;
    }
    let scratch = schedule.programs.iter().map(|program| program.scratch_chunks);
    let counts = steps().map(|step| step.count);
    let offsets = slices().map(|slice| slice.offset);
    let together = scratch.chain(counts).chain(offsets).fold(schedule.chunks, common_divisor);
    if together < 2 {
        return;
    }
    notes.push(format!("Every step moves multiples of {together} chunks, written as one."));
    schedule.chunks /= together;
    for program in &mut schedule.programs {
        program.scratch_chunks /= together;
        for step in program.blocks.iter_mut().flat_map(|block| &mut block.steps) {
            step.count /= together;
            for slice in [&mut step.source, &mut step.destination].into_iter().flatten() {
                slice.offset /= together;
            }
        }
    }
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// The parts that a step is written in: how far each lies behind the step's start, and its
/// count.
fn parts(count: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..count).step_by(MOST_COUNT as usize).map(move |start| (start, MOST_COUNT.min(count - start)))
}

/// A line of a block, before it is known which lines others wait for.
struct Line {
    word: &'static str,
    source: (Buffer, u32),
    destination: (Buffer, u32),
    count: u32,
    /// Names the block and the line in it.
    after: Option<(u32, u32)>,
}

impl Line {
    /// Whether the executor would fuse the next line with this one, and lose this count.
    fn is_fused_wrongly_with(&self, next: &Self) -> bool {
        self.word == "re"
            && next.word == "re"
            && self.destination == next.destination
            && self.source.0 == next.source.0
            && self.count != next.count
            && next.after.is_none()
    }
}

/// Writes a rank and returns how many of its steps were split.
fn write_rank(
    text: &mut String,
    schedule: &Schedule,
    ends: &Connections,
    rank: usize,
    options: &MscclOptions,
) -> Result<usize, ExportError> {
    let program = &schedule.programs[rank];
    // The line that ends each step: behind its own `nop` lines and parts.
    let mut ends_at: Vec<Vec<u32>> = Vec::with_capacity(program.blocks.len());
    let mut elements = 1 + schedule.ranks() as u64;
    for (index, block) in program.blocks.iter().enumerate() {
        let mut lines = 0_u32;
        let line = |step: &ScheduleStep| {
            let waits = step.after.len().saturating_sub(1) as u32;
            lines = lines.saturating_add(waits + step.count.div_ceil(MOST_COUNT));
            lines.saturating_sub(1)
        };
        ends_at.push(block.steps.iter().map(line).collect());
        let place = format!("rank {rank}, block {index}");
        limit("steps", place, (lines.into(), options.step_limit.into()), FEWER_STEPS)?;
        elements += 1 + u64::from(lines);
    }
    let place = format!("the part of rank {rank}");
    limit("XML elements", place, (elements, MOST_ELEMENTS), FEWER_CHUNKS)?;

    let mut split = 0;
    let mut blocks = Vec::with_capacity(program.blocks.len());
    for (index, block) in program.blocks.iter().enumerate() {
        let mut lines = Vec::new();
        for (number, step) in block.steps.iter().enumerate() {
            split += usize::from(step.count > MOST_COUNT);
            let wait = |id: &crate::collectives::StepId| {
                (id.block, ends_at[id.block as usize][id.step as usize])
            };
            let mut waits: Vec<_> = step.after.iter().map(wait).collect();
            let own = waits.pop();
            for other in waits {
                lines.push(Line {
                    word: "nop",
                    source: (Buffer::Input, 0),
                    destination: (Buffer::Output, 0),
                    count: 0,
                    after: Some(other),
                });
            }
            let (source, destination) = both_sides(schedule, ends, (rank, index, number));
            for (start, count) in parts(step.count) {
                lines.push(Line {
                    word: word(step.operation),
                    source: (source.buffer, source.offset + start),
                    destination: (destination.buffer, destination.offset + start),
                    count,
                    after: own.filter(|_| start == 0),
                });
            }
        }
        blocks.push(lines);
    }
    let mut waited: BTreeSet<(u32, u32)> =
        blocks.iter().flatten().filter_map(|line| line.after).collect();
    for (index, lines) in blocks.iter().enumerate() {
        let ends = lines.windows(2).enumerate().filter(|(_, l)| l[0].is_fused_wrongly_with(&l[1]));
        waited.extend(ends.map(|(line, _)| (index as u32, line as u32)));
    }
    write_blocks(text, schedule, rank, &blocks, &waited);
    Ok(split)
}

fn word(operation: StepOperation) -> &'static str {
    let found = STEP_WORDS.iter().find(|(_, known)| *known == operation);
    found.map_or("nop", |(word, _)| word)
}

/// Returns source and destination of a step. The format asks for both, where a step uses one. A
/// sent run names where the peer puts it, and a received run where the peer has it. MSCCL's own
/// tools write them in this way, since microsoft/msccl writes to the peer's memory directly.
fn both_sides(
    schedule: &Schedule,
    ends: &Connections,
    (rank, index, number): (usize, usize, usize),
) -> (Slice, Slice) {
    let block = &schedule.programs[rank].blocks[index];
    let step = &block.steps[number];
    let peer_step = |here: &super::normal::Ends, there: &super::normal::Ends, key, peer: usize| {
        let at = here.get(&key)?.1.binary_search(&number).ok()?;
        let (block, steps) = there.get(&key)?;
        Some(&schedule.programs[peer].blocks[*block].steps[*steps.get(at)?])
    };
    let own = step.source.or(step.destination).unwrap_or(Slice::input(0));
    let far = |peer: Option<&ScheduleStep>| {
        peer.and_then(|step| step.destination.or(step.source)).unwrap_or(own)
    };
    let source = step.source.unwrap_or_else(|| {
        far(block.receive.and_then(|from| {
            peer_step(&ends.receives, &ends.sends, (block.channel, from, rank), from)
        }))
    });
    let destination = step.destination.unwrap_or_else(|| {
        far(block
            .send
            .and_then(|to| peer_step(&ends.sends, &ends.receives, (block.channel, rank, to), to)))
    });
    (source, destination)
}

fn write_blocks(
    text: &mut String,
    schedule: &Schedule,
    rank: usize,
    blocks: &[Vec<Line>],
    waited: &BTreeSet<(u32, u32)>,
) {
    let length = |buffer| schedule.buffer_chunks(rank, buffer);
    let _ = writeln!(
        text,
        "  <gpu id=\"{rank}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">",
        length(Buffer::Input),
        length(Buffer::Output),
        length(Buffer::Scratch)
    );
    let peer = |peer: Option<usize>| peer.map_or_else(|| "-1".to_owned(), |rank| rank.to_string());
    for (index, lines) in blocks.iter().enumerate() {
        let block = &schedule.programs[rank].blocks[index];
        let _ = writeln!(
            text,
            "    <tb id=\"{index}\" send=\"{}\" recv=\"{}\" chan=\"{}\">",
            peer(block.send),
            peer(block.receive),
            block.channel
        );
        for (number, line) in lines.iter().enumerate() {
            let (depid, deps) = line.after.map_or((-1, -1), |(b, s)| (i64::from(b), i64::from(s)));
            let _ = writeln!(
                text,
                "      <step s=\"{number}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" \
                 dstbuf=\"{}\" dstoff=\"{}\" cnt=\"{}\" depid=\"{depid}\" deps=\"{deps}\" \
                 hasdep=\"{}\"/>",
                line.word,
                buffer_letter(line.source.0),
                line.source.1,
                buffer_letter(line.destination.0),
                line.destination.1,
                line.count,
                u8::from(waited.contains(&(index as u32, number as u32)))
            );
        }
        text.push_str("    </tb>\n");
    }
    text.push_str("  </gpu>\n");
}

#[cfg(test)]
mod tests;
