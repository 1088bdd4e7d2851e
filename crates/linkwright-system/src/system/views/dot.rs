//! Turns a system into a Graphviz graph.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::system::composition::System;
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::server::{Device, DeviceId, Link};
use crate::system::views::layout::{Point, places};
use crate::system::views::parts::parts;

/// How a kind of device is drawn: shape, fill, outline.
pub(super) const fn device_style(kind: DeviceKind) -> (&'static str, &'static str, &'static str) {
    match kind {
        DeviceKind::Gpu => ("box", "#e3f1c8", "#5b8c00"),
        DeviceKind::Cpu => ("box3d", "#dbe7f6", "#2f5d9b"),
        DeviceKind::HostBridge => ("diamond", "#f1f3f5", "#6b7683"),
        DeviceKind::PcieSwitch => ("ellipse", "#f1f3f5", "#6b7683"),
        DeviceKind::NvSwitch => ("hexagon", "#c9e29a", "#3f6b00"),
        DeviceKind::Nic => ("house", "#fde6c8", "#b8690b"),
        DeviceKind::NetworkSwitch => ("doubleoctagon", "#fbd5a5", "#b8690b"),
        DeviceKind::MemorySwitch => ("octagon", "#e8def8", "#6a3fa0"),
        DeviceKind::Memory => ("cylinder", "#e8def8", "#6a3fa0"),
    }
}

/// Gives the usual name of a kind of link, and its colour.
pub(super) const fn link_style(kind: LinkKind) -> (&'static str, &'static str) {
    match kind {
        LinkKind::Nvlink1 => ("NVLink 1", "#5b8c00"),
        LinkKind::Nvlink2 => ("NVLink 2", "#5b8c00"),
        LinkKind::Nvlink3 => ("NVLink 3", "#5b8c00"),
        LinkKind::Nvlink4 => ("NVLink 4", "#5b8c00"),
        LinkKind::Nvlink5 => ("NVLink 5", "#5b8c00"),
        LinkKind::NvlinkC2c => ("NVLink-C2C", "#2f5d9b"),
        LinkKind::Xgmi | LinkKind::XgmiMi100 | LinkKind::XgmiMi300 | LinkKind::XgmiMi350 => {
            ("xGMI", "#c0392b")
        }
        LinkKind::Direct => ("direct", "#5b8c00"),
        LinkKind::Pcie1 => ("PCIe 1", "#8b96a3"),
        LinkKind::Pcie2 => ("PCIe 2", "#8b96a3"),
        LinkKind::Pcie3 => ("PCIe 3", "#8b96a3"),
        LinkKind::Pcie4 => ("PCIe 4", "#8b96a3"),
        LinkKind::Pcie5 => ("PCIe 5", "#8b96a3"),
        LinkKind::Pcie6 => ("PCIe 6", "#8b96a3"),
        LinkKind::Qpi => ("QPI", "#2f5d9b"),
        LinkKind::Upi => ("UPI", "#2f5d9b"),
        LinkKind::Xbus => ("X-Bus", "#2f5d9b"),
        LinkKind::InfinityFabric => ("Infinity Fabric", "#2f5d9b"),
        LinkKind::OnDie => ("on die", "#b9c6d6"),
        LinkKind::Infiniband => ("InfiniBand", "#b8690b"),
        LinkKind::Ethernet => ("Ethernet", "#b8690b"),
    }
}

/// Gives the text beside a bundle: `NV2` as `nvidia-smi` writes it, nothing for PCIe.
fn bundle_label(link: &Link) -> String {
    match link.kind {
        LinkKind::OnDie => String::new(),
        kind if kind.is_xgmi() => format!("XGMI{}", link.count),
        kind if kind.is_pcie() || kind == LinkKind::Direct => String::new(),
        kind if kind.is_gpu_fabric() => format!("NV{}", link.count),
        kind if link.count == 1 => link_style(kind).0.to_owned(),
        kind => format!("{} \u{d7}{}", link_style(kind).0, link.count),
    }
}

/// Gives the line width in points. It grows with the bundle's bandwidth except for PCIe.
pub(super) fn pen_width(link: &Link) -> f64 {
    if link.kind.is_pcie() || link.kind == LinkKind::OnDie {
        return 1.0;
    }
    (0.4 * link.total_bandwidth().as_gigabytes_per_second().sqrt()).clamp(1.0, 7.0)
}

/// A DOT string. Control characters, which DOT has no form for, become spaces.
pub fn quote(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Text inside an HTML-like label; Graphviz refuses an empty element, so nothing becomes a space.
fn html(text: &str) -> String {
    if text.is_empty() {
        return "&#160;".to_owned();
    }
    escape(text)
}

/// Writes text for an element of HTML or SVG. Control characters become spaces.
pub(super) fn escape(text: &str) -> String {
    let text = text.replace(char::is_control, " ").replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// For each NVSwitch to which all GPUs have equally many links, that number: such a switch
/// says it once instead of beside every wire.
fn uniform_switches(devices: &[Device], links: &[Link]) -> BTreeMap<DeviceId, u32> {
    let kind = |id: DeviceId| devices[id].kind;
    let mut counts: BTreeMap<DeviceId, Vec<u32>> = BTreeMap::new();
    for link in links {
        for end in [link.a, link.b] {
            if kind(end) == DeviceKind::NvSwitch && kind(link.other_end(end)) == DeviceKind::Gpu {
                counts.entry(end).or_default().push(link.count);
            }
        }
    }
    let uniform = counts.into_iter().filter(|(_, counts)| counts.iter().all(|c| *c == counts[0]));
    uniform.map(|(switch, counts)| (switch, counts[0])).collect()
}

/// Writes the title, and a line for each kind of link in use.
fn legend(name: &str, links: &[Link]) -> String {
    let mut kinds: Vec<_> = links.iter().map(|l| (l.kind, l.bandwidth)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let entry = |(kind, bandwidth): (LinkKind, _)| {
        let (name, colour) = link_style(kind);
        format!("<FONT COLOR=\"{colour}\">\u{25ac}</FONT> {name}, {bandwidth}")
    };
    let entries: Vec<String> = kinds.into_iter().map(entry).collect();
    format!(
        "<<B><FONT POINT-SIZE=\"20\">{}</FONT></B><BR/>{}<BR/>>",
        html(name),
        entries.join(" &#160;&#160; ")
    )
}

/// Writes the statement for one device.
fn node(device: &Device, id: DeviceId, at: Point, uniform: Option<&u32>) -> String {
    let (shape, fill, outline) = device_style(device.kind);
    let extra = match device.kind {
        DeviceKind::Gpu => ", style=\"filled,rounded\"",
        DeviceKind::Nic => ", fontsize=10, width=0.6, margin=\"0.02,0.02\"",
        _ => "",
    };
    let mut label = format!("<B>{}</B>", html(&device.name));
    if let Some(model) = device.model.as_ref().filter(|_| device.kind != DeviceKind::Nic) {
        let _ = write!(label, "<BR/><FONT POINT-SIZE=\"9\">{}</FONT>", html(model));
    }
    if let Some(count) = uniform {
        let _ = write!(label, "<BR/><FONT POINT-SIZE=\"9\">NV{count} for each GPU</FONT>");
    }
    format!(
        "  n{id} [label=<{label}>, shape={shape}, fillcolor=\"{fill}\", color=\"{outline}\", \
         pos=\"{:.3},{:.3}!\"{extra}]\n",
        at.x, at.y,
    )
}

/// Writes the statement for one bundle of links.
fn edge(devices: &[Device], link: &Link, uniform: &BTreeMap<DeviceId, u32>) -> String {
    let (name, colour) = link_style(link.kind);
    let [a, b] = [link.a, link.b].map(|end| &devices[end]);
    let (from, to, count, bandwidth) = (&a.name, &b.name, link.count, link.bandwidth);
    let tooltip = quote(&format!("{from} \u{2013} {to}: {count} \u{d7} {name}, {bandwidth} each"));
    let said_by_switch = match (a.kind, b.kind) {
        (DeviceKind::NvSwitch, DeviceKind::Gpu) => uniform.contains_key(&link.a),
        (DeviceKind::Gpu, DeviceKind::NvSwitch) => uniform.contains_key(&link.b),
        _ => false,
    };
    let text = if said_by_switch { String::new() } else { bundle_label(link) };
    let label = if text.is_empty() {
        text
    } else {
        format!(
            ", label=<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLPADDING=\"1\" \
             BGCOLOR=\"white\"><TR><TD><FONT COLOR=\"{colour}\">{text}</FONT></TD></TR></TABLE>>"
        )
    };
    format!(
        "  n{} -- n{} [color=\"{colour}\", penwidth={:.2}, tooltip={tooltip}{label}]\n",
        link.a,
        link.b,
        pen_width(link),
    )
}

/// Writes the system as a Graphviz graph, for `dot -Tsvg` or `dot -Tpng`.
///
/// Shape and colour tell the kinds of device apart. NVLink bundles carry their count as
/// `NV2`, wider lines are faster, PCIe is thin, and every line has a tooltip in SVG. An
/// NVSwitch to which all GPUs have equally many links says so itself. Servers stand side by side,
/// each as if it were alone, below the fabric's switches.
#[must_use]
pub fn to_dot(system: &System) -> String {
    let (devices, links) = parts(system);
    let uniform = uniform_switches(&devices, &links);
    let mut text = format!(
        "graph {} {{\n  graph [layout=neato, splines=line, outputorder=edgesfirst, labelloc=t, \
         pad=0.3, fontname=\"Helvetica\", fontsize=13, label={}]\n  \
         node [fontname=\"Helvetica\", fontsize=12, style=filled, margin=\"0.08,0.04\"]\n  \
         edge [fontname=\"Helvetica\", fontsize=11]\n",
        quote(system.name()),
        legend(system.name(), &links),
    );
    for (id, at) in places(system).into_iter().enumerate() {
        text.push_str(&node(&devices[id], id, at, uniform.get(&id)));
    }
    for link in &links {
        text.push_str(&edge(&devices, link, &uniform));
    }
    text.push_str("}\n");
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::system::ServerBuilder;
    use crate::system::presets::{NAMES, preset};

    #[test]
    fn every_device_and_link_is_drawn_once() {
        for name in NAMES {
            let machine = Arc::new(preset(name).unwrap());
            let text = to_dot(&System::of_server(Arc::clone(&machine)));
            assert_eq!(text.matches(" shape=").count(), machine.devices().len(), "{name}");
            assert_eq!(text.matches(" -- ").count(), machine.links().len(), "{name}");
        }
    }

    #[test]
    fn faster_bundles_are_wider_and_say_their_count() {
        let text = to_dot(&System::of_server(preset("dgx1-v100").unwrap().into()));
        let line = |ends: &str| text.lines().find(|line| line.contains(ends)).unwrap().to_owned();
        let (double, single, pcie) = (line("n0 -- n3 "), line("n0 -- n1 "), line("n0 -- n10 "));
        assert!(double.contains("penwidth=2.83") && double.contains(">NV2<"), "{double}");
        assert!(single.contains("penwidth=2.00") && single.contains(">NV1<"), "{single}");
        assert!(pcie.contains("penwidth=1.00") && !pcie.contains("label"), "{pcie}");
        assert!(
            to_dot(&System::of_server(preset("hgx-h100").unwrap().into()))
                .contains("NV5 for each GPU")
        );
    }

    #[test]
    fn hostile_names_stay_inside_their_quotes() {
        let mut builder = ServerBuilder::new("a\"b\\<&>\u{1}", "test");
        let a = builder.device("\"]; }\n", DeviceKind::Gpu, Some("<B>&")).unwrap();
        let b = builder.device("x\\", DeviceKind::Gpu, Some("")).unwrap();
        builder.data_sheet_link(a, b, LinkKind::Nvlink2, 1).unwrap();
        let text = to_dot(&System::of_server(builder.build().unwrap().into()));
        assert!(text.starts_with(r#"graph "a\"b\\<&> " {"#), "{text}");
        assert!(
            text.contains("label=<<B>&quot;]; } </B><BR/><FONT POINT-SIZE=\"9\">&lt;B&gt;&amp;")
        );
        assert!(text.contains(r#"tooltip="\"]; }  – x\\: 1 × NVLink 2, 25 GB/s each""#), "{text}");
    }
}
