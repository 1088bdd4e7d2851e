//! The table of latency and bandwidth, against numbers that were worked by hand from each tag's source.
//!
//! Every machine has ConnectX-7 at 50 GB/s (A100: 25), one beside each GPU. PCIe 5 leaves 48 of it, PCIe 4 24.
//!
//! The search (`search.cc`, `ncclTopoCompute`) finds these, as channels x GB/s inside and between:
//! - 8 H100, one server. NVLink of 18 x 20.6 = 370.8 (2.18: 18 x 20 = 360). Rings: 6 x 60 = 360 is no less than any other,
//!   and is split: 12 x 30. Trees: 12 as well, (12 - 1) x 30 <= 370.8, and 11 x 40 is too much: 12 x 30.
//!   NVLS: 9 x 50 is too much, 9 x 40 = 360 fits: 8 x 40, and from 2.19 on 60 between.
//! - 8 H100 in each of several servers. Rings take 48 at each interface, 7 x 48 = 336 inside: 8 x 48, more than 370.8 in all.
//!   Trees: the same, by one GPU (x 0.85). There is no higher rate to raise them to.
//!   NVLS: 7 x 48, 8 x 45 and 8 x 42 leave heads out. 9 x 40 = 360 fits: 8 x 40. From 2.19 on it has 48 between.
//! - 8 A100 in each of two servers. 8 x 24. Trees go inside by 28 and 30 (7 x 30 = 210 <= 240), which is below twice 24,
//!   and not by 48. They are balanced over two GPUs of a switch.
//! - Two servers have 8 B200 each, 18 x 40.1 = 721.8. Rings are 8 x 48. Trees go inside by 80, 86
//!   and 96 (7 x 96 = 672). NVLS has 9 x 48 = 432: 8 x 48 at once.
//! - One H100 in each of several servers. 1 x 48, split: 2 x 24. Trees go inside by all that there is: 48.

use super::*;
use crate::collectives::nccl::baselines::choice::Settings;
use crate::collectives::nccl::baselines::choice::explain::explained;
use crate::collectives::nccl::baselines::choice::rules::Library;
use crate::collectives::nccl::baselines::choice::versions;
use crate::system::test_support::{alone, on_one_switch};
use crate::system::{System, Wiring};

const ALL_REDUCE: Collective = Collective::AllReduce;
const GATHER: Collective = Collective::AllGather;
use ExpectedAlgorithm::{Nvls as Switches, NvlsTree, Pat, Ring, Tree};
use Protocol::{LL, LL128, Simple};

// A collective with an algorithm and a protocol, its latency in microseconds and its bandwidth of size in GB/s.
type Row = (Collective, ExpectedAlgorithm, Protocol, f64, f64);

// How many GPUs of a server take part.
fn table(version: &str, machine: &str, servers: usize, gpus: usize) -> (Graph, Vec<Row>) {
    let gigabits = if machine == "dgx-a100" { 200 } else { 400 };
    let system: System = match servers {
        1 => alone(machine),
        _ => on_one_switch(machine, servers as u32, gigabits),
    };
    let of_server = system.gpus() as usize / servers;
    let ids: Vec<usize> = (0..servers)
        .flat_map(|server| (0..gpus).map(move |gpu| server * of_server + gpu))
        .collect();
    let (rules, note) = versions::of(Library::Nccl, version.parse().unwrap());
    assert_eq!(note, None, "{version}");
    let graph = Graph::new(rules, &Wiring::of_gpus(&system, &ids), &ids, &Settings::default());
    let rows = explained(rules, &graph).costs;
    let row = |it: &super::super::explain::ModelCost| {
        (it.collective, it.algorithm, it.protocol, it.latency, it.bandwidth)
    };
    (graph, rows.iter().map(row).collect())
}

fn assert_rows(version: &str, machine: &str, servers: usize, gpus: usize, expected: &[Row]) {
    let (graph, rows) = table(version, machine, servers, gpus);
    for (collective, algorithm, protocol, latency, bandwidth) in expected {
        let is_it = |row: &&Row| (row.0, row.1, row.2) == (*collective, *algorithm, *protocol);
        let what =
            format!("{version} {servers} x {machine} {collective} {algorithm:?} {protocol:?}");
        let found = rows.iter().find(is_it).unwrap_or_else(|| panic!("{what}: {graph:?}"));
        assert!((found.3 - latency).abs() < 0.05, "{what}: {} us, {latency}", found.3);
        assert!((found.4 / bandwidth - 1.0).abs() < 1e-3, "{what}: {} GB/s, {bandwidth}", found.4);
    }
}

fn has(rows: &[Row], collective: Collective, algorithm: ExpectedAlgorithm) -> bool {
    rows.iter().any(|row| (row.0, row.1) == (collective, algorithm))
}

// An all-reduce of 8 ranks takes 14 steps, 8/14 of the bus. an all-gather 7.
//
// 2.18, `tuning.cc` 56 to 104 and 150 to 255.
// LL 6.6 + 14 x 0.6 = 15.0. min(360/4, 87.7) x 8/14 = 50.11. LL128 14 + 14 x 1.9 = 40.6. min(360 x 0.92, 12 x 36.7) x 8/14 =
// 189.26. Simple 8.4 + 14 x 3.4 = 56.0. 360 x 8/14 = 205.71.
// Trees: min(360 x 0.92, 12 x 38.7) = 331.2. LL 6.8 + 14 x 0.6 = 15.2. 331.2/3.8/2 = 43.58. LL128 14 + 14 x 1.25 = 31.5;
// 331.2 x 7/9/2 = 128.8. Simple 0 + 14 x 4 = 56.0. 331.2/2 = 165.6. NVLS 23. 8 x 40 x 5/6 = 266.67, and no all-gathers.
// All-gather: LL 6.6 + 7 x 0.6 = 10.8. min(360/3, 87.7) x 8/7 = 100.23.
// 2.20: a hop of trees' Simple takes 28: 14 x 28 = 392. NVLS gathers: 266.67.
// 2.23: LL takes half, min(360/2, 141) x 8/14 = 80.57. Trees' Simple 8.4 + 14 x 4 = 64.4. NVLS 25, of an all-gather 8 x 40.
// 2.27: an all-gather of NVLS 8 x min(40 x 7/8, 60 x 0.9) = 280.
// 2.28: NVLS 40 x 0.85 x 7/8 = 29.75. An all-reduce has 8 x min(2 x 29.75, 60) x 8/14 = 272.0.
// An all-gather has 8 x 29.75 x 7/8 = 208.25.
#[test]
fn one_server_of_8_h100_is_as_worked_by_hand() {
    let same = [
        (ALL_REDUCE, Ring, LL128, 40.6, 189.257),
        (ALL_REDUCE, Ring, Simple, 56.0, 205.714),
        (ALL_REDUCE, Tree, LL, 15.2, 43.579),
        (ALL_REDUCE, Tree, LL128, 31.5, 128.8),
    ];
    let early = [(ALL_REDUCE, Ring, LL, 15.0, 50.114), (GATHER, Ring, LL, 10.8, 100.229)];
    let late = [(ALL_REDUCE, Ring, LL, 15.0, 80.571), (GATHER, Ring, LL, 10.8, 161.143)];
    let by_release: [(&str, &[Row], &[Row]); 6] = [
        (
            "2.18.5",
            &early,
            &[
                (ALL_REDUCE, Tree, Simple, 56.0, 165.6),
                (ALL_REDUCE, Switches, Simple, 23.0, 266.667),
            ],
        ),
        (
            "2.20.5",
            &early,
            &[
                (ALL_REDUCE, Tree, Simple, 392.0, 165.6),
                (ALL_REDUCE, Switches, Simple, 23.0, 266.667),
                (GATHER, Switches, Simple, 23.0, 266.667),
            ],
        ),
        (
            "2.23.4",
            &late,
            &[
                (ALL_REDUCE, Tree, Simple, 64.4, 165.6),
                (ALL_REDUCE, Switches, Simple, 25.0, 266.667),
                (GATHER, Switches, Simple, 25.0, 320.0),
            ],
        ),
        ("2.27.7", &late, &[(GATHER, Switches, Simple, 25.0, 280.0)]),
        (
            "2.28.9",
            &late,
            &[
                (ALL_REDUCE, Switches, Simple, 25.0, 272.0),
                (GATHER, Switches, Simple, 25.0, 208.25),
            ],
        ),
        ("2.30.7", &late, &[(ALL_REDUCE, Switches, Simple, 25.0, 272.0)]),
    ];
    for (version, rings, own) in by_release {
        assert_rows(version, "hgx-h100", 1, 8, &[&same, rings, own].concat());
    }
    let (_, rows) = table("2.18.5", "hgx-h100", 1, 8);
    assert!(!has(&rows, GATHER, Switches) && !has(&rows, ALL_REDUCE, NvlsTree));
}

// It takes 30 steps, 16/30 of the bus. Up to 2.22 4 go between servers, and 2 from 2.23 on. A host of Intel's posts in 1 us,
// Simple in 3.
//
// 2.18: LL 6.6 + 26 x 1 + 4 x 2.7 = 43.4. min(384/4, 39) x 16/30 = 20.8. LL128 14 + 26 x 1.9 + 4 x 4 = 79.4;
// min(384 x 0.92, 8 x 36.7) x 16/30 = 156.59. Simple 8.4 + 26 x 3.4 + 4 x 14 = 152.8. 384 x 16/30 = 204.8.
// Trees: min(384 x 0.92, 8 x 41.4) = 331.2, times 0.85. LL 6.8 + 2 (7 x 0.6 + 5) = 25.2. 39 x 0.85/2 = 16.58. LL128
// 14 + 2 (7 x 1.25 + 8.5) = 48.5. min(331.2 x 120/128, 293.6) x 0.85/2 = 124.78. Simple 2 (7 x 4 + 14) = 84. 140.76.
// NVLSTree 23 + 2 x 19 = 61. 8 x 40 x 0.7 x 2/2 = 224.
// 2.20: trees' Simple 2 (7 x 28 + 28) = 448. NVLSTree 23 + 2 x 14 = 51. 8 x min(40, 48) x 5/6 = 266.67.
// 2.23: LL 6.6 + 28 + 2 x 2.7 = 40.0. LL128 14 + 28 x 1.9 + 2 x 4 = 75.2. Simple 8.4 + 28 x 3.4 + 2 x 14 = 131.6.
// Trees' Simple 8.4 + 84 = 92.4. NVLSTree 25 + 28 = 53.
// 2.28: NVLSTree 8 x min(59.5, 2 x 48, 57.7) x 16/30 = 246.19. It takes 25 + 2 x 20.9 = 66.8. In 2.28.3 a hop took 14: 53.
#[test]
fn two_servers_of_8_h100_are_as_worked_by_hand() {
    let bandwidths: [(ExpectedAlgorithm, Protocol, f64); 6] = [
        (Ring, LL, 20.8),
        (Ring, LL128, 156.587),
        (Ring, Simple, 204.8),
        (Tree, LL, 16.575),
        (Tree, LL128, 124.78),
        (Tree, Simple, 140.76),
    ];
    let by_release = [
        ("2.18.5", [43.4, 79.4, 152.8, 25.2, 48.5, 84.0], (61.0, 224.0)),
        ("2.20.5", [43.4, 79.4, 152.8, 25.2, 48.5, 448.0], (51.0, 266.667)),
        ("2.23.4", [40.0, 75.2, 131.6, 25.2, 48.5, 92.4], (53.0, 266.667)),
        ("2.27.7", [40.0, 75.2, 131.6, 25.2, 48.5, 92.4], (53.0, 266.667)),
        ("2.28.3", [40.0, 75.2, 131.6, 25.2, 48.5, 92.4], (53.0, 246.187)),
        ("2.28.9", [40.0, 75.2, 131.6, 25.2, 48.5, 92.4], (66.8, 246.187)),
        ("2.30.7", [40.0, 75.2, 131.6, 25.2, 48.5, 92.4], (66.8, 246.187)),
    ];
    for (version, latencies, (latency, bandwidth)) in by_release {
        let rings_and_trees = bandwidths.iter().zip(latencies);
        let mut rows: Vec<Row> =
            rings_and_trees.map(|((a, p, b), latency)| (ALL_REDUCE, *a, *p, latency, *b)).collect();
        rows.push((ALL_REDUCE, NvlsTree, Simple, latency, bandwidth));
        assert_rows(version, "hgx-h100", 2, 8, &rows);
        // Between servers NVLS takes CollNet.
        assert!(!has(&table(version, "hgx-h100", 2, 8).1, ALL_REDUCE, Switches));
    }
}

// It takes 62 steps, 32/62 of the bus. 8 go between servers, and 6 from 2.23 on.
//
// 2.18: LL 6.6 + 54 + 8 x 2.7 = 82.2. min(96, 20.4) x 32/62 = 10.53. LL128 14 + 54 x 1.9 + 8 x 4 = 148.6. 293.6 x 32/62 =
// 151.54. Simple 8.4 + 54 x 3.4 + 8 x 14 = 304.0. 198.19.
// Trees: min(353.28, 8 x 36) = 288. LL 6.8 + 2 (4.2 + 2 x 5) = 35.2. 20.4 x 0.85/2 = 8.67. LL128 14 + 2 (8.75 + 17) = 65.5;
// 8 x 29 x 0.85/2 = 98.6. Simple 2 (28 + 28) = 112. 122.4. NVLSTree 23 + 2 x 3 x 19 = 137. 8 x 40 x 0.7 x 4/6 = 149.33.
// 2.20: trees' Simple 2 (196 + 56) = 504. NVLSTree 23 + 4 x 14 = 79. 8 x min(40, 48/2) x 5/6 = 160.
// 2.23: LL 6.6 + 56 + 6 x 2.7 = 78.8. LL128 14 + 56 x 1.9 + 6 x 4 = 144.4. Simple 8.4 + 56 x 3.4 + 6 x 14 = 282.8. Trees'
// Simple 8.4 + 112 = 120.4. NVLSTree 25 + 56 = 81.
// 2.28: NVLSTree 25 + 4 x 20.9 = 108.6. 8 x min(59.5, 48, 45.5) x 32/62 = 187.87.
#[test]
fn four_servers_of_8_h100_are_as_worked_by_hand() {
    let bandwidths: [(ExpectedAlgorithm, Protocol, f64); 6] = [
        (Ring, LL, 10.529),
        (Ring, LL128, 151.535),
        (Ring, Simple, 198.194),
        (Tree, LL, 8.67),
        (Tree, LL128, 98.6),
        (Tree, Simple, 122.4),
    ];
    let by_release = [
        ("2.18.5", [82.2, 148.6, 304.0, 35.2, 65.5, 112.0], (137.0, 149.333)),
        ("2.20.5", [82.2, 148.6, 304.0, 35.2, 65.5, 504.0], (79.0, 160.0)),
        ("2.23.4", [78.8, 144.4, 282.8, 35.2, 65.5, 120.4], (81.0, 160.0)),
        ("2.27.7", [78.8, 144.4, 282.8, 35.2, 65.5, 120.4], (81.0, 160.0)),
        ("2.28.9", [78.8, 144.4, 282.8, 35.2, 65.5, 120.4], (108.6, 187.871)),
        ("2.30.7", [78.8, 144.4, 282.8, 35.2, 65.5, 120.4], (108.6, 187.871)),
    ];
    for (version, latencies, (latency, bandwidth)) in by_release {
        let rings_and_trees = bandwidths.iter().zip(latencies);
        let mut rows: Vec<Row> =
            rings_and_trees.map(|((a, p, b), latency)| (ALL_REDUCE, *a, *p, latency, *b)).collect();
        rows.push((ALL_REDUCE, NvlsTree, Simple, latency, bandwidth));
        assert_rows(version, "hgx-h100", 4, 8, &rows);
    }
}

// A100, 2.23: a host of AMD's posts in 2 us, Simple in 6. LL 6.6 + 28 x 2 + 2 x 2.7 = 68.0. min(96, 22.5) x 16/30 =
// 12.0. LL128 14 + 28 x 2 + 2 x 4 = 78.0. min(192 x 0.92, 8 x 20) x 16/30 = 85.33. Simple 8.4 + 28 x 6 + 2 x 14 = 204.4;
// 192 x 16/30 = 102.4. Trees' Simple 92.4. min(8 x 30 x 0.92, 8 x 23.6)/2 = 94.4.
//
// B200, 2.30: LL128 min(384 x 0.92, 8 x 40) x 16/30 = 170.67. Trees: min(8 x 96 x 0.92, 8 x 42.8) = 342.4. Simple
// x 0.85/2 = 145.52. LL128 min(321, 8 x 31.67) x 0.85/2 = 107.68. NVLSTree 48 x 0.74 x 7/8 x 2 = 62.16:
// 8 x min(62.16, 96, 96) x 16/30 = 265.22.
// 2.26 tries no rate above 48, and has twice Hopper's limits. Trees' Simple min(384 x 0.92, 8 x 82.8) x 0.85/2 = 150.14.
// NVLSTree 8 x min(48, 48) x 5/6 = 320.
#[test]
fn two_servers_of_8_a100_or_b200_are_as_worked_by_hand() {
    assert_rows(
        "2.23.4",
        "dgx-a100",
        2,
        8,
        &[
            (ALL_REDUCE, Ring, LL, 68.0, 12.0),
            (ALL_REDUCE, Ring, LL128, 78.0, 85.333),
            (ALL_REDUCE, Ring, Simple, 204.4, 102.4),
            (ALL_REDUCE, Tree, Simple, 92.4, 94.4),
        ],
    );
    assert_rows(
        "2.30.7",
        "hgx-b200",
        2,
        8,
        &[
            (ALL_REDUCE, Ring, Simple, 131.6, 204.8),
            (ALL_REDUCE, Ring, LL128, 75.2, 170.667),
            (ALL_REDUCE, Tree, Simple, 92.4, 145.52),
            (ALL_REDUCE, Tree, LL128, 48.5, 107.678),
            (ALL_REDUCE, NvlsTree, Simple, 66.8, 265.216),
        ],
    );
    assert_rows(
        "2.26.6",
        "hgx-b200",
        2,
        8,
        &[(ALL_REDUCE, Tree, Simple, 92.4, 150.144), (ALL_REDUCE, NvlsTree, Simple, 53.0, 320.0)],
    );
    // LL128 came to Blackwell with 2.25.
    let ll128 = |version| {
        let rows = table(version, "hgx-b200", 1, 8).1;
        rows.iter().any(|row| row.2 == LL128)
    };
    assert_eq!([ll128("2.24.3"), ll128("2.25.1")], [false, true]);
}

// 2.23: 8 + 2 x 14/3.5 + 4 x 2.8 = 27.2 us. Of more than two servers the channels between count: 2 x 24 x 0.85 = 40.8. Of two
// those inside do: 2 x 48 x 0.85 = 81.6. There it is 8 + 4 + 5.6 = 17.6 us. From 2.24 on it is 0.75 of them. A ring: 8.4 + 3 x 14 = 50.4.
#[test]
fn parallel_trees_take_servers_of_one_gpu_each() {
    let rows = [(GATHER, Pat, Simple, 27.2, 40.8), (GATHER, Ring, Simple, 50.4, 64.0)];
    assert_rows("2.23.4", "hgx-h100", 4, 1, &rows);
    assert_rows("2.24.3", "hgx-h100", 4, 1, &[(GATHER, Pat, Simple, 27.2, 36.0)]);
    assert_rows("2.23.4", "hgx-h100", 2, 1, &[(GATHER, Pat, Simple, 17.6, 81.6)]);
    assert!(!has(&table("2.22.3", "hgx-h100", 4, 1).1, GATHER, Pat));
    assert!(!has(&table("2.30.7", "hgx-h100", 4, 8).1, GATHER, Pat));
}

// A rack of 72 GPUs is one node: 32 of them have a part, and 33 x 20 = 660 <= 721.8 GB/s fits. All-gathers go so on 32 GPUs
// or fewer. 2.27: 32 x 20 x 5/6 = 533.33. 2.30: 32 x min(2 x 20 x 0.74 x 31/32, 40) x 72/142 = 465.32.
#[test]
fn a_rack_reduces_in_its_switches() {
    for (version, bandwidth) in [("2.27.7", 533.333), ("2.30.7", 465.316)] {
        assert_rows(
            version,
            "gb200-nvl72",
            1,
            72,
            &[(ALL_REDUCE, Switches, Simple, 25.0, bandwidth)],
        );
        let (graph, rows) = table(version, "gb200-nvl72", 1, 72);
        assert_eq!((graph.heads(), has(&rows, GATHER, Switches)), (32, false));
        assert!(has(&table(version, "gb200-nvl72", 1, 32).1, GATHER, Switches));
        for gpus in [2, 3, 5, 8, 18, 33, 36, 64] {
            let least = if version == "2.27.7" { 3 } else { 2 };
            let rows = table(version, "gb200-nvl72", 1, gpus).1;
            assert_eq!(has(&rows, ALL_REDUCE, Switches), gpus >= least, "{version} {gpus}");
        }
    }
}
