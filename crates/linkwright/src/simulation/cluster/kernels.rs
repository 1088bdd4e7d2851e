//! Jobs whose collectives run under NCCL's protocol.
//!
//! What it represents: each rank's call of a collective launches a kernel on its GPU, as
//! [`time`](crate::collectives::time) plays a lone one, so that one call on idle GPUs takes the same time
//! there, to the picosecond. Kernels of several jobs and communicators, and the programs' own messages,
//! share the links of servers and of their interfaces at what long transfers reach of them, and those
//! between the fabric's switches where they may hold ports up.
//!
//! What it leaves out: routing, since what crosses the fabric is divided over its shortest paths,
//! packets, and the turns of interfaces.

use super::collectives::{Opening, Planned};
use super::{Cluster, ClusterError, ClusterOutcome};
use crate::collectives::time::resources;
use crate::engine::Hook;
use crate::network::packet::{ChannelStatistics, SettingsError};
use crate::network::{Connections, Routes, gpu_sites};
use crate::runtime::{Observer, ProgramJob};
use crate::system::Wiring;
use crate::system::fabric::{ChannelId, Fabric};
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
        if let Some(bus) = &self.settings.pcie {
            network = network.with_bus(system, bus).map_err(SettingsError::from)?;
        }
        let opening = Opening { network: &mut network, routes: &routes };
        let planned = Planned::new(self, jobs, Some(opening), hook)?;
        let jobs = self.play(&mut network, jobs, &planned, observer, hook)?;
        let carried = carried(&network, &routes, &planned);
        let of_fabric = system.fabric_channels();
        let (across, mut inside): (Vec<_>, Vec<_>) =
            carried.into_iter().partition(|(channel, _)| (*channel as usize) < of_fabric);
        inside.sort_unstable_by_key(|(channel, _)| *channel);
        let mut channels = vec![ChannelStatistics::default(); of_fabric];
        across.into_iter().for_each(|(channel, of)| channels[channel as usize] = of);
        let (planned, events) = (planned.into_list(), jobs.events);
        Ok(ClusterOutcome { jobs, planned, channels, inside, events, packet_hops: 0 })
    }
}

/// What each channel carried that carried something: a kernel's data without its flags.
fn carried(
    network: &Connections<'_>,
    routes: &Routes<'_>,
    planned: &Planned,
) -> Vec<(ChannelId, ChannelStatistics)> {
    let mut data = network.loads();
    for (first, lowered) in planned.opened() {
        let carried: Vec<Bytes> =
            (0..lowered.connections()).map(|at| network.carried(first + at)).collect();
        lowered.correct_loads(&carried, &mut data);
    }
    let counts = network.counts();
    let used = data.into_iter().zip(counts).enumerate().filter(|(_, (_, count))| count.all > 0);
    used.filter_map(|(resource, (data, count))| {
        let forwards = routes.wire(resource).0.channel?;
        let channel = if resource % 2 == 0 { forwards } else { Fabric::reverse(forwards) };
        let statistics = ChannelStatistics {
            data: Bytes(data.round() as u64),
            packets: count.all,
            longest_queue: count.most,
        };
        Some((channel, statistics))
    })
    .collect()
}
