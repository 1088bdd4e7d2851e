//! Opens one door to every reader of machines: by the format's name, or by the look of the text.
//!
//! - [`nvidia_smi`] reads the output of `nvidia-smi topo -m`
//! - [`rocm_smi`] reads the output of `rocm-smi --showtopo`
//! - [`amd_smi`]: `amd-smi topology` prints it
//! - [`nccl_xml`] reads the topology file of NCCL and RCCL
//!
//! [`measured`] reads what was measured between the GPUs of a machine.

pub mod amd_smi;
pub(in crate::system) mod host_tree;
pub mod measured;
mod models;
pub mod nccl_xml;
pub mod nvidia_smi;
pub(in crate::system) mod paste;
pub mod rocm_smi;
mod sockets;
mod squares;
mod strangers;

use super::toml_format;
use crate::diagnostic::{InputError, Position, Registered, Registry};
use crate::system::error::SystemError;
use crate::system::fabric;
use crate::system::kinds::LinkKind;
use crate::system::server::Server;

/// Reads machines from texts of a format.
pub trait ImportFormat: Registered {
    /// Tells whether a text looks like it; [`ImportFormat::read`] says whether it is sound. Where a
    /// text looks like several formats, the last of their registry is meant.
    fn looks_like(&self, text: &str) -> bool;

    /// Reads the machine that a text describes; `file` names the text in errors.
    ///
    /// # Errors
    /// Whatever the format does not allow, with its place.
    fn read(&self, file: &str, text: &str, options: &ImportOptions) -> Result<Server, SystemError>;
}

/// Lists Linkwright's own formats; where a text looks like two of them, the later is meant.
const FORMATS: &[&dyn ImportFormat] = &[
    &nvidia_smi::NvidiaSmi,
    &rocm_smi::RocmSmi,
    &amd_smi::AmdSmi,
    &nccl_xml::NcclXml,
    &toml_format::Toml,
];

/// Lists Linkwright's own formats by name.
#[must_use]
pub fn importers() -> Registry<dyn ImportFormat> {
    Registry::new("import format", FORMATS)
}

/// Finds Linkwright's own format of that name.
///
/// # Errors
/// [`SystemError::UnknownFormat`], with the names that exist.
pub fn importer(name: &str) -> Result<&'static dyn ImportFormat, SystemError> {
    let formats = importers();
    formats.get(name).map_err(|_| SystemError::UnknownFormat {
        name: name.to_owned(),
        known: formats.names().join(", "),
    })
}

/// Holds facts that an input may not say and its owner may know. A reader ignores those that it has
/// no use for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// Names the machine; where absent, the TOML file's own name holds, or the format's name.
    pub name: Option<String>,
    /// The NVLink generation behind `nvidia-smi` counts, and of the NVSwitches that a NCCL
    /// topology leaves out.
    pub nvlink: Option<LinkKind>,
    /// The PCIe generation where the input does not give one.
    pub pcie: Option<LinkKind>,
    /// How many xGMI links join a pair that `rocm-smi` or `amd-smi` shows joined.
    pub xgmi_links: Option<u32>,
}

/// Finds the format of these that a text looks like; its reader says whether the text is sound.
#[must_use]
pub fn detect(
    text: &str,
    formats: &Registry<dyn ImportFormat>,
) -> Option<&'static dyn ImportFormat> {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    formats.iter().filter(|format| format.looks_like(text)).last()
}

/// Reads a machine of one of Linkwright's own formats; `file` names the text in errors. An absent
/// `format` is taken from the look of the text.
///
/// # Errors
/// A text in an unknown format, and whatever the format's reader refuses.
pub fn import(
    file: &str,
    text: &str,
    format: Option<&'static dyn ImportFormat>,
    options: &ImportOptions,
) -> Result<Server, SystemError> {
    match format {
        Some(format) => format.read(file, text, options),
        None => import_of(file, text, &importers(), options),
    }
}

/// Reads a machine of the format of these that the text looks like; `file` names it in errors.
///
/// # Errors
/// Fails as [`import`] does.
pub fn import_of(
    file: &str,
    text: &str,
    formats: &Registry<dyn ImportFormat>,
    options: &ImportOptions,
) -> Result<Server, SystemError> {
    let start = Position { line: 1, column: 1 };
    let unknown = || {
        let stranger = strangers::named(file, text);
        if let Some(stranger) = stranger.or_else(|| fabric::strangers::of_tools(file, text)) {
            return stranger;
        }
        let problem = "unknown format of a machine";
        let known = formats.names().join(", ");
        let remedy = format!("give one of these, and its name if need be: {known}");
        InputError::at(file, start, problem, text.trim_start(), remedy)
    };
    detect(text, formats).ok_or_else(unknown)?.read(file, text, options)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::system::test_support::{assert_is_helpful, example, quirk};

    const PASTES: [(&str, &str, usize); 6] = [
        (example!("dgx1-v100.nvidia-smi-topo-m.txt"), "nvidia-smi", 8),
        (example!("dgx-a100-12-nics.nvidia-smi-topo-m.txt"), "nvidia-smi", 8),
        (example!("hgx-h100.nvidia-smi-topo-m.txt"), "nvidia-smi", 8),
        (example!("4x-rtx6000ada-pcie.nvidia-smi-topo-m.txt"), "nvidia-smi", 4),
        (example!("4x-mi210.rocm-smi-showtopo.txt"), "rocm-smi", 4),
        (quirk!("xgmi-mesh.amd-smi.txt"), "amd-smi", 8),
    ];

    fn look(text: &str) -> Option<&'static str> {
        detect(text, &importers()).map(Registered::name)
    }

    fn guess(text: &str, options: &ImportOptions) -> Result<Server, SystemError> {
        import("input", text, None, options)
    }

    #[test]
    fn names_are_those_of_the_formats() {
        for format in FORMATS {
            assert_eq!(importer(format.name()).unwrap().name(), format.name());
        }
        let error = importer("lstopo").err().unwrap().to_string();
        assert!(
            error.contains("lstopo")
                && error.contains("nvidia-smi, rocm-smi, amd-smi, nccl-xml, toml")
        );
    }

    #[test]
    fn every_input_is_told_and_survives_as_toml() {
        let named = ImportOptions { name: Some("mine".to_owned()), ..ImportOptions::default() };
        for (text, format, gpus) in PASTES {
            assert_eq!(look(text), Some(format));
            let machine = guess(text, &ImportOptions::default()).unwrap();
            assert_eq!((machine.name(), machine.gpus().len()), (format, gpus));
            let toml = toml_format::write(&machine);
            assert_eq!(look(&toml), Some("toml"));
            assert_eq!(guess(&toml, &ImportOptions::default()).unwrap(), machine);
            assert_eq!(guess(&toml, &named).unwrap(), machine.renamed("mine"));
        }
        assert_eq!(look("\u{feff} <system/>"), Some("nccl-xml"));
    }

    #[test]
    fn a_text_of_no_format_is_refused_with_the_formats() {
        for text in ["", "hello", "[[4m"] {
            let error = guess(text, &ImportOptions::default()).unwrap_err();
            assert_is_helpful(&error);
            let known = "nvidia-smi, rocm-smi, amd-smi, nccl-xml, toml";
            assert!(error.to_string().contains(known), "{error}");
        }
        let xml = Some(importer("nccl-xml").unwrap());
        assert!(import("input", PASTES[0].0, xml, &ImportOptions::default()).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in any::<String>()) {
            let _ = guess(&text, &ImportOptions::default());
            for format in FORMATS.iter().copied() {
                let _ = import("input", &text, Some(format), &ImportOptions::default());
            }
        }
    }
}
