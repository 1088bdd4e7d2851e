//! Linkwright's own machine format.
//!
//! ```toml
//! name = "pair"
//! source = "my desk"
//!
//! [[device]]
//! kind = "gpu"
//! model = "V100-SXM2-16GB"
//! names = ["GPU0", "GPU1"]
//! cpu_affinity = "0-11,24-35"        # cores near each of them, where known
//! numa_affinity = "0"                # likewise
//! pci_addresses = ["0000:07:00.0", "0000:0a:00.0"]   # one for each name
//!
//! [[link]]
//! kind = "nvlink2"
//! count = 2                          # one where absent
//! bandwidth = "25 GB/s"              # of one link; the data sheet's where absent
//! latency = "500 ns"                 # likewise
//! between = [["GPU0", "GPU1"]]
//! ```
//!
//! A group lists everything that is alike, so that a whole DGX-1 fits on a screen. Unknown
//! keys are refused.

use std::fmt::Write as _;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use crate::diagnostic::{InputError, Position, from_toml};
use crate::system::error::SystemError;
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::locality::{Affinity, Locality, is_pci_address};
use crate::system::server::{Device, DeviceId, Link, Server, ServerBuilder, ServerError};
use crate::units::{Bandwidth, Picoseconds};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    assumptions: Vec<String>,
    #[serde(default)]
    device: Vec<DeviceGroup>,
    #[serde(default)]
    link: Vec<LinkGroup>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceGroup {
    kind: DeviceKind,
    model: Option<String>,
    names: Vec<Spanned<String>>,
    cpu_affinity: Option<Affinity>,
    numa_affinity: Option<Affinity>,
    pci_addresses: Option<Spanned<Vec<Spanned<String>>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkGroup {
    kind: LinkKind,
    #[serde(default = "one")]
    count: u32,
    bandwidth: Option<Bandwidth>,
    latency: Option<Picoseconds>,
    between: Vec<Spanned<(String, String)>>,
}

const fn one() -> u32 {
    1
}

/// Reads a machine from its TOML text; `file` names it in errors.
///
/// # Errors
/// Text that is not TOML, unknown keys or kinds, and devices and links that make no
/// machine, each with file, line and column.
pub fn read(file: &str, text: &str) -> Result<Server, SystemError> {
    let parsed: File = from_toml(file, text)?;
    let refuse = |span: Range<usize>, error: ServerError| {
        let value = text.get(span.clone()).unwrap_or_default();
        let position = Position::of_offset(text, span.start);
        let message = error.to_string();
        let (problem, remedy) = message.split_once("; ").unwrap_or((&message, "mend the machine"));
        InputError::at(file, position, problem, value, remedy)
    };
    let mut builder = ServerBuilder::new(&parsed.name, &parsed.source);
    for warning in parsed.warnings {
        builder.warn(warning);
    }
    for assumption in parsed.assumptions {
        builder.assume(assumption);
    }
    for group in &parsed.device {
        let addresses = addresses(file, text, group)?;
        for (index, name) in group.names.iter().enumerate() {
            let id = builder
                .device(name.get_ref(), group.kind, group.model.as_deref())
                .map_err(|error| refuse(name.span(), error))?;
            let (cpu_affinity, numa_affinity) =
                (group.cpu_affinity.clone(), group.numa_affinity.clone());
            let pci_address = addresses.get(index).cloned();
            builder.locate(id, Locality { cpu_affinity, numa_affinity, pci_address });
        }
    }
    for group in &parsed.link {
        let sheet = group.kind.data_sheet();
        for pair in &group.between {
            let at = |error| refuse(pair.span(), error);
            let (a, b) = pair.get_ref();
            let (a, b) = (builder.find(a).map_err(at)?, builder.find(b).map_err(at)?);
            let link = Link {
                a,
                b,
                kind: group.kind,
                count: group.count,
                bandwidth: group.bandwidth.unwrap_or(sheet.bandwidth),
                latency: group.latency.unwrap_or(sheet.latency),
            };
            builder.link(link).map_err(at)?;
        }
    }
    Ok(builder.build().map_err(|error| refuse(0..0, error))?)
}

/// The PCI addresses of a group: one for each of its devices, or none.
fn addresses(file: &str, text: &str, group: &DeviceGroup) -> Result<Vec<String>, InputError> {
    let Some(listed) = &group.pci_addresses else { return Ok(Vec::new()) };
    let refuse = |span: Range<usize>, problem: &str, remedy: &str| {
        let value = text.get(span.clone()).unwrap_or_default();
        InputError::at(file, Position::of_offset(text, span.start), problem, value, remedy)
    };
    let bad = listed.get_ref().iter().find(|address| !is_pci_address(address.get_ref()));
    if let Some(bad) = bad {
        return Err(refuse(bad.span(), "this is no PCI address", "write such as 0000:07:00.0"));
    }
    if listed.get_ref().len() != group.names.len() {
        let problem = "the group has another number of names";
        return Err(refuse(listed.span(), problem, "give one address for each name, or none"));
    }
    Ok(listed.get_ref().iter().map(|address| address.get_ref().clone()).collect())
}

/// Writes a machine in the format that [`read`] reads; reading it back gives an equal machine.
#[must_use]
pub fn write(machine: &Server) -> String {
    let mut text = String::new();
    let quote = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let name = |id: DeviceId| quote(&machine.devices()[id].name);
    let _ = writeln!(text, "name = {}", quote(machine.name()));
    let _ = writeln!(text, "source = {}", quote(machine.source()));
    let remarks = [("warnings", machine.warnings()), ("assumptions", machine.assumptions())];
    for (key, remarks) in remarks.into_iter().filter(|(_, remarks)| !remarks.is_empty()) {
        let all: Vec<String> = remarks.iter().map(|remark| quote(remark)).collect();
        let _ = writeln!(text, "{key} = [\n  {},\n]", all.join(",\n  "));
    }
    let alike = |a: &DeviceId, b: &DeviceId| {
        let (a, b) = (&machine.devices()[*a], &machine.devices()[*b]);
        let place = |device: &Device| {
            let Locality { cpu_affinity, numa_affinity, pci_address } = device.locality.clone();
            (cpu_affinity, numa_affinity, pci_address.is_some())
        };
        a.kind == b.kind && a.model == b.model && place(a) == place(b)
    };
    let ids: Vec<DeviceId> = (0..machine.devices().len()).collect();
    for group in ids.chunk_by(alike) {
        let first = &machine.devices()[group[0]];
        let _ = writeln!(text, "\n[[device]]\nkind = \"{}\"", first.kind.name());
        if let Some(model) = &first.model {
            let _ = writeln!(text, "model = {}", quote(model));
        }
        let names: Vec<String> = group.iter().map(|id| name(*id)).collect();
        let _ = writeln!(text, "names = [{}]", names.join(", "));
        let place = &first.locality;
        if let Some(cores) = &place.cpu_affinity {
            let _ = writeln!(text, "cpu_affinity = \"{cores}\"");
        }
        if let Some(nodes) = &place.numa_affinity {
            let _ = writeln!(text, "numa_affinity = \"{nodes}\"");
        }
        let of = |id: &DeviceId| machine.devices()[*id].locality.pci_address.as_deref().map(quote);
        let addresses: Vec<String> = group.iter().filter_map(of).collect();
        if !addresses.is_empty() {
            let _ = writeln!(text, "pci_addresses = [{}]", addresses.join(", "));
        }
    }
    let values = |link: &Link| (link.kind, link.count, link.bandwidth, link.latency);
    for group in machine.links().chunk_by(|a, b| values(a) == values(b)) {
        let (kind, count, bandwidth, latency) = values(&group[0]);
        let _ = writeln!(text, "\n[[link]]\nkind = \"{}\"\ncount = {count}", kind.name());
        let _ = writeln!(text, "bandwidth = \"{bandwidth}\"\nlatency = \"{latency}\"");
        let pairs: Vec<String> =
            group.iter().map(|link| format!("[{}, {}]", name(link.a), name(link.b))).collect();
        let _ = writeln!(text, "between = [\n  {},\n]", pairs.join(",\n  "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: &str = "name = \"pair\"\n[[device]]\nkind = \"gpu\"\nnames = [\"A\", \"B\"]\n\
        [[link]]\nkind = \"nvlink2\"\ncount = 2\nbetween = [[\"A\", \"B\"]]\n";

    #[test]
    fn a_pair_reads_and_survives_writing() {
        let text = format!("warnings = [\"no \\\"NVLinks\\\"\"]\n{PAIR}");
        let machine = read("pair.toml", &text).unwrap();
        assert_eq!(machine.gpus().len(), 2);
        assert_eq!(machine.warnings(), ["no \"NVLinks\""]);
        assert_eq!(read("again", &write(&machine)).unwrap(), machine);
    }

    const PLACES: &str = "names = [\"A\", \"B\"]\ncpu_affinity = \"0-11,24\"\nnuma_affinity = \"1\"\n\
        pci_addresses = [\"0000:07:00.0\", \"0000:0a:00.0\"]\n[[link";

    fn placed() -> String {
        PAIR.replace("names = [\"A\", \"B\"]\n[[link", PLACES)
    }

    #[test]
    fn places_survive_writing() {
        let machine = read("pair.toml", &placed()).unwrap();
        let place = |gpu: usize| &machine.devices()[gpu].locality;
        assert_eq!(place(1).pci_address.as_deref(), Some("0000:0a:00.0"));
        assert_eq!(place(0).cpu_affinity, Affinity::parse("0-11,24"));
        assert_eq!(place(0).numa_affinity, Affinity::parse("1"));
        let written = write(&machine);
        assert!(written.contains(PLACES.trim_end_matches("[[link")), "{written}");
        assert_eq!(read("again", &written).unwrap(), machine);
    }

    #[test]
    fn errors_name_line_and_column() {
        let place = placed();
        let cases = [
            (place.replace("0-11,24", "11-0"), "5:16"),
            (place.replace("0000:0a:00.0", "slot 4"), "7:34"),
            (place.replace(", \"0000:0a:00.0\"", ""), "7:17"),
            (PAIR.replace("count", "cuont"), "7:1"),
            (PAIR.replace("[\"A\", \"B\"]]", "[\"A\", \"C\"]]"), "8:12"),
            (PAIR.replace("[\"A\", \"B\"]\n[[link", "[\"A\", \"A\"]\n[[link"), "4:15"),
            (PAIR.replace("nvlink2", "nvlonk"), "6:8"),
        ];
        for (text, place) in cases {
            let error = read("pair.toml", &text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("pair.toml:{place}: ")), "{error}");
        }
    }
}
