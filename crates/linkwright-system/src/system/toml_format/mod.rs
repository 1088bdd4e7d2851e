//! Reads and writes Linkwright's own machine format.
//!
//! ```toml
//! name = "pair"
//! source = "my desk"
//!
//! [[device]]
//! kind = "gpu"
//! model = "V100-SXM2-16GB"
//! names = ["GPU0", "GPU1"]
//! vendor_id = "10de"                 # PCI ids, where known
//! device_id = "1db1"                 # likewise
//! subsystem_id = "10de:1212"         # likewise
//! cpu_affinity = "0-11,24-35"        # cores near each of them, likewise
//! numa_affinity = "0"                # likewise
//! pci_addresses = ["0000:07:00.0", "0000:0a:00.0"]   # one for each name
//!
//! [[link]]
//! kind = "nvlink2"
//! count = 2                          # one where absent
//! bandwidth = "25 GB/s"              # of one link; the data sheet's where absent
//! latency = "500 ns"                 # likewise
//! discipline = "pipe"                # or "packets"; the kind's where absent
//! flits = { bytes = "34 B", encoding = 25, cycle = "1 ns", switch = "140 ns" } # where a clock carries them
//! between = [["GPU0", "GPU1"]]
//!
//! [calibration]                      # what runs measured, where any did
//! source = "all_reduce.log"
//!
//! [calibration.reached]              # of the peak of links of a kind
//! nvlink2 = 0.91
//!
//! [calibration.launch]
//! each = "5.2 us"                    # of each further GPU of a process; also alone, group
//! ```
//!
//! A group lists everything that is alike, so that a whole DGX-1 fits on a screen. Unknown
//! keys are refused.

mod calibration;
mod device;
#[cfg(test)]
mod tests;
mod writer;

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use self::device::DeviceGroup;
pub use self::writer::write;
use crate::diagnostic::{Diagnose, Diagnosis, InputError, Position, Registered, from_toml};
use crate::system::error::SystemError;
use crate::system::import::{ImportFormat, ImportOptions};
use crate::system::kinds::{Discipline, LinkKind};
use crate::system::packet_format::LinkFlits;
use crate::system::server::{Link, Server, ServerBuilder, ServerError};
use crate::units::{Bandwidth, Picoseconds};

/// Reads Linkwright's own TOML.
#[derive(Debug)]
pub struct Toml;

impl Registered for Toml {
    fn name(&self) -> &'static str {
        "toml"
    }
}

impl ImportFormat for Toml {
    fn looks_like(&self, text: &str) -> bool {
        let is_toml = |line: &str| {
            let key = line.split('=').next().unwrap_or_default().trim();
            matches!(line.trim(), "[[device]]" | "[[link]]")
                || (line.contains('=') && matches!(key, "name" | "source" | "assumptions"))
        };
        // A tag of XML may have such lines.
        !text.starts_with('<') && text.lines().any(is_toml)
    }

    fn read(&self, file: &str, text: &str, options: &ImportOptions) -> Result<Server, SystemError> {
        let machine = read(file, text)?;
        Ok(match &options.name {
            Some(name) => machine.renamed(name),
            None => machine,
        })
    }
}

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
    calibration: Option<calibration::File>,
    #[serde(default)]
    device: Vec<DeviceGroup>,
    #[serde(default)]
    link: Vec<LinkGroup>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkGroup {
    kind: LinkKind,
    #[serde(default = "one")]
    count: u32,
    bandwidth: Option<Bandwidth>,
    latency: Option<Picoseconds>,
    discipline: Option<Spanned<Discipline>>,
    flits: Option<LinkFlits>,
    measured: Option<Bandwidth>,
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
        let Diagnosis { problem, remedy } = error.diagnosis();
        let remedy = remedy.unwrap_or_else(|| "mend the machine".to_owned());
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
        for (device, name) in group.devices(file, text)? {
            builder.add(device).map_err(|error| refuse(name, error))?;
        }
    }
    let mut pairs: Vec<Range<usize>> = Vec::new();
    for group in &parsed.link {
        let sheet = group.kind.data_sheet();
        for pair in &group.between {
            let at = |error| match (&error, &group.discipline) {
                (ServerError::Discipline { .. }, Some(given)) => refuse(given.span(), error),
                _ => refuse(pair.span(), error),
            };
            let (a, b) = pair.get_ref();
            let (a, b) = (builder.find(a).map_err(at)?, builder.find(b).map_err(at)?);
            let link = Link {
                a,
                b,
                kind: group.kind,
                count: group.count,
                bandwidth: group.bandwidth.unwrap_or(sheet.bandwidth),
                latency: group.latency.unwrap_or(sheet.latency),
                discipline: group.discipline.as_ref().map(|given| *given.get_ref()),
                flits: group.flits,
                measured: group.measured,
            };
            builder.link(link).map_err(at)?;
            pairs.push(pair.span());
        }
    }
    let server = builder.build().map_err(|error| match error {
        ServerError::MixedDisciplines { link, .. } | ServerError::ParallelPackets { link, .. } => {
            refuse(pairs[link].clone(), error)
        }
        _ => refuse(0..0, error),
    })?;
    Ok(match parsed.calibration {
        Some(given) => {
            let calibration = given.read(file, text, server.links())?;
            server.calibrated(calibration)
        }
        None => server,
    })
}
