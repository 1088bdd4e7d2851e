//! Describes the plan's JSON, and sequences of operations with the waits between them.

use serde::Serialize;

use crate::collectives::schedule::{Buffer, Slice};

/// Gives `MAX_OPERATION`, the most operations of a thread block.
pub(super) const MOST_OPERATIONS: usize = 64;

#[derive(Serialize)]
pub(super) struct Plan<'a> {
    pub(super) name: &'a str,
    pub(super) collective: &'static str,
    pub(super) protocol: &'static str,
    pub(super) inplace: bool,
    pub(super) reuse_resources: bool,
    pub(super) gpus: Vec<Gpu>,
    pub(super) num_threads_per_block: u32,
    pub(super) use_double_scratch_buffer: bool,
    pub(super) buffer_alignment: u64,
    pub(super) min_message_size: u64,
    pub(super) max_message_size: u64,
}

#[derive(Serialize)]
pub(super) struct Gpu {
    pub(super) id: usize,
    pub(super) input_chunks: usize,
    pub(super) output_chunks: usize,
    pub(super) scratch_chunks: u32,
    pub(super) threadblocks: Vec<Block>,
    pub(super) channels: Vec<ChannelList>,
    pub(super) remote_buffers: Vec<RemoteBuffer>,
    pub(super) semaphores: Vec<Semaphore>,
}

#[derive(Serialize)]
pub(super) struct Block {
    pub(super) id: usize,
    pub(super) ops: Vec<Op>,
    pub(super) channels: Vec<ChannelRefs>,
    pub(super) remote_buffer_refs: Vec<RemoteRefs>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ChannelList {
    Memory { channel_type: &'static str, connected_to: Vec<usize> },
    Switch { channel_type: &'static str, buffer_type: &'static str, rank_groups: [RankGroup; 1] },
}

/// Lists the ranks whose buffers, of `size` chunks each, are bound together.
#[derive(Serialize)]
pub(super) struct RankGroup {
    size: usize,
    ranks: Vec<usize>,
}

impl ChannelList {
    /// Makes memory channels to these ranks.
    pub(super) fn memory(connected_to: Vec<usize>) -> Self {
        Self::Memory { channel_type: "memory", connected_to }
    }

    /// Makes a switch channel over a buffer of these ranks.
    pub(super) fn switch(buffer: Buffer, size: usize, ranks: Vec<usize>) -> Self {
        let rank_groups = [RankGroup { size, ranks }];
        Self::Switch { channel_type: "switch", buffer_type: kind(buffer), rank_groups }
    }
}

#[derive(Serialize, Clone)]
pub(super) struct ChannelRefs {
    pub(super) channel_type: &'static str,
    pub(super) channel_ids: Vec<usize>,
}

#[derive(Serialize)]
pub(super) struct RemoteBuffer {
    pub(super) rank: usize,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) access_channel_types: [&'static str; 1],
}

#[derive(Serialize, Clone)]
pub(super) struct RemoteRefs {
    pub(super) access_channel_type: &'static str,
    pub(super) remote_buffer_ids: [usize; 1],
}

#[derive(Serialize)]
pub(super) struct Semaphore {
    pub(super) init_value: u32,
}

/// Names a run of chunks: in a buffer of the rank, or in the block's one remote buffer.
#[derive(Serialize, Clone, Copy)]
#[serde(untagged)]
pub(super) enum Buff {
    Local {
        #[serde(rename = "type")]
        kind: &'static str,
        index: u32,
        size: u32,
    },
    Remote {
        buffer_id: usize,
        index: u32,
        size: u32,
    },
    Switch {
        switch_channel_id: usize,
        index: u32,
        size: u32,
    },
}

/// Returns the letter of a buffer.
const fn kind(buffer: Buffer) -> &'static str {
    match buffer {
        Buffer::Input => "i",
        Buffer::Output => "o",
        Buffer::Scratch => "s",
    }
}

impl Buff {
    pub(super) fn local(slice: Slice, size: u32) -> Self {
        Self::Local { kind: kind(slice.buffer), index: slice.offset, size }
    }

    /// In the buffers of all ranks, through a switch channel of the block.
    pub(super) fn switch(switch_channel_id: usize, index: u32, size: u32) -> Self {
        Self::Switch { switch_channel_id, index, size }
    }

    pub(super) fn remote(index: u32, size: u32) -> Self {
        Self::Remote { buffer_id: 0, index, size }
    }
}

#[derive(Serialize, Default)]
pub(super) struct Op {
    name: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    src_buff: Vec<Buff>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dst_buff: Vec<Buff>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    channel_ids: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    semaphore_ids: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reduce_op: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tbg_info: Option<Share>,
}

/// Which part of an operation's data is a block's, where several blocks divide it evenly.
#[derive(Serialize, Clone, Copy)]
pub(super) struct Share {
    #[serde(rename = "tb_id")]
    pub(super) block: u32,
    #[serde(rename = "tbg_size")]
    pub(super) blocks: u32,
}

impl Op {
    fn nop() -> Self {
        Self { name: "nop", ..Self::default() }
    }

    /// Makes a signal or a wait on one of the block's channels.
    pub(super) fn on_channel(name: &'static str, channel: usize) -> Self {
        Self::on_channels(name, &[channel])
    }

    /// Makes the same on several at once.
    pub(super) fn on_channels(name: &'static str, channels: &[usize]) -> Self {
        let channel_type = Some("memory");
        Self { name, channel_ids: channels.to_vec(), channel_type, ..Self::default() }
    }

    /// Makes a block's share of the part that a switch reduces, and stores with all ranks.
    pub(super) fn in_switch(from: Buff, to: Buff, share: Share) -> Self {
        let (src_buff, dst_buff) = (vec![from], vec![to]);
        let (channel_type, reduce_op, tbg_info) = (Some("switch"), Some("sum"), Some(share));
        Self {
            name: "glres",
            src_buff,
            dst_buff,
            channel_type,
            reduce_op,
            tbg_info,
            ..Self::default()
        }
    }

    /// Makes a release or an acquisition of semaphores.
    pub(super) fn on_semaphores(name: &'static str, semaphores: &[usize]) -> Self {
        Self { name, semaphore_ids: semaphores.to_vec(), ..Self::default() }
    }

    /// Makes an operation on data.
    pub(super) fn data(name: &'static str, src_buff: Vec<Buff>, dst_buff: Vec<Buff>) -> Self {
        let remote = dst_buff.iter().any(|buff| matches!(buff, Buff::Remote { .. }));
        let channel_type = remote.then_some("memory");
        let reduce_op = name.starts_with("re").then_some("sum");
        Self { name, src_buff, dst_buff, channel_type, reduce_op, ..Self::default() }
    }
}

/// Tells how an operation uses the threads of its block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Lets one thread wait for others' news.
    Wait,
    /// Lets all threads move data.
    Data,
    /// Does the same, and is independent of the operation before.
    DataBeside,
    /// One thread tells others that all threads are done.
    Tell,
}

/// A block's operations in groups that must not be torn apart.
#[derive(Default)]
pub(super) struct Sequence {
    groups: Vec<Vec<(Kind, Op)>>,
}

impl Sequence {
    pub(super) fn start_group(&mut self) {
        self.groups.push(Vec::new());
    }

    pub(super) fn wait(&mut self, op: Op) {
        self.push(Kind::Wait, op);
    }

    pub(super) fn data(&mut self, op: Op) {
        self.push(Kind::Data, op);
    }

    pub(super) fn data_beside(&mut self, op: Op) {
        self.push(Kind::DataBeside, op);
    }

    pub(super) fn tell(&mut self, op: Op) {
        self.push(Kind::Tell, op);
    }

    fn push(&mut self, kind: Kind, op: Op) {
        if self.groups.is_empty() {
            self.start_group();
        }
        if let Some(group) = self.groups.last_mut() {
            group.push((kind, op));
        }
    }

    /// Returns the operations with `nop` where threads must wait for each other, in pieces that a
    /// thread block takes. Each further piece waits for a semaphore of its own, counted on from
    /// `semaphores`.
    pub(super) fn cut(self, semaphores: &mut usize) -> Vec<Vec<Op>> {
        let mut pieces = Vec::new();
        let mut piece = Piece::default();
        for group in self.groups {
            // A `nop` before each operation at most, and the two that end a piece.
            if piece.ops.len() + 2 * group.len() + 2 > MOST_OPERATIONS && !piece.ops.is_empty() {
                let semaphore = [*semaphores];
                *semaphores += 1;
                piece.push(Kind::Tell, Op::on_semaphores("sem_release", &semaphore));
                pieces.push(std::mem::take(&mut piece).ops);
                piece.push(Kind::Wait, Op::on_semaphores("sem_acquire", &semaphore));
            }
            for (kind, op) in group {
                piece.push(kind, op);
            }
        }
        pieces.push(piece.ops);
        pieces
    }
}

#[derive(Default)]
struct Piece {
    ops: Vec<Op>,
    last: Option<Kind>,
}

impl Piece {
    fn push(&mut self, kind: Kind, op: Op) {
        let meet = match self.last {
            None | Some(Kind::Tell) => false,
            Some(Kind::Wait) => kind != Kind::Wait,
            Some(Kind::Data | Kind::DataBeside) => matches!(kind, Kind::Data | Kind::Tell),
        };
        if meet {
            self.ops.push(Op::nop());
        }
        self.ops.push(op);
        self.last = Some(kind);
    }
}
