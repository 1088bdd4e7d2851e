//! Choices that a scenario makes and that nothing heeds.
//!
//! They are no errors, since another variant or setting may heed them; but nobody should take that nothing
//! differs for what they are worth.

use super::mix::Mix;
use super::program_job::{JobEntry, ProgramSource};
use super::programs::Programs;
use super::read::{Asked, Scenario};
use crate::diagnostic::shown;
use crate::network::pcie::PcieArbitration;
use crate::simulation::cluster::Fidelity;
use crate::simulation::{QueueDiscipline, RunTime};

/// What packets alone heed of a network where a policy places jobs.
const OF_PACKETS: [&str; 11] = [
    "routing",
    "routing_table",
    "nic",
    "arbitration",
    "switching",
    "packet_size",
    "buffer_packets",
    "router_delay",
    "nic_delay",
    "intra_group_detours",
    "hop_weights",
];
/// What an arbiter of the PCIe bus heeds that does not take all in turn.
const OF_PRIORITY: [&str; 2] = ["first", "bound"];
/// What packets alone heed of the PCIe bus.
const OF_BUS_PACKETS: [&str; 3] = ["read_request", "outstanding_reads", "buffer"];
/// And under priority, where no flow has a deadline that a bound on waiting makes sure of.
const OF_BOUND_PACKETS: [&str; 4] = ["bound", "read_request", "outstanding_reads", "buffer"];

const PACKETS_ALONE: &str = "packets alone heed that (`fidelity = \"packet\"`)";

/// What is to be said of them, each a sentence.
pub(super) fn unheeded(scenario: &Scenario) -> Vec<String> {
    let arbitration = scenario.network.packets.pcie.map(|bus| bus.arbitration);
    let in_turn = match arbitration {
        Some(PcieArbitration::RoundRobin) => written(scenario, "pcie", &OF_PRIORITY),
        _ => Vec::new(),
    };
    let why = "`pcie.arbitration = \"round-robin\"` takes all in turn";
    let of_jobs = match &scenario.asked {
        Asked::Mix(mix) => network_of_mix(scenario, mix),
        Asked::Programs(_) => network_of_programs(scenario),
    };
    let notes = [
        of_jobs,
        bus(scenario, arbitration),
        note(&in_turn, why),
        deadlines(scenario, arbitration),
        limits(scenario),
        traces(scenario),
    ];
    notes.into_iter().flatten().collect()
}

/// The network's choices of jobs that are not played as packets.
fn network_of_mix(scenario: &Scenario, mix: &Mix) -> Option<String> {
    if mix.choices.run_time == RunTime::Played && mix.choices.fidelity == Fidelity::Packet {
        return None;
    }
    note(&of_packets(scenario), "of `[jobs]` packets alone heed that (`fidelity = \"packet\"`)")
}

/// The network's choices of programs that no packets carry.
fn network_of_programs(scenario: &Scenario) -> Option<String> {
    if scenario.network.collectives.are_kernels() {
        let why = "connections, over which kernels send, are divided over the shortest ways";
        return note(&of_packets(scenario), why);
    }
    let is_unheeded = scenario.network.fidelity == Fidelity::Flow;
    let keys = if is_unheeded { &["arbitration"][..] } else { &[] };
    note(&written(scenario, "system.network", keys), PACKETS_ALONE)
}

/// The network's choices that messages heed, and connections do not: these take all the interfaces of
/// a server that are as near.
fn of_packets(scenario: &Scenario) -> Vec<String> {
    let interfaces = written(scenario, "system", &["interfaces"]);
    [interfaces, written(scenario, "system.network", &OF_PACKETS)].concat()
}

/// The bus's choices where no packets cross it.
fn bus(scenario: &Scenario, arbitration: Option<PcieArbitration>) -> Option<String> {
    let (fidelity, of_messages) = match &scenario.asked {
        // Programs of a day send messages beside the kernels of workloads.
        Asked::Mix(mix) => (mix.choices.fidelity, false),
        Asked::Programs(_) => {
            (scenario.network.fidelity, !scenario.network.collectives.are_kernels())
        }
    };
    if fidelity == Fidelity::Packet {
        return None;
    }
    let keys: &[&str] = match arbitration {
        Some(PcieArbitration::Throughput) => &OF_BOUND_PACKETS,
        Some(PcieArbitration::Qos) if !of_messages => &OF_BOUND_PACKETS,
        _ => &OF_BUS_PACKETS,
    };
    let keys = written(scenario, "pcie", keys);
    note(&keys, PACKETS_ALONE)
}

/// Deadlines of copies.
fn deadlines(scenario: &Scenario, arbitration: Option<PcieArbitration>) -> Option<String> {
    let of_bus = written(scenario, "pcie", &["deadline"]);
    let of_jobs = written_down(scenario).map_or_else(Vec::new, own_deadlines);
    if arbitration != Some(PcieArbitration::Qos) {
        let keys = [of_bus, of_jobs].concat();
        return note(&keys, "`pcie.arbitration = \"qos\"` alone heeds deadlines");
    }
    match &scenario.asked {
        _ if !of_jobs.is_empty() => note(&of_bus, "there are jobs with a deadline of their own"),
        Asked::Mix(mix) if !mix.choices.iteration.host_copies && mix.written.is_none() => {
            note(&of_bus, "nothing is copied from hosts; `jobs.host_copies = true` copies images")
        }
        _ => None,
    }
}

/// The jobs that the scenario writes down.
const fn written_down(scenario: &Scenario) -> Option<&Programs> {
    match &scenario.asked {
        Asked::Programs(programs) => Some(programs),
        Asked::Mix(mix) => mix.written.as_ref(),
    }
}

/// How long jobs run at most, where nobody waits that could be let past another.
fn limits(scenario: &Scenario) -> Option<String> {
    let (backfills, jobs) = match &scenario.asked {
        Asked::Programs(programs) => (false, programs),
        Asked::Mix(mix) => {
            (mix.choices.discipline == QueueDiscipline::Backfill, mix.written.as_ref()?)
        }
    };
    if backfills {
        return None;
    }
    let named = jobs.jobs.iter().zip(jobs.names());
    let named = named.filter(|(job, _)| job.time_limit.is_some());
    let keys: Vec<String> =
        named.map(|(_, name)| format!("`time_limit` of job `{}`", shown(&name))).collect();
    note(&keys, "`queue.discipline = \"backfill\"` alone heeds how long jobs run at most")
}

/// How traces are read, where there is none.
fn traces(scenario: &Scenario) -> Option<String> {
    let is_trace = |job: &JobEntry| matches!(job.program, ProgramSource::Trace { .. });
    match written_down(scenario) {
        Some(programs) if programs.jobs.iter().any(is_trace) => None,
        _ => note(&written(scenario, "trace", &["collective_bytes"]), "no `[[job]]` has a `trace`"),
    }
}

/// The deadlines that jobs have of their own.
fn own_deadlines(programs: &Programs) -> Vec<String> {
    let named = programs.jobs.iter().zip(programs.names());
    let named = named.filter(|(job, _)| job.deadline.is_some());
    named.map(|(_, name)| format!("`deadline` of job `{}`", shown(&name))).collect()
}

/// Which of these keys of a table the scenario has.
fn written(scenario: &Scenario, table: &str, keys: &[&str]) -> Vec<String> {
    let mut inner = Some(&scenario.settings);
    for name in table.split('.') {
        inner = inner.and_then(|inner| inner.get(name)).and_then(toml::Value::as_table);
    }
    let has = |key: &&&str| inner.is_some_and(|inner| inner.contains_key(**key));
    keys.iter().filter(has).map(|key| format!("`{table}.{key}`")).collect()
}

fn note(keys: &[String], why: &str) -> Option<String> {
    let (last, others) = keys.split_last()?;
    Some(match others {
        [] => format!("{last} counts for nothing: {why}."),
        others => format!("{} and {last} count for nothing: {why}.", others.join(", ")),
    })
}
