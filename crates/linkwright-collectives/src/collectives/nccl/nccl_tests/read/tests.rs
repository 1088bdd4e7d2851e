use proptest::prelude::*;

use super::*;
use crate::units::Bytes;

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
    assert_eq!((log.hosts(), log.notes.len()), (2, 0));
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
    let failed = "# nThread 1\ngpu59: Test NCCL failure common.cu:958 'unhandled system error'\n";
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

/// Puts a prefix before each line of the log, and lines of another rank between them.
fn behind(prefix: impl Fn(usize) -> String, other: &str) -> String {
    let mut text = String::new();
    for (number, line) in LOG.lines().enumerate() {
        text += &format!("{}{line}\n", prefix(number));
        if !other.is_empty() {
            text += &format!(
                "{other}gpu60:4102:4102 [1] NCCL INFO comm 0x{number:x} rank 1 nranks 2\n"
            );
        }
    }
    text
}

#[test]
fn a_prefix_is_taken_off_whatever_the_launcher() {
    let plain = read("a.log", LOG).unwrap();
    type Prefix = fn(usize) -> String;
    let launchers: [(Prefix, &str); 17] = [
        (|_| "0: ".to_owned(), "1: "),
        (|_| " 0: ".to_owned(), "12: "),
        (|_| "[0] ".to_owned(), "[1] "),
        (|_| "[0]".to_owned(), "[1]"),
        (|_| "[1,0]<stdout>:".to_owned(), "[1,1]<stderr>:"),
        (|_| "[prterun-a-12@1,0]<stdout>: ".to_owned(), "[prterun-a-12@1,1]<stdout>: "),
        (|_| "[pod/nccl-launcher-x7k2p/mpi] ".to_owned(), "[pod/nccl-worker-1/mpi] "),
        (|_| "nccl-worker-0: ".to_owned(), "nccl-worker-1: "),
        (|_| "10.0.0.4: ".to_owned(), "10.0.0.5: "),
        (|_| "(pid=4101, ip=10.0.0.4) ".to_owned(), "(pid=4102, ip=10.0.0.4) "),
        (|at| format!("2026-11-25T10:00:{at:02}.25{at}Z "), ""),
        (|at| format!("[2026-11-25 10:59:{at:02}] 0: "), "[2026-11-25 10:59:02] 1: "),
        (
            |at| format!("Nov 2{} 10:00:{at:02} node-a run[77]: ", at % 10),
            "Nov 25 10:00:00 node-b run[78]: ",
        ),
        (|at| format!("[{:9}.125] ", 5 * at), ""),
        (
            |at| format!("nccl-worker-0 2026-11-25 10:00:{at:02} | "),
            "nccl-worker-1 2026-11-25 10:00:01 | ",
        ),
        (|at| format!("{:6}\t", at + 1), ""),
        (|at| format!("\u{1b}[3{}mrank0\u{1b}[0m | ", at % 8), "\u{1b}[31mrank1\u{1b}[0m | "),
    ];
    for (prefix, other) in launchers {
        let found = read("a.log", &behind(prefix, other)).unwrap();
        let what = prefix(3);
        assert_eq!(found.rows.len(), 2, "{what}");
        for (found, plain) in found.rows.iter().zip(&plain.rows) {
            assert_eq!(
                (found.size, found.out_of_place),
                (plain.size, plain.out_of_place),
                "{what}"
            );
        }
        assert_eq!(found.gpus, plain.gpus, "{what}");
        assert_eq!((found.hosts(), &found.version), (2, &plain.version), "{what}");
        assert_eq!((found.notes.len(), found.failed), (0, None), "{what}");
    }
}

#[test]
fn the_tables_of_other_ranks_are_left_out() {
    let both: String = LOG.lines().map(|line| format!("0: {line}\n1: {line}\n")).collect();
    let found = read("a.log", &both).unwrap();
    assert_eq!(found.rows.len(), 2);
    assert!(found.notes.iter().any(|it| it.text.contains("another rank prints a table")));
}

#[test]
fn rows_of_size_zero_are_left_out_with_a_note() {
    let empty = "           0             0     float    none      -1     9.80    0.00    0.00      0    9.80    0.00    0.00      0\n";
    let row = LOG.lines().nth(11).unwrap();
    for count in 1..4 {
        let text = LOG.replace(row, &(empty.repeat(count) + row));
        let log = read("a.log", &text).unwrap();
        assert_eq!(log.rows.len(), 2);
        assert_eq!((log.repeated, log.notes.len(), log.notes[0].line), (None, 1, 12));
        let text = &log.notes[0].text;
        assert!(
            text.starts_with(&format!("{count} row")) && text.contains("moves nothing"),
            "{text}"
        );
    }
    let all = LOG.replace(row, empty).replace(LOG.lines().nth(12).unwrap(), "");
    let error = read("a.log", &all).unwrap_err().to_string();
    assert!(error.starts_with("a.log:12:1: every row is of size 0"), "{error}");
}

#[test]
fn a_warning_is_no_failure_and_a_table_cut_short_is_one() {
    let line = "# Using devices\n";
    let before = |text: &str| LOG.replace(line, &format!("{text}\n{line}"));
    let harmless = [
        "a:1:1 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]",
        "a:1:1 [0] init.cc:9 NCCL WARN Cuda failure 'peer access is not supported'",
        "WARNING: Open MPI failed an OFI call",
        "a:1:1 [0] NCCL INFO last failure of the link: none, error 0",
    ];
    for text in harmless {
        let log = read("a.log", &before(text)).unwrap();
        assert_eq!(log.failed, None, "{text}");
        assert_eq!(log.notes.len(), usize::from(text.contains("NCCL WARN")), "{text}");
        assert!(log.notes.iter().all(|it| it.text.starts_with("NCCL warned: ")), "{text}");
    }
    let told = [
        "a: Test NCCL failure common.cu:958 'remote process exited'",
        "3: a: Test CUDA failure common.cu:730 'out of memory'",
        " .. a pid 7: Test failure common.cu:1018",
        "ncclUnhandledCudaError: unhandled cuda error, NCCL version 2.20.5",
        "# Out of bounds values : 3 FAILED",
    ];
    for text in told {
        let failed = read("a.log", &before(text)).unwrap().failed.unwrap();
        assert_eq!(failed.line, 5, "{text}");
    }
    let last = LOG.find("   134217728").unwrap();
    let warned = before(harmless[0]);
    let cut = &warned[..warned.find("   134217728").unwrap()];
    for (text, words) in [
        (&LOG[..last], "it was to go on to 128 MiB"),
        (&LOG[..last + 40], "it was to go on to 128 MiB"),
        (cut, "it was to go on to 128 MiB"),
    ] {
        let log = read("a.log", text).unwrap();
        assert!(log.failed.is_some_and(|it| it.text.contains(words)), "{text}");
    }
    // All sizes are there, and the average alone is not.
    let whole = &LOG[..LOG.find("# Out").unwrap()];
    assert_eq!(read("a.log", whole).unwrap().failed, None);
}

proptest! {
    /// Whatever stands there, reading ends with rows or with a place, and with the same rows behind a
    /// launcher's label.
    #[test]
    fn any_text_is_read_or_refused(lines in prop::collection::vec(prop_oneof![
        prop::sample::select(LOG.lines().map(str::to_owned).collect::<Vec<_>>()),
        "[ -~]{0,60}",
        "[0-9. ]{0,80}",
        "0: [0-9. ]{0,80}",
        "(\\[[0-9:.]{0,9}\\] ?)?#? ?size count time algbw busbw",
    ], 0..30)) {
        match read("any", &lines.join("\n")) {
            Ok(log) => {
                prop_assert!(!log.rows.is_empty());
                let labelled: String = lines.iter().map(|line| format!("0: {line}\n")).collect();
                prop_assert_eq!(read("any", &labelled).map(|it| it.rows).ok(), Some(log.rows));
            }
            Err(error) => prop_assert!(error.position.line >= 1),
        }
    }
}
