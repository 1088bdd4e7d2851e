//! Sets the run that a log states against the question.

mod variables;
mod ways;

use std::fmt;

use super::log::NcclTestsLog;
use super::stated::Unmodelled;
use crate::collectives::nccl::baselines::{
    ElementType, Generation, ReduceOperation, Settings, Version, by_server,
};
use crate::collectives::schedule::time::{GPUS_OF_A_HOST, Processes};
use crate::diagnostic::shown;
use crate::system::{LaunchProcesses, System, Wire, Wiring, gpus as models, presets};

/// Tells how a statement of a log bears on the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Means {
    /// Something else was asked about than ran.
    Otherwise,
    /// Something ran, or may have, that the model lacks.
    Lacking,
    /// Data took another way than the model takes.
    Way,
}

impl Means {
    /// Gives its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Otherwise => "asked-otherwise",
            Self::Lacking => "not-modelled",
            Self::Way => "transport",
        }
    }
}

/// Something that a log states and that the question does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The line has this number, from one.
    pub line: usize,
    /// This is how it bears on the answer.
    pub means: Means,
    /// The log states this, where the question has something else.
    pub text: String,
    /// The option that asks rightly, where there is one.
    pub option: Option<String>,
}

/// Writes one sentence.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.option {
            Some(option) => write!(f, "{}; ask with {option}.", self.text),
            None => write!(f, "{}.", self.text),
        }
    }
}

impl NcclTestsLog {
    /// Finds why a question about these GPUs, by their ids, is about another machine than the log's. None where it is not.
    #[must_use]
    pub fn other_machine(&self, system: &System, gpus: &[usize]) -> Option<Finding> {
        let wiring = Wiring::of_gpus(system, gpus);
        let servers = by_server(&wiring, gpus).len();
        let settings = &Settings::default();
        let asked = Asked { log: self, system, wiring, servers, gpus, settings };
        asked.hosts().or_else(|| asked.models())
    }

    /// Lists every statement of the log that the question about these GPUs, by their ids, does not have.
    #[must_use]
    pub fn findings(&self, system: &System, gpus: &[usize], settings: &Settings) -> Vec<Finding> {
        let wiring = Wiring::of_gpus(system, gpus);
        let servers = by_server(&wiring, gpus).len();
        let asked = Asked { log: self, system, wiring, servers, gpus, settings };
        let mut found = asked.hosts().into_iter().collect::<Vec<_>>();
        found.extend(asked.models());
        found.extend(asked.version());
        found.extend(asked.processes());
        found.extend(asked.reduced());
        found.extend(asked.ways());
        found.extend(asked.variables());
        found.extend(asked.unmodelled());
        found
    }
}

struct Asked<'a> {
    log: &'a NcclTestsLog,
    system: &'a System,
    wiring: Wiring,
    /// How many servers the asked GPUs are on.
    servers: usize,
    gpus: &'a [usize],
    settings: &'a Settings,
}

fn finding(line: usize, means: Means, text: String, option: Option<String>) -> Finding {
    Finding { line, means, text, option }
}

impl Asked<'_> {
    /// Whether the GPUs are behind one NVLink domain of several hosts.
    fn is_rack(&self) -> bool {
        self.system.kinds().iter().any(|kind| kind.server().gpus().len() > GPUS_OF_A_HOST)
    }

    fn hosts(&self) -> Option<Finding> {
        let (hosts, servers) = (self.log.hosts(), self.servers);
        if hosts == 0 || hosts == servers || self.is_rack() {
            return None;
        }
        let text = format!(
            "The log is of {}, and {} of {} are asked about",
            hosts_text(&self.log.of_hosts),
            gpus_text(self.gpus.len()),
            servers_text(servers)
        );
        let option = if hosts == 1 {
            "GPUs of one server (--on)".to_owned()
        } else {
            servers_option(&self.log.of_hosts)
        };
        Some(finding(self.log.gpus_line, Means::Otherwise, text, Some(option)))
    }

    /// GPUs of one name with other memory are the same GPUs here.
    fn models(&self) -> Option<Finding> {
        let stated = models::find(self.log.gpus.first()?).ok()?;
        let own = self.wiring.described(self.wiring.gpu(*self.gpus.first()?))?;
        let asked = own.gpu_model()?;
        if family(&stated.name) == family(&asked.name) {
            return None;
        }
        let text = format!(
            "The log's GPUs are {}, and {} of {} are asked about",
            shown(&self.log.gpus[0]),
            asked.product,
            self.system.name()
        );
        let preset = preset_with(&stated.name, 1);
        let option = preset.map_or_else(
            || "the topology of its machine (--machine FILE)".to_owned(),
            |name| format!("--machine {name}, or the topology of its own (--machine FILE)"),
        );
        Some(finding(self.log.gpus_line, Means::Otherwise, text, Some(option)))
    }

    fn version(&self) -> Option<Finding> {
        let (stated, asked) = (self.stated_version()?, self.settings.version?);
        let text = format!("The log is of NCCL {stated}, and {asked} is asked about");
        let option = Some(format!("--nccl {stated}"));
        (stated != asked).then(|| finding(self.log.version_line, Means::Otherwise, text, option))
    }

    fn stated_version(&self) -> Option<Version> {
        self.log.version.as_deref()?.parse().ok()
    }

    fn processes(&self) -> Option<Finding> {
        let (stated, asked) = (self.log.processes?, self.settings.processes?);
        let (other, text) = match stated {
            LaunchProcesses::Each => (Processes::Shared, "each rank of the log is a process"),
            LaunchProcesses::One => (Processes::Each, "one process of the log has a host's GPUs"),
        };
        let (first, rest) = text.split_at(1);
        let text = format!("{}{rest}, and the other is asked about", first.to_uppercase());
        let option = Some(format!("--processes {}", stated.name()));
        (asked == other).then(|| finding(self.log.gpus_line, Means::Otherwise, text, option))
    }

    /// Compares the type and the operation of the log with those that are asked about.
    fn reduced(&self) -> Vec<Finding> {
        let Some(row) = self.log.rows.first() else { return Vec::new() };
        let (numbers, operation) = (self.settings.numbers, self.settings.operation);
        let pairs = [
            ("type", "type", row.numbers.map(ElementType::name), numbers.map(ElementType::name)),
            (
                "operation",
                "reduction",
                row.operation.map(ReduceOperation::name),
                operation.map(ReduceOperation::name),
            ),
        ];
        let other = pairs.into_iter().filter_map(|(what, option, stated, asked)| {
            let (stated, asked) = (stated?, asked?);
            let text = format!("The log's {what} is {stated}, and {asked} is asked about");
            let option = Some(format!("--{option} {stated}"));
            (stated != asked).then(|| finding(row.line, Means::Otherwise, text, option))
        });
        other.collect()
    }

    fn has_gpu_fabric(&self) -> bool {
        self.wiring.wires().iter().any(Wire::is_gpu_fabric)
    }

    /// Whether the GPUs' switches can reduce.
    fn may_reduce_in_switches(&self) -> bool {
        self.has_gpu_fabric() && Generation::of(&self.wiring, self.gpus) >= Generation::Hopper
    }

    fn unmodelled(&self) -> Vec<Finding> {
        let (log, means) = (self.log, Means::Lacking);
        let mut ran = log.stated.unmodelled.clone();
        let set = log.stated.variable("NCCL_ALGO");
        if let Some((line, found)) = set.and_then(|(line, it)| Some((line, Unmodelled::named(it)?)))
        {
            ran.entry(found).or_insert(line);
        }
        let shown = ran.iter().map(|(what, line)| {
            let text = format!("The log shows {}, which the model lacks", what.name());
            finding(*line, means, text, None)
        });
        shown.collect()
    }
}

/// Finds a built-in machine whose GPUs are of a model's family, and as many at least.
#[must_use]
pub fn preset_with(model: &str, least: usize) -> Option<&'static str> {
    let fits = |name: &&str| {
        presets::preset(name).is_ok_and(|server| {
            let own = server.devices()[server.gpus()[0]].gpu_model();
            let is_same = own.is_some_and(|own| family(&own.name) == family(model));
            is_same && server.gpus().len() >= least
        })
    };
    presets::NAMES.into_iter().find(fits)
}

/// Takes the memory's size off the name of a model.
fn family(name: &str) -> &str {
    let (family, size) = name.rsplit_once('-').unwrap_or((name, ""));
    let is_size =
        size.strip_suffix("gb").is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()));
    if is_size { family } else { name }
}

/// Writes `2 hosts with 8 GPUs each`.
pub(super) fn hosts_text(of_hosts: &[usize]) -> String {
    let all: usize = of_hosts.iter().sum();
    match of_hosts {
        [one] => format!("one host with {}", gpus_text(*one)),
        [first, ..] if of_hosts.iter().all(|it| it == first) => {
            format!("{} hosts with {} each", of_hosts.len(), gpus_text(*first))
        }
        _ => format!("{} hosts with {} in all", of_hosts.len(), gpus_text(all)),
    }
}

/// Names the options that ask about these hosts.
pub(super) fn servers_option(of_hosts: &[usize]) -> String {
    let all: usize = of_hosts.iter().sum();
    format!(
        "--servers {} (and --on, where a server has more GPUs than took part: {all} in all)",
        of_hosts.len()
    )
}

fn gpus_text(count: usize) -> String {
    if count == 1 { "one GPU".to_owned() } else { format!("{count} GPUs") }
}

fn servers_text(count: usize) -> String {
    if count == 1 { "one server".to_owned() } else { format!("{count} servers") }
}
