//! Draws servers on a fabric as SVG, for notebooks.
//!
//! Servers stand in a column, each a row of its GPUs and network interfaces. The fabric's switches
//! stand in columns to the right of them, further right the further they are from the servers.
//! Links between the same two are one line, which is wider the more they are. A column with more
//! rows than can be read is one box, which says how many it stands for.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::dot::{device_style, escape, link_style};
use super::fabric_facts::{heights, level_names};
use crate::system::composition::System;
use crate::system::fabric::{End, Fabric};
use crate::system::kinds::DeviceKind;
use crate::units::Bandwidth;

/// The most servers, and the most switches of a level, that are drawn one by one.
pub const MOST_ROWS: usize = 64;

/// Pixels: of a row, of what stands around the drawing, of a GPU, of a gap between columns.
const TALL_ROW: f64 = 26.0;
const SHORT_ROW: f64 = 19.0;
const MARGIN: f64 = 12.0;
const HEAD: f64 = 46.0;
const SQUARE: f64 = 9.0;
const GAP: f64 = 90.0;
const CHARACTER: f64 = 6.6;
/// The most GPUs, or interfaces, of a server that are drawn one by one.
const MOST_SQUARES: usize = 16;

/// A row of a column, and where its middle is.
struct Row {
    label: String,
    tooltip: String,
    gpus: usize,
    nics: usize,
    y: f64,
}

/// Holds rows of one sort, from the top.
struct Column {
    kind: DeviceKind,
    rows: Vec<Row>,
    x: f64,
    width: f64,
    /// Whether one row stands for all.
    in_short: bool,
}

/// Names a row: its column and its index there.
type At = (usize, usize);

/// Draws servers on a fabric as SVG.
#[must_use]
pub fn system_svg(system: &System, fabric: &Fabric) -> String {
    let heights = heights(fabric);
    let (mut columns, row_of) = columns(system, fabric, &heights);
    place(&mut columns);
    let lines = lines(system, fabric, &row_of);
    let right = columns.last().map_or(0.0, |last| last.x + last.width);
    let bottom =
        columns.iter().flat_map(|column| &column.rows).map(|row| row.y).fold(0.0, f64::max);
    let arcs = lines.keys().any(|(a, b)| a.0 == b.0 && a != b);
    let facts = facts(system, fabric, &columns);
    let drawn = right + MARGIN + if arcs { GAP } else { 0.0 };
    let written = 2.0 * MARGIN + facts.chars().count() as f64 * CHARACTER;
    let (width, height) = (drawn.max(written), bottom + TALL_ROW);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <title>{0}</title>\n<rect width=\"100%\" height=\"100%\" rx=\"4\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN}\" y=\"18\" font-size=\"13\" font-weight=\"bold\" fill=\"#1C2430\">{0}\
         </text>\n<text x=\"{MARGIN}\" y=\"34\" fill=\"#4A5560\">{1}</text>\n",
        escape(system.name()),
        escape(&facts),
    );
    draw_lines(&mut text, fabric, &columns, &lines);
    for column in &columns {
        for row in &column.rows {
            draw_row(&mut text, column, row);
        }
    }
    text.push_str("</svg>\n");
    text
}

/// Writes the drawing's second line.
fn facts(system: &System, fabric: &Fabric, columns: &[Column]) -> String {
    let (name, _) = link_style(fabric.link_kind());
    let (gpus, servers, nics) = (system.gpus(), system.servers(), system.nics());
    let ports = fabric.nodes();
    let many = |count: u32, one: &str, more: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {more}"),
    };
    let mut text = format!(
        "{} in {}; {} by {name}; {nics} of {} in use",
        many(gpus, "GPU", "GPUs"),
        many(servers, "server", "servers"),
        many(fabric.switches(), "switch", "switches"),
        many(ports, "port", "ports"),
    );
    if columns.iter().any(|column| column.in_short) {
        let _ = write!(text, "; in short: of more than {MOST_ROWS} one box stands for all");
    }
    text
}

/// Returns the columns, without places, and the row of each server and of each switch.
fn columns(system: &System, fabric: &Fabric, heights: &[u32]) -> (Vec<Column>, [Vec<At>; 2]) {
    let servers = system.servers();
    let described = !system.kinds()[0].server().nics_meet_gpus();
    let mut column = Column {
        kind: DeviceKind::Gpu,
        rows: Vec::new(),
        x: 0.0,
        width: 0.0,
        in_short: servers as usize > MOST_ROWS,
    };
    let mut of_servers: Vec<At> = Vec::with_capacity(servers as usize);
    let mut first = 0;
    for server in 0..servers {
        let kind = system.kind_of(server);
        let (gpus, nics) = (kind.server().gpus().len(), kind.nics().len());
        let is_more =
            server > 0 && system.kind_index_of(server - 1) == system.kind_index_of(server);
        let name = if described { kind.server().name() } else { "" };
        let inside = format!("{gpus} GPUs, {nics} network interfaces");
        if column.in_short && is_more {
            let row = column.rows.len() - 1;
            let count = server - first + 1;
            column.rows[row].label = format!("{count} \u{d7} {}", kind.server().name());
            column.rows[row].tooltip = format!("node{first} to node{server}, each {inside}");
        } else {
            first = server;
            let (label, tooltip) =
                (format!("node{server} {name}"), format!("node{server}: {inside}"));
            column.rows.push(Row { label, tooltip, gpus, nics, y: 0.0 });
        }
        of_servers.push((0, column.rows.len() - 1));
    }
    let mut columns = vec![column];
    let mut of_switches: Vec<At> = vec![(0, 0); heights.len()];
    let of_level = |level: usize| -> Vec<u32> {
        (0..fabric.switches()).filter(|it| heights[*it as usize] as usize == level).collect()
    };
    let names = level_names(fabric, heights);
    // Beside one box for a level, the switches of another would have nothing to tell.
    let in_short = (0..names.len()).any(|level| of_level(level).len() > MOST_ROWS);
    for (level, name) in names.into_iter().enumerate() {
        let switches = of_level(level);
        let mut rows = Vec::new();
        for switch in &switches {
            let ports = fabric.outgoing(*switch).len();
            if !in_short || rows.is_empty() {
                let label = fabric.switch_name(*switch);
                let tooltip = format!("{label}: {ports} ports in use");
                rows.push(Row { label, tooltip, gpus: 0, nics: 0, y: 0.0 });
            }
            of_switches[*switch as usize] = (columns.len(), rows.len() - 1);
        }
        if let (true, [row]) = (in_short, &mut rows[..]) {
            row.label = format!("{} \u{d7} {name}", switches.len());
            row.tooltip = format!("{} switches of this level", switches.len());
        }
        let kind = DeviceKind::NetworkSwitch;
        columns.push(Column { kind, rows, x: 0.0, width: 0.0, in_short });
    }
    (columns, [of_servers, of_switches])
}

/// Gives each row its place.
fn place(columns: &mut [Column]) {
    let most = columns.iter().map(|column| column.rows.len()).max().unwrap_or(1);
    let row = if most > 16 { SHORT_ROW } else { TALL_ROW };
    let height = row * most.max(2) as f64;
    let mut x = MARGIN;
    for column in columns {
        let count = column.rows.len() as f64;
        for (index, row) in column.rows.iter_mut().enumerate() {
            row.y = HEAD + (index as f64 + 0.5) * height / count;
        }
        column.x = x;
        column.width = column.rows.iter().map(row_width).fold(40.0, f64::max);
        x += column.width + GAP;
    }
}

/// Says how many squares stand for `count` parts.
fn squares(count: usize) -> usize {
    if count > MOST_SQUARES { 0 } else { count }
}

/// Writes the text that stands where there are too many parts for squares.
fn counted(row: &Row) -> String {
    let many = |count: usize, what: &str| match squares(count) {
        0 if count > 0 => format!(" {count} {what}"),
        _ => String::new(),
    };
    format!("{}{}{}", row.label, many(row.gpus, "GPUs"), many(row.nics, "NICs"))
}

fn row_width(row: &Row) -> f64 {
    let parts = (squares(row.gpus) + squares(row.nics)) as f64 * (SQUARE + 2.0);
    let between = if row.gpus > 0 { 10.0 } else { 0.0 };
    counted(row).chars().count() as f64 * CHARACTER + 12.0 + parts + between
}

/// Links between two rows: how many, and the bandwidth of the first.
type Lines = BTreeMap<(At, At), (u64, Bandwidth)>;

fn lines(system: &System, fabric: &Fabric, [of_servers, of_switches]: &[Vec<At>; 2]) -> Lines {
    let mut lines = Lines::new();
    for channel in fabric.channels().iter().step_by(2) {
        let row = |end: End| match end {
            End::Switch(switch) => Some(of_switches[switch as usize]),
            End::Node(port) => {
                let nic = system.nic_of_port(port)?;
                Some(of_servers[system.nic(nic).server as usize])
            }
        };
        let (Some(from), Some(to)) = (row(channel.from), row(channel.to)) else { continue };
        let line = lines.entry((from.min(to), from.max(to))).or_insert((0, channel.bandwidth));
        line.0 += 1;
    }
    lines
}

fn draw_lines(text: &mut String, fabric: &Fabric, columns: &[Column], lines: &Lines) {
    let (name, colour) = link_style(fabric.link_kind());
    for ((a, b), (count, bandwidth)) in lines {
        // Both are within one box.
        if a == b {
            continue;
        }
        let [from, to] = [a, b].map(|at| (&columns[at.0], &columns[at.0].rows[at.1]));
        let width = (*count as f64).sqrt().min(6.0);
        let tooltip = format!(
            "{} \u{2013} {}: {count} \u{d7} {name}, {bandwidth}",
            from.1.label.trim(),
            to.1.label.trim()
        );
        let start = (from.0.x + from.0.width, from.1.y);
        // Two of one column are joined by an arc on its right, the wider the further they are.
        let path = if a.0 == b.0 {
            let bulge = start.0 + (0.25 * (to.1.y - from.1.y)).clamp(14.0, GAP);
            format!(
                "M{:.1} {:.1} C{bulge:.1} {:.1} {bulge:.1} {:.1} {:.1} {:.1}",
                start.0, start.1, start.1, to.1.y, start.0, to.1.y
            )
        } else {
            format!("M{:.1} {:.1} L{:.1} {:.1}", start.0, start.1, to.0.x, to.1.y)
        };
        let _ = writeln!(
            text,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-opacity=\"0.75\" \
             stroke-width=\"{width:.2}\"><title>{}</title></path>",
            escape(&tooltip)
        );
    }
}

fn draw_row(text: &mut String, column: &Column, row: &Row) {
    let (_, fill, outline) = device_style(column.kind);
    let fill = if row.gpus > 0 { "#f6f8fa" } else { fill };
    let outline = if row.gpus > 0 { "#6b7683" } else { outline };
    let dashes = if column.in_short { " stroke-dasharray=\"4 2\"" } else { "" };
    let _ = write!(
        text,
        "<g><title>{}</title><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"16\" rx=\"3\" \
         fill=\"{fill}\" stroke=\"{outline}\"{dashes}/><text x=\"{:.1}\" y=\"{:.1}\" \
         fill=\"#1C2430\">{}</text>",
        escape(&row.tooltip),
        column.x,
        row.y - 8.0,
        column.width,
        column.x + 5.0,
        row.y + 4.0,
        escape(&counted(row))
    );
    // From the right, where the links are: interfaces, then GPUs.
    let mut x = column.x + column.width - 5.0;
    for (kind, count) in [(DeviceKind::Nic, row.nics), (DeviceKind::Gpu, row.gpus)] {
        let (_, fill, outline) = device_style(kind);
        for _ in 0..squares(count) {
            x -= SQUARE + 2.0;
            let _ = write!(
                text,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{SQUARE}\" height=\"{SQUARE}\" rx=\"1\" \
                 fill=\"{fill}\" stroke=\"{outline}\"/>",
                row.y - SQUARE / 2.0
            );
        }
        x -= 4.0;
    }
    text.push_str("</g>\n");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::system::composition::{AbstractNode, PortOrder};
    use crate::system::fabric::{FabricSpecification, fabrics};
    use crate::system::presets::preset;

    fn drawn(count: u32, fabric: &str, order: PortOrder) -> String {
        let servers = [(Arc::new(preset("dgx1-v100").unwrap()), count)];
        let ports = System::ports_for(&servers).unwrap();
        let fabric = FabricSpecification::preset(fabric).unwrap().for_ports(ports).unwrap();
        let system = System::new(&servers, fabric, order).unwrap();
        system_svg(&system, system.fabric().unwrap())
    }

    #[test]
    fn each_server_and_switch_is_a_box_and_each_pair_that_is_joined_a_line() {
        let text = drawn(4, "fat-tree", PortOrder::Plain);
        // 4 servers of 8 GPUs and 4 interfaces, and 20 switches.
        assert_eq!(text.matches("<g>").count(), 24);
        assert_eq!(text.matches("fill=\"#e3f1c8\"").count(), 32);
        assert_eq!(text.matches("fill=\"#fde6c8\"").count(), 16);
        // A server is at two leaves, each by two interfaces; 16 links up twice.
        assert_eq!(text.matches("<path ").count(), 8 + 16 + 16);
        assert!(text.contains("32 GPUs in 4 servers; 20 switches by InfiniBand; 16 of 16 ports"));
        assert!(!text.contains("in short"));
    }

    #[test]
    fn rails_lead_a_server_to_more_switches() {
        let plain = drawn(8, "fat-tree", PortOrder::Plain).matches("<path ").count();
        assert!(drawn(8, "fat-tree", PortOrder::Rails).matches("<path ").count() > plain);
    }

    #[test]
    fn what_is_large_is_drawn_in_short_and_says_so() {
        for fabric in fabrics().names() {
            let text = drawn(500, fabric, PortOrder::Plain);
            assert!(text.contains("in short"), "{fabric}");
            assert!(text.contains(">500 \u{d7} dgx1-v100<"), "{fabric}");
            assert!(text.matches("<g>").count() <= 5 * MOST_ROWS, "{fabric}");
            assert!(!text.contains("NaN") && text.len() < 2_000_000, "{fabric}");
            assert!(drawn(2, fabric, PortOrder::Plain).contains(">node1 dgx1-v100<"), "{fabric}");
        }
    }

    #[test]
    fn nodes_of_gpus_are_drawn() {
        let fabric = FabricSpecification::preset("torus").unwrap().for_ports(8).unwrap();
        let node = AbstractNode {
            gpus: 40,
            nics: 1,
            bandwidth: Bandwidth(1),
            latency: Default::default(),
        };
        let system = System::of_nodes(fabric, node).unwrap();
        let text = system_svg(&system, system.fabric().unwrap());
        assert!(text.contains(">node0  40 GPUs<"), "{text}");
        assert!(text.contains(" C"), "switches of one level are joined by arcs");
    }
}
