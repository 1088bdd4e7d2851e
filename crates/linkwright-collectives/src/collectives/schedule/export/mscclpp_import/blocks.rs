//! Thread blocks, what joins them, and whether their waits can all end.

use std::collections::{BTreeMap, BTreeSet};

use super::json::{Node, Source};
use super::raw::{Block, Gpu, Op, Plan, Run, Side, Way};
use crate::collectives::schedule::Buffer;
use crate::diagnostic::InputError;

/// Names a rank's channel: rank, way and index among its channels of that way.
pub(super) type Channel = (usize, Way, usize);

/// Holds the operations of thread blocks that follow one another on the same channels.
pub(super) struct Line<'a, 'n> {
    pub(super) rank: usize,
    pub(super) node: &'n Node,
    pub(super) ops: Vec<&'a Op<'n>>,
}

/// Lists what a rank sends with one signal, by the place where each run lands at the peer.
pub(super) type Message = Vec<(Buffer, u32, u32)>;

/// The lines of all ranks and the messages between them.
pub(super) struct Joined<'a, 'n> {
    pub(super) lines: Vec<Line<'a, 'n>>,
    /// By the channel that signals, in order.
    pub(super) messages: BTreeMap<Channel, Vec<Message>>,
    /// Gives the other end of each channel.
    pub(super) ends: BTreeMap<Channel, Channel>,
}

/// Whether an operation tells the other end of a channel something.
pub(super) fn signals(op: &Op) -> bool {
    matches!(op.name, "signal" | "rlxsignal" | "pws" | "pwsf")
}

/// Tells whether an operation waits for the other end of a channel.
pub(super) fn waits(op: &Op) -> bool {
    matches!(op.name, "wait" | "rlxwait")
}

impl<'a, 'n> Joined<'a, 'n> {
    pub(super) fn of(source: &Source, plan: &'a Plan<'n>) -> Result<Self, InputError> {
        let mut lines = Vec::new();
        for (rank, gpu) in plan.gpus.iter().enumerate() {
            lines.extend(lines_of(rank, gpu));
        }
        let ends = ends(plan);
        let mut joined = Self { lines, messages: BTreeMap::new(), ends };
        joined.find_messages(source, plan)?;
        Play::of(source, plan, &joined)?.play(source, &joined)?;
        Ok(joined)
    }

    /// Whether a line sends on one channel at most and receives on one.
    pub(super) fn has_one_peer_each_way(&self, line: &Line) -> bool {
        let mut used = [BTreeSet::new(), BTreeSet::new()];
        for op in &line.ops {
            let Some(way) = op.way.filter(|_| signals(op) || waits(op)) else { continue };
            for index in &op.channels {
                let own = (line.rank, way, *index);
                let sends = if signals(op) { Some(own) } else { self.ends.get(&own).copied() };
                let Some(sends) = sends else { continue };
                let carries = self
                    .messages
                    .get(&sends)
                    .is_some_and(|all| all.iter().any(|message| !message.is_empty()));
                if carries {
                    used[usize::from(signals(op))].insert(sends);
                }
            }
        }
        used.iter().all(|channels| channels.len() <= 1)
    }

    fn find_messages(&mut self, source: &Source, plan: &Plan) -> Result<(), InputError> {
        let mut owners: BTreeMap<(Channel, bool), usize> = BTreeMap::new();
        for (at, line) in self.lines.iter().enumerate() {
            let peers = &plan.gpus[line.rank].peers;
            let mut open: Vec<(usize, (Buffer, u32, u32), &Node)> = Vec::new();
            let mut threads = Threads::default();
            for op in &line.ops {
                let far = op.destinations.iter().filter_map(|run| far(run).map(|it| (it, run)));
                for ((rank, buffer), run) in far {
                    let room = plan.gpus[rank].chunks(buffer);
                    if run.index.checked_add(run.size).is_none_or(|end| end > room) {
                        let problem = format!(
                            "the run ends outside of rank {rank}'s buffer of {room} chunks"
                        );
                        return Err(source.refuse(op.node, problem, "mend `index` or `size`"));
                    }
                    open.push((rank, (buffer, run.index, run.size), op.node));
                }
                threads.go_on(source, op)?;
                if !signals(op) && !waits(op) {
                    continue;
                }
                let Some(way) = op.way else {
                    let remedy = "give its `channel_type`, memory or port";
                    return Err(source.refuse(op.node, "the operation names no channel", remedy));
                };
                for index in &op.channels {
                    let channel = (line.rank, way, *index);
                    if *owners.entry((channel, signals(op))).or_insert(at) != at {
                        let problem = "another thread block uses this channel the same way";
                        let remedy = "give each block channels of its own";
                        return Err(source.refuse(op.node, problem, remedy));
                    }
                    if !self.ends.contains_key(&channel) {
                        let peer = peers[way as usize][*index];
                        let problem =
                            format!("rank {peer} has no channel for this one's other end");
                        let remedy = "list as many in the peer's `connected_to`";
                        return Err(source.refuse(op.node, problem, remedy));
                    }
                    if signals(op) {
                        let peer = peers[way as usize][*index];
                        let sent = open.iter().filter(|(to, ..)| *to == peer);
                        let message = sent.map(|(_, run, _)| *run).collect();
                        open.retain(|(to, ..)| *to != peer);
                        self.messages.entry(channel).or_default().push(message);
                    }
                }
            }
            if let Some((rank, _, node)) = open.first() {
                let problem = format!("no signal of its block to rank {rank} follows this");
                return Err(source.refuse(node, problem, "signal in the block that writes"));
            }
        }
        Ok(())
    }
}

/// Holds what a block's threads have not yet told each other of.
#[derive(Default)]
struct Threads {
    /// One of them has waited for others' news.
    waited: bool,
    /// They have moved data.
    moved: bool,
}

impl Threads {
    /// Refuses an operation before which the threads must wait for each other and do not.
    fn go_on(&mut self, source: &Source, op: &Op) -> Result<(), InputError> {
        if matches!(op.name, "nop" | "barrier") {
            *self = Self::default();
        }
        let by_port = op.way == Some(Way::Port);
        let moves = !op.sources.is_empty();
        let tells = matches!(op.name, "signal" | "rlxsignal" | "sem_release") && !by_port;
        let after = match (self.waited && moves, self.moved && tells) {
            (true, _) => "a wait",
            (_, true) => "what they move",
            _ => {
                self.waited |= waits(op) || op.name == "sem_acquire";
                self.moved |= moves && !by_port;
                return Ok(());
            }
        };
        let problem = format!(
            "`{}` follows {after} and the block's threads do not wait for each other in between",
            op.name
        );
        Err(source.refuse(op.node, problem, "put a `nop` before it"))
    }
}

/// The rank and buffer of a run that lies with another rank.
pub(super) fn far(run: &Run) -> Option<(usize, Buffer)> {
    match run.side {
        Side::Far(rank, buffer) => Some((rank, buffer)),
        Side::Own(_) | Side::Switch(_) => None,
    }
}

/// Pairs the nth channel of a rank to a peer with the nth of the peer to the rank.
fn ends(plan: &Plan) -> BTreeMap<Channel, Channel> {
    let mut nth: BTreeMap<(Way, usize, usize), Vec<usize>> = BTreeMap::new();
    for (rank, gpu) in plan.gpus.iter().enumerate() {
        for way in [Way::Memory, Way::Port] {
            for (index, peer) in gpu.peers[way as usize].iter().enumerate() {
                nth.entry((way, rank, *peer)).or_default().push(index);
            }
        }
    }
    let mut ends = BTreeMap::new();
    for ((way, rank, peer), indices) in &nth {
        let far = nth.get(&(*way, *peer, *rank)).map_or(&[][..], Vec::as_slice);
        for (own, other) in indices.iter().zip(far) {
            ends.insert((*rank, *way, *own), (*peer, *way, *other));
        }
    }
    ends
}

/// Gives the blocks of a rank. Two count as one where the second starts where the first ends, since
/// the exporter so cuts blocks of more operations than the executor takes.
fn lines_of<'a, 'n>(rank: usize, gpu: &'a Gpu<'n>) -> Vec<Line<'a, 'n>> {
    let mut uses: BTreeMap<usize, usize> = BTreeMap::new();
    let ops = gpu.blocks.iter().flat_map(|block| &block.ops);
    ops.flat_map(|op| &op.semaphores).for_each(|id| *uses.entry(*id).or_default() += 1);
    let alone = |op: Option<&Op>, name: &str| match op {
        Some(op) if op.name == name && op.semaphores.len() == 1 => {
            Some(op.semaphores[0]).filter(|id| uses[id] == 2 && gpu.semaphores[*id] == 0)
        }
        _ => None,
    };
    let mut lines: Vec<Line> = Vec::new();
    let mut before: Option<(&Block, usize)> = None;
    for block in &gpu.blocks {
        let goes_on = before.is_some_and(|(earlier, semaphore)| {
            earlier.channels == block.channels
                && alone(block.ops.first(), "sem_acquire") == Some(semaphore)
        });
        let ops = block.ops.iter();
        match lines.last_mut() {
            Some(line) if goes_on => {
                line.ops.pop();
                line.ops.extend(ops.skip(1));
            }
            _ => lines.push(Line { rank, node: block.node, ops: ops.collect() }),
        }
        before = alone(block.ops.last(), "sem_release").map(|id| (block, id));
    }
    lines
}

/// Names what an operation waits for or gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Token {
    /// Signals that have come in at this channel.
    Signal(Channel),
    /// Names a semaphore of a rank.
    Semaphore(usize, usize),
}

/// Holds what an operation takes and what it gives.
type Traded = (Vec<Token>, Vec<Token>);

/// Holds one run of all blocks. Only their waits count, with what ends these.
struct Play {
    /// Is ordered by line and operation.
    traded: Vec<Vec<Traded>>,
    counts: BTreeMap<Token, u64>,
}

impl Play {
    fn of(source: &Source, plan: &Plan, joined: &Joined) -> Result<Self, InputError> {
        let mut counts = BTreeMap::new();
        for (rank, gpu) in plan.gpus.iter().enumerate() {
            for (id, value) in gpu.semaphores.iter().enumerate() {
                counts.insert(Token::Semaphore(rank, id), *value);
            }
        }
        let mut owners: BTreeMap<Token, usize> = BTreeMap::new();
        let mut traded = Vec::with_capacity(joined.lines.len());
        for (at, line) in joined.lines.iter().enumerate() {
            let mut of_line = Vec::with_capacity(line.ops.len());
            for op in &line.ops {
                let (mut takes, mut gives) = (Vec::new(), Vec::new());
                for index in &op.channels {
                    let Some(way) = op.way else { continue };
                    let channel = (line.rank, way, *index);
                    if signals(op) {
                        gives.extend(joined.ends.get(&channel).map(|end| Token::Signal(*end)));
                    } else if waits(op) {
                        takes.push(Token::Signal(channel));
                    }
                }
                for id in &op.semaphores {
                    let token = Token::Semaphore(line.rank, *id);
                    match op.name {
                        "sem_release" => gives.push(token),
                        "sem_acquire" => takes.push(token),
                        _ => {}
                    }
                    if op.name == "sem_acquire" && *owners.entry(token).or_insert(at) != at {
                        let problem = "two thread blocks acquire one semaphore";
                        let remedy = "give each a semaphore of its own";
                        return Err(source.refuse(op.node, problem, remedy));
                    }
                }
                of_line.push((takes, gives));
            }
            traded.push(of_line);
        }
        Ok(Self { traded, counts })
    }

    /// Plays it; every wait has one that waits, so that any order ends as this one does.
    fn play(mut self, source: &Source, joined: &Joined) -> Result<(), InputError> {
        let mut next = vec![0; joined.lines.len()];
        let mut waiting: BTreeMap<Token, usize> = BTreeMap::new();
        let mut ready: Vec<usize> = (0..joined.lines.len()).rev().collect();
        while let Some(line) = ready.pop() {
            while let Some((takes, gives)) = self.traded[line].get_mut(next[line]) {
                // Each is taken as soon as it is there; the rest stays.
                while let Some(token) = takes.last() {
                    let count = self.counts.entry(*token).or_default();
                    let Some(left) = count.checked_sub(1) else { break };
                    *count = left;
                    takes.pop();
                }
                if let Some(token) = takes.last() {
                    waiting.insert(*token, line);
                    break;
                }
                for token in gives.iter() {
                    *self.counts.entry(*token).or_default() += 1;
                    ready.extend(waiting.remove(token));
                }
                next[line] += 1;
            }
        }
        for (line, at) in joined.lines.iter().zip(&next) {
            if let Some(op) = line.ops.get(*at) {
                let problem = format!("`{}` waits forever: a deadlock", op.name);
                let remedy = "signal, or release, as often as is waited for";
                return Err(source.refuse(op.node, problem, remedy));
            }
        }
        let left = self
            .counts
            .iter()
            .find(|(token, left)| **left > 0 && matches!(token, Token::Signal(_)));
        if let Some((Token::Signal((rank, _, _)), _)) = left {
            let line = joined.lines.iter().find(|line| line.rank == *rank);
            let problem = format!(
                "rank {rank} is signalled more often than it waits, so that its next run would not \
                 wait"
            );
            let node = line.or(joined.lines.first()).map(|line| line.node);
            if let Some(node) = node {
                return Err(source.refuse(node, problem, "wait for every signal"));
            }
        }
        Ok(())
    }
}
