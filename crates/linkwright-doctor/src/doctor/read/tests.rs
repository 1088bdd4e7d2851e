use proptest::prelude::*;

use super::*;
use crate::doctor::evidence::{LoggedRun, LoggedTransport};

fn read(text: &str) -> Result<Evidence, InputError> {
    let mut evidence = Evidence::default();
    read_file("a.log", text.as_bytes(), &mut evidence)?;
    Ok(evidence)
}

fn runs(text: &str) -> Vec<LoggedRun> {
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
    let network = |interface, through| LoggedTransport::Network {
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
    let hosts = |run: &LoggedRun| run.debug.places[&0].host.clone();
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

#[test]
fn the_table_is_that_of_the_reader_of_tables() {
    let mine = format!("{HEADER}{}{TABLE}", debug("node-1", 77));
    let labelled: String = mine.lines().map(|line| format!("0: {line}\n")).collect();
    let numbered: String =
        (1..).zip(mine.lines()).map(|(number, line)| format!("{number}: {line}\n")).collect();
    let cut = mine[..mine.len() - 40].to_owned();
    for text in [&mine, &labelled, &numbered, &cut] {
        let [run] = &runs(text)[..] else { panic!("{text}") };
        let whole = crate::collectives::nccl::nccl_tests::read("a.log", text).unwrap();
        assert_eq!(run.tests.as_ref(), Some(&whole), "{text}");
    }
}

#[test]
fn ends_of_lines_colours_and_broken_characters_are_tolerated() {
    let text = format!("{HEADER}{}{TABLE}", debug("node-1", 77));
    let coloured = text.replace("Using network", "\u{1b}[32mUsing network\u{1b}[0m");
    let mut bytes = coloured.replace('\n', "\r\n").into_bytes();
    bytes.extend_from_slice(b"\xff\xfe broken\r\n");
    let mut evidence = Evidence::default();
    read_file("a.log", &bytes[..], &mut evidence).unwrap();
    let run = &evidence.runs[0];
    assert_eq!(run.debug.network.as_ref().unwrap().0, "IB");
    assert_eq!(run.tests.as_ref().unwrap().rows.len(), 1);
}

#[test]
fn long_lines_are_cut_and_said() {
    let long = "x".repeat(3 * lines::LONGEST);
    let text = format!("{}{long}\n{}", debug("node-1", 77), debug("node-1", 78));
    let evidence = read(&text).unwrap();
    let file = &evidence.files[0];
    assert_eq!((file.lines, file.bytes), (19, text.len() as u64));
    assert!(file.notes.iter().any(|(line, note)| *line == 10 && note.contains("are cut")));
}

/// Ten thousand ranks that warn, connect and set up, in a stream that is never held as a whole.
#[test]
fn a_long_log_keeps_bounded_facts() {
    let mut text = String::new();
    for rank in 0..10_000 {
        let own = format!("h{rank}:1:2 [0] ");
        text += &format!(
            "{own}NCCL INFO comm 0x1 rank {rank} nranks 10000 cudaDev 0 busId 1 commId 0x1 - Init COMPLETE\n"
        );
        text += &format!("{own}NCCL INFO Channel 00/0 : {rank}[0] -> 0[0] [send] via NET/IB/0\n");
        let word: String = rank.to_string().bytes().map(|it| char::from(it + b'0')).collect();
        text += &format!("{own}misc/a.cc:1 NCCL WARN {word} went away\n");
        text += &format!("{own}misc/a.cc:1 NCCL WARN peer {rank} went away\n");
    }
    let evidence = read(&text).unwrap();
    let debug = &evidence.runs[0].debug;
    assert_eq!((debug.places.len(), debug.connections.len()), (10_000, 10_000));
    assert_eq!(debug.warnings.len(), 64);
    assert_eq!(debug.warnings["peer N went away"].count, 10_000);
    assert_eq!(debug.skipped, 10_000 - 63);
    assert_eq!(evidence.files[0].lines, 40_000);
}

#[test]
fn what_processes_wrote_apart_is_put_together() {
    let one = runs(&debug("node-1", 77)).remove(0).debug;
    let mut both = one.clone();
    let other = debug("node-2", 78).replace("rank 0 nranks", "rank 1 nranks");
    both.merge(runs(&other).remove(0).debug);
    assert_eq!((both.places.len(), both.interfaces.len(), both.ranks), (2, 2, Some(2)));
    assert!(both.connections.values().all(|(channels, _)| *channels == 2));
    let larger = runs(&debug("node-3", 79).replace("nranks 2", "nranks 4")).remove(0).debug;
    both.merge(larger);
    assert_eq!((both.ranks, both.places.len()), (Some(4), 1));
    assert_eq!(both.other_lines, 2 * one.read);
}

#[test]
fn machines_and_matrices_are_told_by_their_content() {
    let topology = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV2\t0-7\nGPU1\tNV2\t X \t0-7\n";
    let evidence = read(topology).unwrap();
    assert_eq!((evidence.machines.len(), evidence.machines[0].1.gpus()), (1, 2));
    assert_eq!(evidence.files[0].format, Format::Machine);
    let pairs = "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\nDevice: 0\n";
    let evidence = read(pairs).unwrap();
    assert_eq!(evidence.pairs[0].text, pairs);
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

#[test]
fn a_dump_of_graphs_is_read_by_the_reader_of_graph_files() {
    let text = "<graphs version=\"1\">\n  <graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"1\" \
                speedintra=\"20\" speedinter=\"20\" latencyinter=\"0\" typeintra=\"NVL\" typeinter=\"PIX\" \
                samechannels=\"1\">\n    <channel>\n      <gpu dev=\"0\"/>\n      <gpu dev=\"1\"/>\n    \
                </channel>\n  </graph>\n</graphs>\n";
    let mut evidence = Evidence::default();
    read_file("g.xml", text.as_bytes(), &mut evidence).unwrap();
    let [(file, graphs)] = &evidence.graphs[..] else { panic!("{:?}", evidence.files) };
    assert_eq!((file.as_str(), graphs.graphs[0].pattern), ("g.xml", 4));
    let cut = &text.as_bytes()[..120];
    assert!(read_file("g.xml", cut, &mut evidence).is_err());
}
