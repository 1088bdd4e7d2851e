//! What vendors say of the links of each GPU, found by the name or the PCI id that a tool prints.
//!
//! What it represents: the products whose links differ, from the vendors' data sheets, with
//! the ids of the PCI ID Repository. What it leaves out: everything but links.

use crate::system::kinds::LinkKind;
use crate::units::Bandwidth;

/// How the links of a product reach other GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::system) enum Wiring {
    /// The board that it is sold on joins it to others.
    Board,
    /// A bridge that some buy joins it to another.
    Bridge,
}

/// The links of one product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::system) struct GpuModel {
    /// What its name holds, in capitals.
    name: &'static str,
    /// Its PCI device ids.
    ids: &'static [u32],
    /// The links to other GPUs, where it has any.
    pub(in crate::system) fabric: Option<Fabric>,
    /// Its generation of PCIe.
    pub(in crate::system) pcie: LinkKind,
}

/// A product's links to other GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::system) struct Fabric {
    pub(in crate::system) kind: LinkKind,
    /// How many it has.
    pub(in crate::system) links: u32,
    pub(in crate::system) wiring: Wiring,
    /// Of one link in one direction, where it is not the kind's.
    bandwidth: Option<Bandwidth>,
}

impl Fabric {
    /// Bandwidth of one link in one direction.
    pub(in crate::system) fn bandwidth(self) -> Bandwidth {
        self.bandwidth.unwrap_or_else(|| self.kind.data_sheet().bandwidth)
    }
}

const fn row(
    name: &'static str,
    ids: &'static [u32],
    fabric: Option<Fabric>,
    pcie: LinkKind,
) -> GpuModel {
    GpuModel { name, ids, fabric, pcie }
}

const fn board(kind: LinkKind, links: u32) -> Option<Fabric> {
    Some(Fabric { kind, links, wiring: Wiring::Board, bandwidth: None })
}

const fn bridge(kind: LinkKind, links: u32) -> Option<Fabric> {
    Some(Fabric { kind, links, wiring: Wiring::Bridge, bandwidth: None })
}

/// The four narrow NVLinks of GA102: 112.5 GB/s in both directions together.
const GA102: Option<Fabric> = Some(Fabric {
    kind: LinkKind::Nvlink3,
    links: 4,
    wiring: Wiring::Bridge,
    bandwidth: Some(Bandwidth(14_062_500_000)),
});

use LinkKind::{
    Nvlink1, Nvlink2, Nvlink3, Nvlink4, Nvlink5, Pcie3, Pcie4, Pcie5, Pcie6, Xgmi, XgmiMi100,
    XgmiMi300, XgmiMi350,
};

/// The products; of two whose names one text holds, the first is meant.
const MODELS: [GpuModel; 66] = [
    row("P100-PCIE", &[0x15f7, 0x15f8], None, Pcie3),
    row("P100", &[0x15f9], board(Nvlink1, 4), Pcie3),
    row("V100-PCIE", &[0x1db4, 0x1db6], None, Pcie3),
    row("V100S-PCIE", &[0x1df6], None, Pcie3),
    row("V100-DGXS", &[0x1db2, 0x1db7], board(Nvlink2, 4), Pcie3),
    row("GV100", &[0x1dba], bridge(Nvlink2, 4), Pcie3),
    row("V100", &[0x1db1, 0x1db3, 0x1db5, 0x1db8], board(Nvlink2, 6), Pcie3),
    row("TITAN V", &[0x1d81], None, Pcie3),
    row("RTX 2080 TI", &[0x1e04, 0x1e07], bridge(Nvlink2, 2), Pcie3),
    row("RTX 2080", &[0x1e82, 0x1e87, 0x1e81], bridge(Nvlink2, 1), Pcie3),
    row("TITAN RTX", &[0x1e02], bridge(Nvlink2, 2), Pcie3),
    row("QUADRO RTX 8000", &[0x1e78], bridge(Nvlink2, 2), Pcie3),
    row("QUADRO RTX 6000", &[0x1e30], bridge(Nvlink2, 2), Pcie3),
    row("QUADRO RTX 5000", &[0x1eb0], bridge(Nvlink2, 1), Pcie3),
    row("T4", &[0x1eb8], None, Pcie3),
    row("A100-PCIE", &[0x20f1], bridge(Nvlink3, 12), Pcie4),
    row("A100 80GB PCIE", &[0x20b5], bridge(Nvlink3, 12), Pcie4),
    row("A100", &[0x20b0, 0x20b2], board(Nvlink3, 12), Pcie4),
    row("A800", &[0x20f3], board(Nvlink3, 8), Pcie4),
    row("A30", &[0x20b7], bridge(Nvlink3, 4), Pcie4),
    row("A40", &[0x2235], GA102, Pcie4),
    row("A10G", &[0x2237], None, Pcie4),
    row("A10", &[0x2236], None, Pcie4),
    row("A16", &[0x25b6], None, Pcie4),
    row("RTX A6000", &[0x2230], GA102, Pcie4),
    row("RTX A5500", &[0x2233], GA102, Pcie4),
    row("RTX A5000", &[0x2231], GA102, Pcie4),
    row("RTX A4500", &[0x2232], GA102, Pcie4),
    row("RTX A4000", &[0x24b0], None, Pcie4),
    row("RTX 3090 TI", &[0x2203], GA102, Pcie4),
    row("RTX 3090", &[0x2204], GA102, Pcie4),
    row("RTX 3080", &[0x2206, 0x2208, 0x220a], None, Pcie4),
    row("L40S", &[0x26b9], None, Pcie4),
    row("L40", &[0x26b5], None, Pcie4),
    row("L4", &[0x27b8], None, Pcie4),
    row("L20", &[0x26ba], None, Pcie4),
    row("RTX 6000 ADA", &[0x26b1], None, Pcie4),
    row("RTX 5000 ADA", &[0x26b2], None, Pcie4),
    row("RTX 4090", &[0x2684, 0x2685], None, Pcie4),
    row("RTX 4080", &[0x2704, 0x2702], None, Pcie4),
    row("H100 PCIE", &[0x2331], bridge(Nvlink4, 12), Pcie5),
    row("H100 NVL", &[0x2321], bridge(Nvlink4, 12), Pcie5),
    row("H200 NVL", &[0x233b], bridge(Nvlink4, 18), Pcie5),
    row("H800 PCIE", &[0x2322], bridge(Nvlink4, 8), Pcie5),
    row("GH200", &[0x2342, 0x2348], board(Nvlink4, 18), Pcie5),
    row("H800", &[0x2324], board(Nvlink4, 8), Pcie5),
    row("H100", &[0x2330, 0x2339], board(Nvlink4, 18), Pcie5),
    row("H200", &[0x2335], board(Nvlink4, 18), Pcie5),
    row("H20", &[0x2329], board(Nvlink4, 18), Pcie5),
    row("GB300", &[0x31c2], board(Nvlink5, 18), Pcie6),
    row("GB200", &[0x2941], board(Nvlink5, 18), Pcie5),
    row("B300", &[0x3182], board(Nvlink5, 18), Pcie6),
    row("B200", &[0x2901], board(Nvlink5, 18), Pcie5),
    row("B100", &[0x29bc], board(Nvlink5, 18), Pcie5),
    row("RTX PRO 6000", &[0x2bb1, 0x2bb4, 0x2bb5], None, Pcie5),
    row("RTX 5090", &[0x2b85, 0x2b87], None, Pcie5),
    row("MI50", &[0x66a1], board(XgmiMi100, 2), Pcie4),
    row("MI60", &[0x66a0], board(XgmiMi100, 2), Pcie4),
    row("MI100", &[0x738c], board(XgmiMi100, 3), Pcie4),
    row("MI210", &[0x740f], bridge(Xgmi, 3), Pcie4),
    row("MI250", &[0x7408, 0x740c], board(Xgmi, 8), Pcie4),
    row("MI300", &[0x74a0, 0x74a1, 0x74b5], board(XgmiMi300, 7), Pcie5),
    row("MI308", &[0x74a2], board(XgmiMi300, 7), Pcie5),
    row("MI325", &[0x74a5, 0x74b9], board(XgmiMi300, 7), Pcie5),
    row("MI350", &[0x75a0], board(XgmiMi350, 7), Pcie5),
    row("MI355", &[0x75a3], board(XgmiMi350, 7), Pcie5),
];

/// The product that a tool's text names, such as `NVIDIA H100 80GB HBM3`.
pub(in crate::system) fn by_name(text: &str) -> Option<&'static GpuModel> {
    let text = text.to_ascii_uppercase();
    MODELS.iter().find(|model| holds(&text, model.name))
}

/// The product of a PCI device id.
pub(in crate::system) fn by_id(id: u32) -> Option<&'static GpuModel> {
    MODELS.iter().find(|model| model.ids.contains(&id))
}

/// How many links a GPU of a generation of NVLink has.
pub(in crate::system) const fn most_links(kind: LinkKind) -> u32 {
    match kind {
        Nvlink1 => 4,
        Nvlink2 => 6,
        Nvlink3 => 12,
        _ => 18,
    }
}

/// The xGMI generation of a processor as AMD's tools name it: `gfx942`, or `910` for `gfx90a`
/// in older files.
pub(in crate::system) fn xgmi_of(processor: &str) -> Option<LinkKind> {
    match processor.strip_prefix("gfx").unwrap_or(processor) {
        "906" | "908" => Some(XgmiMi100),
        "90a" | "910" => Some(Xgmi),
        "940" | "941" | "942" => Some(XgmiMi300),
        "950" => Some(XgmiMi350),
        _ => None,
    }
}

/// Whether a text holds a name that no further letter or digit makes another: `A100` is
/// not in `A1000`, `MI300` is in `MI300X`.
fn holds(text: &str, name: &str) -> bool {
    let mut starts = text.match_indices(name).map(|(at, _)| at);
    starts.any(|at| {
        let before = text[..at].chars().next_back();
        let after = &text[at + name.len()..];
        let more = after.strip_prefix(['X', 'A']).unwrap_or(after).chars().next();
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        !joins(before) && !joins(if name.starts_with("MI") { more } else { after.chars().next() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_names_are_known() {
        let cases = [
            ("Tesla P100-SXM2-16GB", Some(Nvlink1)),
            ("Tesla V100-SXM2-32GB-LS", Some(Nvlink2)),
            ("Tesla V100-PCIE-32GB", None),
            ("NVIDIA A100-SXM4-80GB", Some(Nvlink3)),
            ("NVIDIA A10G", None),
            ("NVIDIA H100 80GB HBM3", Some(Nvlink4)),
            ("NVIDIA H200", Some(Nvlink4)),
            ("NVIDIA GH200 480GB", Some(Nvlink4)),
            ("NVIDIA B200", Some(Nvlink5)),
            ("NVIDIA GB200", Some(Nvlink5)),
            ("NVIDIA L40S", None),
            ("NVIDIA GeForce RTX 4090", None),
            ("AMD Instinct MI250X/MI250", Some(Xgmi)),
            ("AMD Instinct MI300X", Some(XgmiMi300)),
            ("AMD INSTINCT MI300A", Some(XgmiMi300)),
            ("AMD Instinct MI355X", Some(XgmiMi350)),
        ];
        for (name, kind) in cases {
            let model = by_name(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(model.fabric.map(|fabric| fabric.kind), kind, "{name}");
        }
        for name in ["NVIDIA RTX A1000", "Quadro K2000", "", "GB2000", "MI3000"] {
            assert_eq!(by_name(name), None, "{name}");
        }
        let ampere = by_name("NVIDIA GeForce RTX 3090").and_then(|model| model.fabric).unwrap();
        assert_eq!(ampere.bandwidth(), Bandwidth(14_062_500_000));
        let full = by_name("NVIDIA A30").and_then(|model| model.fabric).unwrap();
        assert_eq!(full.bandwidth(), Bandwidth::gigabytes_per_second(25));
    }

    #[test]
    fn every_product_is_found_by_its_own_name_and_ids() {
        for model in &MODELS {
            assert_eq!(by_name(model.name), Some(model));
            for id in model.ids {
                assert_eq!(by_id(*id), Some(model), "{id:x}");
            }
        }
    }
}
