//! Plays jobs whose collectives run under NCCL's protocol.
//!
//! The model: each rank's call of a collective launches a kernel on its GPU, as
//! [`time`](crate::collectives::time) plays a lone one. So one call on idle GPUs takes the same
//! time there, to the picosecond. Kernels of several jobs and communicators, and the programs' own
//! messages, share the links of servers and of their interfaces. They share them at the rates that
//! long transfers reach. They share the links between the fabric's switches where these may hold
//! ports up.
//!
//! The model leaves out routing, since data that crosses the fabric is divided over its shortest
//! paths. It leaves out packets, and the turns of interfaces.

use std::collections::BTreeMap;

use super::collectives::{Opening, Planned};
use super::{Cluster, ClusterError, ClusterOutcome};
use crate::collectives::time::resources;
use crate::engine::Hook;
use crate::network::packet::{ChannelStatistics, SettingsError};
use crate::network::{Connections, LinkLoads, gpu_sites};
use crate::runtime::{Observer, ProgramJob};
use crate::system::Wiring;
use crate::system::fabric::ChannelId;
use crate::units::Bytes;

impl Cluster {
    /// Plays jobs whose collectives are kernels.
    pub(super) fn replay_kernels(
        &self,
        jobs: &[ProgramJob],
        observer: &mut impl Observer,
        hook: Hook<'_>,
    ) -> Result<ClusterOutcome, ClusterError> {
        let system = &*self.system;
        let wiring = Wiring::of_system(system);
        let routes = resources(&wiring);
        let gpus: Vec<usize> = (0..system.gpus() as usize).collect();
        let sites = gpu_sites(system, &wiring).map_err(SettingsError::from)?;
        let mut network = Connections::over(&routes, &gpus).with_sites(sites).counting();
        network = network.counting_channels(system);
        if let Some(bus) = &self.settings.pcie {
            network = network.with_bus(system, bus).map_err(SettingsError::from)?;
        }
        let opening = Opening { network: &mut network, routes: &routes };
        let planned = Planned::new(self, jobs, Some(opening), hook)?;
        let (jobs, loads) = self.play(&mut network, (jobs, &[]), &planned, observer, hook)?;
        let carried = carried(&network, &loads);
        let of_fabric = system.fabric_channels();
        let (across, inside): (Vec<_>, Vec<_>) =
            carried.into_iter().partition(|(channel, _)| (*channel as usize) < of_fabric);
        let mut channels = vec![ChannelStatistics::default(); of_fabric];
        across.into_iter().for_each(|(channel, of)| channels[channel as usize] = of);
        let (planned, events) = (planned.into_list(), jobs.events);
        Ok(ClusterOutcome { jobs, planned, channels, inside, events, packet_hops: 0, loads })
    }
}

/// Returns the load of each channel that carried something: a kernel's data without its flags.
fn carried(network: &Connections<'_>, loads: &LinkLoads) -> BTreeMap<ChannelId, ChannelStatistics> {
    let of_data = |(channel, _): &(ChannelId, Vec<u64>)| {
        let data = Bytes(loads.of(*channel));
        (*channel, ChannelStatistics { data, ..ChannelStatistics::default() })
    };
    let mut found: BTreeMap<ChannelId, ChannelStatistics> =
        loads.channels.iter().map(of_data).collect();
    let Some(shares) = network.shares() else { return found };
    for (resource, count) in network.counts().iter().enumerate().filter(|(_, it)| it.all > 0) {
        if let Some(channel) = shares.channel(resource) {
            let of = found.entry(channel).or_default();
            (of.packets, of.longest_queue) = (count.all, count.most);
        }
    }
    found
}
