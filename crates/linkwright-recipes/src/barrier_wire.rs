//! A protocol of collectives: a wire of its own that joins all ranks.

use std::collections::BTreeMap;

use linkwright::diagnostic::Registered;
use linkwright::runtime::{
    Ports, ProtocolCall, ProtocolKind, ProtocolOffer, ProtocolState, RuntimeError,
};
use linkwright::units::{Bytes, Picoseconds};

/// Is how long the wire takes.
const LATENCY: Picoseconds = Picoseconds(500_000);
/// The most that it carries.
const MOST: Bytes = Bytes(8);

/// Ends collectives of a few bytes at one time on all ranks, and leaves others to the network.
#[derive(Debug)]
pub struct BarrierWire;

impl Registered for BarrierWire {
    fn name(&self) -> &'static str {
        "barrier-wire"
    }
}

impl ProtocolKind for BarrierWire {
    fn begin(&self) -> Box<dyn ProtocolState> {
        Box::new(Wires::default())
    }
}

/// Holds the ranks that wait on the wire, by their collectives.
#[derive(Debug, Default)]
struct Wires(BTreeMap<u32, Vec<ProtocolCall>>);

impl ProtocolState for Wires {
    fn enter(
        &mut self,
        offer: &mut ProtocolOffer,
        ports: &mut dyn Ports,
    ) -> Result<bool, RuntimeError> {
        let ProtocolCall { call, context, .. } = offer.call;
        if call.size > MOST || offer.duration.is_some() {
            return Ok(false);
        }
        let entered = self.0.entry(context).or_default();
        entered.push(offer.call);
        if entered.len() == call.ranks as usize {
            ports.wake(Picoseconds(ports.now().0 + LATENCY.0), context);
        }
        Ok(true)
    }

    fn wake(&mut self, context: u32, ports: &mut dyn Ports) -> Result<(), RuntimeError> {
        self.0.remove(&context).iter().flatten().for_each(|call| ports.complete(call));
        Ok(())
    }

    fn waiting(&self) -> Vec<ProtocolCall> {
        self.0.values().flatten().copied().collect()
    }
}
