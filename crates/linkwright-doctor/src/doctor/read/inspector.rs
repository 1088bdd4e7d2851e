//! Reads what NCCL Inspector writes. That is a line of JSON for each operation of each rank, or
//! metrics for Prometheus. The lines are from 2.28.3 (`ext-profiler/inspector/inspector.cc` 546)
//! and 2.30.7 (`plugins/profiler/inspector/inspector_json.cc` 205). The metrics are from 2.30.7
//! (`inspector_prom.cc` 246 and 456).

use std::borrow::Cow;

use serde::Deserialize;

use super::Source;
use crate::doctor::evidence::{Inspected, Line, Report};

/// No communicator has more ranks.
const MOST_RANKS: u32 = 1 << 20;

/// The version of the lines of JSON, of all releases up to 2.30.7 (`inspector_json.cc` 61).
const VERSION: &str = "v4.";

/// The version of the metrics begins so (`inspector_prom.cc` 223).
const METRICS_VERSION: &str = "v5.";

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    header: Header<'a>,
    #[serde(borrow)]
    metadata: Metadata<'a>,
    #[serde(borrow, default)]
    coll_perf: Option<Operation<'a>>,
}

#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    rank: u32,
    n_ranks: u32,
    #[serde(default)]
    nnodes: Option<u32>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow, default)]
    inspector_output_format_version: Cow<'a, str>,
    #[serde(borrow, default)]
    hostname: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Operation<'a> {
    #[serde(borrow)]
    coll: Cow<'a, str>,
    coll_sn: u64,
    coll_msg_size_bytes: u64,
    coll_exec_time_us: u64,
    #[serde(borrow, default)]
    coll_timing_source: Cow<'a, str>,
}

/// Takes a line of JSON.
pub(super) fn json_line(number: u64, text: &str, source: &mut Source<'_>, into: &mut Inspected) {
    let text = text.trim_start_matches('\u{feff}').trim();
    let Some(start) = text.find('{') else {
        if !text.is_empty() {
            source.skip(number, "a line without JSON");
        }
        return;
    };
    let record: Record<'_> = match serde_json::from_str(&text[start..]) {
        Ok(record) => record,
        Err(error) => {
            source.skip(number, format!("no line of NCCL Inspector: {error}"));
            return;
        }
    };
    let Record { header, metadata, coll_perf } = record;
    let version = &metadata.inspector_output_format_version;
    if !version.starts_with(VERSION) && into.is_new_version(version) {
        source.note(
            number,
            format!("format {version} is newer than those that are known: {VERSION}x"),
        );
    }
    // Sends and receives have no line of their own in the judgement.
    let Some(operation) = coll_perf else { return };
    if header.n_ranks > MOST_RANKS || header.rank >= header.n_ranks {
        let why = format!("rank {} of {} ranks, which no job has", header.rank, header.n_ranks);
        source.skip(number, why);
        return;
    }
    if operation.coll_exec_time_us == 0 || operation.coll_msg_size_bytes == 0 {
        source.skip(number, "an operation of no time or of no bytes");
        return;
    }
    let report = Report {
        communicator: &header.id,
        collective: &operation.coll,
        ranks: header.n_ranks,
        nodes: header.nnodes,
        host: &metadata.hostname,
        timing: &operation.coll_timing_source,
        bytes: (operation.coll_msg_size_bytes, operation.coll_msg_size_bytes),
        time: operation.coll_exec_time_us as f64 * 1e-6,
    };
    let line = || Line::new(source.name, number, text);
    into.operation(&report, operation.coll_sn, line);
}

/// Takes a line of metrics.
pub(super) fn metrics_line(number: u64, text: &str, source: &mut Source<'_>, into: &mut Inspected) {
    let Some(rest) = text.trim().strip_prefix("nccl_collective_exec_time_microseconds{") else {
        return;
    };
    let Some((labels, value)) = rest.rsplit_once('}') else {
        source.skip(number, "a metric without its value");
        return;
    };
    let label = |name: &str| {
        let (_, rest) = labels.split_once(&format!("{name}=\""))?;
        rest.split('"').next()
    };
    let version = label("version").unwrap_or_default();
    if !version.starts_with(METRICS_VERSION) && into.is_new_version(version) {
        let known = METRICS_VERSION;
        source.note(number, format!("metrics of version {version}; those of {known}x are known"));
    }
    let time = value.split_whitespace().next().and_then(|it| it.parse::<f64>().ok());
    let time = time.filter(|it| it.is_finite() && *it > 0.0);
    let ranks = label("nranks").and_then(|it| it.parse().ok()).filter(|it| *it <= MOST_RANKS);
    let bytes = label("message_size").and_then(range);
    let (Some(time), Some(ranks), Some(bytes), Some(collective)) =
        (time, ranks, bytes, label("collective"))
    else {
        source.skip(number, "a metric with a value that cannot be");
        return;
    };
    let report = Report {
        communicator: label("comm_name").unwrap_or_default(),
        collective,
        ranks,
        nodes: label("n_nodes").and_then(|it| it.parse().ok()),
        host: label("node").unwrap_or_default(),
        timing: label("algo_proto").unwrap_or_default(),
        bytes,
        time: time * 1e-6,
    };
    let line = || Line::new(source.name, number, text);
    into.mean(&report, line);
}

/// Reads `1-2MB`, whose units are powers of 1024 (2.30.7, `inspector_prom.cc` 159).
fn range(text: &str) -> Option<(u64, u64)> {
    let unit_at = text.find(|it: char| it.is_ascii_alphabetic())?;
    let (numbers, unit) = text.split_at(unit_at);
    let power = ["B", "KB", "MB", "GB", "TB"].iter().position(|known| *known == unit)?;
    let (low, high) = numbers.split_once('-')?;
    let of = |it: &str| it.parse::<u64>().ok()?.checked_mul(1 << (10 * power));
    Some((of(low)?, of(high)?)).filter(|(low, high)| 0 < *low && low <= high)
}

#[cfg(test)]
mod tests {
    use super::super::read_file;
    use super::*;
    use crate::doctor::evidence::{Evidence, Format};

    fn operation(rank: u32, sequence: u64, bytes: u64, time: i64) -> String {
        let header = format!("\"id\":\"0x9\",\"rank\":{rank},\"n_ranks\":4,\"nnodes\":2");
        let metadata = format!(
            "\"inspector_output_format_version\":\"v4.0\",\"git_rev\":\"\",\"rec_mechanism\":\"x\",\
             \"dump_timestamp_us\":1,\"hostname\":\"h{rank}\",\"pid\":1"
        );
        let operation = format!(
            "\"coll\":\"AllGather\",\"coll_sn\":{sequence},\"coll_msg_size_bytes\":{bytes},\
             \"coll_exec_time_us\":{time}"
        );
        let rates = "\"coll_timing_source\":\"kernel_gpu\",\"coll_algobw_gbs\":1.0,\
                     \"coll_busbw_gbs\":0.75";
        format!(
            "{{\"header\":{{{header}}},\"metadata\":{{{metadata}}},\"coll_perf\":{{{operation},\
             {rates}}}}}\n"
        )
    }

    #[test]
    fn the_fastest_rank_counts_whatever_the_file() {
        let mut evidence = Evidence::default();
        for rank in 0..4 {
            let text: String = (1..=9)
                .map(|sequence| {
                    operation(rank, sequence, 1024, 100 * i64::from(rank) + sequence as i64)
                })
                .collect();
            read_file(&format!("{rank}.log"), text.as_bytes(), &mut evidence).unwrap();
        }
        let [run] = &evidence.inspector[..] else { panic!("{:?}", evidence.inspector) };
        assert_eq!((run.ranks, run.nodes, run.hosts.len()), (4, Some(2), 4));
        let [row] = &run.rows[..] else { panic!() };
        assert_eq!((row.size, row.most, row.count, row.reports), (4096, 4096, 9, 4));
        assert!((row.time - 5e-6).abs() < 1e-12 && (row.least - 1e-6).abs() < 1e-12);
        assert_eq!((row.line.file.as_str(), row.line.number), ("0.log", 1));
        assert_eq!(evidence.files[0].format, Format::Inspector);
    }

    #[test]
    fn what_cannot_be_is_skipped_and_said() {
        let text = operation(0, 1, 8, 5)
            + &operation(0, 2, 8, -5)
            + &operation(9, 3, 8, 5)
            + "{\"a\":1}\n";
        let text = text + &operation(0, 4, 8, 0);
        let mut evidence = Evidence::default();
        read_file("a", text.as_bytes(), &mut evidence).unwrap();
        assert_eq!((evidence.files[0].skipped, evidence.inspector[0].rows[0].count), (4, 1));
    }

    #[test]
    fn metrics_are_read_by_their_range_of_sizes() {
        let group = "comm_name=\"c\",n_nodes=\"1\",nranks=\"8\",collective=\"AllReduce\",\
                     message_size=\"1-2MB\",algo_proto=\"RING_SIMPLE\"";
        let metric = |gpu: u32, value: &str| {
            format!(
                "nccl_collective_exec_time_microseconds{{version=\"v5.1\",slurm_job_id=\"1\",node=\"n\",\
                 gpu=\"GPU{gpu}\",{group}}} {value}\n"
            )
        };
        let text = metric(0, "50.5") + &metric(1, "40") + &metric(2, "-1") + &metric(3, "NaN");
        let mut evidence = Evidence::default();
        read_file("a.prom", text.as_bytes(), &mut evidence).unwrap();
        let row = &evidence.inspector[0].rows[0];
        assert_eq!((row.size, row.most, row.count), (1 << 20, 2 << 20, 2));
        assert!((row.time - 40e-6).abs() < 1e-12);
        assert_eq!(evidence.files[0].skipped, 2);
        assert_eq!(evidence.files[0].format, Format::InspectorPrometheus);
        assert_eq!(range("9-1B"), None);
        assert_eq!(range("18446744073709551615-2TB"), None);
    }
}
