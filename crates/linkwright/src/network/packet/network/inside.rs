//! A server's channels at work, and the copy engines of its GPUs.
//!
//! A network interface of a server with such channels pulls packets: it decides by its policy
//! which message the next is of, and the packet crosses the host's channels from the GPU's memory
//! to the interface before it enters the fabric. As many are under way as the interface's buffer
//! holds.

use super::super::nic::{NetworkInterface, NicPolicy};
use super::super::packets::{INSIDE, TO_NODE};
use super::super::queues::Bank;
use super::super::settings::serialisation;
use super::PacketNetwork;
use super::line::Line;
use crate::network::routing::Routing;
use crate::network::transport::GpuIndex;
use crate::system::composition::Place;
use crate::system::fabric::Fabric;
use crate::system::kinds::DeviceKind;

impl<R: Routing> PacketNetwork<'_, R> {
    /// Makes the channels of a GPU's server, if it has any and they are not made.
    pub(super) fn open(&mut self, gpu: GpuIndex) {
        if self.inside.is_of_nodes() {
            return;
        }
        let system = self.inside.system;
        let server = system.gpu(gpu).server;
        let before = self.inside.all_opened().len();
        let Some(own) = self.inside.open(server) else { return };
        let entering = own.entering.clone();
        // One port for each channel that enters a device, and one for what comes from its own
        // memory or from the fabric.
        let ports = |device: usize| entering[device].len() as u16 + 1;
        let kind = system.kind_of(server);
        for opened in &self.inside.all_opened()[before..] {
            let channel = opened.at.index;
            let link = &kind.server().links()[channel as usize / 2];
            let forth = channel.is_multiple_of(2);
            let (from, to) = if forth { (link.a, link.b) } else { (link.b, link.a) };
            let to_gpu = kind.server().devices()[to].kind == DeviceKind::Gpu;
            self.state.lines.push(Line {
                full: serialisation(self.settings.packet_size.0, opened.bandwidth),
                delay: opened.latency.0,
                bank: Bank::new(ports(from), self.virtual_channels),
                to: if to_gpu { TO_NODE } else { INSIDE },
                port: entering[to].partition_point(|other| *other < channel) as u16,
                ..Line::REST
            });
            self.state.load.push(0);
            self.state.credits.add(opened.latency.0);
        }
        for (index, nic) in (0..).zip(kind.nics()).filter(|_| system.fabric().is_some()) {
            let port = system.port_of(system.nic_at(server, index));
            let bank = Bank::new(ports(*nic), self.virtual_channels);
            self.state.lines[Fabric::injection(port) as usize].bank = bank;
            let ejection = &mut self.state.lines[Fabric::ejection(port) as usize];
            (ejection.to, ejection.port) = (INSIDE, ports(*nic) - 1);
        }
        self.engines.resize(system.servers() as usize, u32::MAX);
        self.engines[server as usize] = self.interfaces.len() as u32;
        for _ in kind.server().gpus() {
            self.interfaces.push(NetworkInterface::new(NicPolicy::Fcfs));
            self.pulled.push(0);
        }
    }

    /// The index of a GPU's copy engine among the interfaces.
    pub(super) fn engine_of(&self, gpu: Place) -> usize {
        (self.engines[gpu.server as usize] + gpu.index) as usize
    }
}
