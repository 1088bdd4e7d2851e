//! Reads which network NCCL uses, its interfaces, and whether they reach GPUs' memory.

use super::words::{after, number};
use super::{DebugReader, Heard, One};
use crate::doctor::evidence::Interfaces;

/// How many interfaces of a host are kept, and how many speeds.
const MOST_INTERFACES: usize = 64;
const MOST_SPEEDS: usize = 1 << 14;

impl DebugReader {
    /// Reads `Using network IB` and lines of `NET/...`.
    pub(super) fn network(&mut self, one: &mut One<'_, '_>) -> Heard {
        let message = one.line.message;
        if let Some(network) = message.strip_prefix("Using network ") {
            let line = self.proof(one);
            self.log.network.get_or_insert((name(network), line));
            return Heard::Fact;
        }
        let Some((network, rest)) = message.strip_prefix("NET/").and_then(|it| it.split_once(':'))
        else {
            return Heard::Nothing;
        };
        let (network, rest) = (network.trim_end(), rest.trim_start());
        if rest.starts_with("No device found") {
            let line = self.proof(one);
            self.log.no_interface.get_or_insert(line);
            return Heard::Fact;
        }
        if let Some(list) = rest.strip_prefix("Using ").filter(|list| list.starts_with('[')) {
            return self.interfaces(one, network, list);
        }
        if rest.starts_with('[') && rest.contains(" speed=") {
            return self.speed(one, rest);
        }
        rest.strip_prefix("GPU Direct RDMA ").map_or(Heard::Nothing, |rest| {
            let interface = rest.split('\'').nth(1).map(name);
            let works = rest.starts_with("Enabled");
            interface.map_or(Heard::Nothing, |interface| self.works(one, interface, works))
        })
    }

    /// Keeps whether GPUDirect works; of several hosts, the one where it does not.
    fn works(&mut self, one: &mut One<'_, '_>, interface: String, works: bool) -> Heard {
        let line = self.proof(one);
        if let Some(known) = self.log.gpudirect.get_mut(&interface) {
            if known.0 && !works {
                *known = (false, line);
            }
            return Heard::Fact;
        }
        self.keep(one, |log| &mut log.gpudirect, interface, |line| (works, line))
    }

    /// Reads `[0]mlx5_0:1/IB [1]={[1] mlx5_1:1/RoCE, [2] mlx5_2:1/RoCE} [RO]; OOB eth0:10.0.0.1<0>`.
    fn interfaces(&mut self, one: &mut One<'_, '_>, network: &str, list: &str) -> Heard {
        let list = list.split(';').next().unwrap_or_default();
        let mut names: Vec<String> = Vec::new();
        let mut rest = list;
        let mut is_merged = false;
        while let Some(at) = rest.find('[') {
            is_merged &= !rest[..at].contains('}');
            let Some((_, behind)) = number(&rest[at + 1..]) else { break };
            rest = behind.strip_prefix(']').unwrap_or(behind).trim_start();
            if rest.starts_with("={") {
                is_merged = true;
                names.push(String::new());
                continue;
            }
            let end = rest.find([':', '/', ' ', ',', '}']).unwrap_or(rest.len());
            let found = name(&rest[..end]);
            match names.last_mut().filter(|_| is_merged) {
                Some(merged) if merged.is_empty() => *merged = found,
                Some(merged) => *merged = name(&format!("{merged}+{found}")),
                None => names.push(found),
            }
            if names.len() == MOST_INTERFACES {
                break;
            }
        }
        if names.is_empty() {
            return Heard::Nothing;
        }
        let host = one.line.host.to_owned();
        let speed = |name: &String| self.speeds.get(&(host.clone(), name.clone())).copied();
        let speeds = names.iter().map(speed).collect();
        // A host that has InfiniBand or RoCE may list its interfaces for TCP, too.
        let is_better = |known: &Interfaces| known.network == "Socket" && network != "Socket";
        if self.log.interfaces.get(&host).is_some_and(is_better) {
            self.log.interfaces.remove(&host);
        }
        let network = name(network);
        self.keep(
            one,
            |log| &mut log.interfaces,
            host,
            |line| Interfaces { network, names, speeds, line },
        )
    }

    /// Reads `[0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=400000 context=...`.
    fn speed(&mut self, one: &mut One<'_, '_>, rest: &str) -> Heard {
        let name_of = rest.split_once("] ").and_then(|(_, it)| it.split(':').next()).map(name);
        let speed = rest.split_once(" speed=").and_then(|(_, it)| it.split(' ').next());
        let speed = speed.and_then(|it| it.parse::<u32>().ok());
        let (Some(name), Some(speed)) = (name_of, speed) else {
            return Heard::Refused("a speed that no interface has");
        };
        let host = one.line.host.to_owned();
        if let Some(interfaces) = self.log.interfaces.get_mut(&host) {
            let index = interfaces.names.iter().position(|known| *known == name);
            if let Some(known) = index.and_then(|index| interfaces.speeds.get_mut(index)) {
                known.get_or_insert(speed);
            }
        }
        if self.speeds.len() < MOST_SPEEDS {
            self.speeds.insert((host, name), speed);
        }
        Heard::Fact
    }

    /// Reads `GPU Direct RDMA Disabled for GPU 1b000 / HCA 0 (distance 7 > 4)`.
    pub(super) fn gpudirect(&mut self, one: &mut One<'_, '_>) -> Heard {
        let message = one.line.message;
        if message.starts_with("GPU Direct RDMA Enabled for GPU ") {
            return Heard::Fact;
        }
        let Some(rest) = message.strip_prefix("GPU Direct RDMA Disabled for GPU ") else {
            return Heard::Nothing;
        };
        let gpu = rest.split(' ').next().map(name);
        let interface = after(rest, "HCA").map(name);
        let (Some(gpu), Some(interface)) = (gpu, interface) else { return Heard::Nothing };
        self.refuse(one, true, (format!("GPU {gpu}"), format!("HCA {interface}")))
    }
}

/// Reads a name of at most 64 characters.
fn name(text: &str) -> String {
    text.trim().chars().take(64).collect()
}
