//! How long exchanges take, for those who ask before a step is played.

use std::collections::BTreeSet;

use super::{ClassTimes, GroupCall, PipelineSend};
use crate::units::Picoseconds;

/// Says how long exchanges take that all ranks of a stage make at once.
pub trait ExchangeTimes {
    /// Gives the time of a collective of a stage.
    fn call(&mut self, stage: u64, call: &GroupCall) -> Picoseconds;

    /// Gives the time in which a stage sends to another.
    fn send(&mut self, send: &PipelineSend) -> Picoseconds;
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
