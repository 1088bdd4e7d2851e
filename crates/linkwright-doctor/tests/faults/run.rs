//! Holds a run on a system that may be at fault, and times it.

use std::sync::Arc;

use linkwright_collectives::collectives::Collective;
use linkwright_collectives::collectives::baselines::expect::worn::expect_worn;
use linkwright_collectives::collectives::baselines::{Expectation, Settings, Version};
use linkwright_collectives::collectives::schedule::time::Processes;
use linkwright_ground::units::{Bandwidth, Bytes, Picoseconds};
use linkwright_system::system::fabric::{LinkRate, single_switch};
use linkwright_system::system::test_support::{alone, on_one_switch};
use linkwright_system::system::{
    ExportFormat, ImportOptions, PortOrder, Server, System, Wire, Wiring, export, import,
};

use super::noise::Noise;

/// Is the spread of times of one size from run to run, as the deviation of their logarithm.
const NOISE: f64 = 0.035;

/// Names wires that carry less than they say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slow {
    /// Names all wires of one GPU.
    Gpu(usize),
    /// Names those of network interfaces of one server.
    UplinksOf(usize),
    /// Names those of all network interfaces.
    Uplinks,
}

/// Holds a run of nccl-tests.
#[derive(Debug, Clone)]
pub struct Run {
    /// The system as its owner believes it to be.
    pub sound: System,
    /// As it is.
    pub system: System,
    pub gpus: Vec<usize>,
    pub collective: Collective,
    pub settings: Settings,
    /// The smallest size and the largest; each is four times the one before.
    pub sizes: [u64; 2],
    /// Says what carries less, and which part of what it should.
    pub slow: Option<(Slow, f64)>,
    /// NCCL's variables, as they are set.
    pub variables: Vec<(&'static str, String)>,
    /// The name of TCP's interface, where there is no other network.
    pub tcp: Option<&'static str>,
    /// Whether the driver lets interfaces reach GPUs.
    pub has_peermem: bool,
    /// Whether all GPUs are too far from interfaces for GPUDirect.
    pub is_far: bool,
    /// Whether the driver refuses access between GPUs.
    pub refuses_peers: bool,
    /// Tells whether the driver or the fabric manager offers no multicast.
    pub lacks_multicast: bool,
    /// Whether `NCCL_DEBUG_SUBSYS` has GRAPH.
    pub shows_graph: bool,
    /// Whether it has TUNING.
    pub shows_choices: bool,
    /// Whether `NCCL_DEBUG` is set at all.
    pub is_debugged: bool,
    /// Whether NCCL's dump of the topology is given, too.
    pub has_dump: bool,
    pub seed: u64,
}

impl Run {
    /// Makes a sound run of an all-reduce: servers of a preset on one switch, each rank a process.
    pub fn of(preset: &str, servers: u32, release: &str, seed: u64) -> Self {
        let sound = match servers {
            1 => alone(preset),
            _ => on_one_switch(preset, servers, gigabits(preset)),
        };
        let version: Version = release.parse().unwrap();
        let settings = Settings {
            version: Some(version),
            processes: Some(Processes::Each),
            ..Settings::default()
        };
        Self {
            gpus: (0..sound.gpus() as usize).collect(),
            system: sound.clone(),
            sound,
            collective: Collective::AllReduce,
            settings,
            sizes: [8, 1 << 30],
            slow: None,
            variables: Vec::new(),
            tcp: None,
            has_peermem: true,
            is_far: false,
            refuses_peers: false,
            lacks_multicast: false,
            shows_graph: false,
            shows_choices: false,
            is_debugged: true,
            has_dump: false,
            seed,
        }
    }

    /// Gives its release.
    pub fn release(&self) -> String {
        self.settings.version.unwrap().to_string()
    }

    /// Gives its sizes.
    pub fn rows(&self) -> Vec<Bytes> {
        let [least, most] = self.sizes;
        let sizes = std::iter::successors(Some(least), |size| Some(size * 4));
        sizes.take_while(|size| *size <= most).map(Bytes).collect()
    }

    /// Gives the same on the sound system, with nothing set.
    pub fn sound(&self) -> Self {
        let settings = Settings {
            version: self.settings.version,
            processes: self.settings.processes,
            ..Settings::default()
        };
        Self { system: self.sound.clone(), slow: None, settings, ..self.clone() }
    }

    /// Gives what the model takes of it, without noise.
    pub fn played(&self) -> Vec<Expectation> {
        self.played_at(&self.rows())
    }

    pub fn played_at(&self, sizes: &[Bytes]) -> Vec<Expectation> {
        let part = |wiring: &Wiring, wire: &Wire| {
            self.slow.map_or(1.0, |(slow, part)| if slow.has(wiring, wire) { part } else { 1.0 })
        };
        let found =
            expect_worn(&self.system, &self.gpus, self.collective, sizes, &self.settings, part);
        found.unwrap().rows
    }

    /// Gives seconds of each size, twice: for a result of its own, and in place.
    pub fn measured(&self) -> Vec<(Expectation, [f64; 2])> {
        let mut noise = Noise(self.seed);
        let mut time = |row: &Expectation| row.time.as_seconds() * noise.factor(NOISE);
        self.played().into_iter().map(|row| (row, [time(&row), time(&row)])).collect()
    }
}

impl Slow {
    fn has(self, wiring: &Wiring, wire: &Wire) -> bool {
        let of = |end: usize| wiring.devices()[end].server;
        match self {
            Self::Gpu(gpu) => [wire.a, wire.b].contains(&wiring.gpu(gpu)),
            Self::UplinksOf(server) => {
                wire.is_network() && [of(wire.a), of(wire.b)].contains(&Some(server))
            }
            Self::Uplinks => wire.is_network(),
        }
    }
}

impl Run {
    /// The machine that is asked about: NCCL's dump of the first server where there is one, else the sound one.
    pub fn asked(&self) -> System {
        if !self.has_dump {
            return self.sound.clone();
        }
        let own = self.system.kind_of(0).server();
        let text = export(own, ExportFormat::NcclXml).unwrap().text;
        let server = import("topology.xml", &text, None, &ImportOptions::default()).unwrap();
        let server: Arc<Server> = Arc::new(server);
        if self.system.servers() == 1 {
            return System::of_server(server);
        }
        let rows = [(server, self.system.servers())];
        let bandwidth = Bandwidth(gigabits(own.name()) * 125_000_000);
        let rate = LinkRate { bandwidth, latency: Picoseconds(600_000) };
        let fabric = single_switch(System::ports_for(&rows).unwrap(), rate).unwrap();
        System::new(&rows, fabric, PortOrder::Plain).unwrap()
    }
}

/// Gives Gb/s of each interface of a preset.
pub fn gigabits(preset: &str) -> u64 {
    match preset {
        "dgx1-v100" | "dgx2" => 100,
        "hgx-h100" | "hgx-h200" | "hgx-b200" | "mi300x-8" => 400,
        "8x-rtx-pro-6000" | "hgx-b300" => 800,
        _ => 200,
    }
}
