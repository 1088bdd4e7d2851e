//! Collectives that last a known time from when the last of their ranks has entered.

use std::collections::BTreeMap;

use super::protocol::{Ports, ProtocolCall, ProtocolOffer, ProtocolState};
use crate::runtime::error::RuntimeError;
use crate::units::Picoseconds;

/// One that some rank has entered and that has not ended.
#[derive(Debug, Clone, Default)]
struct TimedCall {
    /// Holds the longest time that a rank states.
    duration: Picoseconds,
    entered: Vec<ProtocolCall>,
}

/// Holds all of them, by their contexts.
#[derive(Debug, Clone, Default)]
pub(super) struct TimedCalls(BTreeMap<u32, TimedCall>);

impl ProtocolState for TimedCalls {
    /// With the last of the ranks its time begins.
    fn enter(
        &mut self,
        offer: &mut ProtocolOffer,
        ports: &mut dyn Ports,
    ) -> Result<bool, RuntimeError> {
        let Some(duration) = offer.duration else { return Ok(false) };
        let ProtocolCall { call, context, .. } = offer.call;
        let timed = self.0.entry(context).or_default();
        timed.duration = timed.duration.max(duration);
        timed.entered.push(offer.call);
        if timed.entered.len() == call.ranks as usize {
            let end = ports.now().0.checked_add(timed.duration.0);
            let end = end.ok_or_else(|| ports.too_long(&offer.call))?;
            ports.wake(Picoseconds(end), context);
        }
        Ok(true)
    }

    fn wake(&mut self, context: u32, ports: &mut dyn Ports) -> Result<(), RuntimeError> {
        let timed = self.0.remove(&context);
        for call in timed.iter().flat_map(|timed| &timed.entered) {
            ports.complete(call);
        }
        Ok(())
    }

    fn waiting(&self) -> Vec<ProtocolCall> {
        self.0.values().flat_map(|timed| timed.entered.iter().copied()).collect()
    }
}
