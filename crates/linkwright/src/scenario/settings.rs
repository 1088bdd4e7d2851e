//! Describes every setting of a scenario once: its table and key, its values, its default, and its
//! meaning.
//!
//! The reader takes the keys from here; the reference, the options of the command line and the stub
//! of the Python package take the rest. A test walks every setting from a file to the reference.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use toml::Value;

use super::needs::Needs;
use super::recorded::MOST_DAYS;
use super::registries::Registries;
use crate::allocation::{BandwidthModel, PatternShape, Ties, policies};
use crate::collectives::plan::planners;
use crate::diagnostic::Named;
use crate::memory::kernel::benchmarks::Benchmark;
use crate::network::packet::{MOST_BUFFER_PACKETS, NicRule, Switching, arbiters, nic_rules};
use crate::network::pcie::{Encoding, First, PcieArbitration};
use crate::network::routing::routing_kinds;
use crate::program::trace::CollectiveBytes;
use crate::program::{CollectiveKind, skeletons};
use crate::runtime::Rendezvous;
use crate::simulation::cluster::{CollectiveMethod, CollectiveProtocol, Fidelity, MappingRule};
use crate::simulation::played::GpuSpeed;
use crate::simulation::played::PlannerChoice;
use crate::simulation::{MOST_JOBS, QueueDiscipline, RunTime, ServerChoice, SharedMemoryChoice};
use crate::system::composition::{InterfaceRule, MOST_NODE_GPUS, MOST_SERVERS, PortOrder};
use crate::system::fabric::{FabricKey, FabricValueType, fabric_keys, fabrics};
use crate::system::{BandwidthProfile, NetworkKind, presets};
use crate::thermal::MOST_CELLS;
use crate::training::{MOST_SAMPLES, Network, Optimizer, Precision, Way, Workload};

/// Says which values a setting may have.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Is a table of further settings.
    Table,
    /// Is a list of tables.
    Tables,
    /// A table whose keys are not settings.
    Free,
    /// Takes any text.
    Text,
    /// Takes a file's name, relative to the scenario.
    File,
    /// Takes true or false.
    Truth,
    /// Takes a whole number in a range.
    Whole {
        /// Begins the range.
        least: u64,
        /// Ends it, and is in it.
        most: u64,
    },
    /// Takes a number from zero.
    Number,
    /// Takes a factor of bandwidths, as `2`, `"2x"`, `"x/16"`.
    Factor,
    /// Takes a time with its unit.
    Time,
    /// Takes a number of bytes with its unit.
    Size,
    /// Takes a bandwidth with its unit.
    Bandwidth,
    /// One of some names.
    Name(fn() -> Vec<&'static str>),
    /// Some of some names, each once.
    Names(fn() -> Vec<&'static str>),
    /// Takes a list of whole numbers.
    Wholes,
    /// Takes a list of texts.
    Texts,
    /// One of some names, or something else that the help tells.
    NameOr(fn() -> Vec<&'static str>),
}

/// Describes a setting.
#[derive(Debug, Clone)]
pub struct Setting {
    /// It stands in the table of this path; empty for the top of a scenario.
    pub table: &'static str,
    /// It has this key there.
    pub key: Cow<'static, str>,
    /// Says which values it may have.
    pub kind: Kind,
    /// Gives its default where it is absent: a value as it is written, or a phrase.
    pub absent: &'static str,
    /// Says in a phrase how it is used.
    pub help: Cow<'static, str>,
    /// It counts where the scenario has these; the first that is lacking is told.
    pub needs: &'static [Needs],
    /// It is of this group.
    pub(super) group: Option<SettingGroup>,
}

/// Holds settings together that a reader asks for at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingGroup {
    /// Tells how jobs are played: where one of these is given, no formula stands for them.
    HowPlayed,
    /// Counts in days alone.
    Days,
    /// Only a network has it: where one of these is given, a lone server stands on one, too.
    Networks,
    /// A node has it, and no other server.
    Nodes,
    /// Says what an iteration of a published workload is made of.
    Iterations,
}

impl Setting {
    /// Makes the setting of a key of fabrics, which is of these.
    fn of_fabric(key: &FabricKey, of: &[&str]) -> Self {
        let whose: Vec<String> = of.iter().map(|of| format!("of {of}")).collect();
        let whose = if key.of.is_empty() { String::new() } else { whose.join(" and ") };
        let between = if whose.is_empty() || key.help.is_empty() { "" } else { ": " };
        Self {
            table: NETWORK,
            key: key.key.replace('-', "_").into(),
            kind: match key.takes {
                FabricValueType::Count => COUNT,
                FabricValueType::Counts => Kind::Wholes,
                FabricValueType::Truth => Kind::Truth,
                FabricValueType::Bandwidth => Kind::Bandwidth,
                FabricValueType::Latency => Kind::Time,
                FabricValueType::Links => Kind::Name(links),
            },
            absent: key.absent,
            help: format!("{whose}{between}{}", key.help).into(),
            needs: match (key.key, key.of_packets) {
                ("intra-group-detours", _) => &[Needs::Routes, Needs::Fabric, Needs::Detours],
                ("hop-weights", _) => &[Needs::Routes, Needs::Fabric, Needs::Weights],
                (_, true) => &[Needs::Routes, Needs::Fabric],
                (_, false) => &[Needs::Fabric, Needs::Played],
            },
            group: None,
        }
    }

    /// Gives its path, as `system.network.nic`.
    #[must_use]
    pub fn path(&self) -> String {
        if self.table.is_empty() {
            self.key.clone().into_owned()
        } else {
            format!("{}.{}", self.table, self.key)
        }
    }

    /// The names that it may have.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        match self.kind {
            Kind::Name(names) | Kind::Names(names) | Kind::NameOr(names) => names(),
            _ => Vec::new(),
        }
    }

    /// Finds the setting of a path.
    ///
    /// # Panics
    /// If there is none, which the tests of the reader would see.
    pub(super) fn of(path: &str) -> &'static Self {
        let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
        let found = SETTINGS.iter().find(|it| it.table == table && it.key == key);
        found.unwrap_or_else(|| panic!("no setting `{path}`"))
    }

    /// Returns its default where it is absent, as it would be written: a number or a text.
    pub(super) fn written(&self) -> Value {
        match self.kind {
            Kind::Whole { .. } => self.absent.parse().map(Value::Integer).ok(),
            Kind::Truth => self.absent.parse().map(Value::Boolean).ok(),
            _ => None,
        }
        .unwrap_or_else(|| Value::String(self.absent.to_owned()))
    }

    /// Returns its default where it is absent, as a type.
    ///
    /// # Panics
    /// If that is a phrase and no value, which the tests of the reader would see.
    pub(super) fn default<T: DeserializeOwned>(&self) -> T {
        let read = self.written().try_into();
        read.unwrap_or_else(|error| panic!("the default of `{}`: {error}", self.path()))
    }

    /// The least and the most that a number may be.
    #[must_use]
    pub const fn range(&self) -> Option<(u64, u64)> {
        match self.kind {
            Kind::Whole { least, most } => Some((least, most)),
            _ => None,
        }
    }
}

fn links() -> Vec<&'static str> {
    NetworkKind::ALL.map(NetworkKind::name).to_vec()
}

fn workloads() -> Vec<&'static str> {
    Workload::all().iter().map(|workload| workload.name.as_str()).collect()
}

fn networks() -> Vec<&'static str> {
    let mut names: Vec<&str> = Network::all().iter().map(|it| it.name.as_str()).collect();
    names.dedup();
    names
}

fn applications() -> Vec<&'static str> {
    skeletons::applications().names()
}

const WHOLE: Kind = Kind::Whole { least: 0, most: u64::MAX >> 1 };
const COUNT: Kind = Kind::Whole { least: 1, most: u32::MAX as u64 };
const SERVERS: Kind = Kind::Whole { least: 1, most: MOST_SERVERS as u64 };

macro_rules! settings {
    ($($table:literal $key:ident: $kind:expr, $absent:literal, $help:literal
        $(, needs $($needs:ident)+)? $(, of $group:ident)?;)*) => {
        /// Lists the settings in the order of the reference, but for those that kinds of fabrics declare.
        pub(super) const SETTINGS: &[Setting] = &[$(Setting {
            table: $table,
            key: Cow::Borrowed(stringify!($key)),
            kind: $kind,
            absent: $absent,
            help: Cow::Borrowed($help),
            needs: &[$($(Needs::$needs),+)?],
            group: [$(Some(SettingGroup::$group),)? None][0],
        },)*];
    };
}

// Where a number below has a source of its own:
//
// - packet_size, buffer_packets, nic, server.gpus and server.bandwidth_scale have one source. It is
//   S. Bhowmik, N. Jain, X. Yuan, A. Bhatele, "A Simulation Study of Hardware Parameters for Future
//   GPU-based HPC Platforms", IPCCC 2021. Section IV has packets of 4096 B and buffers of 8
//   packets. Section V.B has one GPU per node. Links between the GPUs of a node have twice the
//   network's bandwidth, and messages go first come, first served. The bandwidth of the network's
//   links is in the presets of fabrics.
// - router_delay, nic_delay, switching, arbitration: TraceR's public configuration,
//   examples/conf/fattree.conf in https://github.com/hpcgroup/TraceR: 60 ns and 400 ns. Its switches
//   store a packet before they pass it on, and serve their ports in turn.
// - pcie.payload, pcie.header and pcie.read_request are from PCI Express Base Specification 3.0,
//   Sections 2.2 and 7.8. Most servers set 256 B. A header of four words with a 64-bit address
//   takes 16 B, and framing, sequence number and checksum 8 B more. Reads ask for 512 B unless they
//   are set otherwise.
// - pcie.deadline is from C. Li et al., "Priority-Based PCIe Scheduling for Multi-Tenant Multi-GPU
//   Systems", IEEE CAL 18(2), 2019, Section 4. Its threshold, here pcie.bound, is "empirical" and
//   not given. Buffers are not given either. These hold twice the data that a link of PCIe 4
//   carries until credits are back.
// - server.latency: neither source gives one. 500 ns is what this program's machines give an NVLink of
//   any generation.
settings! {
    "" name: Kind::Text, "none", "what people call the scenario";
    "" seed: WHOLE, "0", "of routing, of random mappings and of jobs that are generated",
        needs Chance;
    "" fidelity: Kind::Name(Fidelity::names), "packet; flow in a day: `[jobs]`, or a `[[job]]` with `gpus`",
        "how closely the network is simulated: every packet, or messages as flows; the jobs of a day also \
         as fluids with rates of iterations", of HowPlayed;
    "" mapping: Kind::NameOr(MappingRule::names), "linear",
        "how jobs without a mapping of their own find their GPUs: by a rule, or from a mapping \
         file",
        needs Mapping;
    "" system: Kind::Table, "", "the servers and what joins them";
    "system" server: Kind::NameOr(|| presets::NAMES.to_vec()), "nodes of one GPU",
        "the server: a preset, a file in any format that machines are read from, the table of a \
         node, or a list of kinds";
    "system" servers: SERVERS, "1", "how many of `server`";
    "system" port_order: Kind::Name(PortOrder::names), "plain",
        "the order in which the servers' interfaces take the network's ports: server by server, \
         or in rails: the first of every server, then the second of every server",
        needs Fabric Played;
    "system" interfaces: Kind::Name(InterfaceRule::names), "nearest",
        "the interface through which a GPU sends to other servers: nearest on the host (then the \
         widest, then the least used), in turn by the GPU's number, or the first",
        needs Routes Fabric;
    "system" gpu: Kind::Table, "as their models' files say", "facts of the servers' GPUs that differ from their models' files";
    "system" unhealthy: Kind::Wholes, "none", "ids of GPUs that are out of order from the start";
    "system" without: Kind::Texts, "none",
        "parts that are absent all day: `node3`, `node3/mlx5_1`, `GPU0-GPU3`, `leaf2`, `leaf2-spine0`";
    "system" network: Kind::NameOr(|| fabrics().names()), "no network for one server, else a fat-tree",
        "the network that joins the servers: a kind, a file, the speed of one switch's links, or \
         a table";
    "system.server" preset: Kind::Name(|| presets::NAMES.to_vec()), "", "a built-in server's name";
    "system.server" file: Kind::File, "", "a server in any format that machines are read from";
    "system.server" kind: Kind::NameOr(|| presets::NAMES.to_vec()), "",
        "of a list: a preset's name or a file";
    "system.server" count: SERVERS, "1", "of a list: how many of this kind in a row";
    "system.server" gpus: Kind::Whole { least: 1, most: MOST_NODE_GPUS as u64 }, "1",
        "of a node, whose GPUs are joined all to all: how many share its interfaces", of Nodes;
    "system.server" nics: Kind::Whole { least: 1, most: MOST_NODE_GPUS as u64 }, "1",
        "of a node: how many interfaces it has, each at a port of the network; its GPUs use them in turn", of Nodes;
    "system.server" bandwidth: Kind::Bandwidth, "as `bandwidth_scale` says",
        "of a node: of the link between two of its GPUs",
        needs LinksOfNodes, of Nodes;
    "system.server" bandwidth_scale: Kind::Factor, "2x",
        "of a node: that bandwidth as a multiple of the first node's link to the network",
        needs LinksOfNodes, of Nodes;
    "system.server" latency: Kind::Time, "500 ns",
        "of a node: of the link between two of its GPUs",
        needs LinksOfNodes, of Nodes;
    "system.gpu" file: Kind::File, "none",
        "sections of a GPU's file (TOML), which replace those of the GPUs' models",
        needs GpuTimes;
    "system.gpu" power: Kind::Number, "that of the data sheet",
        "watts that each draws at most: under matrix load its clock falls to what they allow",
        needs GpuTimes;
    "system.gpu" clock: Kind::Number, "that of the data sheet",
        "megahertz of each one's cores at most",
        needs GpuTimes;
    "system.gpu" memory: Kind::Size, "that of the data sheet",
        "of each",
        needs GpuTimes;
    "system.gpu" bandwidth: Kind::Bandwidth, "that of the data sheet",
        "of that memory",
        needs GpuTimes;
    "system.network" kind: Kind::Name(|| fabrics().names()), "fat-tree",
        "its shape; `preset` is the same",
        needs Played;
    "system.network" preset: Kind::Name(|| fabrics().names()), "", "its shape, as `kind`",
        needs Played;
    "system.network" file: Kind::File, "", "a network of any format, in place of a kind",
        needs Played;
    "system.network" routing_table: Kind::File, "none",
        "routing tables for a network's file, which packets then follow",
        needs Routes, of Networks;
    "system.network" bandwidth_scale: Kind::Factor, "1",
        "the factor of every bandwidth of the network",
        needs Played, of Networks;
    "system.network" routing: Kind::Name(|| routing_kinds().names()), "what fits the network",
        "which way packets go",
        needs Routes, of Networks;
    "system.network" nic: Kind::NameOr(|| nic_rules().iter().map(NicRule::example).collect()), "fcfs",
        "whose packet an interface sends next: first come, in turn, or in turn among the N oldest \
         (`rr-4`)",
        needs Routes, of Networks;
    "system.network" arbitration: Kind::Name(|| arbiters().names()), "round-robin",
        "whose packet a switch sends next",
        needs Routes Packets;
    "system.network" switching: Kind::Name(Switching::names), "store-and-forward",
        "when a switch passes a packet on",
        needs Routes;
    "system.network" packet_size: Kind::Size, "4096 B", "the most that a packet carries",
        needs Routes;
    "system.network" buffer_packets: Kind::Whole { least: 1, most: MOST_BUFFER_PACKETS as u64 },
        "the larger of 8 and what a port sends until a credit is back",
        "packets of a switch's input buffer, per port and virtual channel",
        needs Routes;
    "system.network" router_delay: Kind::Time, "60 ns", "a packet's time in a switch",
        needs Routes;
    "system.network" nic_delay: Kind::Time, "400 ns", "a message's time in an interface",
        needs Routes;
    "" jobs: Kind::Table, "",
        "jobs of GPUs that arrive, wait in a queue, and get their GPUs from a policy";
    "jobs" file: Kind::File, "either this or `generate`",
        "a list of jobs; or jobs as they ran: the output of `sacct --parsable2`, CSV of submit, \
         gpus and duration, or another format of accounting";
    "jobs" generate: Kind::Table, "either this or `file`", "a mix to draw";
    "jobs" run_time: Kind::Name(RunTime::names), "by what else is said",
        "how long a job runs: MAPA's formula, the formula at the bandwidth of MAPA's regression, \
         or its program played on the system. Without it jobs are played if `fidelity`, \
         `[protocol]`, `[collectives]` or `[pcie]` is given";
    "jobs" host_copies: Kind::Truth, "false",
        "of played jobs, whether the images of every iteration are copied from the host", of Iterations;
    "jobs" gpu_speed: Kind::Name(GpuSpeed::names), "reference",
        "how fast GPUs of played jobs compute: like the V100 that workloads are timed on, or by \
         the ratio of peaks of the server's GPU, for the unit that the kernels use",
        needs Workload, of Iterations;
    "jobs" bucket: Kind::Size, "all at the end",
        "of played jobs, the most gradients that are reduced at once while others are computed, from 1 \
         MB", of Iterations;
    "jobs" precision: Kind::Name(Precision::names), "fp32",
        "the numbers of played jobs that train layer by layer, and of nets with `gpu_speed = \"own\"`: they say which \
         peak counts",
        needs Numbers;
    "jobs" measured: Kind::Free, "none",
        "how long an iteration of a workload computes on a model of GPU, such as \
         { b200-sxm6-180gb = { resnet-50 = \"12.5 ms\" } }; it stands before peaks",
        needs Played Workload;
    "jobs" communication: Kind::Name(Way::names), "all-reduce",
        "of played jobs that train layer by layer, how data moves between their GPUs",
        needs Trains;
    "jobs" shared_memory: Kind::Name(SharedMemoryChoice::names), "tsm-wt-c-rc",
        "how GPUs share memory under `communication = \"tsm\"`",
        needs Trains SharedMemory;
    "jobs" shared_bandwidth: Kind::Bandwidth, "32 GB/s",
        "of each GPU to that memory, each way",
        needs Trains SharedMemory;
    "jobs" optimizer: Kind::Name(Optimizer::names), "momentum",
        "of played jobs that train layer by layer, what turns gradients into weights",
        needs Trains;
    "jobs" checkpoint_iterations: COUNT, "none; they begin anew",
        "after how many iterations each jobs keep what they have done, should their GPUs fail", needs Failures;
    "jobs" workload: Kind::Name(workloads), "that of each, where a column says",
        "the workload of jobs that a file says ran: their durations split into computing and \
         communication as its iterations do";
    "jobs" named: Kind::Tables, "",
        "which workload or network jobs of some names ran; the first entry that fits a name counts",
        needs Record;
    "jobs.named" name: Kind::Text, "",
        "the name of jobs, as the file has it: `*` stands for any letters, `?` for one";
    "jobs.named" workload: Kind::Name(workloads), "either this or `train`", "the workload that they ran";
    "jobs.named" train: Kind::Name(networks), "either this or `workload`",
        "the network that they trained layer by layer; such jobs are played";
    "jobs.named" samples_per_gpu: Kind::Whole { least: 1, most: MOST_SAMPLES }, "32",
        "of `train`, the samples of each GPU in an iteration";
    "jobs.named" precision: Kind::Name(Precision::names), "that of `[jobs]`", "the numbers, as `jobs.precision`";
    "jobs.named" communication: Kind::Name(Way::names), "that of `[jobs]`", "of `train`, as `jobs.communication`";
    "jobs.named" optimizer: Kind::Name(Optimizer::names), "that of `[jobs]`", "of `train`, as `jobs.optimizer`";
    "jobs" from: Kind::Text, "the first job",
        "where the played part of a file of jobs that ran begins: a date, a time, or a number of days \
         after its first job",
        needs Record;
    "jobs" days: Kind::Whole { least: 1, most: MOST_DAYS as u64 }, "to the last job",
        "how many days of submissions that part has",
        needs Record;
    "jobs" columns: Kind::Table, "", "the names of the columns in a file of jobs that ran";
    "jobs.columns" job: Kind::Text, "JobID, job or id", "the column of a job's id";
    "jobs.columns" name: Kind::Text, "JobName", "of what its user called it, for `[[jobs.named]]`";
    "jobs.columns" submit: Kind::Text, "Submit or submitted", "of when it was submitted";
    "jobs.columns" start: Kind::Text, "Start", "of when it started";
    "jobs.columns" end: Kind::Text, "End", "of when it ended";
    "jobs.columns" duration: Kind::Text, "ElapsedRaw, Elapsed, duration or run_time",
        "of how long it ran; from start to end where there is none";
    "jobs.columns" gpus: Kind::Text, "AllocTRES, ReqTRES, gpus or gpu_count",
        "of its GPUs: how many, or Slurm's list of resources";
    "jobs.columns" state: Kind::Text, "State", "of what became of it";
    "jobs.columns" workload: Kind::Text, "workload", "of what it ran";
    "jobs.generate" seed: WHOLE, "that of the scenario", "the same seed gives the same jobs";
    "jobs.generate" count: Kind::Whole { least: 1, most: MOST_JOBS as u64 }, "300",
        "how many jobs";
    "jobs.generate" max_gpus: COUNT, "5",
        "GPUs of the largest; sizes are uniform from one to this";
    "jobs.generate" workloads: Kind::Names(workloads), "all nine; none beside `train`",
        "the names to draw from, each with the same chance";
    "jobs.generate" train: Kind::Names(networks), "none",
        "networks to draw from beside them, which are trained layer by layer; such jobs are played";
    "jobs.generate" samples_per_gpu: Kind::Whole { least: 1, most: MOST_SAMPLES }, "32",
        "samples of each GPU in an iteration of `train`",
        needs Training;
    "jobs.generate" samples: Kind::Free, "`samples_per_gpu`",
        "the same by the network, such as { vgg-16 = 16 }", needs Training;
    "jobs.generate" models: Kind::Free, "none",
        "kinds of jobs that train a language model; such jobs are played. Each is a table of `model`, `gpus`, `share`, `iterations` \
         (100) and options of `linkwright train`, as `layout`. A kind of `share` 2 (default 1) is drawn twice as often as a workload";
    "jobs.generate" iterations: COUNT, "the workload's; 10000 of a network; as `models` say",
        "iterations of every job";
    "jobs.generate" patterns: Kind::Names(PatternShape::names), "a ring for all",
        "patterns of communication to draw from, each with the same chance";
    "jobs.generate" mean_interarrival: Kind::Time, "all arrive at zero",
        "mean time between arrivals, exponentially distributed";
    "" failure: Kind::Tables, "", "parts that fail, and for how long";
    "failure" part: Kind::Text, "", "the part that fails, named as in `system.without`";
    "failure" from: Kind::Time, "the start", "when it fails";
    "failure" to: Kind::Time, "never", "when it is back";
    "" job: Kind::Tables, "", "jobs of ranks that run programs, each on GPUs that a mapping names";
    "job" name: Kind::Text, "its program's, with a number", "a name of its own";
    "job" program: Kind::Name(applications), "either this, `goal`, `trace`, `train`, `model`, `workload` or `kernel`",
        "a skeleton of an application";
    "job" goal: Kind::File, "", "a file of GOAL text";
    "job" trace: Kind::File, "", "the anchor of an OTF2 archive";
    "job" main_loop: Kind::Text, "TRACER_Loop or main_loop", "the region of a trace that is its main loop";
    "job" train: Kind::Text, "", "a network that is trained, or its file (TOML)";
    "job" model: Kind::Text, "", "a language model that is trained, or its configuration (JSON)";
    "job" workload: Kind::Name(workloads), "", "a published workload, as played jobs of `[jobs]` run it";
    "job" kernel: Kind::NameOr(Benchmark::names), "",
        "a kernel in the memory of GPUs: a benchmark of `linkwright gpu run`, or a file of a kernel of one's own \
         (`fidelity = \"packet\"`)";
    "job" host_copies: Kind::Truth, "false",
        "of a workload, whether the images of every iteration are copied from the host", of Iterations;
    "job" gpu_speed: Kind::Name(GpuSpeed::names), "reference",
        "of a workload, how fast GPUs compute, as `jobs.gpu_speed`", of Iterations;
    "job" precision: Kind::Name(Precision::names), "fp32",
        "of a net, the numbers that it multiplies with `gpu_speed = \"own\"`, as `jobs.precision`",
        needs OwnNumbers, of Iterations;
    "job" bucket: Kind::Size, "all at the end",
        "of a workload, the most gradients that are reduced at once while others are computed, from 1 \
         MB", of Iterations;
    "job" ranks: COUNT, "", "ranks of a skeleton, or the GPUs of training, of a workload or of a kernel";
    "job" gpus: COUNT, "as many as its ranks, by a mapping",
        "in place of `ranks`: how many GPUs a policy chooses for it when it arrives, each for a rank";
    "job" pattern: Kind::Name(PatternShape::names), "ring",
        "of a job with `gpus`: which of them talk to which, for its policy and when a workload is played";
    "job" edges: Kind::Text, "those of `pattern`",
        "of a job with `gpus`: pairs of them from 0, each with its share of the traffic, such as \"0-1 1-2:3\"";
    "job" policy: Kind::Name(|| policies().names()), "that of the run", "of a job with `gpus`: who chooses them";
    "job" servers_wanted: COUNT, "what `allocation.servers` gives",
        "of a job with `gpus`: on how many servers it wants an even share of them each", needs Servers;
    "job" exclusive: Kind::Truth, "false", "of a job with `gpus`: whether nobody else may be on its servers",
        needs Servers;
    "job" checkpoint_iterations: COUNT, "none; it begins anew",
        "of a job in a day: after how many iterations each it keeps what it has done, should its GPUs fail",
        needs Failures;
    "job" time_limit: Kind::Time, "none",
        "of a job in a day: how long it runs at most, which backfilling goes by where no workload says it",
        needs Backfill;
    "job" parameters: Kind::Free, "its own",
        "a skeleton's parameters; of training batch, communication, precision, gradients, optimizer, framework, overlap, \
         bucket, micro_batch, size (of images), tokens, shared_memory and shared_bandwidth. Of a `model`: the options of \
         `linkwright train`, as layout, micro_batch and recompute. Of a kernel: size, preset \
         (the GPUs' inside), memory, distribution, remote, dram, read_lease, write_lease, timestamp_bits, code";
    "job" iterations: COUNT, "1", "how often the main loop runs";
    "job" start: Kind::Time, "0 ps", "when it arrives; its ranks start when its GPUs are free";
    "job" computation_scale: Kind::Number, "1", "the factor of times of computation";
    "job" gpu: Kind::Truth, "false",
        "whether a skeleton computes as fast as on the study's GPUs";
    "job" priority: Kind::Whole { least: 0, most: 255 }, "0",
        "of its messages, the higher first; `arbitration = \"priority\"` heeds it",
        needs Routes Packets Priority;
    "job" deadline: Kind::Number, "none; where no job has one, `pcie.deadline` of the largest copies",
        "how long each of its host copies may take, as a multiple of its time on an idle bus; \
         `pcie.arbitration = \"qos\"` heeds it",
        needs Deadlines;
    "job" mapping: Kind::NameOr(MappingRule::names), "that of the scenario",
        "the GPU of each rank: by a rule, from a mapping file, or a list";
    "" allocation: Kind::Table, "", "which GPUs a job gets", of Days;
    "allocation" policies: Kind::Names(|| policies().names()), "all four",
        "the policies to play the jobs under, each once";
    "allocation" bandwidth_model: Kind::Name(BandwidthModel::names), "sound",
        "the model of effective bandwidth: the sound model, or MAPA's Eq. 2";
    "allocation" bandwidth_profile: Kind::Name(BandwidthProfile::names), "by the machine",
        "which figures label the links: MAPA's, or the data sheets'";
    "allocation" ties: Kind::Name(Ties::names), "nearest",
        "the rule between equals: nearest on the host, or as published, the lowest ids";
    "allocation" servers: Kind::Name(ServerChoice::names), "first-fit",
        "the server that a job asks first: by number, with the fewest free GPUs, or with the \
         most. A played job that fits into none takes GPUs of several. `whole` does as clusters \
         do: a job of a server's size or more waits for servers of its own, any other for one \
         with room",
        needs Servers;
    "" queue: Kind::Table, "", "how jobs wait", of Days;
    "queue" discipline: Kind::Name(QueueDiscipline::names), "fifo",
        "which waiting job starts next";
    "" thermal: Kind::Table, "no heat is observed", "the package of GPUs whose heat is observed";
    "thermal" package: Kind::File, "",
        "its floorplan, as `linkwright thermal` takes it; a block that is named as a GPU of the server is \
         that GPU";
    "thermal" server: WHOLE, "0", "the server whose GPUs it holds, by its number";
    "thermal" cells: Kind::Whole { least: 1, most: MOST_CELLS as u64 }, "256",
        "cells of its interposer each way";
    "thermal" busy: Kind::Number, "`[power]` of its GPU's model", "watts of each GPU while a job holds it";
    "thermal" rest: Kind::Number, "unknown", "watts of each GPU while no job holds it";
    "thermal" gpu: Kind::Tables, "", "single GPUs that differ";
    "thermal.gpu" gpu: Kind::Text, "", "a GPU of the server, by its name";
    "thermal.gpu" block: Kind::Text, "the GPU's name", "the block of the package that it is";
    "thermal.gpu" busy: Kind::Number, "`thermal.busy`", "watts of this GPU while a job holds it";
    "thermal.gpu" rest: Kind::Number, "`thermal.rest`", "watts of this GPU while no job holds it";
    "" protocol: Kind::Table, "", "what messages cost in software", of HowPlayed;
    "protocol" send_overhead: Kind::Time, "200 ns", "the time that a send occupies its rank's \
     library",
        needs Mpi;
    "protocol" receive_overhead: Kind::Time, "0 ps", "what a receipt occupies it",
        needs Mpi;
    "protocol" copy_per_byte: Kind::Time, "10 ps",
        "the time that each byte of an eager message occupies it, at either end",
        needs Mpi;
    "protocol" eager_limit: Kind::Size, "64 kB",
        "the largest message that does not wait for its receive",
        needs Mpi;
    "protocol" rendezvous: Kind::Name(Rendezvous::names), "sender",
        "who speaks first of a larger message: the sender, with a request that the receiver \
         answers, or the receiver, when it posts the receive",
        needs Mpi;
    "protocol" rendezvous_delay: Kind::Time, "1 us", "between leave to send and the first byte",
        needs Mpi;
    "protocol" control_size: Kind::Size, "16 B", "of a request to send, and of its answer",
        needs Mpi;
    "" trace: Kind::Table, "", "how traces are read";
    "trace" collective_bytes: Kind::Name(CollectiveBytes::names), "divided",
        "how traces count bytes of collectives: for each of a rank's peers, so that they are divided \
         if no rest is left, or once",
        needs Trace;
    "" pcie: Kind::Table, "the bus takes packets in turn",
        "the PCIe bus of servers, with classes of traffic", of HowPlayed;
    "pcie" arbitration: Kind::Name(PcieArbitration::names), "round-robin",
        "whose packets a link carries next: each virtual channel's in turn, those of the copy \
         with the fewest bytes left, or first those whose deadline would pass",
        needs Pcie;
    "pcie" first: Kind::Name(First::names), "small",
        "which copies go first where not all do in turn: those with fewest bytes left, or with most, \
         as a control",
        needs Pcie Order;
    "pcie" bound: Kind::Time, "5 us",
        "how long the first packet of a queue waits at most while others go before it",
        needs Pcie Order Bound;
    "pcie" deadline: Kind::Number, "3",
        "the time allowed to the copies of the job with the largest, as a multiple of their time \
         on an idle bus, if no job has a deadline of its own",
        needs Pcie Deadlines SharedDeadline;
    "pcie" payload: Kind::Size, "256 B", "the most data of a packet",
        needs Pcie;
    "pcie" header: Kind::Size, "24 B",
        "of a packet: its header, framing, sequence number and checksum",
        needs Pcie;
    "pcie" read_request: Kind::Size, "512 B", "the most that one read asks for",
        needs Pcie BusPackets;
    "pcie" outstanding_reads: Kind::Size, "64 KiB",
        "the most that a copy engine has asked for and not got",
        needs Pcie BusPackets;
    "pcie" encoding: Kind::Name(Encoding::names), "by-generation",
        "which of a link's bits carry data",
        needs Pcie;
    "pcie" buffer: Kind::Size, "32 KiB",
        "of a port, and of what is injected, for each virtual channel",
        needs Pcie BusPackets;
    "" collectives: Kind::Table, "", "how collectives become messages", of HowPlayed;
    "collectives" protocol: Kind::Name(CollectiveProtocol::names), "mpi",
        "how planned collectives of `[[job]]`s are played: as messages of the ranks' library, or \
         as NCCL's kernels on their GPUs, over flows";
    "collectives" planner: Kind::Name(|| PlannerChoice::names(&planners())), "packing for `[jobs]`, mpi for `[[job]]`; of kernels what NCCL chooses",
        "plans collectives for the GPUs; `nccl` is NCCL's own choice for a size, `auto` the fastest of all; `mpi` knows \
         nothing of the links";
    "collectives" nccl: Kind::Text, "the newest that is known",
        "the release by whose rules NCCL chooses, such as 2.21.5",
        needs Library;
    "collectives" barrier: Kind::Name(|| CollectiveMethod::names(CollectiveKind::Barrier)), "by the planner",
        "its algorithm, or `planned`: the best plan for its GPUs";
    "collectives" broadcast: Kind::Name(|| CollectiveMethod::names(CollectiveKind::Broadcast)), "by the planner",
        "its algorithm, or `planned`: the best plan for its GPUs";
    "collectives" reduce: Kind::Name(|| CollectiveMethod::names(CollectiveKind::Reduce)), "by the planner",
        "its algorithm, or `planned`: the best plan for its GPUs";
    "collectives" all_reduce: Kind::Name(|| CollectiveMethod::names(CollectiveKind::AllReduce)), "by the planner",
        "its algorithm, or `planned`: the best plan for its GPUs";
    "collectives" gather: Kind::Name(|| CollectiveMethod::names(CollectiveKind::Gather)), "by the planner",
        "its algorithm, or `planned`: the best plan for its GPUs";
    "collectives" scatter: Kind::Name(|| CollectiveMethod::names(CollectiveKind::Scatter)), "by the planner",
        "its algorithm, or `planned`: the best plan for its GPUs";
    "collectives" all_gather: Kind::Name(|| CollectiveMethod::names(CollectiveKind::AllGather)), "by the planner",
        "its algorithm, or `planned`: the best plan for its GPUs";
    "collectives" reduce_scatter: Kind::Name(|| CollectiveMethod::names(CollectiveKind::ReduceScatter)), "by the planner",
        "its algorithm, or `planned`: the best plan for its GPUs";
    "collectives" all_to_all: Kind::Name(|| CollectiveMethod::names(CollectiveKind::AllToAll)), "by the planner",
        "its algorithm, or `planned`: the best plan for its GPUs";
    "collectives" scan: Kind::Name(|| CollectiveMethod::names(CollectiveKind::Scan)), "by the planner",
        "its algorithm, or `planned`: the best plan for its GPUs";
    "collectives" planned_message_size: Kind::Size, "1 MiB",
        "the most that a message of a planned collective carries",
        needs Plans;
}

/// Names the table of the network, whose kinds declare settings of their own.
const NETWORK: &str = "system.network";

/// Lists the keys of a table's settings of a group, in the order of the reference.
pub(super) fn grouped(
    table: &'static str,
    group: SettingGroup,
) -> impl Iterator<Item = &'static str> {
    let settings = SETTINGS.iter().filter(move |it| it.table == table && it.group == Some(group));
    settings.map(|it| it.key.as_ref())
}

/// Lists the settings of a table, or of all tables, in the order of the reference.
pub(super) fn settings_of(registries: &Registries, table: Option<&str>) -> Vec<Setting> {
    let mut all: Vec<Setting> =
        SETTINGS.iter().filter(|it| table.is_none_or(|table| it.table == table)).cloned().collect();
    // They stand behind what else says the network's shape.
    if let Some(at) = all.iter().position(|it| it.table == NETWORK && it.key == "file") {
        let keys = fabric_keys(&registries.fabrics);
        all.splice(at + 1..at + 1, keys.iter().map(|(key, of)| Setting::of_fabric(key, of)));
    }
    all
}

/// Lists every setting of a scenario that is read with these registries, in the order of the reference.
#[must_use]
pub fn settings(registries: &Registries) -> Vec<Setting> {
    settings_of(registries, None)
}

/// Keys of earlier versions, each with what it is today.
pub(super) const EARLIER: &[(&str, &str, &str)] = &[
    ("", "network", "system.network"),
    ("", "machine", "system"),
    ("machine", "preset", "system.server.preset"),
    ("machine", "file", "system.server.file"),
    ("machine", "unhealthy", "system.unhealthy"),
    ("network", "machine", "system.server"),
    ("network", "servers", "system.servers"),
    ("network", "port_order", "system.port_order"),
    ("network", "interfaces", "system.interfaces"),
    ("network", "fidelity", "fidelity"),
    ("network", "gpus_per_node", "system.server.gpus"),
    ("network", "nics_per_node", "system.server.nics"),
    ("network", "gpu_bandwidth", "system.server.bandwidth"),
    ("network", "gpu_latency", "system.server.latency"),
];
