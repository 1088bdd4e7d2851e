//! Writes what NCCL's ranks print under `NCCL_DEBUG=INFO`, each line by a form of [`super::forms`].

use linkwright_collectives::collectives::baselines::explain;

use super::forms::{Written, place as form_place};
use super::run::Run;
use super::said::{Connection, Hop, Said};
use super::topology_lines;

/// Lists the addresses of a server's GPUs on its bus.
pub const BUSES: [u32; 8] = [0x07, 0x0f, 0x47, 0x4e, 0x87, 0x90, 0xb7, 0xbd];

/// Gives the name of a server.
pub fn host(server: usize) -> String {
    format!("node-{server}")
}

/// Gives the number of a rank's process.
pub fn pid(rank: usize) -> usize {
    41_200 + 7 * rank
}

/// Gives the server of a GPU, and its number there.
pub fn place(run: &Run, gpu: usize) -> (usize, usize) {
    let place = run.system.gpu(gpu as u32);
    (place.server as usize, place.index as usize)
}

/// Writes lines of one rank after the other.
struct Writer<'a> {
    run: &'a Run,
    said: &'a Said,
    release: String,
    lines: Vec<Written>,
    rank: usize,
}

/// All lines, by rank.
pub fn lines(run: &Run, said: &Said) -> Vec<Written> {
    let (release, lines) = (run.release(), Vec::new());
    let mut writer = Writer { run, said, release, lines, rank: 0 };
    for rank in 0..run.gpus.len() {
        writer.rank = rank;
        writer.variables();
        writer.network();
        writer.topology();
        writer.channels();
        writer.choices();
    }
    writer.lines
}

impl Writer<'_> {
    /// Writes a line of a form that the release has.
    fn say(&mut self, form: &'static str, text: &str) {
        if form_place(form, &self.release) == "-" {
            return;
        }
        let (server, device) = place(self.run, self.run.gpus[self.rank]);
        let (host, pid) = (host(server), pid(self.rank));
        let text = format!("{host}:{pid}:{} [{device}] NCCL INFO {text}", pid + 3);
        self.lines.push(Written { form, text });
    }

    fn place(&self) -> (usize, usize) {
        place(self.run, self.run.gpus[self.rank])
    }

    fn bus(&self) -> u32 {
        BUSES[self.place().1 % BUSES.len()] << 12
    }

    fn minor(&self) -> u32 {
        self.run.settings.version.unwrap().minor
    }

    fn variables(&mut self) {
        if self.rank == 0 {
            let text = format!("NCCL version {}+cuda12.4", self.release);
            self.lines.push(Written { form: "version", text });
        }
        for (name, value) in self.run.variables.clone() {
            let form = match name {
                "NCCL_IB_HCA" => "hca-list",
                "NCCL_P2P_DISABLE" => "p2p-disable",
                "NCCL_P2P_LEVEL" | "NCCL_NET_GDR_LEVEL" => "level",
                "NCCL_ALGO" => "algorithm",
                "NCCL_PROTO" => "protocol",
                _ => "parameter",
            };
            let text = match form {
                "hca-list" => format!("{name} set to {value}"),
                "parameter" => format!("{name} set by environment to {value}."),
                _ => format!("{name} set by environment to {value}"),
            };
            self.say(form, &text);
        }
    }

    fn network(&mut self) {
        let (server, device) = self.place();
        let listed = &self.said.interfaces[server];
        let address = format!("10.0.{server}.1<0>");
        if let Some(name) = self.run.tcp {
            self.say("no-device", "NET/IB : No device found.");
            self.say("socket-using", &format!("NET/Socket : Using [0]{name}:{address}"));
            self.say("network", "Using network Socket");
        } else if listed.is_empty() {
            self.say("no-device", "NET/IB : No device found.");
            self.say("socket-using", &format!("NET/Socket : Using [0]eth0:{address}"));
            self.say("network", "Using network Socket");
        } else {
            let list: String = (0..)
                .zip(listed)
                .map(|(at, name): (usize, _)| format!(" [{at}]{name}:1/IB"))
                .collect();
            self.say("ib-using", &format!("NET/IB : Using{list} [RO]; OOB eth0:{address}"));
            self.say("network", "Using network IB");
        }
        let (rank, ranks, bus) = (self.rank, self.run.gpus.len(), self.bus());
        let of = format!(
            "comm 0x55d0c0{rank:04x} rank {rank} nranks {ranks} cudaDev {device} nvmlDev {device} busId {bus:x} commId 0x9f1c2b7a11d05e3f"
        );
        let function = if self.minor() >= 23 { "ncclCommInitRank " } else { "" };
        let start = if self.minor() >= 30 { format!("[Rank {rank}] ") } else { String::new() };
        self.say("start", &format!("{start}{function}{of} - Init START"));
        if self.run.tcp.is_none() {
            let works = if self.run.has_peermem { "Enabled" } else { "Disabled" };
            for (at, name) in listed.clone().iter().enumerate() {
                let text = format!("NET/IB : GPU Direct RDMA {works} for HCA {at} '{name}'");
                self.say("gdr-of-hca", &text);
            }
        }
    }

    fn topology(&mut self) {
        if self.run.refuses_peers {
            let (_, device) = self.place();
            let other = if device == 0 { 1 } else { 0 };
            let text = format!(
                "P2P is disabled between connected GPUs {device} and {other}. You can repress this message \
                 with NCCL_IGNORE_DISABLED_P2P=1."
            );
            self.say("p2p-refused", &text);
            let bus = |device: usize| BUSES[device] << 12;
            let text = format!(
                "Could not enable P2P between dev {device}(={:x}) and dev {other}(={:x})",
                bus(device),
                bus(other)
            );
            self.say("p2p-not-enabled", &text);
        }
        let sets_no_level = !self.run.variables.iter().any(|(it, _)| *it == "NCCL_NET_GDR_LEVEL");
        if self.run.is_far || !sets_no_level && self.run.tcp.is_none() {
            let (distance, most) = if sets_no_level { (6, 4) } else { (3, 0) };
            let named = if self.minor() >= 27 {
                self.rank.to_string()
            } else {
                format!("{:x}", self.bus())
            };
            let text = format!(
                "GPU Direct RDMA Disabled for GPU {named} / HCA 0 (distance {distance} > {most})"
            );
            self.say("gdr-refused", &text);
        }
        // Where it is switched off nothing is asked of the driver.
        if self.run.settings.nvls || self.run.lacks_multicast {
            let no = if self.said.has_multicast { "" } else { "not " };
            let text = format!("NVLS multicast support is {no}available on dev {}", self.place().1);
            let count = if self.minor() == 27 { " (NVLS_NCHANNELS 16)" } else { "" };
            self.say("multicast", &format!("{text}{count}"));
        }
        if self.run.shows_graph {
            for (form, text) in topology_lines::system(self.run) {
                self.say(form, &text);
            }
            self.graphs();
        }
    }

    fn graphs(&mut self) {
        let run = self.run;
        let found = explain(&run.system, &run.gpus, &run.settings).unwrap();
        for graph in &found.graphs {
            let text = format!(
                "Pattern {}, crossNic 0, nChannels {}, bw {:.6}/{:.6}, type {}/{}, sameChannels {}",
                graph.pattern,
                graph.channels,
                graph.intra,
                graph.inter,
                graph.type_intra,
                graph.type_inter,
                u8::from(graph.same_channels)
            );
            self.say("pattern", &text);
        }
    }

    fn channels(&mut self) {
        let count = self.said.rings.len();
        if self.rank == 0 {
            for (at, ring) in self.said.rings.clone().iter().enumerate() {
                let ranks: String = ring.iter().map(|rank| format!(" {rank:3}")).collect();
                self.say("ring", &format!("Channel {at:02}/{count:02} :{ranks}"));
            }
        }
        let up = if self.rank == 0 { -1 } else { self.rank as i64 - 1 };
        let down = if self.rank + 1 < self.run.gpus.len() { self.rank as i64 + 1 } else { -1 };
        let rank = self.rank;
        let trees: String =
            (0..count).map(|at| format!(" [{at}] {down}/-1/-1->{rank}->{up}")).collect();
        self.say("trees", &format!("Trees{}", &trees[..trees.len().min(1000)]));
        let own = |it: &&Connection| {
            let speaker = if matches!(it.hop, Hop::Receives { .. }) { it.to } else { it.from };
            speaker == rank
        };
        for connection in self.said.connections.iter().filter(own) {
            let (form, text) = self.connection(connection);
            self.say(form, &text);
        }
        let [channels, nvls] = self.said.channels;
        let collnet = if self.minor() >= 23 { "0 collnet channels, " } else { "" };
        let text = format!(
            "{channels} coll channels, {collnet}{nvls} nvls channels, {channels} p2p channels, 2 p2p channels per peer"
        );
        self.say("channels", &text);
        let (device, bus, ranks) = (self.place().1, self.bus(), self.run.gpus.len());
        let function = if self.minor() >= 23 { "ncclCommInitRank " } else { "" };
        let of = format!(
            "comm 0x55d0c0{rank:04x} rank {rank} nranks {ranks} cudaDev {device} nvmlDev {device} busId {bus:x}"
        );
        self.say("complete", &format!("{function}{of} commId 0x9f1c2b7a11d05e3f - Init COMPLETE"));
    }

    fn connection(&self, it: &Connection) -> (&'static str, String) {
        let device = |rank: usize| place(self.run, self.run.gpus[rank]).1;
        let (from, to) = (it.from, it.to);
        let network = if self.run.tcp.is_some() { "Socket" } else { "IB" };
        let pair = format!("{from}[{}] -> {to}[{}]", device(from), device(to));
        let channel = it.channel;
        let direct = |is_it: bool| if is_it { "/GDRDMA" } else { "" };
        match &it.hop {
            Hop::Peer => {
                let way = if self.minor() >= 23 { "CUMEM" } else { "IPC" };
                ("via-p2p", format!("Channel {channel:02}/0 : {pair} via P2P/{way}"))
            }
            Hop::Memory => {
                let way = if self.minor() >= 30 { "direct" } else { "direct/direct" };
                ("via-shm", format!("Channel {channel:02} : {pair} via SHM/{way}"))
            }
            Hop::Sends { interface, through: None, gpudirect } => {
                let way = format!("NET/{network}/{interface}{}", direct(*gpudirect));
                ("via-net-send", format!("Channel {channel:02}/0 : {pair} [send] via {way}"))
            }
            Hop::Sends { interface, through: Some(proxy), gpudirect } => {
                let way = format!("NET/{network}/{interface}({proxy}){}", direct(*gpudirect));
                ("via-net-send-by", format!("Channel {channel:02}/0 : {pair} [send] via {way}"))
            }
            Hop::Receives { interface, gpudirect } => {
                let way = format!("NET/{network}/{interface}{}", direct(*gpudirect));
                ("via-net-receive", format!("Channel {channel:02}/0 : {pair} [receive] via {way}"))
            }
        }
    }

    fn choices(&mut self) {
        if !self.run.shows_choices || self.rank > 0 {
            return;
        }
        let name: String = self.run.collective.name().split('-').map(capital).collect();
        for row in self.run.played() {
            let algorithm = row.choice.algorithm.name().replace('-', "").to_uppercase();
            let protocol = row.choice.protocol.name().to_uppercase();
            let size = row.size.0;
            let text = if self.minor() >= 27 {
                let last = row.choice.channels.saturating_sub(1);
                format!(
                    "{name}: {size} Bytes -> Algo {algorithm} proto {protocol} channel{{Lo..Hi}}={{0..{last}}}"
                )
            } else {
                let known =
                    |names: &[&str], own: &str| names.iter().position(|it| *it == own).unwrap_or(0);
                let algorithms = ["TREE", "RING", "COLLNET", "CHAIN", "NVLS", "NVLSTREE", "PAT"];
                let (algorithm, protocol) =
                    (known(&algorithms, &algorithm), known(&["LL", "LL128", "SIMPLE"], &protocol));
                let time = row.time.as_seconds() * 1e6;
                format!("{name}: {size} Bytes -> Algo {algorithm} proto {protocol} time {time:.6}")
            };
            self.say("choice", &text);
        }
    }
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}
