//! Orders a GPU's work in a block, forward and backward: pieces with their times, and recomputation.

use super::kernel_times::KernelTimes;
use super::launches::launches_of;
use super::pieces::{GroupCall, Hidden, Meeting, Piece};
use crate::program::CollectiveKind;
use crate::training::layout::RankGroup;
use crate::training::memory::{Module, Recompute};
use crate::units::{Bytes, Picoseconds};

/// Something that a GPU does behind what it did before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Compute(Picoseconds),
    /// Nothing is computed meanwhile.
    Call(GroupCall),
    /// Runs both at once; the next action waits for both.
    Beside(GroupCall, Picoseconds),
}

/// A GPU does this in a block or in an end of the model, for one micro-batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Actions {
    pub forward: Vec<Action>,
    pub backward: Vec<Action>,
    /// The backward pass takes this long to compute again.
    pub again: Picoseconds,
    /// Says how long products of matrices take, forward and backward.
    pub products: [Picoseconds; 2],
    /// The host takes this long to launch the kernels of each pass.
    pub launched: [Picoseconds; 2],
}

impl Actions {
    /// Those of pieces; `again` says which part of a piece's forward pass the backward pass repeats, by its name, and
    /// whether a collective is repeated.
    pub(super) fn of(pieces: &[Piece], times: KernelTimes<'_>, again: &Again<'_>) -> Self {
        let mut forward = Row::default();
        let mut backward = Row::default();
        let (mut products, mut launched) = ([0; 2], [0; 2]);
        let timed: Vec<Timed> = pieces.iter().map(|piece| Timed::of(piece, times)).collect();
        for (piece, of) in timed.iter().zip(pieces) {
            piece.forward(&mut forward, 1.0);
            let share = again.share(piece);
            if share > 0.0 {
                piece.forward(&mut backward, share);
            }
            let is_again = u64::from(share > 0.0);
            let [ahead, back] = piece.products();
            products[0] += ahead;
            products[1] += back + (ahead as f64 * share) as u64;
            let [ahead, back] = launches_of(of, times.kernels).map(|time| time.0);
            launched[0] += ahead;
            launched[1] += back + is_again * ahead;
        }
        let again = computed(&backward.actions);
        for piece in timed.iter().rev() {
            piece.backward(&mut backward);
        }
        Self {
            forward: forward.finish(),
            backward: backward.finish(),
            again,
            products: products.map(Picoseconds),
            launched: launched.map(Picoseconds),
        }
    }

    /// Gives the same on a GPU whose kernels take `times` as long.
    pub(super) fn slowed(&self, times: f64) -> Self {
        let slowed = |time: Picoseconds| Picoseconds((time.0 as f64 * times) as u64);
        let each = |actions: &Vec<Action>| {
            let action = |action: &Action| match *action {
                Action::Compute(time) => Action::Compute(slowed(time)),
                Action::Beside(call, time) => Action::Beside(call, slowed(time)),
                Action::Call(call) => Action::Call(call),
            };
            actions.iter().map(action).collect()
        };
        Self {
            forward: each(&self.forward),
            backward: each(&self.backward),
            again: slowed(self.again),
            products: self.products.map(slowed),
            launched: self.launched,
        }
    }
}

/// Adds up the time of computing.
pub(super) fn computed(actions: &[Action]) -> Picoseconds {
    let time = |action: &Action| match action {
        Action::Compute(time) | Action::Beside(_, time) => time.0,
        Action::Call(_) => 0,
    };
    Picoseconds(actions.iter().map(time).sum())
}

/// A piece that has its times.
enum Timed {
    Work { name: &'static str, forward: u64, backward: u64, is_product: bool },
    Meeting(Meeting),
    Ring { name: &'static str, times: [u64; 2], turns: u64, calls: [GroupCall; 2] },
}

impl Timed {
    fn of(piece: &Piece, times: KernelTimes<'_>) -> Self {
        match *piece {
            Piece::Work(work) => {
                let [forward, backward] = times.of(&work);
                Self::Work { name: work.name, forward, backward, is_product: work.work.is_matrix }
            }
            Piece::Meeting(meeting) => Self::Meeting(meeting),
            Piece::Ring { work, turns, sizes } => {
                // A turn moves what one step of a ring's all-gather moves.
                let others = (turns - 1).max(1);
                let calls = sizes.map(|size| GroupCall {
                    group: RankGroup::Context,
                    kind: CollectiveKind::AllGather,
                    size: Bytes(size.0.div_ceil(others)),
                });
                Self::Ring { name: work.name, times: times.of(&work), turns, calls }
            }
        }
    }

    /// Says how long its products take, forward and backward.
    const fn products(&self) -> [u64; 2] {
        match self {
            Self::Work { forward, backward, is_product: true, .. } => [*forward, *backward],
            Self::Ring { times, .. } => *times,
            Self::Work { .. } | Self::Meeting(_) => [0; 2],
        }
    }

    fn forward(&self, row: &mut Row, share: f64) {
        match self {
            Self::Work { forward, .. } => row.compute((*forward as f64 * share) as u64),
            Self::Meeting(meeting) => row.call(meeting.forward),
            Self::Ring { times, turns, calls, .. } => row.ring(times[0], *turns, calls[0]),
        }
    }

    fn backward(&self, row: &mut Row) {
        match self {
            Self::Work { backward, .. } => row.compute(*backward),
            Self::Meeting(meeting) => row.call(meeting.backward),
            Self::Ring { times, turns, calls, .. } => row.ring(times[1], *turns, calls[1]),
        }
    }
}

/// Actions that are being put behind one another.
#[derive(Default)]
struct Row {
    actions: Vec<Action>,
    /// A collective that the next kernel hides, and which part of the kernel does.
    waiting: Option<(GroupCall, f64)>,
}

impl Row {
    fn compute(&mut self, time: u64) {
        let hides = self.waiting.take();
        let Some((call, share)) = hides else {
            self.actions.push(Action::Compute(Picoseconds(time)));
            return;
        };
        let beside = (time as f64 * share) as u64;
        self.actions.push(Action::Beside(call, Picoseconds(beside)));
        self.actions.push(Action::Compute(Picoseconds(time - beside)));
    }

    fn call(&mut self, call: Option<(GroupCall, Hidden)>) {
        let Some((call, hidden)) = call else { return };
        self.settle();
        match (hidden, self.actions.last_mut()) {
            (Hidden::Behind(share), _) => self.waiting = Some((call, share)),
            (Hidden::Before(share), Some(Action::Compute(time))) => {
                let beside = (time.0 as f64 * share) as u64;
                time.0 -= beside;
                self.actions.push(Action::Beside(call, Picoseconds(beside)));
            }
            _ => self.actions.push(Action::Call(call)),
        }
    }

    fn ring(&mut self, time: u64, turns: u64, call: GroupCall) {
        self.settle();
        let each = time / turns.max(1);
        for _ in 1..turns {
            self.actions.push(Action::Beside(call, Picoseconds(each)));
        }
        let rest = time - each * turns.saturating_sub(1);
        self.actions.push(Action::Compute(Picoseconds(rest)));
    }

    /// Leaves a collective exposed that no kernel follows.
    fn settle(&mut self) {
        if let Some((call, _)) = self.waiting.take() {
            self.actions.push(Action::Call(call));
        }
    }

    /// Gives all actions, with kernels in a row as one.
    fn finish(mut self) -> Vec<Action> {
        self.settle();
        let mut joined: Vec<Action> = Vec::new();
        for action in self.actions {
            match (joined.last_mut(), action) {
                (_, Action::Compute(Picoseconds(0))) => {}
                (Some(Action::Compute(before)), Action::Compute(time)) => before.0 += time.0,
                _ => joined.push(action),
            }
        }
        joined
    }
}

/// The backward pass of a block does this part of its forward pass again.
pub(super) struct Again<'a> {
    pub recompute: &'a Recompute,
    /// The block's place in its chunk; none for what lies in no block.
    pub place: Option<u64>,
    /// The part of keys in the product of queries, keys and values, where these are apart.
    pub keys: f64,
    pub is_gated: bool,
}

impl Again<'_> {
    fn share(&self, piece: &Timed) -> f64 {
        let Some(place) = self.place else { return 0.0 };
        let (name, call) = match piece {
            Timed::Work { name, .. } | Timed::Ring { name, .. } => (*name, None),
            Timed::Meeting(meeting) => (meeting.with, meeting.forward),
        };
        match self.recompute {
            Recompute::None => 0.0,
            Recompute::Full(count) => f64::from(count.is_none_or(|count| place < count)),
            Recompute::Modules(modules) => {
                let is_named = |it: &Module| modules.contains(it);
                f64::from(modules_of(name).iter().flatten().any(is_named))
            }
            Recompute::SelectiveOperations => match call {
                // Sums are kept. Gathered and sent numbers are not.
                Some((call, _)) => f64::from(
                    call.kind != CollectiveKind::ReduceScatter
                        && call.kind != CollectiveKind::AllReduce,
                ),
                None => self.by_operation(name),
            },
        }
    }

    /// Every second product is made again, and all that is done number by number.
    fn by_operation(&self, name: &str) -> f64 {
        match name {
            "qkv" => self.keys,
            "attention" | "gate" | "down" | "sum2" => 0.0,
            "q-down" | "q-up" | "kv-down" | "kv-up" => 0.0,
            "up" => f64::from(self.is_gated),
            _ => 1.0,
        }
    }
}

/// The modules that a kernel, or a collective beside it, is computed again with.
fn modules_of(name: &str) -> [Option<Module>; 2] {
    match name {
        "norm1" | "norm2" => [Some(Module::LayerNorm), None],
        "attention" => [Some(Module::CoreAttention), None],
        "q-up" | "kv-up" | "rotary" => [Some(Module::LatentUp), None],
        "up" | "gate" | "silu" | "gelu" | "product" | "down" => [Some(Module::Mlp), None],
        "experts-act" => [Some(Module::MoeActivation), Some(Module::Moe)],
        "router" | "scores" | "dispatch" | "experts-up" | "experts-down" | "combine" => {
            [Some(Module::Moe), None]
        }
        "shared-up" | "shared-act" | "shared-down" | "shared-sum" => {
            [Some(Module::SharedExperts), Some(Module::Moe)]
        }
        _ => [None, None],
    }
}
