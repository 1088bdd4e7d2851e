//! How long exchanges take, for those who ask before a step is played.

use std::collections::{BTreeMap, BTreeSet};

use super::{ClassTimes, GroupCall, PipelineSend};
use crate::units::Picoseconds;

/// Says which part of a GPU a collective takes while kernels run beside it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TakenShare {
    /// Says which part of its multiprocessors products lose.
    pub units: f64,
    /// Says which part of its memory's bandwidth all other kernels lose.
    pub memory: f64,
}

/// Says how long exchanges take that all ranks of a stage make at once.
pub trait ExchangeTimes {
    /// Gives the time of a collective of a stage.
    fn call(&mut self, stage: u64, call: &GroupCall) -> Picoseconds;

    /// Gives the time in which a stage sends to another.
    fn send(&mut self, send: &PipelineSend) -> Picoseconds;

    /// Says what a collective takes of the GPU.
    fn taken(&self, _stage: u64, _call: &GroupCall) -> TakenShare {
        TakenShare::default()
    }
}

/// Exchanges that take no time.
#[derive(Debug, Clone, Copy, Default)]
pub struct FreeExchanges;

impl ExchangeTimes for FreeExchanges {
    fn call(&mut self, _: u64, _: &GroupCall) -> Picoseconds {
        Picoseconds(0)
    }

    fn send(&mut self, _: &PipelineSend) -> Picoseconds {
        Picoseconds(0)
    }
}

impl ExchangeTimes for ClassTimes {
    fn call(&mut self, stage: u64, call: &GroupCall) -> Picoseconds {
        let known = self.calls.get(stage as usize).and_then(|calls| calls.get(call));
        known.copied().unwrap_or_default()
    }

    fn send(&mut self, send: &PipelineSend) -> Picoseconds {
        self.sends.get(send).copied().unwrap_or_default()
    }
}

/// Times of exchanges, with what collectives take of GPUs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BesideTimes {
    /// Says how long they take.
    pub times: ClassTimes,
    /// Says what those of each stage take of its GPUs.
    pub taken: Vec<BTreeMap<GroupCall, TakenShare>>,
}

impl BesideTimes {
    /// Gives times of collectives that take nothing of GPUs.
    #[must_use]
    pub const fn of(times: ClassTimes) -> Self {
        Self { times, taken: Vec::new() }
    }
}

impl ExchangeTimes for BesideTimes {
    fn call(&mut self, stage: u64, call: &GroupCall) -> Picoseconds {
        self.times.call(stage, call)
    }

    fn send(&mut self, send: &PipelineSend) -> Picoseconds {
        self.times.send(send)
    }

    fn taken(&self, stage: u64, call: &GroupCall) -> TakenShare {
        let known = self.taken.get(stage as usize).and_then(|calls| calls.get(call));
        known.copied().unwrap_or_default()
    }
}

/// Notes what is asked for; all takes no time.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    pub calls: Vec<BTreeSet<GroupCall>>,
    pub sends: BTreeSet<PipelineSend>,
}

impl ExchangeTimes for Asked {
    fn call(&mut self, stage: u64, call: &GroupCall) -> Picoseconds {
        if call.size.0 > 0 {
            self.calls[stage as usize].insert(*call);
        }
        Picoseconds(0)
    }

    fn send(&mut self, send: &PipelineSend) -> Picoseconds {
        self.sends.insert(*send);
        Picoseconds(0)
    }
}
