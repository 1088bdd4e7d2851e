//! Tells which interfaces the channels of a choice take.

use std::collections::BTreeMap;

use super::plans::ChosenPlanError;
use super::timed::outline_choice;
use crate::collectives::nccl::baselines::choice::{Chooser, Settings};
use crate::collectives::planners::link_graph::check_gpus;
use crate::collectives::schedule::Crossing;
use crate::collectives::schedule::collective::Collective;
use crate::system::composition::SystemDevice;
use crate::system::{System, Wiring};
use crate::units::Bytes;

/// An end of a channel: the GPU and the interface by which it sends to another server, or receives from one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChannelEnd {
    /// Names the GPU by its id in the system.
    pub gpu: usize,
    /// The GPU that hands the data to the interface in its place (PXN).
    pub through: Option<usize>,
    /// Counts the interfaces of its server before it: its rail.
    pub rail: usize,
    /// Names the interface in its server.
    pub interface: String,
    /// Whether data waits in the memory of the host on its way, since no GPUDirect leads there.
    pub by_memory: bool,
}

/// Says what a channel uses of one server's interfaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelInterfaces {
    /// Counts the channels before it.
    pub channel: usize,
    /// Names the server by its number in the system.
    pub server: usize,
    /// Where it sends to other servers: once for a ring, and for a tree once for each GPU that does.
    pub sends: Vec<ChannelEnd>,
    /// Where it receives from other servers, likewise.
    pub receives: Vec<ChannelEnd>,
}

/// Tells how each channel of a library's choice crosses between servers: by which GPUs and interfaces it sends from each,
/// and by which it receives. There is nothing to tell on one server.
///
/// # Errors
/// Fails as [`chosen_plan`](super::chosen_plan) does.
pub fn channel_interfaces(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    size: Bytes,
    settings: &Settings,
) -> Result<Vec<ChannelInterfaces>, ChosenPlanError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    let chooser = Chooser::new(wiring, gpus, collective, settings)?;
    let choice = chooser.choose(size.0);
    let timed = outline_choice(wiring, gpus, collective, &chooser, &choice)?;
    let channels = timed.schedule().channels.iter();
    let crossed = channels.map(|channel| &channel.crossings).filter(|it| !it.is_empty());
    let end = |rank: usize, through: Option<usize>, place: u8, by_memory: bool| {
        let gpu = gpus[rank];
        let server = system.gpu(gpu as u32).server;
        let nic = system.kind_of(server).nics().get(usize::from(place)).copied()?;
        let device = system.device_at(server, nic);
        let SystemDevice::OfServer(_) = system.device(device) else { return None };
        let interface = system.kind_of(server).server().devices()[nic].name.clone();
        let end = ChannelEnd { gpu, through, rail: usize::from(place), interface, by_memory };
        Some((server as usize, end))
    };
    let mut told = Vec::new();
    for (channel, crossings) in crossed.enumerate() {
        let mut servers: BTreeMap<usize, [Vec<ChannelEnd>; 2]> = BTreeMap::new();
        for crossing in crossings {
            let Crossing { from, to, through, leaves, arrives, .. } = *crossing;
            let sends = end(from, through, leaves, crossing.leaves_by_memory);
            let receives = end(to, None, arrives, crossing.arrives_by_memory);
            for (at, found) in [sends, receives].into_iter().enumerate() {
                let Some((server, end)) = found else { continue };
                let known = &mut servers.entry(server).or_default()[at];
                if !known.contains(&end) {
                    known.push(end);
                }
            }
        }
        told.extend(servers.into_iter().map(|(server, [mut sends, mut receives])| {
            sends.sort_unstable();
            receives.sort_unstable();
            ChannelInterfaces { channel, server, sends, receives }
        }));
    }
    Ok(told)
}
