//! Reads attributes of NCCL's elements.

use roxmltree::{Attribute, Node};

use crate::diagnostic::InputError;
use crate::system::adapters::of_megabits;
use crate::system::import::paste;
use crate::system::kinds::LinkKind;
use crate::system::server::MAX_BANDWIDTH;
use crate::units::Bandwidth;
pub(super) use crate::xml::Source;

/// Holds an element's facts of a PCIe link; nothing where the system could not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PcieLink {
    /// Gives the generation, by its transfer rate.
    pub(super) kind: Option<LinkKind>,
    /// Counts the lanes.
    pub(super) lanes: Option<u32>,
}

/// The address that NVIDIA's driver gives of an NVSwitch outside a virtual machine, or a rack's.
const UNSEEN: &str = "fffffff:ffff:ff";

/// Reads what NCCL's elements say.
pub(super) trait NcclAttributes {
    /// A number that must be there.
    fn number(&self, node: Node, name: &str) -> Result<u32, InputError>;

    /// A PCI address that must be there, in lower case.
    fn address(&self, node: Node, name: &str) -> Result<String, InputError>;

    /// The far end of a link: a PCI address, or the one that drivers write of a switch that they
    /// cannot see, `fffffff:ffff:ff`.
    fn far_end(&self, node: Node, name: &str) -> Result<String, InputError>;

    /// A PCI class such as `0x060400`, where it is there.
    fn class(&self, node: Node, name: &str) -> Result<Option<u32>, InputError>;

    /// How fast ports are together, where each says it; NCCL writes Mb/s, and nothing above zero
    /// where it could not tell.
    fn speed(&self, ports: &[Node]) -> Result<Option<Bandwidth>, InputError>;

    /// Reads an element's facts of the PCIe link above it.
    fn pcie_link(&self, node: Node) -> Result<PcieLink, InputError>;
}

impl NcclAttributes for Source<'_> {
    fn number(&self, node: Node, name: &str) -> Result<u32, InputError> {
        let attribute = self.required(node, name)?;
        paste::number(attribute.value()).ok_or_else(|| {
            self.refuse_value(&attribute, format!("`{name}` is no number"), "write such as 0 or 16")
        })
    }

    fn address(&self, node: Node, name: &str) -> Result<String, InputError> {
        let attribute = self.required(node, name)?;
        let address = attribute.value().to_ascii_lowercase();
        if is_bus_id(&address) {
            return Ok(address);
        }
        let problem = format!("`{name}` is no PCI address");
        Err(self.refuse_value(&attribute, problem, "write such as 0000:1b:00.0"))
    }

    fn far_end(&self, node: Node, name: &str) -> Result<String, InputError> {
        match node.attribute(name).map(str::to_ascii_lowercase) {
            Some(unseen) if unseen == UNSEEN => Ok(unseen),
            _ => self.address(node, name),
        }
    }

    fn class(&self, node: Node, name: &str) -> Result<Option<u32>, InputError> {
        let Some(attribute) = node.attribute_node(name) else { return Ok(None) };
        let digits = attribute.value().strip_prefix("0x").filter(|digits| digits.len() == 6);
        let class = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        class.map(Some).ok_or_else(|| {
            let problem = format!("`{name}` is no PCI class");
            self.refuse_value(&attribute, problem, "write such as 0x030200")
        })
    }

    fn speed(&self, ports: &[Node]) -> Result<Option<Bandwidth>, InputError> {
        let mut sum = Some(Bandwidth(0)).filter(|_| !ports.is_empty());
        for port in ports {
            let speed = match port.attribute_node("speed") {
                Some(speed) => megabits(self, &speed)?,
                None => None,
            };
            sum = sum.zip(speed).map(|(sum, speed)| Bandwidth(sum.0.saturating_add(speed.0)));
        }
        Ok(sum.map(|sum| sum.min(MAX_BANDWIDTH)))
    }

    fn pcie_link(&self, node: Node) -> Result<PcieLink, InputError> {
        let mut link = PcieLink { kind: None, lanes: None };
        if let Some(speed) = node.attribute_node("link_speed") {
            let words: Vec<&str> = speed.value().split_whitespace().collect();
            link.kind = match words.as_slice() {
                [] | ["Unknown", ..] => None,
                [rate, "GT/s"] | [rate, "GT/s", "PCIe"] => generation(rate),
                _ => None,
            };
            if link.kind.is_none() && !matches!(words.as_slice(), [] | ["Unknown", ..]) {
                let problem = "no PCIe generation has this speed";
                let remedy = "write 2.5, 5, 8, 16, 32 or 64 and GT/s";
                return Err(self.refuse_value(&speed, problem, remedy));
            }
        }
        if let Some(width) = node.attribute_node("link_width") {
            link.lanes = match paste::number(width.value()) {
                Some(0 | 255) => None,
                Some(lanes @ (1 | 2 | 4 | 8 | 12 | 16 | 32)) => Some(lanes),
                _ if width.value().is_empty() => None,
                _ => {
                    let problem = "no PCIe link has this width";
                    return Err(self.refuse_value(&width, problem, "write 1, 2, 4, 8 or 16 lanes"));
                }
            };
        }
        Ok(link)
    }
}

fn megabits(source: &Source, speed: &Attribute) -> Result<Option<Bandwidth>, InputError> {
    let known = match speed.value() {
        "" => Some(None),
        value => match value.parse::<i64>() {
            Ok(..=0) => Some(None),
            Ok(megabits) => u32::try_from(megabits).ok().and_then(of_megabits).map(Some),
            Err(_) => None,
        },
    };
    known.ok_or_else(|| {
        let problem = "no network interface has this speed";
        source.refuse_value(speed, problem, "write Mb/s, such as 400000, or leave it out")
    })
}

/// Whether a text is a PCI address as the file has them, with its domain: `0000:1b:00.0`.
pub(in crate::system) fn is_bus_id(address: &str) -> bool {
    let hexadecimal = |part: &str| part.bytes().all(|b| b.is_ascii_hexdigit());
    let digits = |part: &str| part.len() >= 2 && hexadecimal(part);
    let parts: Vec<&str> = address.split(':').collect();
    let [domain, bus, rest] = parts.as_slice() else { return false };
    let (device, function) = rest.split_once('.').unwrap_or((rest, ""));
    digits(domain) && digits(bus) && digits(device) && function.len() == 1 && hexadecimal(function)
}

fn generation(rate: &str) -> Option<LinkKind> {
    match rate.strip_suffix(".0").unwrap_or(rate) {
        "2.5" => Some(LinkKind::Pcie1),
        "5" => Some(LinkKind::Pcie2),
        "8" => Some(LinkKind::Pcie3),
        "16" => Some(LinkKind::Pcie4),
        "32" => Some(LinkKind::Pcie5),
        "64" => Some(LinkKind::Pcie6),
        _ => None,
    }
}
