//! Tells the format of a file by its first line that has the look of one.

use crate::collectives::nccl::nccl_tests::{plain, printer_of};

/// Says what a line tells of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Log,
    Machine,
    Graphs,
    Inspector,
    Prometheus,
    Pairs,
}

/// Says what a line tells; None where it could stand in any file.
pub(super) fn tell(line: &str) -> Option<Told> {
    let text = line.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('<') && !text.starts_with("<?") && !text.starts_with("<!") {
        if text.starts_with("<graphs") {
            return Some(Told::Graphs);
        }
        return text.starts_with("<system").then_some(Told::Machine);
    }
    if text.starts_with('{') {
        return of_json(text);
    }
    if text.starts_with("nccl_") && text.contains('{') || is_prometheus_comment(text) {
        return Some(Told::Prometheus);
    }
    const PAIRS: [&str; 4] = [
        "P2P (Peer-to-Peer) GPU Bandwidth Latency Test",
        "nvbandwidth Version",
        "RocmBandwidthTest",
        "P2P Connectivity Matrix",
    ];
    if PAIRS.iter().any(|own| text.contains(own)) {
        return Some(Told::Pairs);
    }
    is_of_log(text).then_some(Told::Log)
}

/// A line of JSON is NCCL Inspector's, nvbandwidth's, or a log within JSON. A lone brace may begin either.
fn of_json(text: &str) -> Option<Told> {
    if text.contains("\"coll_perf\"") || text.contains("\"p2p_perf\"") {
        return Some(Told::Inspector);
    }
    if is_of_log(text) {
        return Some(Told::Log);
    }
    // Only nvbandwidth writes JSON over several lines.
    (text.trim_end() == "{" || text.contains("nvbandwidth")).then_some(Told::Pairs)
}

fn is_prometheus_comment(text: &str) -> bool {
    ["# HELP nccl_", "# TYPE nccl_"].iter().any(|own| text.starts_with(own))
}

fn is_of_log(text: &str) -> bool {
    if text.contains("NCCL INFO") || text.contains("NCCL WARN") || text.contains("CCL version") {
        return true;
    }
    if !text.contains('#') && !text.contains("busbw") {
        return false;
    }
    const COMMENTS: [&str; 4] =
        ["nccl-tests version", "Collective test starting:", "nThread ", "Using devices"];
    let text = plain(text);
    let comment = text.split_once('#').map(|(_, comment)| comment.trim_start());
    let is_comment = |it: &str| COMMENTS.iter().any(|own| it.starts_with(own));
    comment.is_some_and(is_comment) || text.contains("busbw") && printer_of(&text).is_some()
}
