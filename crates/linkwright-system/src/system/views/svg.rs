//! Small servers and fabrics drawn as SVG, for notebooks, which have no Graphviz.
//!
//! A server's devices stand where [`layout`] puts them. A fabric's switches stand in rows, higher
//! the further they are from nodes, and its nodes below. A server or fabric too large to read is
//! not drawn.

use std::fmt::Write as _;

use super::dot::{device_style, escape, link_style, pen_width};
use super::fabric_facts::heights;
use super::layout::{Point, layout};
use crate::system::fabric::{End, Fabric};
use crate::system::kinds::DeviceKind;
use crate::system::server::Server;

/// The most boxes of a drawing that can still be read.
pub const MOST_DRAWN: usize = 64;

/// Gives the pixels of an inch of a layout, and the sizes of a box and its text in pixels.
const INCH: f64 = 58.0;
const BOX_HEIGHT: f64 = 22.0;
const CHARACTER: f64 = 7.0;

struct Box {
    at: Point,
    label: String,
    kind: DeviceKind,
}

struct Line {
    ends: [usize; 2],
    colour: &'static str,
    width: f64,
    tooltip: String,
}

/// Draws a server as SVG; returns None for one of more than [`MOST_DRAWN`] devices.
#[must_use]
pub fn server_svg(server: &Server) -> Option<String> {
    let devices = server.devices();
    if devices.len() > MOST_DRAWN {
        return None;
    }
    let boxes: Vec<Box> = devices
        .iter()
        .zip(layout(server))
        .map(|(device, at)| Box { at, label: device.name.clone(), kind: device.kind })
        .collect();
    let lines: Vec<Line> = server
        .links()
        .iter()
        .map(|link| {
            let (name, colour) = link_style(link.kind);
            let [a, b] = [link.a, link.b].map(|end| &devices[end].name);
            let tooltip =
                format!("{a} \u{2013} {b}: {} \u{d7} {name}, {}", link.count, link.bandwidth);
            Line { ends: [link.a, link.b], colour, width: pen_width(link), tooltip }
        })
        .collect();
    Some(drawn(server.name(), &boxes, &lines))
}

/// Draws a fabric as SVG; returns None for one of more than [`MOST_DRAWN`] switches and nodes.
#[must_use]
pub fn fabric_svg(fabric: &Fabric) -> Option<String> {
    let (switches, nodes) = (fabric.switches() as usize, fabric.nodes() as usize);
    if switches + nodes > MOST_DRAWN {
        return None;
    }
    let heights = heights(fabric);
    let highest = heights.iter().copied().max().unwrap_or(0);
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); highest as usize + 2];
    rows[0].extend(switches..switches + nodes);
    for (switch, height) in heights.iter().enumerate() {
        rows[*height as usize + 1].push(switch);
    }
    let label = |vertex: usize| match vertex.checked_sub(switches) {
        None => fabric.switch_name(vertex as u32),
        Some(node) => node.to_string(),
    };
    let width = |row: &Vec<usize>| -> f64 {
        let widest = row.iter().map(|vertex| box_width(&label(*vertex))).fold(0.0, f64::max);
        row.len() as f64 * (widest + 8.0) / INCH
    };
    let whole = rows.iter().map(width).fold(1.0, f64::max);
    let mut boxes: Vec<Option<Box>> = (0..switches + nodes).map(|_| None).collect();
    for (height, row) in rows.iter().enumerate() {
        for (place, vertex) in row.iter().enumerate() {
            let x = whole * (place as f64 + 0.5) / row.len() as f64;
            let kind = if *vertex < switches { DeviceKind::NetworkSwitch } else { DeviceKind::Nic };
            let at = Point { x, y: height as f64 * 1.5 };
            boxes[*vertex] = Some(Box { at, label: label(*vertex), kind });
        }
    }
    let boxes: Vec<Box> = boxes.into_iter().flatten().collect();
    let vertex = |end: End| match end {
        End::Switch(switch) => switch as usize,
        End::Node(node) => switches + node as usize,
    };
    let (name, colour) = link_style(fabric.link_kind());
    let links: Vec<_> = fabric.channels().iter().step_by(2).collect();
    let lines: Vec<Line> = links
        .chunk_by(|a, b| a == b)
        .map(|bundle| {
            let (channel, count) = (bundle[0], bundle.len());
            let ends = [vertex(channel.from), vertex(channel.to)];
            let [a, b] = ends.map(|end| &boxes[end].label);
            let bandwidth = channel.bandwidth;
            let tooltip = format!("{a} \u{2013} {b}: {count} \u{d7} {name}, {bandwidth}");
            Line { ends, colour, width: (count as f64).sqrt().min(7.0), tooltip }
        })
        .collect();
    Some(drawn(fabric.name(), &boxes, &lines))
}

fn box_width(label: &str) -> f64 {
    CHARACTER * label.chars().count().max(3) as f64 + 6.0
}

/// The drawing: lines first, so that boxes lie above them; up is up.
fn drawn(title: &str, boxes: &[Box], lines: &[Line]) -> String {
    let edge = |of: fn(&Box) -> f64, least: fn(f64, f64) -> f64, first: f64| {
        boxes.iter().map(of).fold(first, least)
    };
    let left = edge(|b| b.at.x * INCH - box_width(&b.label) / 2.0, f64::min, f64::MAX);
    let right = edge(|b| b.at.x * INCH + box_width(&b.label) / 2.0, f64::max, f64::MIN);
    let top = edge(|b| b.at.y * INCH, f64::max, f64::MIN);
    let bottom = edge(|b| b.at.y * INCH, f64::min, f64::MAX);
    let place = |at: Point| (at.x * INCH - left + 8.0, top - at.y * INCH + BOX_HEIGHT);
    let (width, height) = (right - left + 16.0, top - bottom + 2.0 * BOX_HEIGHT);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <title>{}</title>\n",
        escape(title)
    );
    for line in lines {
        let [(x1, y1), (x2, y2)] = line.ends.map(|end| place(boxes[end].at));
        let _ = writeln!(
            text,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{}\" \
             stroke-width=\"{:.2}\"><title>{}</title></line>",
            line.colour,
            line.width,
            escape(&line.tooltip)
        );
    }
    for made in boxes {
        let ((x, y), width) = (place(made.at), box_width(&made.label));
        let (_, fill, outline) = device_style(made.kind);
        let _ = writeln!(
            text,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{BOX_HEIGHT:.1}\" rx=\"3\" \
             fill=\"{fill}\" stroke=\"{outline}\"/><text x=\"{x:.1}\" y=\"{:.1}\" \
             text-anchor=\"middle\" fill=\"#1C2430\">{}</text>",
            x - width / 2.0,
            y - BOX_HEIGHT / 2.0,
            y + 4.0,
            escape(&made.label)
        );
    }
    text.push_str("</svg>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fabric::{FabricSpecification, read_graph};
    use crate::system::presets::{NAMES, preset};

    #[test]
    fn small_servers_are_drawn_with_every_device_and_link_and_large_ones_not() {
        for name in NAMES {
            let server = preset(name).unwrap();
            let Some(text) = server_svg(&server) else {
                assert!(server.devices().len() > MOST_DRAWN, "{name}");
                continue;
            };
            assert_eq!(text.matches("<rect ").count(), server.devices().len(), "{name}");
            assert_eq!(text.matches("<line ").count(), server.links().len(), "{name}");
            assert!(!text.contains("NaN") && !text.contains("inf"), "{name}");
        }
        assert!(server_svg(&preset("gb200-nvl72").unwrap()).is_none());
    }

    #[test]
    fn small_fabrics_are_drawn_and_large_ones_not() {
        for kind in ["fat-tree", "torus", "single-switch"] {
            let fabric = FabricSpecification::preset(kind).unwrap().for_ports(12).unwrap();
            let text = fabric_svg(&fabric).unwrap();
            let boxes = (fabric.switches() + fabric.nodes()) as usize;
            assert_eq!(text.matches("<rect ").count(), boxes);
            assert_eq!(text.matches("<line ").count(), fabric.channels().len() / 2);
        }
        let large = FabricSpecification::preset("torus").unwrap().build().unwrap();
        assert_eq!(fabric_svg(&large), None);
    }

    #[test]
    fn hostile_names_stay_text() {
        let file = "name = \"</title><script>\"\n[defaults]\nbandwidth = \"1 GB/s\"\n\
                    latency = \"1 ns\"\n[[switch]]\nnames = [\"<b>&\\\"\"]\nnodes = 2\n";
        let text = fabric_svg(&read_graph("a.toml", file).unwrap()).unwrap();
        assert!(!text.contains("<script>") && !text.contains("<b>"), "{text}");
        assert!(text.contains("&lt;b&gt;&amp;&quot;"), "{text}");
    }
}
