//! Prints what the programs that measure pairs would print of a machine, with pairs that are slow.
//!
//! Each line has the format of its source. That is `NAME` of cuda-samples'
//! `p2pBandwidthLatencyTest.cu` at v12.8, of nvbandwidth's files at v0.8, and of
//! rocm_bandwidth_test's files at rocm-6.3.3. The number of its line stands beside it.

use std::fmt::Write as _;

use crate::system::kinds::LinkKind;
use crate::system::server::Server;
use crate::system::views::gpu_graph::{BandwidthProfile, GpuGraph, PairLink};
use crate::system::views::proximity::{Proximity, proximity};

/// Holds a test's name, the title of its matrix, and the rows.
type TitledRows = (&'static str, &'static str, Vec<Vec<Option<f64>>>);

/// Says what copies reach between the GPUs of a machine and its host, GB/s in one direction.
#[derive(Debug, Clone)]
pub struct PairRates {
    /// Goes from the GPU of the row to that of the column; a GPU's own memory is on the diagonal.
    pub pairs: Vec<Vec<f64>>,
    /// Goes from each GPU to the host and back.
    pub host: Vec<f64>,
    /// The PCI bus of each GPU, by its id; those of the machine where it says them.
    pub buses: Vec<u32>,
}

impl PairRates {
    /// Those of a sound machine: a fixed part of what its links have.
    ///
    /// # Panics
    /// Refuses a machine of several servers.
    #[must_use]
    pub fn of(server: &Server) -> Self {
        let graph = GpuGraph::new(server, BandwidthProfile::DataSheet).expect("one server");
        let near = proximity(server);
        let count = graph.len();
        let rate = |a: usize, b: usize| match graph.pair(a, b) {
            None => 800.0,
            Some(pair) => {
                let peak = pair.data_sheet.as_gigabytes_per_second();
                let share = match pair.link {
                    PairLink::Host { .. } if near[a][b] == Some(Proximity::Sys) => 0.6,
                    PairLink::Host { .. } => 0.8,
                    _ => 0.95,
                };
                peak * share
            }
        };
        let pcie = |gpu: &usize| {
            let links = server.links().iter();
            let own = links.filter(|link| link.joins(*gpu) && link.kind.is_pcie());
            own.map(|link| link.nominal_bandwidth().as_gigabytes_per_second())
                .fold(0.0, |sum, rate| sum + rate)
                * 0.82
        };
        Self {
            pairs: (0..count).map(|a| (0..count).map(|b| rate(a, b)).collect()).collect(),
            host: server.gpus().iter().map(pcie).collect(),
            buses: (0..count as u32).map(|gpu| 7 + 8 * gpu).collect(),
        }
    }

    /// The same with a pair that reaches this part of what it did, in both directions.
    #[must_use]
    pub fn slowed(mut self, a: usize, b: usize, part: f64) -> Self {
        self.pairs[a][b] *= part;
        self.pairs[b][a] *= part;
        self
    }

    fn count(&self) -> usize {
        self.pairs.len()
    }

    /// Makes a number for each cell, row by row.
    fn matrix(&self, of: impl Fn(usize, usize) -> f64) -> Vec<Vec<f64>> {
        let row = |a: usize| (0..self.count()).map(|b| of(a, b)).collect();
        (0..self.count()).map(row).collect()
    }

    fn both_ways(&self) -> Vec<Vec<f64>> {
        self.matrix(|a, b| self.pairs[a][b] + self.pairs[b][a])
    }

    /// Gives what `p2pBandwidthLatencyTest` prints.
    #[must_use]
    pub fn p2p_bandwidth_latency_test(&self) -> String {
        // p2pBandwidthLatencyTest.cu 631
        let mut text = "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n".to_owned();
        for (gpu, bus) in self.buses.iter().enumerate() {
            // 638
            let _ = writeln!(
                text,
                "Device: {gpu}, Tesla V100-SXM2-16GB, pciBusID: {bus:x}, pciDeviceID: 0, pciDomainID:0"
            );
        }
        for a in 0..self.count() {
            for b in (0..self.count()).filter(|b| *b != a) {
                // 116
                let _ = writeln!(text, "Device={a} CAN Access Peer Device={b}");
            }
        }
        // 121
        text += "\n***NOTE: In case a device doesn't have P2P access to other one, it falls back to normal \
                 memcopy procedure.\nSo you can see lesser Bandwidth (GB/s) and unstable Latency (us) in \
                 those cases.\n\n";
        // 645, 646, 649, 654, 660
        text += "P2P Connectivity Matrix\n     D\\D";
        (0..self.count()).for_each(|gpu| {
            let _ = write!(text, "{gpu:6}");
        });
        text.push('\n');
        for a in 0..self.count() {
            let _ = write!(text, "{a:6}\t");
            (0..self.count()).for_each(|_| {
                let _ = write!(text, "{:6}", 1);
            });
            text.push('\n');
        }
        let staged = self.matrix(|a, b| if a == b { self.pairs[a][b] } else { 9.5 });
        let latency = self.matrix(|a, b| if a == b { 1.8 } else { 2.2 });
        let both = self.both_ways();
        // 668, 670, 676, 678, 681, 683
        let titled = [
            ("Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)", &staged),
            ("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", &self.pairs),
            ("Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)", &staged),
            ("Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)", &both),
        ];
        for (title, matrix) in titled {
            text += &format!("{title}\n{}", Self::p2p_matrix("   D\\D", matrix));
        }
        for title in
            ["P2P=Disabled Latency Matrix (us)", "P2P=Enabled Latency (P2P Writes) Matrix (us)"]
        {
            // 550, 568
            let (gpu, cpu) =
                (Self::p2p_matrix("   GPU", &latency), Self::p2p_matrix("   CPU", &latency));
            text += &format!("{title}\n{gpu}\n{cpu}");
        }
        // 690
        text += "\nNOTE: The CUDA Samples are not meant for performance measurements. Results may vary when \
                 GPU Boost is enabled.\n";
        text
    }

    fn p2p_matrix(corner: &str, matrix: &[Vec<f64>]) -> String {
        // 255, 258, 264, 267
        let mut text = corner.to_owned();
        (0..matrix.len()).for_each(|gpu| {
            let _ = write!(text, "{gpu:6} ");
        });
        text.push('\n');
        for (gpu, row) in matrix.iter().enumerate() {
            let _ = write!(text, "{gpu:6} ");
            row.iter().for_each(|value| {
                let _ = write!(text, "{value:6.2} ");
            });
            text.push('\n');
        }
        text
    }

    /// The tests of `nvbandwidth` with the titles of their matrices, and these: one row of a host.
    fn nvbandwidth_tests(&self) -> Vec<TitledRows> {
        let host = || vec![self.host.iter().copied().map(Some).collect()];
        let pairs = |of: &Vec<Vec<f64>>, turned: bool| {
            let value =
                |a: usize, b: usize| (a != b).then(|| if turned { of[b][a] } else { of[a][b] });
            let row = |a: usize| (0..of.len()).map(|b| value(a, b)).collect();
            (0..of.len()).map(row).collect::<Vec<Vec<Option<f64>>>>()
        };
        let both = self.both_ways();
        // testcase.h 64, 73, 122, 133, 144, 168; testcases_ce.cpp 36, 50, 112, 137, 172 to 174, 225
        vec![
            (
                "host_to_device_memcpy_ce",
                "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
                host(),
            ),
            (
                "device_to_host_memcpy_ce",
                "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)",
                host(),
            ),
            (
                "device_to_device_memcpy_read_ce",
                "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
                pairs(&self.pairs, true),
            ),
            (
                "device_to_device_memcpy_write_ce",
                "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)",
                pairs(&self.pairs, false),
            ),
            (
                "device_to_device_bidirectional_memcpy_read_ce",
                "memcpy CE GPU(row) <-> GPU(column) Read1 bandwidth (GB/s)",
                pairs(&self.pairs, true),
            ),
            (
                "device_to_device_bidirectional_memcpy_read_ce",
                "memcpy CE GPU(row) <-> GPU(column) Read2 bandwidth (GB/s)",
                pairs(&self.pairs, false),
            ),
            (
                "device_to_device_bidirectional_memcpy_read_ce",
                "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)",
                pairs(&both, false),
            ),
            // All GPUs at once, which say nothing of one.
            ("all_to_host_memcpy_ce", "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)", {
                vec![self.host.iter().map(|rate| Some(rate / 8.0)).collect()]
            }),
        ]
    }

    /// Gives what `nvbandwidth` prints.
    #[must_use]
    pub fn nvbandwidth(&self) -> String {
        // output.cpp 31, 32, 49 to 51, 166
        let mut text = "nvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n\nCUDA Runtime Version: 12080\n\
                        CUDA Driver Version: 12080\nDriver Version: 570.86.15\n\nnode-1\n"
            .to_owned();
        for (gpu, bus) in self.buses.iter().enumerate() {
            // output.cpp 90, 168
            let _ = writeln!(text, "Device {gpu}: NVIDIA A100-SXM4-40GB (00000000:{bus:02x}:00)");
        }
        text.push('\n');
        let mut before = "";
        for (test, title, matrix) in self.nvbandwidth_tests() {
            if test != before {
                // output.cpp 177
                let _ = writeln!(text, "Running {test}.");
            }
            before = test;
            // output.cpp 189, inline_common.h 67 to 97
            let _ = write!(text, "{title}\n  ");
            (0..self.count()).for_each(|gpu| {
                let _ = write!(text, "{gpu:10}");
            });
            text.push('\n');
            let mut sum = 0.0;
            for (at, row) in matrix.iter().enumerate() {
                let _ = write!(text, "{at:2}");
                for value in row {
                    let shown = value.map_or("N/A".to_owned(), |value| format!("{value:.2}"));
                    let _ = write!(text, "{shown:>10}");
                    sum += value.unwrap_or_default();
                }
                text.push('\n');
            }
            // inline_common.h 104
            let _ = writeln!(text, "\nSUM {test} {sum:.2}\n");
        }
        // output.cpp 44, 45
        text += "NOTE: The reported results may not reflect the full capabilities of the platform.\n\
                 Performance can vary with software drivers, hardware clocks, and system topology.\n\n";
        text
    }

    /// Gives what `nvbandwidth --json` prints.
    #[must_use]
    pub fn nvbandwidth_json(&self) -> String {
        // json_output.cpp 25 to 51 (keys), 179 (devices), 64 to 70 (cells), 79 to 81
        let devices: Vec<String> = self
            .buses
            .iter()
            .enumerate()
            .map(|(gpu, bus)| {
                format!("\t\t\t\"{gpu}: NVIDIA A100-SXM4-40GB (00000000:{bus:02x}:00): (node-1)\"")
            })
            .collect();
        let tests = self.nvbandwidth_tests();
        let cases = tests.chunk_by(|a, b| a.0 == b.0).map(|case| {
            let rows = case.iter().flat_map(|(_, _, matrix)| matrix).map(|row| {
                let cells: Vec<String> = row.iter().map(|value| match value {
                    Some(value) => format!("\"{}\"", significant(*value)),
                    None => "\"N/A\"".to_owned(),
                }).collect();
                format!("\t\t\t\t\t[ {} ]", cells.join(", "))
            });
            let rows: Vec<String> = rows.collect();
            let (name, title, _) = case.last().expect("a case has a matrix");
            format!(
                "\t\t\t{{\n\t\t\t\t\"bandwidth_description\" : \"{title}\",\n\t\t\t\t\"bandwidth_matrix\" : \n\
                 \t\t\t\t[\n{}\n\t\t\t\t],\n\t\t\t\t\"name\" : \"{name}\",\n\t\t\t\t\"status\" : \"Passed\",\n\
                 \t\t\t\t\"sum\" : 1.0\n\t\t\t}}",
                rows.join(",\n")
            )
        });
        let cases: Vec<String> = cases.collect();
        format!(
            "{{\n\t\"nvbandwidth\" : \n\t{{\n\t\t\"CUDA Runtime Version\" : 12080,\n\t\t\"Driver Version\" : \
             \"570.86.15\",\n\t\t\"GPU Device list\" : \n\t\t[\n{}\n\t\t],\n\t\t\"git_version\" : \"v0.8\",\n\
             \t\t\"testcases\" : \n\t\t[\n{}\n\t\t],\n\t\t\"version\" : \"v0.8\"\n\t}}\n}}\n\n",
            devices.join(",\n"),
            cases.join(",\n")
        )
    }

    /// Gives what `rocm-bandwidth-test` prints: two hosts, and then the GPUs.
    #[must_use]
    pub fn rocm_bandwidth_test(&self) -> String {
        const HOSTS: usize = 2;
        let agents = HOSTS + self.count();
        // rocm_bandwidth_test_print.cpp 121 to 124
        let mut text = "\n          RocmBandwidthTest Version: 2.6.0\n\n".to_owned();
        // 100, 110
        text += "          Launch Command is: rocm-bandwidth-test (rocm_bandwidth -a + rocm_bandwidth -A)\n\n\n";
        for agent in 0..agents {
            // rocm_bandwidth_test_report.cpp 343 to 352; rocm_bandwidth_test_topology.cpp 158
            let _ = match agent.checked_sub(HOSTS) {
                None => {
                    writeln!(text, "          Device: {agent},  AMD EPYC 7763 64-Core Processor")
                }
                Some(gpu) => writeln!(
                    text,
                    "          Device: {agent},  AMD Instinct MI210,  GPU-{gpu:016x},  {:02x}:0.0",
                    self.buses[gpu]
                ),
            };
        }
        // rocm_bandwidth_test_print.cpp 231, 240, 252 to 287
        for title in ["Inter-Device Access", "Inter-Device Numa Distance"] {
            text += &rocm_matrix(title, agents, 10, |_, _| "1".to_owned());
        }
        let value =
            |a: usize, b: usize, ways: f64| match (a.checked_sub(HOSTS), b.checked_sub(HOSTS)) {
                (None, None) => None,
                (Some(a), Some(b)) if a == b && ways == 1.0 => Some(self.pairs[a][a]),
                (Some(a), Some(b)) if a == b => None,
                (Some(a), Some(b)) if ways == 1.0 => Some(self.pairs[a][b]),
                (Some(a), Some(b)) => Some(self.pairs[a][b] + self.pairs[b][a]),
                (Some(gpu), None) | (None, Some(gpu)) => Some(ways * self.host[gpu]),
            };
        // rocm_bandwidth_test_report.cpp 252, 260, 276 to 312
        for (title, ways) in [
            ("Unidirectional copy peak bandwidth GB/s", 1.0),
            ("Bidirectional copy peak bandwidth GB/s", 2.0),
        ] {
            text += &rocm_matrix(title, agents, 12, |a, b| {
                value(a, b, ways).map_or("N/A".to_owned(), |value| format!("{value:.3}"))
            });
        }
        text
    }
}

fn rocm_matrix(
    title: &str,
    agents: usize,
    width: usize,
    cell: impl Fn(usize, usize) -> String,
) -> String {
    let mut text = format!("          {title:<10}\n\n          {:<10}", "D/D");
    (0..agents).for_each(|agent| {
        let _ = write!(text, "{agent:<width$}");
    });
    text += "\n\n";
    for a in 0..agents {
        let _ = write!(text, "          {a:<10}");
        (0..agents).for_each(|b| {
            let _ = write!(text, "{:<width$}", cell(a, b));
        });
        text += "\n\n";
    }
    text.push('\n');
    text
}

/// A number as C++ streams write it where nothing else is said: six digits (json_output.cpp 65).
fn significant(value: f64) -> String {
    if value <= 0.0 {
        return "0".to_owned();
    }
    let whole = value.log10().floor() as i32 + 1;
    let decimals = usize::try_from(6 - whole).unwrap_or(0);
    format!("{value:.decimals$}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Whether a machine's GPUs are AMD's.
#[must_use]
pub fn is_of_amd(server: &Server) -> bool {
    server.links().iter().any(|link| LinkKind::is_xgmi(link.kind))
}
