//! Compares the tables of `docs/concepts/collective-timing.md` with the model.
//!
//! `LINKWRIGHT_WRITE_TABLES=1 cargo test -p linkwright --test it collective_timing` writes them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use linkwright::collectives::Collective;
use linkwright::collectives::baselines::{
    Era, NcclBaseline, RingPath, Settings, expect, find_rings,
};
use linkwright::collectives::plan::{Question, plan};
use linkwright::graph::max_flow::FlowGraph;
use linkwright::system::Server;
use linkwright::units::Bytes;

use crate::systems::alone;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Counts the NVLinks that join each pair of GPUs.
fn lanes(machine: &Server) -> Vec<Vec<u32>> {
    let count = machine.gpus().len();
    let gpu = |device| machine.gpus().iter().position(|gpu| *gpu == device);
    let mut lanes = vec![vec![0; count]; count];
    for link in machine.links().iter().filter(|link| link.kind.is_gpu_fabric()) {
        let (a, b) = (gpu(link.a).unwrap(), gpu(link.b).unwrap());
        lanes[a][b] = link.count;
        lanes[b][a] = link.count;
    }
    lanes
}

/// The least way to write the links of these GPUs, over all orders of them.
fn canonical(lanes: &[Vec<u32>], gpus: &[usize]) -> Vec<u32> {
    fn permute(left: &mut Vec<usize>, at: usize, visit: &mut impl FnMut(&[usize])) {
        if at == left.len() {
            return visit(left);
        }
        for index in at..left.len() {
            left.swap(at, index);
            permute(left, at + 1, visit);
            left.swap(at, index);
        }
    }
    let mut least: Option<Vec<u32>> = None;
    permute(&mut gpus.to_vec(), 0, &mut |order| {
        let cells = order.iter().flat_map(|a| order.iter().map(|b| lanes[*a][*b])).collect();
        if least.as_ref().is_none_or(|known| cells < *known) {
            least = Some(cells);
        }
    });
    least.unwrap()
}

/// The most that a broadcast from a GPU reaches, in links: the least cut.
fn broadcast_optimum(lanes: &[Vec<u32>], gpus: &[usize], from: usize) -> f64 {
    let cut = |to: usize| {
        let mut network = FlowGraph::new(gpus.len());
        for (a, gpu) in gpus.iter().enumerate() {
            for (b, other) in gpus.iter().enumerate() {
                network.add_arc(a, b, u128::from(lanes[*gpu][*other]));
            }
        }
        network.send(from, to)
    };
    let others = (0..gpus.len()).filter(|to| *to != from);
    others.map(cut).min().unwrap() as f64
}

/// Writes the gain of Blink's trees over NCCL of each era, on the classes of connected GPUs of a
/// DGX-1V.
fn classes_table() -> String {
    let machine = alone("dgx1-v100");
    let lanes = lanes(machine.kinds()[0].server());
    let mut seen = BTreeSet::new();
    let mut table = String::from(
        "| GPUs | classes | direct ring | relayed ring | PCIe | over `nccl-classic` | at most | over `nccl-ring` | at most |\n\
         | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let mut all: Vec<(RingPath, f64, f64)> = Vec::new();
    let geometric = |of: &mut dyn Iterator<Item = f64>| {
        let logs: Vec<f64> = of.map(f64::ln).collect();
        (logs.iter().sum::<f64>() / logs.len() as f64).exp()
    };
    let row = |label: &str, rows: &[(RingPath, f64, f64)]| {
        let paths = |path| rows.iter().filter(|row| row.0 == path).count();
        let most =
            |of: &dyn Fn(&(RingPath, f64, f64)) -> f64| rows.iter().map(of).fold(0.0, f64::max);
        format!(
            "| {label} | {} | {} | {} | {} | {:.2} | {:.2} | {:.2} | {:.2} |\n",
            rows.len(),
            paths(RingPath::Direct),
            paths(RingPath::Relayed),
            paths(RingPath::Host),
            geometric(&mut rows.iter().map(|row| row.1)),
            most(&|row| row.1),
            geometric(&mut rows.iter().map(|row| row.2)),
            most(&|row| row.2),
        )
    };
    for count in 3..=8 {
        let mut rows = Vec::new();
        for mask in 0_u32..256 {
            let gpus: Vec<usize> = (0..8).filter(|gpu| mask >> gpu & 1 == 1).collect();
            if gpus.len() != count || broadcast_optimum(&lanes, &gpus, 0) == 0.0 {
                continue;
            }
            if !seen.insert(canonical(&lanes, &gpus)) {
                continue;
            }
            // The root does not matter: links are alike in both directions.
            let optimum = broadcast_optimum(&lanes, &gpus, 0) * 25e9;
            let against = |baseline| {
                let collective = Collective::Broadcast { root: 0 };
                let baseline: NcclBaseline = baseline;
                let found = plan(&baseline, &Question::new(&machine, &gpus, collective)).unwrap();
                optimum / found.rate.0 as f64
            };
            let path = find_rings(&machine, &gpus, Era::Recent).unwrap().path;
            rows.push((path, against(NcclBaseline::Classic), against(NcclBaseline::Ring)));
        }
        table.push_str(&row(&count.to_string(), &rows));
        all.extend(rows);
    }
    table.push_str(&row("all", &all));
    table
}

/// Writes the answer of `expect` about an HGX H100's all-reduce.
fn h100_table() -> String {
    let machine = alone("hgx-h100");
    let sizes: Vec<Bytes> = (3..=33).step_by(3).map(|power| Bytes(1 << power)).collect();
    let gpus: Vec<usize> = (0..8).collect();
    let mut table = String::from(
        "| size | time, us | algbw, GB/s | busbw, GB/s | chosen |\n| ---: | ---: | ---: | ---: | --- |\n",
    );
    let found = expect(&machine, &gpus, Collective::AllReduce, &sizes, &Settings::default());
    for row in found.unwrap().rows {
        writeln!(
            table,
            "| {} | {:.1} | {:.2} | {:.2} | {} {} |",
            row.size,
            row.time.as_seconds() * 1e6,
            row.algorithm_bandwidth,
            row.bus_bandwidth,
            row.choice.algorithm.name(),
            row.choice.protocol.name()
        )
        .unwrap();
    }
    table
}

#[test]
fn the_page_shows_what_the_model_says() {
    let path = root().join("docs/concepts/collective-timing.md");
    let page = fs::read_to_string(&path).unwrap();
    let tables = [("hgx-h100", h100_table()), ("classes", classes_table())];
    let mut expected = page.clone();
    for (name, table) in tables {
        let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let from = expected.find(&start).expect("the page marks its tables") + start.len();
        let to = expected.find(&end).expect("the page marks the tables' ends");
        expected.replace_range(from..to, &format!("\n{table}\n"));
    }
    if std::env::var_os("LINKWRIGHT_WRITE_TABLES").is_some() {
        return fs::write(&path, &expected).unwrap();
    }
    assert!(
        page == expected,
        "the tables are stale; the first lines of this file say how to write them"
    );
}
