//! The reader of nccl-tests' output.
//!
//! The columns are those that the log's own heading names (`#  size  count  type  redop  root  time
//! algbw  busbw  #wrong`, once for each way of using the buffers), so that old and new releases read
//! alike: <https://github.com/NVIDIA/nccl-tests>, `src/common.cu`. What `mpirun` puts before a line
//! (`[1,0]<stdout>:`) is skipped.

use std::collections::BTreeSet;

use crate::diagnostic::{InputError, Position, shown};
use crate::system::LaunchProcesses;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// The longest log that is read, in bytes.
pub const LONGEST: usize = 16 << 20;

/// How many notes are kept.
const MOST_NOTES: usize = 20;

/// One size, one way of using the buffers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Seconds for one operation.
    pub time: f64,
    /// Size over time, GB/s.
    pub algorithm_bandwidth: f64,
    /// nccl-tests' bus bandwidth, GB/s.
    pub bus_bandwidth: f64,
    /// Wrong values; None where they were not checked.
    pub wrong: Option<u64>,
}

/// A row of the log's table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The line, from one.
    pub line: usize,
    /// The data, as nccl-tests counts it.
    pub size: Bytes,
    /// With a result buffer of its own.
    pub out_of_place: Measured,
    /// With the result in the place of the data, where it was measured.
    pub in_place: Option<Measured>,
}

/// Something in the log that a person should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogNote {
    /// The line, from one.
    pub line: usize,
    /// What about it.
    pub text: String,
}

/// What a log says.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NcclTestsLog {
    /// What errors call it.
    pub file: String,
    /// The table, at least one row, in the log's order.
    pub rows: Vec<Row>,
    /// The model of each rank's GPU, as far as the log lists them.
    pub gpus: Vec<String>,
    /// The line of the last of them; zero where it lists none.
    pub gpus_line: usize,
    /// How many hosts they are on.
    pub hosts: usize,
    /// How ranks were processes, where the log tells: of several GPUs on a host.
    pub processes: Option<LaunchProcesses>,
    /// The test, such as `all_reduce_perf`, where the log names it.
    pub test: Option<String>,
    /// NCCL's version, where the log names it.
    pub version: Option<String>,
    /// The line where the run failed, if it did.
    pub failed: Option<usize>,
    /// The first line whose size was measured before.
    pub repeated: Option<usize>,
    /// What was not read, and what looks wrong.
    pub notes: Vec<LogNote>,
}

/// The columns of the log's table.
#[derive(Debug, Clone, Default)]
struct Columns {
    size: usize,
    /// Of each measurement its time, its two bandwidths and its wrong values.
    measured: Vec<[usize; 3]>,
    wrong: Vec<Option<usize>>,
    count: usize,
}

/// Reads what nccl-tests printed; `file` names it in errors.
///
/// # Errors
/// A text that is too long, or has no row that can be read: of another tool, or of a run that failed
/// before its first size.
pub fn read(file: &str, text: &str) -> Result<NcclTestsLog, InputError> {
    if text.len() > LONGEST {
        let problem = format!("a log of more than {} MiB", LONGEST >> 20);
        let remedy = "give the part with the table of sizes";
        return Err(InputError::at(file, Position { line: 1, column: 1 }, problem, "", remedy));
    }
    let mut reader = Reader::default();
    for (line, text) in (1..).zip(text.lines()) {
        reader.line(line, text);
    }
    reader.finish(file)
}

#[derive(Default)]
struct Reader {
    log: NcclTestsLog,
    columns: Option<Columns>,
    hosts: BTreeSet<String>,
    /// The host and the process of each rank.
    ranks: Vec<(String, String)>,
    sizes: BTreeSet<u64>,
    /// The first line that tells of a failure.
    failure: Option<(usize, String)>,
    ended: bool,
    last: usize,
}

impl Reader {
    fn note(&mut self, line: usize, text: impl Into<String>) {
        if self.log.notes.len() < MOST_NOTES {
            self.log.notes.push(LogNote { line, text: text.into() });
        }
    }

    fn line(&mut self, line: usize, text: &str) {
        self.last = line;
        let text = without_prefix(text).trim();
        let words: Vec<&str> = text.trim_start_matches('#').split_whitespace().collect();
        if let Some(columns) = columns_of(&words) {
            self.columns = Some(columns);
        } else if text.starts_with('#') {
            self.comment(line, text, &words);
        } else if let Some(version) = text.strip_prefix("NCCL version ") {
            self.log.version = Some(version.to_owned());
        } else if text.to_lowercase().contains("failure") || text.contains("NCCL WARN") {
            self.failure.get_or_insert_with(|| (line, text.to_owned()));
        } else if text.starts_with(|first: char| first.is_ascii_digit()) {
            self.row(line, &words);
        }
    }

    fn comment(&mut self, line: usize, text: &str, words: &[&str]) {
        match words {
            ["Rank", rest @ ..] => self.rank(line, rest, text),
            ["Collective", "test", "starting:", test, ..] => {
                self.log.test = Some((*test).to_owned());
            }
            ["nccl-tests", "version", ..] => {
                let library = words.iter().find_map(|word| word.strip_prefix("nccl-library="));
                self.log.version = library.and_then(of_code).or(self.log.version.take());
            }
            ["Avg", "bus", "bandwidth", ..] => self.ended = true,
            ["Out", "of", "bounds", "values", ":", count, ..] if *count != "0" => {
                self.note(line, format!("{} values out of bounds", shown(count)));
            }
            _ => {}
        }
    }

    /// `0 Group 0 Pid 1887 on worker-1 device 0 [0x8d] NVIDIA H100 80GB HBM3`.
    fn rank(&mut self, line: usize, rest: &[&str], text: &str) {
        let after =
            |name: &str| rest.iter().position(|word| *word == name).and_then(|at| rest.get(at + 1));
        let (host, process) = (after("on"), after("Pid"));
        if let (Some(host), Some((_, model))) = (host, text.split_once("] ")) {
            self.hosts.insert((*host).to_owned());
            self.log.gpus.push(model.trim().to_owned());
            self.log.gpus_line = line;
            let process = process.copied().unwrap_or_default();
            self.ranks.push(((*host).to_owned(), process.to_owned()));
        }
    }

    fn row(&mut self, line: usize, words: &[&str]) {
        let Some(columns) = &self.columns else { return };
        let Some(row) = row_of(line, columns, words) else {
            let text = format!("no row of the table: {}", shown(&words.join(" ")));
            self.note(line, text);
            return;
        };
        if row.out_of_place.wrong.is_some_and(|wrong| wrong > 0) {
            self.note(
                line,
                format!("{} values of {} are wrong", row.out_of_place.wrong.unwrap_or(0), row.size),
            );
        }
        if !self.sizes.insert(row.size.0) {
            self.log.repeated.get_or_insert(line);
            self.note(line, format!("{} was measured before; both rows are kept", row.size));
        }
        self.log.rows.push(row);
    }

    /// Ranks of one host are of one process, or each is of its own.
    fn processes(&self) -> Option<LaunchProcesses> {
        let distinct: BTreeSet<&(String, String)> = self.ranks.iter().collect();
        let named = self.ranks.iter().all(|(_, process)| !process.is_empty());
        match (distinct.len(), self.ranks.len()) {
            _ if !named => None,
            (all, ranks) if all == ranks && ranks > self.hosts.len() => Some(LaunchProcesses::Each),
            (all, ranks) if all < ranks && all == self.hosts.len() => Some(LaunchProcesses::One),
            _ => None,
        }
    }

    fn finish(mut self, file: &str) -> Result<NcclTestsLog, InputError> {
        if self.log.rows.is_empty() {
            let refuse = |line, problem: &str, value: &str, remedy: &str| {
                Err(InputError::at(file, Position { line, column: 1 }, problem, value, remedy))
            };
            let remedy = "give the output of all_reduce_perf or another of nccl-tests";
            return match (self.failure, self.columns) {
                (Some((line, text)), _) => refuse(
                    line,
                    "the run failed before its first size",
                    &text,
                    "mend it and run it again",
                ),
                (None, Some(_)) => refuse(self.last.max(1), "the table has no row", "", remedy),
                (None, None) => refuse(1, "nothing that nccl-tests prints", "", remedy),
            };
        }
        if let Some((line, text)) = self.failure.take() {
            self.log.failed = Some(line);
            self.note(line, format!("the run failed here: {}", shown(&text)));
        } else if !self.ended {
            let text =
                "the log ends without its average: it may be cut off, and later sizes missing";
            self.note(self.last, text);
        }
        self.log.hosts = self.hosts.len();
        self.log.processes = self.processes();
        self.log.file = file.to_owned();
        self.log.notes.sort_by_key(|note| note.line);
        Ok(self.log)
    }
}

/// A line without what `mpirun --tag-output` puts before it: `[1,0]<stdout>:`.
fn without_prefix(line: &str) -> &str {
    let tagged = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(">:"));
    match tagged {
        Some((tag, rest)) if tag.contains("]<std") => rest,
        _ => line,
    }
}

/// `22907` is 2.29.7, and 2708 was 2.7.8.
fn of_code(code: &str) -> Option<String> {
    let code: u32 = code.parse().ok()?;
    let of = |major: u32| format!("{}.{}.{}", code / major, code % major / 100, code % 100);
    Some(if code >= 10_000 { of(10_000) } else { of(1_000) })
}

/// The columns that a heading names; None where it is none.
fn columns_of(words: &[&str]) -> Option<Columns> {
    if !(words.contains(&"size") && words.contains(&"time") && words.contains(&"busbw")) {
        return None;
    }
    let at = |name: &'static str| {
        words.iter().enumerate().filter(move |(_, word)| **word == name).map(|(index, _)| index)
    };
    let size = at("size").next()?;
    let wrong_after = |busbw: usize| {
        let next = words.get(busbw + 1).filter(|word| ["#wrong", "error"].contains(word));
        next.map(|_| busbw + 1)
    };
    let measured: Vec<[usize; 3]> = at("time")
        .zip(at("algbw"))
        .zip(at("busbw"))
        .map(|((time, algorithm), bus)| [time, algorithm, bus])
        .collect();
    let wrong = measured.iter().map(|[.., bus]| wrong_after(*bus)).collect();
    (!measured.is_empty()).then_some(Columns { size, measured, wrong, count: words.len() })
}

fn row_of(line: usize, columns: &Columns, words: &[&str]) -> Option<Row> {
    if words.len() != columns.count {
        return None;
    }
    let size = Bytes(words[columns.size].parse().ok()?);
    let number = |at: usize| {
        let value: f64 = words[at].parse().ok()?;
        (value.is_finite() && value >= 0.0).then_some(value)
    };
    let measured = |which: usize| {
        let [time, algorithm, bus] = *columns.measured.get(which)?;
        Some(Measured {
            time: number(time).filter(|time| *time > 0.0)? * 1e-6,
            algorithm_bandwidth: number(algorithm)?,
            bus_bandwidth: number(bus)?,
            wrong: columns.wrong[which].and_then(&number).map(|wrong| wrong as u64),
        })
    };
    Some(Row { line, size, out_of_place: measured(0)?, in_place: measured(1) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LOG: &str = "\
# nccl-tests version 2.18.0 nccl-headers=22907 nccl-library=22907
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid  28307 on      gpu59 device  0 [0x16] NVIDIA GeForce RTX 4090
#  Rank  1 Group  0 Pid  28307 on      gpu60 device  1 [0x27] NVIDIA GeForce RTX 4090
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    42.56    0.00    0.00      0    41.10    0.00    0.00    N/A
   134217728      33554432     float     sum      -1    43014    3.12    3.12      0    42619    3.15    3.15      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 1.56
";

    #[test]
    fn a_log_is_read_with_its_gpus_and_version() {
        let log = read("a.log", LOG).unwrap();
        assert_eq!(log.rows.len(), 2);
        assert_eq!((log.rows[1].line, log.rows[1].size), (13, Bytes(134_217_728)));
        assert!((log.rows[0].out_of_place.time - 42.56e-6).abs() < 1e-12);
        assert_eq!(log.rows[0].out_of_place.wrong, Some(0));
        assert_eq!(log.rows[0].in_place.unwrap().wrong, None);
        assert_eq!(log.gpus, ["NVIDIA GeForce RTX 4090"; 2]);
        assert_eq!((log.hosts, log.notes.len()), (2, 0));
        assert_eq!(log.test.as_deref(), Some("all_reduce_perf"));
        assert_eq!((log.gpus_line, log.processes), (7, None), "one rank on each host");
        assert_eq!(log.version.as_deref(), Some("2.29.7"));
    }

    #[test]
    fn processes_are_told_by_their_numbers() {
        let on_one = LOG.replace("gpu60", "gpu59");
        assert_eq!(read("", &on_one).unwrap().processes, Some(LaunchProcesses::One));
        let own = on_one.replacen("28307", "28308", 1);
        assert_eq!(read("", &own).unwrap().processes, Some(LaunchProcesses::Each));
    }

    #[test]
    fn old_logs_and_those_of_mpirun_read_alike() {
        let old = "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n\
                   1048576  262144  float  sum  99.08  10.58  10.58  0e+00  98.0  10.7  10.7  0e+00\n";
        let log = read("old.log", old).unwrap();
        assert_eq!(log.rows[0].out_of_place.bus_bandwidth, 10.58);
        assert!(log.notes[0].text.contains("cut off"), "{:?}", log.notes);
        let tagged: String = LOG.lines().map(|line| format!("[1,0]<stdout>:{line}\n")).collect();
        assert_eq!(read("a.log", &tagged), read("a.log", LOG));
        let one_way = "# size count type redop root time algbw busbw #wrong\n8 2 float sum -1 10.5 0.1 0.2 0\n# Avg bus bandwidth : 1\n";
        assert_eq!(read("", one_way).unwrap().rows[0].in_place, None);
    }

    #[test]
    fn what_was_not_read_is_said_with_its_line() {
        let cut = &LOG[..LOG.find("42619").unwrap()];
        let log = read("cut.log", cut).unwrap();
        assert_eq!(log.rows.len(), 1);
        let lines: Vec<usize> = log.notes.iter().map(|note| note.line).collect();
        assert_eq!(lines, [13, 13], "{:?}", log.notes);
        let failed = LOG.replace(
            "   134217728",
            "gpu59: Test NCCL failure common.cu:958 'unhandled cuda error'\n   134217728",
        );
        let log = read("failed.log", &failed).unwrap();
        assert!(log.notes[0].text.contains("the run failed here"), "{:?}", log.notes);
    }

    #[test]
    fn other_texts_are_refused_with_what_would_work() {
        let error = |text: &str| read("x.log", text).unwrap_err().to_string();
        assert!(error("GPU0 GPU1\n").starts_with("x.log:1:1: nothing that nccl-tests prints"));
        let failed =
            "# nThread 1\ngpu59: Test NCCL failure common.cu:958 'unhandled system error'\n";
        assert!(error(failed).starts_with("x.log:2:1: the run failed before its first size"));
        let empty = LOG.lines().take(11).collect::<Vec<_>>().join("\n");
        assert!(error(&empty).starts_with("x.log:11:1: the table has no row"), "{}", error(&empty));
    }

    #[test]
    fn wrong_values_and_sizes_measured_twice_are_noted() {
        let wrong = LOG.replace("3.12    3.12      0", "3.12    3.12      7");
        assert!(read("", &wrong).unwrap().notes[0].text.contains("7 values of 128 MiB are wrong"));
        let twice = LOG.replace("   134217728      33554432", "           8             2");
        assert!(read("", &twice).unwrap().notes[0].text.contains("measured before"));
    }

    #[test]
    fn versions_read_from_their_codes() {
        let of = |code| of_code(code).unwrap();
        assert_eq!([of("22907"), of("2708"), of("21805")], ["2.29.7", "2.7.8", "2.18.5"]);
    }

    proptest! {
        /// Whatever stands there, reading ends with rows or with a place.
        #[test]
        fn any_text_is_read_or_refused(lines in prop::collection::vec(prop_oneof![
            prop::sample::select(LOG.lines().map(str::to_owned).collect::<Vec<_>>()),
            "[ -~]{0,60}",
            "[0-9. ]{0,80}",
        ], 0..30)) {
            match read("any", &lines.join("\n")) {
                Ok(log) => prop_assert!(!log.rows.is_empty()),
                Err(error) => prop_assert!(error.position.line >= 1),
            }
        }
    }
}
