//! Writes NCCL's print of the topology of the first server (`ncclTopoPrintRec`).

use linkwright_system::system::adapters::port_speed;
use linkwright_system::system::{DeviceKind, Link, LinkKind, Server};

use super::debug_lines::{BUSES, place};
use super::run::Run;

/// GB/s that NCCL takes of a whole link: of PCIe by lanes and generation (`ncclTopoGetPciBw`), of NVLink by the GPU.
fn bandwidth(link: &Link) -> f64 {
    let share = |nominal: f64| link.total_bandwidth().as_gigabytes_per_second() / nominal;
    match link.kind {
        LinkKind::Pcie3 => 12.0 * share(15.754),
        LinkKind::Pcie4 => 24.0 * share(31.508),
        LinkKind::Pcie5 => 48.0 * share(63.015),
        LinkKind::Nvlink2 | LinkKind::Nvlink3 => 20.0 * f64::from(link.count),
        LinkKind::Nvlink4 => 20.6 * f64::from(link.count),
        LinkKind::Nvlink5 => 40.1 * f64::from(link.count),
        _ => 10.0,
    }
}

/// The lines of the first server, as one of its ranks prints them.
pub fn system(run: &Run) -> Vec<(&'static str, String)> {
    let server = run.system.kind_of(0).server();
    let is_old = run.settings.version.unwrap().minor < 23;
    let mut tree = Tree { run, server, is_old, lines: Vec::new() };
    tree.lines.push(("system", "=== System : maxBw 24.0 totalBw 240.0 ===".to_owned()));
    let cpus =
        (0..server.devices().len()).filter(|at| server.devices()[*at].kind == DeviceKind::Cpu);
    for (at, cpu) in cpus.enumerate() {
        let name = tree.id("CPU", at as u32);
        tree.lines.push(("node", format!("{name} (1/1/2)")));
        tree.below(cpu, None, 0);
    }
    tree.lines.push(("rule", "==========================================".to_owned()));
    tree.lines
}

struct Tree<'a> {
    run: &'a Run,
    server: &'a Server,
    is_old: bool,
    lines: Vec<(&'static str, String)>,
}

impl Tree<'_> {
    fn id(&self, kind: &str, number: u32) -> String {
        if self.is_old { format!("{kind}/{number:X}") } else { format!("{kind}/0-{number:x}") }
    }

    /// All links of a device but that which leads up to it.
    fn below(&mut self, device: usize, up: Option<usize>, depth: usize) {
        let server = self.server;
        for (at, link) in server.links().iter().enumerate() {
            if !link.joins(device) || Some(at) == up {
                continue;
            }
            let other = link.other_end(device);
            let kind = server.devices()[other].kind;
            let (link_name, has_more) = match kind {
                DeviceKind::NvSwitch => ("NVL", false),
                DeviceKind::Gpu if link.kind.is_pcie() => ("PCI", true),
                DeviceKind::Gpu => ("NVL", false),
                DeviceKind::Cpu => ("SYS", false),
                _ => ("PCI", true),
            };
            let number = self.number(kind, other, at);
            let name = match kind {
                DeviceKind::Gpu => {
                    let gpus = self.run.gpus.iter();
                    let own = server.gpus().iter().position(|it| *it == other);
                    let rank = gpus.clone().position(|gpu| Some(place(self.run, *gpu).1) == own);
                    let suffix = if has_more { rank.map(|it| format!(" ({it})")) } else { None };
                    self.id("GPU", number) + &suffix.unwrap_or_default()
                }
                DeviceKind::Nic => self.id("NIC", number),
                DeviceKind::NvSwitch => self.id("NVS", 0),
                DeviceKind::Cpu => self.id("CPU", number),
                _ => self.id("PCI", number) + " (1000c01010000000)",
            };
            let mut rate = bandwidth(link);
            if kind == DeviceKind::NvSwitch {
                // NCCL takes all switches for one.
                let own = server.links().iter().enumerate().filter(|(_, link)| {
                    let end = link.joins(device).then(|| link.other_end(device));
                    end.is_some_and(|end| server.devices()[end].kind == DeviceKind::NvSwitch)
                });
                if own.clone().next().is_some_and(|(first, _)| first != at) {
                    continue;
                }
                rate = own.map(|(_, link)| bandwidth(link)).sum();
            }
            let text = format!("{:depth$}+ {link_name}[{rate:.1}] - {name}", "");
            self.lines.push(("link", text));
            if has_more && kind != DeviceKind::Cpu {
                let deeper = depth + 14;
                if kind == DeviceKind::Nic {
                    let speed = port_speed(&server.devices()[other]);
                    let speed = speed.map_or(25.0, |it| it.as_gigabytes_per_second());
                    let nics = self.run.system.kind_of(0).nics();
                    let own = nics.iter().position(|nic| *nic == other).unwrap_or(0);
                    let name = self.id("NET", own as u32);
                    let asic = if self.is_old { "" } else { "0/" };
                    let text = format!(
                        "{:deeper$}+ NET[{speed:.1}] - {name} ({asic}1234567890abcdef/1/{speed:.6})",
                        ""
                    );
                    self.lines.push(("link", text));
                } else {
                    self.below(other, Some(at), deeper);
                }
            }
        }
    }

    fn number(&self, kind: DeviceKind, device: usize, link: usize) -> u32 {
        match kind {
            DeviceKind::Gpu => {
                let own = self.server.gpus().iter().position(|it| *it == device).unwrap();
                BUSES[own % BUSES.len()] << 12
            }
            DeviceKind::Cpu => {
                let devices = self.server.devices()[..device].iter();
                devices.filter(|it| it.kind == DeviceKind::Cpu).count() as u32
            }
            _ => (0x20 + link as u32) << 12,
        }
    }
}
