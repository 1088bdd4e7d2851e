//! Plays a server's channels and the copy engines of its GPUs.
//!
//! A network interface of a server with such channels pulls packets. By its policy it decides which
//! message the next packet is of. The packet crosses the host's channels from the GPU's memory to
//! the interface before it enters the fabric. As many are under way as the interface's buffer
//! holds.

use super::super::nic::{NetworkInterface, NicPolicy};
use super::super::packets::{INSIDE, TO_NODE};
use super::super::queues::{Bank, LINES};
use super::super::settings::serialisation;
use super::PacketNetwork;
use super::line::Line;
use crate::network::pcie::VIRTUAL_CHANNELS;
use crate::network::routing::Routing;
use crate::network::transport::{DeviceIndex, Message};
use crate::system::composition::{ServerKind, ServerPlace};
use crate::system::fabric::Fabric;
use crate::system::kinds::DeviceKind;

impl<R: Routing> PacketNetwork<'_, R> {
    /// Makes the channels of a device's server, if it has any and they are not made.
    pub(super) fn open(&mut self, end: DeviceIndex) {
        if self.inside.is_of_nodes() {
            return;
        }
        let system = self.inside.system;
        let server = self.inside.place(end).server;
        let before = self.inside.all_opened().len();
        let Some(own) = self.inside.open(server) else { return };
        let entering = own.entering.clone();
        // One port for each channel that enters a device, and one for what comes from its own
        // memory or from the fabric.
        let ports = |device: usize| entering[device].len() as u16 + 1;
        let kind = system.kind_of(server);
        for opened in &self.inside.all_opened()[before..] {
            let channel = opened.at.index;
            let Some(link) = kind.server().links().get(channel as usize / 2) else {
                let most = self.settings.pcie.map_or(0, |pcie| pcie.payload.0);
                let packet = self.settings.packet_size.0.max(most);
                self.state.add_memory(opened.bandwidth, packet, kind.server().links().len());
                if let Some(bus) = &mut self.bus {
                    bus.open(system, opened, 0);
                }
                continue;
            };
            let forth = channel.is_multiple_of(2);
            let (from, to) = if forth { (link.a, link.b) } else { (link.b, link.a) };
            let to_gpu = kind.server().devices()[to].kind == DeviceKind::Gpu;
            let on_bus = self.bus.as_mut().is_some_and(|bus| bus.open(system, opened, ports(from)));
            let virtual_channels = if on_bus { VIRTUAL_CHANNELS } else { self.virtual_channels };
            let line = Line {
                full: serialisation(self.settings.packet_size.0, opened.bandwidth),
                delay: opened.latency.0,
                bank: Bank::new(ports(from), virtual_channels),
                to: if to_gpu { TO_NODE } else { INSIDE },
                port: entering[to].partition_point(|other| *other < channel) as u16,
                ..Line::REST
            };
            let credit = opened.latency.0;
            let of_kernel = |bytes: u64| {
                let wire = link.kind.packet_format().on_the_wire(bytes);
                serialisation(wire, opened.line(link))
            };
            // A kernel's pages cross as copies do, which is more than messages reach.
            let pages = of_kernel(self.settings.packet_size.0).min(line.full);
            let fastest = if self.has_kernels { pages } else { line.full };
            let trip = |packet: u64| self.settings.round_trip(packet, line.delay, credit);
            let packets = self.settings.buffer_behind(trip(fastest));
            let lines = self.settings.lines_behind(packets, trip(of_kernel(1)));
            let is_of_lines = |channel: u8| self.has_kernels && LINES.contains(&channel);
            self.state
                .credits
                .add(credit, |channel| if is_of_lines(channel) { lines } else { packets });
            self.state.lines.push(line);
            self.state.load.push(0);
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
        for _ in 0..engines_of(kind) {
            self.interfaces.push(NetworkInterface::new(NicPolicy::FCFS));
            self.pulled.push(0);
        }
    }

    /// The index of the copy engine that moves a message within its server, among the interfaces.
    ///
    /// A GPU has two engines: one for data that leaves its memory and one for data that it fetches
    /// from a CPU's. A CPU has one, for data that goes to another CPU.
    pub(super) fn engine_of(&self, message: &Message) -> usize {
        let [from, to] = [message.source, message.destination].map(|end| self.inside.place(end));
        let kind = self.inside.system.kind_of(from.server);
        let number = |at: ServerPlace| kind.server().gpus().binary_search(&(at.index as usize));
        let gpus = kind.server().gpus().len();
        let own = match (number(from), number(to)) {
            (Ok(gpu), _) => gpu,
            (Err(_), Ok(gpu)) => gpus + gpu,
            (Err(_), Err(_)) => {
                let devices = &kind.server().devices()[..from.index as usize];
                2 * gpus + devices.iter().filter(|device| device.kind == DeviceKind::Cpu).count()
            }
        };
        self.engines[from.server as usize] as usize + own
    }
}

/// How many copy engines a server has.
fn engines_of(kind: &ServerKind) -> usize {
    let cpus = kind.server().devices().iter().filter(|device| device.kind == DeviceKind::Cpu);
    2 * kind.server().gpus().len() + cpus.count()
}
