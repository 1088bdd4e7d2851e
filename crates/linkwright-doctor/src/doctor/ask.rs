//! Puts the question of a run. It holds the collective, the GPUs, and how NCCL runs where nobody
//! sets anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::evidence::{DebugLog, Evidence, InspectorRow, InspectorRun, Line, LoggedRun};
use super::judge::{Case, MeasuredRow, MendedLink, mended};
use crate::collectives::Collective;
use crate::collectives::baselines::Settings;
use crate::collectives::nccl_tests::{NcclTestsLog, Row, preset_with};
use crate::system::{System, gpus};
use crate::units::Bytes;

/// Bandwidths are printed with two decimals.
const FACTOR_TOLERANCE: f64 = 0.02;

/// Says what a run tells of its machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Hints {
    /// Names the product of its GPUs.
    pub gpu: Option<String>,
    /// Names a built-in machine with GPUs of that model, and as many at least.
    pub preset: Option<&'static str>,
    /// How many GPUs each host has in the run, in the order of their first ranks.
    pub of_hosts: Vec<usize>,
    /// The GPUs of each host by their numbers there, where the run says them.
    pub devices: Vec<Vec<u32>>,
    /// Is the speed of an interface between servers in Mb/s, where all that say one say the same.
    pub speed: Option<u32>,
    /// The collective, where the run says it or its bandwidths tell it.
    pub collective: Option<&'static str>,
    /// Tells whether only its bandwidths tell it.
    pub is_implied: bool,
    /// The sizes that were measured.
    pub sizes: usize,
}

/// A run that can be judged: one of nccl-tests, of NCCL Inspector, or of NCCL's lines alone.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Holds the table of nccl-tests.
    pub tests: Option<NcclTestsLog>,
    /// Holds what NCCL Inspector measured.
    pub inspector: Option<InspectorRun>,
    /// Holds NCCL's lines, those of files without a table included.
    pub debug: DebugLog,
}

/// A system by its own description, and as it should be.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Has all PCIe links as fast as their like.
    pub system: System,
    /// Lists what differs.
    pub narrow: Vec<MendedLink>,
    /// Holds the description.
    pub described: Arc<System>,
}

impl Machine {
    /// Mends what its own description has slower than its like.
    #[must_use]
    pub fn of(described: Arc<System>) -> Self {
        let (system, narrow) = mended(&described);
        Self { system, narrow, described }
    }
}

impl From<LoggedRun> for Subject {
    fn from(LoggedRun { tests, debug }: LoggedRun) -> Self {
        Self { tests, inspector: None, debug }
    }
}

/// The runs of all files.
///
/// NCCL's lines may stand alone, as each rank writes them into a file of its own. They belong to
/// the runs that measured something, where these say nothing themselves. Else they are one run.
#[must_use]
pub fn subjects(evidence: &Evidence) -> Vec<Subject> {
    let mut alone: Option<DebugLog> = None;
    for run in evidence.runs.iter().filter(|run| run.tests.is_none()) {
        match &mut alone {
            Some(all) => all.merge(run.debug.clone()),
            None => alone = Some(run.debug.clone()),
        }
    }
    let with_tests = evidence.runs.iter().filter(|run| run.tests.is_some());
    let mut found: Vec<Subject> = with_tests.map(|run| Subject::from(run.clone())).collect();
    let inspected = evidence.inspector.iter().filter(|run| !run.rows.is_empty());
    found.extend(inspected.map(|run| Subject {
        tests: None,
        inspector: Some(run.clone()),
        debug: DebugLog::default(),
    }));
    match alone {
        Some(debug) if found.is_empty() => {
            found.push(Subject { tests: None, inspector: None, debug });
        }
        Some(alone) => found.iter_mut().for_each(|it| it.debug.merge(alone.clone())),
        None => {}
    }
    found
}

impl Subject {
    /// The collective of a name, else that of the run; those with a root have the first rank.
    #[must_use]
    pub fn collective(&self, name: Option<&str>) -> Option<Collective> {
        let of_inspector = || Some(self.inspector.as_ref()?.collective.as_str());
        let of_run = self.tests.as_ref().and_then(NcclTestsLog::collective).or_else(of_inspector);
        Collective::named(name.or(of_run).or_else(|| self.implied())?, 0)
    }

    /// The collective that a table's bandwidths tell: bus over algorithm bandwidth is its factor. Where several have one
    /// factor it is the commonest: all-reduce of two ranks, and all-gather.
    fn implied(&self) -> Option<&'static str> {
        let tests = self.tests.as_ref()?;
        let last = tests.rows.iter().max_by_key(|row| row.size)?;
        let measured = last.out_of_place;
        let (ranks, found) =
            (tests.gpus.len(), measured.bus_bandwidth / measured.algorithm_bandwidth);
        let reduces = last.operation.is_some();
        let known = if reduces {
            ["all-reduce", "reduce-scatter", "reduce"]
        } else {
            ["all-gather", "broadcast", "all-to-all"]
        };
        known.into_iter().find(|name| {
            let factor = Collective::named(name, 0).map(|it| it.bus_factor(ranks));
            ranks > 1 && factor.is_some_and(|factor| (found - factor).abs() < FACTOR_TOLERANCE)
        })
    }

    /// Says how NCCL runs where nobody sets anything, with the version, the processes and the
    /// numbers of the run. Settings that `asked` has stay.
    #[must_use]
    pub fn stock(&self, asked: &Settings) -> Settings {
        let told = self.tests.as_ref().map_or(*asked, |it| it.with_what_ran(asked));
        let named = self.version().and_then(|it| it.parse().ok());
        Settings { version: told.version.or(named), ..told }
    }

    /// Asks about the run on GPUs of a machine, by their ids; `asked` is what was set beside it.
    #[must_use]
    pub fn case<'a>(
        &'a self,
        machine: &'a Machine,
        gpus: &'a [usize],
        collective: Collective,
        asked: &Settings,
    ) -> Case<'a> {
        let other = self.tests.as_ref().and_then(|it| it.other_machine(&machine.described, gpus));
        Case {
            system: &machine.system,
            narrow: &machine.narrow,
            described: &machine.described,
            gpus,
            collective,
            settings: self.stock(asked),
            rows: self.rows(),
            other_machine: other.map(|it| it.text),
            log: &self.debug,
            threshold: None,
        }
    }

    fn version(&self) -> Option<String> {
        let of_log = self.debug.version.as_ref().map(|(version, _)| version.clone());
        of_log.or_else(|| self.tests.as_ref().and_then(|it| it.version.clone()))
    }

    /// The sizes that were measured.
    #[must_use]
    pub fn rows(&self) -> Vec<MeasuredRow> {
        let of_tests = |tests: &NcclTestsLog| {
            let row = |row: &Row| MeasuredRow {
                size: row.size,
                time: row.out_of_place.time,
                line: Line::new(&tests.file, row.line as u64, ""),
            };
            tests.rows.iter().map(row).collect()
        };
        let of_inspector = |run: &InspectorRun| {
            let row = |row: &InspectorRow| MeasuredRow {
                size: Bytes(row.size),
                time: row.time,
                line: row.line.clone(),
            };
            run.rows.iter().map(row).collect()
        };
        let of_tests = self.tests.as_ref().map(of_tests);
        of_tests.or_else(|| self.inspector.as_ref().map(of_inspector)).unwrap_or_default()
    }
}

impl Hints {
    /// Gives those of a run.
    #[must_use]
    pub fn of(subject: &Subject) -> Self {
        let (tests, log) = (subject.tests.as_ref(), &subject.debug);
        let gpu = tests.and_then(|it| it.gpus.first().cloned());
        let devices = devices(log);
        let of_inspector = || {
            let run = subject.inspector.as_ref()?;
            let hosts = run.nodes.unwrap_or(run.hosts.len().max(1) as u32).max(1);
            Some(vec![(run.ranks / hosts) as usize; hosts as usize])
        };
        let of_hosts = match tests.map(|it| it.of_hosts.clone()).unwrap_or_default() {
            stated if !stated.is_empty() => stated,
            _ if !devices.is_empty() => devices.iter().map(Vec::len).collect(),
            _ => of_inspector()
                .or_else(|| log.ranks.map(|ranks| vec![ranks as usize]))
                .unwrap_or_default(),
        };
        let least = of_hosts.iter().copied().max().unwrap_or(0);
        Self {
            preset: gpu
                .as_deref()
                .and_then(|name| gpus::find(name).ok())
                .and_then(|model| preset_with(&model.name, least)),
            speed: speed(log),
            collective: subject.collective(None).map(|it| it.name()),
            is_implied: tests.is_some_and(|it| it.collective().is_none()),
            sizes: subject.rows().len(),
            gpu,
            of_hosts,
            devices,
        }
    }
}

/// The GPUs of each host, in the order of its first rank; empty where some rank is not known.
fn devices(log: &DebugLog) -> Vec<Vec<u32>> {
    if log.ranks.is_some_and(|ranks| log.places.len() < ranks as usize) {
        return Vec::new();
    }
    let mut order: Vec<&str> = Vec::new();
    let mut of_host: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for place in log.places.values() {
        if !of_host.contains_key(place.host.as_str()) {
            order.push(&place.host);
        }
        of_host.entry(&place.host).or_default().push(place.device);
    }
    order.iter().filter_map(|host| of_host.remove(host)).collect()
}

fn speed(log: &DebugLog) -> Option<u32> {
    let all = log.interfaces.values().filter(|it| it.network != "Socket");
    let mut speeds = all.flat_map(|it| it.speeds.iter().flatten().copied());
    let first = speeds.next()?;
    speeds.all(|it| it == first).then_some(first)
}
