//! Puts the question of a run: what it ran, on which GPUs, and how NCCL runs where nobody sets anything.

use std::collections::BTreeMap;

use serde::Serialize;

use super::evidence::{DebugLog, Line};
use super::judge::MeasuredRow;
use crate::collectives::Collective;
use crate::collectives::baselines::Settings;
use crate::collectives::nccl_tests::{NcclTestsLog, Row, preset_with};
use crate::system::gpus;

/// What a run says of its machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Hints {
    /// The product of its GPUs.
    pub gpu: Option<String>,
    /// A built-in machine with GPUs of that model, and as many at least.
    pub preset: Option<&'static str>,
    /// How many GPUs each host has in the run, in the order of their first ranks.
    pub of_hosts: Vec<usize>,
    /// The GPUs of each host by their numbers there, where the run says them.
    pub devices: Vec<Vec<u32>>,
    /// The speed of an interface between servers in Mb/s, where all that say one say the same.
    pub speed: Option<u32>,
    /// The collective, where the run says it.
    pub collective: Option<&'static str>,
    /// The version of NCCL or RCCL.
    pub version: Option<String>,
    /// The sizes that were measured.
    pub sizes: usize,
}

impl Hints {
    /// Those of a run.
    #[must_use]
    pub fn of(tests: Option<&NcclTestsLog>, log: &DebugLog) -> Self {
        let gpu = tests.and_then(|it| it.gpus.first().cloned());
        let devices = devices(log);
        let of_hosts = match tests.map(|it| it.of_hosts.clone()).unwrap_or_default() {
            stated if !stated.is_empty() => stated,
            _ if !devices.is_empty() => devices.iter().map(Vec::len).collect(),
            _ => log.ranks.map(|ranks| vec![ranks as usize]).unwrap_or_default(),
        };
        let least = of_hosts.iter().copied().max().unwrap_or(0);
        Self {
            preset: gpu
                .as_deref()
                .and_then(|name| gpus::find(name).ok())
                .and_then(|model| preset_with(&model.name, least)),
            speed: speed(log),
            collective: tests.and_then(NcclTestsLog::collective),
            version: version(tests, log),
            sizes: tests.map_or(0, |it| it.rows.len()),
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

fn version(tests: Option<&NcclTestsLog>, log: &DebugLog) -> Option<String> {
    let of_log = log.version.as_ref().map(|(version, _)| version.clone());
    of_log.or_else(|| tests.and_then(|it| it.version.clone()))
}

/// How NCCL runs where nobody sets anything, with the version, the processes and the numbers of a run; what `asked`
/// says stays.
#[must_use]
pub fn stock(tests: Option<&NcclTestsLog>, log: &DebugLog, asked: &Settings) -> Settings {
    let told = tests.map_or(*asked, |it| it.with_what_ran(asked));
    let named = version(tests, log).and_then(|it| it.parse().ok());
    Settings { version: told.version.or(named), ..told }
}

/// The sizes of a run.
#[must_use]
pub fn rows(tests: &NcclTestsLog) -> Vec<MeasuredRow> {
    let row = |row: &Row| MeasuredRow {
        size: row.size,
        time: row.out_of_place.time,
        line: Line::new(&tests.file, row.line as u64, ""),
    };
    tests.rows.iter().map(row).collect()
}

/// The collective of a name, or that of a run; those with a root have the first rank.
#[must_use]
pub fn collective(name: Option<&str>, tests: Option<&NcclTestsLog>) -> Option<Collective> {
    let of_run = tests.and_then(NcclTestsLog::collective);
    Collective::named(name.or(of_run)?, 0)
}
