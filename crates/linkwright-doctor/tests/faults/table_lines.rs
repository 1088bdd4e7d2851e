//! Writes what nccl-tests prints.
//!
//! With 2.18 and 2.23 it is v2.13.9 (`src/common.cu`). That has the head in line 875, ranks in 895
//! and the heading in 978 to 982. It has rows in 555 and 602, and the end in 1055 to 1057. With
//! 2.27 and 2.30 it is v2.19.6 (`src/util.cu`). That has the head in 623 to 625, ranks in 687 and
//! the heading in 756 to 759. It has rows in 457 and 508, and the end in 777 to 780.

use std::fmt::Write as _;

use linkwright_collectives::collectives::Collective;

use super::debug_lines::{BUSES, host, place};
use super::run::Run;

/// Writes the head, before any line of NCCL.
pub fn head(run: &Run) -> String {
    let [least, most] = run.sizes;
    let mut text = String::new();
    let release = run.release();
    let of_new = is_new(&release);
    if of_new {
        let code = code(&release);
        let (headers, test) = (format!("nccl-headers={code} nccl-library={code}"), test(run));
        let _ = writeln!(text, "# nccl-tests version 2.19.6 {headers}");
        let _ = writeln!(text, "# Collective test starting: {test}");
    }
    let unaligned = if of_new { " unalign: 0" } else { "" };
    let _ = writeln!(
        text,
        "# nThread 1 nGpus 1 minBytes {least} maxBytes {most} step: 4(factor) warmup iters: 5 iters: 20 \
         agg iters: 1 validation: 1 graph: 0{unaligned}\n#\n# Using devices",
    );
    for (rank, gpu) in run.gpus.iter().enumerate() {
        let (server, device) = place(run, *gpu);
        let bus = BUSES[device % BUSES.len()];
        let (name, model) = (host(server), model(run, *gpu));
        let pid = super::debug_lines::pid(rank);
        let bus = if of_new { format!("0000:{bus:02x}:00") } else { format!("0x{bus:02x}") };
        let _ = writeln!(
            text,
            "#  Rank {rank:2} Group  0 Pid {pid:6} on {name:>10} device {device:2} [{bus}] {model}",
        );
    }
    text
}

/// Writes the heading, the rows and the end.
pub fn table(run: &Run) -> String {
    let of_new = is_new(&run.release());
    let wide = if of_new { 6 } else { 5 };
    let mut text = "#\n".to_owned();
    let _ = writeln!(
        text,
        "# {0:>10}  {0:>12}  {0:>8}  {0:>6}  {0:>6}           out-of-place                       in-place          ",
        ""
    );
    let columns = |text: &mut String, names: [&str; 9]| {
        let [size, count, kind, operation, root, time, algorithm, bus, wrong] = names;
        let way = format!("{time:>7}  {algorithm:>6}  {bus:>6}  {wrong:>wide$}");
        let _ = writeln!(
            text,
            "# {size:>10}  {count:>12}  {kind:>8}  {operation:>6}  {root:>6}  {way}  {way}"
        );
    };
    columns(
        &mut text,
        ["size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong"],
    );
    columns(&mut text, ["(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", ""]);
    let is_reduced = matches!(run.collective, Collective::AllReduce | Collective::ReduceScatter);
    let operation = if is_reduced { "sum" } else { "none" };
    let ranks = run.gpus.len();
    let mut sum = 0.0;
    let measured = run.measured();
    for (row, times) in &measured {
        let size = row.size.0;
        let shares = if run.collective == Collective::AllReduce { 1 } else { ranks as u64 };
        let count = size / 4 / shares;
        let _ = write!(text, "{size:12}  {count:12}  {:>8}  {operation:>6}  {:>6}", "float", "-1");
        for time in times {
            let algorithm = size as f64 / time / 1e9;
            let bus = algorithm * run.collective.bus_factor(ranks);
            sum += bus;
            let time = microseconds(time * 1e6, of_new);
            let _ = write!(text, "  {time}  {algorithm:6.2}  {bus:6.2}  {:>wide$}", 0);
        }
        text.push('\n');
    }
    let mean = sum / (2 * measured.len()) as f64;
    let (bounds, average) = ("Out of bounds values", "Avg bus bandwidth");
    let _ = writeln!(text, "# {bounds:<20} : 0 OK\n# {average:<20} : {mean:.4} \n#");
    if of_new {
        let _ = writeln!(text, "# Collective test concluded: {}", test(run));
    }
    text
}

/// Follows v2.13.9, `src/common.cu` 546 to 553, and v2.19.6, `src/util.cu` 485 to 490.
fn microseconds(time: f64, of_new: bool) -> String {
    let digits = match time {
        _ if of_new => [2, 1, 0].into_iter().find(|it| format!("{time:.*}", *it).len() <= 7),
        _ if time >= 10_000.0 => Some(0),
        _ if time >= 100.0 => Some(1),
        _ => Some(2),
    };
    format!("{time:7.*}", digits.unwrap_or(0))
}

fn is_new(release: &str) -> bool {
    ["2.27.7", "2.30.7"].contains(&release)
}

fn code(release: &str) -> u32 {
    let numbers: Vec<u32> = release.split('.').map(|it| it.parse().unwrap()).collect();
    numbers[0] * 10_000 + numbers[1] * 100 + numbers[2]
}

fn test(run: &Run) -> String {
    run.collective.name().replace("all-to-all", "alltoall").replace('-', "_") + "_perf"
}

fn model(run: &Run, gpu: usize) -> String {
    let place = run.system.gpu(gpu as u32);
    let server = run.system.kind_of(place.server).server();
    let device = &server.devices()[server.gpus()[place.index as usize]];
    device.gpu_model().map_or_else(|| "GPU".to_owned(), |it| it.product.clone())
}
