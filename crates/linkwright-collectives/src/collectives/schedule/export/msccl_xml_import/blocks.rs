//! Thread blocks and their steps, first as the file has them, then as a schedule does.

use roxmltree::Node;

use super::attributes::{MscclAttributes, Source};
use super::buffer_of;
use crate::collectives::schedule::export::msccl_xml::{MOST_COUNT, MOST_OFFSET, STEP_WORDS};
use crate::collectives::schedule::{
    Schedule, ScheduleStep, Slice, StepId, StepOperation, ThreadBlock,
};
use crate::diagnostic::InputError;

/// Holds the limits of a rank's blocks: the things that they may refer to.
pub(super) struct Limits {
    /// Names the rank.
    pub(super) rank: usize,
    /// How many there are.
    pub(super) ranks: usize,
    /// How many channels there are.
    pub(super) channels: usize,
}

/// Holds a `step` of the file.
struct RawStep<'a> {
    node: Node<'a, 'a>,
    operation: StepOperation,
    source: Option<Slice>,
    destination: Option<Slice>,
    count: u32,
    /// The `tb` and `s` that it waits for.
    waits_for: Option<(usize, usize)>,
    /// Whether it tells that it ended.
    tells: bool,
}

/// Holds a `tb` of the file.
pub(super) struct RawBlock<'a> {
    /// Gives its element.
    pub(super) node: Node<'a, 'a>,
    /// The rank that it sends to.
    pub(super) send: Option<usize>,
    /// The rank that it receives from.
    pub(super) receive: Option<usize>,
    /// Names its channel.
    pub(super) channel: usize,
    steps: Vec<RawStep<'a>>,
}

impl RawBlock<'_> {
    /// Lists the operations of its steps.
    pub(super) fn operations(&self) -> impl Iterator<Item = StepOperation> {
        self.steps.iter().map(|step| step.operation)
    }
}

/// Reads a `tb`.
pub(super) fn read_block<'a>(
    source: &Source<'a>,
    node: Node<'a, 'a>,
    limits: &Limits,
) -> Result<RawBlock<'a>, InputError> {
    let peer = |name| {
        let peer = source.number_between(node, name, -1, limits.ranks as i64 - 1)?;
        if peer == limits.rank as i64 {
            let attribute = source.required(node, name)?;
            let remedy = "name another rank, or -1 for none";
            return Err(source.refuse_value(&attribute, "a rank is its own peer", remedy));
        }
        Ok(usize::try_from(peer).ok())
    };
    let mut block = RawBlock {
        node,
        send: peer("send")?,
        receive: peer("recv")?,
        channel: source.index(node, "chan", limits.channels)?,
        steps: Vec::new(),
    };
    for (number, node) in source.children(node, "step")?.into_iter().enumerate() {
        if source.number_between(node, "s", 0, i64::MAX)? != number as i64 {
            let attribute = source.required(node, "s")?;
            let remedy = format!("write {number}: steps count from 0 in the order of the file");
            return Err(source.refuse_value(&attribute, "the step has another's number", &remedy));
        }
        let step = read_step(source, node, &block)?;
        block.steps.push(step);
    }
    Ok(block)
}

fn read_step<'a>(
    source: &Source<'a>,
    node: Node<'a, 'a>,
    block: &RawBlock,
) -> Result<RawStep<'a>, InputError> {
    let word = source.required(node, "type")?;
    let found = STEP_WORDS.iter().find(|(known, _)| *known == word.value());
    let Some((_, operation)) = found.copied() else {
        let words: Vec<&str> = STEP_WORDS.iter().map(|(word, _)| *word).collect();
        let remedy = format!("write one of {}", words.join(", "));
        return Err(source.refuse_value(&word, "no step has this type", &remedy));
    };
    for (uses, peer, name) in
        [(operation.sends(), block.send, "send"), (operation.receives(), block.receive, "recv")]
    {
        if uses && peer.is_none() {
            let problem = format!("the step needs a peer, and its <tb> has {name}=\"-1\"");
            let remedy = format!("name the rank in `{name}`");
            return Err(source.refuse_value(&word, problem, &remedy));
        }
    }
    let least = i64::from(operation != StepOperation::Nop);
    let count =
        source.number_between(node, "cnt", if least == 1 { 1 } else { -1 }, MOST_COUNT.into())?;
    let place = |buffer: &str, offset: &str, used: bool| {
        let letter = source.required(node, buffer)?;
        let Some(kind) = buffer_of(letter.value()) else {
            return Err(source.refuse_value(
                &letter,
                "no buffer has this letter",
                "write i, o or s",
            ));
        };
        let offset =
            source.number_between(node, offset, if used { 0 } else { -1 }, MOST_OFFSET as i64)?;
        Ok(used.then_some(Slice { buffer: kind, offset: offset.max(0) as u32 }))
    };
    let block_waited = source.number_between(node, "depid", -1, MOST_OFFSET as i64)?;
    let step_waited = source.number_between(node, "deps", -1, MOST_OFFSET as i64)?;
    let waits_for = if block_waited < 0 {
        None
    } else if step_waited < 0 {
        let attribute = source.required(node, "deps")?;
        let remedy = "name a step, or write depid=\"-1\" to wait for none";
        return Err(source.refuse_value(&attribute, "`depid` names a block", remedy));
    } else {
        Some((block_waited as usize, step_waited as usize))
    };
    Ok(RawStep {
        node,
        operation,
        source: place("srcbuf", "srcoff", operation.reads_source())?,
        destination: place("dstbuf", "dstoff", operation.writes_destination())?,
        count: count.max(0) as u32,
        waits_for,
        tells: source.flag(node, "hasdep")?,
    })
}

/// A rank's blocks in a schedule that has everything else.
pub(super) fn resolve(
    source: &Source,
    schedule: &Schedule,
    rank: usize,
    blocks: &[RawBlock],
) -> Result<Vec<ThreadBlock>, InputError> {
    // For each step of the file these hold the step, from it on, that tells its end, and the
    // numbers that the steps get. They are walked from behind, since that step lies ahead.
    let mut numbers: Vec<Vec<u32>> = Vec::with_capacity(blocks.len());
    let mut telling: Vec<Vec<Option<usize>>> = Vec::with_capacity(blocks.len());
    for block in blocks {
        let mut next = 0;
        let mut number = |step: &RawStep| {
            let own = next;
            next += u32::from(step.operation != StepOperation::Nop);
            own
        };
        numbers.push(block.steps.iter().map(&mut number).collect());
        let mut ahead = None;
        let mut tells = vec![None; block.steps.len()];
        for (index, step) in block.steps.iter().enumerate().rev() {
            if step.tells && step.operation != StepOperation::Nop {
                ahead = Some(index);
            }
            tells[index] = ahead;
        }
        telling.push(tells);
    }
    let mut resolved = Vec::with_capacity(blocks.len());
    for (index, block) in blocks.iter().enumerate() {
        let mut steps = Vec::with_capacity(block.steps.len());
        let mut after = Vec::new();
        for (at, step) in block.steps.iter().enumerate() {
            if let Some((waited, number)) = step.waits_for {
                let ended = waited_step(source, step, (waited, number), &telling)?;
                if waited != index {
                    let step = numbers[waited][ended];
                    after.push(StepId { block: waited as u32, step });
                } else if ended >= at {
                    let attribute = source.required(step.node, "deps")?;
                    let problem = "the step waits for itself or a later one of its block";
                    return Err(source.refuse_value(&attribute, problem, "name an earlier step"));
                }
            }
            if step.operation == StepOperation::Nop {
                continue;
            }
            check_bounds(source, schedule, rank, step)?;
            after.sort_unstable();
            after.dedup();
            steps.push(ScheduleStep {
                operation: step.operation,
                source: step.source,
                destination: step.destination,
                count: step.count,
                after: std::mem::take(&mut after),
            });
        }
        resolved.push(ThreadBlock {
            send: block.send,
            receive: block.receive,
            channel: block.channel,
            steps,
        });
    }
    Ok(resolved)
}

/// The step of the file whose end lets another go on.
fn waited_step(
    source: &Source,
    step: &RawStep,
    (block, number): (usize, usize),
    telling: &[Vec<Option<usize>>],
) -> Result<usize, InputError> {
    let wrong = |name, problem: &str, remedy: &str| {
        let attribute = source.required(step.node, name)?;
        Err(source.refuse_value(&attribute, problem, remedy))
    };
    let Some(steps) = telling.get(block) else {
        return wrong("depid", "the rank has no <tb> of this id", "name one that it has");
    };
    match steps.get(number) {
        None => wrong("deps", "the block has no step of this number", "name one that it has"),
        Some(None) => {
            let problem = "the step never tells that it ended, and this one would wait forever";
            wrong("deps", problem, "write hasdep=\"1\" on the step that is waited for")
        }
        Some(Some(ended)) => Ok(*ended),
    }
}

fn check_bounds(
    source: &Source,
    schedule: &Schedule,
    rank: usize,
    step: &RawStep,
) -> Result<(), InputError> {
    let sides = [(step.source, "srcoff"), (step.destination, "dstoff")];
    for (slice, name) in sides {
        let Some(slice) = slice else { continue };
        let room = schedule.buffer_chunks(rank, slice.buffer);
        if slice.offset as usize + step.count as usize > room {
            let attribute = source.required(step.node, name)?;
            let problem = format!(
                "the step's {} chunks end outside of the buffer, which has {room}",
                step.count
            );
            let remedy = "mend the offset, `cnt`, `s_chunks` or `nchunksperloop`";
            return Err(source.refuse_value(&attribute, problem, remedy));
        }
    }
    Ok(())
}
