use proptest::prelude::*;

use super::*;
use crate::doctor::evidence::{Run, Transport};

fn read(text: &str) -> Result<Evidence, InputError> {
    let mut evidence = Evidence::default();
    read_file("a.log", text.as_bytes(), &mut evidence)?;
    Ok(evidence)
}

fn runs(text: &str) -> Vec<Run> {
    read(text).unwrap().runs
}

const HEADER: &str =
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20
# Using devices
#  Rank  0 Group  0 Pid     77 on      node-1 device  0 [0x1b] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid     78 on      node-1 device  1 [0x2b] NVIDIA H100 80GB HBM3
";
const TABLE: &str = "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
           8             2     float     sum      -1    42.56    0.00    0.00      0    41.10    0.00    0.00    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 1.56
";

fn debug(host: &str, process: u32) -> String {
    let own = format!("{host}:{process}:9{process} [0] NCCL INFO ");
    [
        "NCCL version 2.23.4+cuda12.6",
        "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>",
        "Using network IB",
        "comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0xabc - Init START",
        "Channel 00/02 :    0   1",
        "Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA",
        "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/1(3)/GDRDMA/Shared",
        "2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer",
        "comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 commId 0xabc - Init COMPLETE",
    ]
    .map(|line| format!("{own}{line}\n"))
    .concat()
}

#[test]
fn a_table_and_nccls_lines_make_one_job() {
    let text = format!("{HEADER}{}{TABLE}", debug("node-1", 77));
    let [run] = &runs(&text)[..] else { panic!() };
    let (tests, debug) = (run.tests.as_ref().unwrap(), &run.debug);
    assert_eq!((tests.rows.len(), tests.gpus.len(), tests.rows[0].line), (1, 2, 15));
    assert_eq!(debug.version.as_ref().unwrap().0, "2.23.4");
    assert_eq!(debug.version.as_ref().unwrap().1.number, 5);
    assert_eq!((debug.ranks, debug.places[&0].bus.as_str()), (Some(2), "1b000"));
    assert_eq!(debug.interfaces["node-1"].names, ["mlx5_0", "mlx5_1"]);
    assert_eq!(debug.rings[&0].0, [0, 1]);
    assert_eq!(debug.channels.as_ref().unwrap().collective, 2);
    let ways: Vec<_> = debug.connections.keys().map(|it| &it.transport).collect();
    let network = |interface, through| Transport::Network {
        network: "IB".to_owned(),
        interface,
        through,
        gpudirect: true,
    };
    assert_eq!(ways, [&network(0, None), &network(1, Some(3))]);
    assert_eq!(debug.skipped, 0);
}

#[test]
fn jobs_in_one_file_stay_apart() {
    let one = format!("{HEADER}{}{TABLE}", debug("node-1", 77));
    let twice = runs(&format!("{one}{}", one.replace("node-1", "node-2")));
    let hosts = |run: &Run| run.debug.places[&0].host.clone();
    assert_eq!(twice.iter().map(hosts).collect::<Vec<_>>(), ["node-1", "node-2"]);
    let other = one.replace("node-1", "node-2").replace("mlx5_1", "mlx5_9");
    let mixed: String =
        one.lines().zip(other.lines()).map(|(a, b)| format!("a: {a}\nb: {b}\n")).collect();
    let mixed = runs(&mixed);
    assert_eq!(mixed.iter().map(hosts).collect::<Vec<_>>(), ["node-1", "node-2"]);
    assert_eq!(mixed[1].debug.interfaces["node-2"].names[1], "mlx5_9");
    assert!(mixed.iter().all(|run| run.tests.as_ref().unwrap().rows.len() == 1));
}

#[test]
fn the_largest_communicator_counts() {
    let small = debug("node-1", 77).replace("0xabc", "0x5");
    let large = debug("node-1", 78).replace("nranks 2", "nranks 4");
    for text in [format!("{small}{large}"), format!("{large}{small}")] {
        let evidence = read(&text).unwrap();
        let debug = &evidence.runs[0].debug;
        assert_eq!((debug.ranks, debug.communicator.as_deref()), (Some(4), Some("0xabc")));
        assert_eq!((debug.places.len(), debug.other_communicators), (1, 1));
        assert!(evidence.files[0].notes[0].1.contains("communicators are left out"));
    }
}

#[test]
fn a_file_of_no_format_is_refused_with_what_is_read() {
    for text in ["", "hello\nworld\n", "{}"] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.starts_with("a.log:1:1: ") && error.contains("nccl-tests"), "{error}");
    }
    let failed = "# nThread 1\ngpu59: Test NCCL failure common.cu:958 'unhandled system error'\n";
    assert!(read(failed).unwrap_err().to_string().contains("failed before its first size"));
}

#[test]
fn impossible_values_are_skipped_and_said() {
    let text = debug("a", 1).replace("nranks 2", "nranks 1000000000");
    let evidence = read(&text).unwrap();
    assert_eq!(evidence.files[0].skipped, 2);
    assert!(evidence.files[0].notes[0].1.contains("no job has"));
    assert_eq!(evidence.runs[0].debug.ranks, None);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = read_file("x", &bytes[..], &mut Evidence::default());
    }

    /// Lines of a log, broken in any place and in any order, never panic, and are all counted.
    #[test]
    fn broken_lines_are_read_or_skipped(
        lines in prop::collection::vec((0usize..30, 0usize..120, "\\PC{0,12}"), 1..40),
    ) {
        let whole = format!("{HEADER}{}{TABLE}", debug("node-1", 77));
        let whole: Vec<&str> = whole.lines().collect();
        let mut text = String::from("NCCL version 2.18.5\n");
        for (index, cut, noise) in &lines {
            let line = whole[index % whole.len()];
            let cut = (0..=*cut.min(&line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap();
            text += &format!("{}{noise}{}\n", &line[..cut], &line[cut..]);
        }
        let evidence = read(&text).unwrap();
        prop_assert_eq!(evidence.files[0].lines, text.lines().count() as u64);
        prop_assert_eq!(evidence.files[0].bytes, text.len() as u64);
    }
}
