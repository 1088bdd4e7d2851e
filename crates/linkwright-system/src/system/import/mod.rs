//! One door to every reader of machines: by the format's name, or by the look of the text.
//!
//! - [`nvidia_smi`]: what `nvidia-smi topo -m` prints
//! - [`rocm_smi`]: what `rocm-smi --showtopo` prints
//! - [`amd_smi`]: `amd-smi topology` prints it
//! - [`nccl_xml`]: the topology file of NCCL and RCCL

pub mod amd_smi;
pub(in crate::system) mod host_tree;
mod models;
pub mod nccl_xml;
pub mod nvidia_smi;
pub(in crate::system) mod paste;
pub mod rocm_smi;
mod sockets;
mod squares;
mod strangers;

use std::fmt;
use std::str::FromStr;

use self::nccl_xml::NcclXmlOptions;
use self::nvidia_smi::NvidiaSmiOptions;
use self::rocm_smi::RocmSmiOptions;
use super::toml_format;
use crate::diagnostic::{InputError, Position};
use crate::system::error::SystemError;
use crate::system::fabric;
use crate::system::kinds::LinkKind;
use crate::system::server::Server;

/// A format that machines are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImportFormat {
    /// What `nvidia-smi topo -m` prints.
    NvidiaSmi,
    /// What `rocm-smi --showtopo` prints.
    RocmSmi,
    /// `amd-smi topology` prints it.
    AmdSmi,
    /// The XML file that NCCL and RCCL write and read.
    NcclXml,
    /// Linkwright's own TOML.
    Toml,
}

/// What an input may not say and its owner may know; a reader ignores what it has no use for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// The machine's name; the TOML file's own, or the format's name, where absent.
    pub name: Option<String>,
    /// The NVLink generation behind `nvidia-smi` counts, and of the NVSwitches that a NCCL
    /// topology leaves out.
    pub nvlink: Option<LinkKind>,
    /// The PCIe generation where the input does not give one.
    pub pcie: Option<LinkKind>,
    /// How many xGMI links join a pair that `rocm-smi` or `amd-smi` shows joined.
    pub xgmi_links: Option<u32>,
}

impl ImportFormat {
    /// Every format.
    pub const ALL: [Self; 5] =
        [Self::NvidiaSmi, Self::RocmSmi, Self::AmdSmi, Self::NcclXml, Self::Toml];

    /// The format's name, as [`FromStr`] reads it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NvidiaSmi => "nvidia-smi",
            Self::RocmSmi => "rocm-smi",
            Self::AmdSmi => "amd-smi",
            Self::NcclXml => "nccl-xml",
            Self::Toml => "toml",
        }
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for ImportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ImportFormat {
    type Err = SystemError;

    /// The format of that name.
    ///
    /// # Errors
    /// [`SystemError::UnknownFormat`], with the names that exist.
    fn from_str(name: &str) -> Result<Self, SystemError> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        let unknown = || SystemError::UnknownFormat { name: name.to_owned(), known: Self::names() };
        found.ok_or_else(unknown)
    }
}

/// The format that a text looks like; sound or not is the reader's to say.
#[must_use]
pub fn detect(text: &str) -> Option<ImportFormat> {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if text.starts_with('<') {
        return Some(ImportFormat::NcclXml);
    }
    let is_toml = |line: &str| {
        let key = line.split('=').next().unwrap_or_default().trim();
        matches!(line.trim(), "[[device]]" | "[[link]]")
            || (line.contains('=') && matches!(key, "name" | "source" | "assumptions"))
    };
    if text.lines().any(is_toml) {
        return Some(ImportFormat::Toml);
    }
    if amd_smi::is_it(text) {
        return Some(ImportFormat::AmdSmi);
    }
    if text.contains("between two GPUs") || text.contains("ROCm") {
        return Some(ImportFormat::RocmSmi);
    }
    let is_matrix = text.contains("nvidia-smi topo")
        || text.lines().any(|line| paste::is_gpu_name(&paste::first_word(line)));
    is_matrix.then_some(ImportFormat::NvidiaSmi)
}

/// Reads a machine; `file` names the text in errors, and a `format` that is absent is
/// taken from the look of the text.
///
/// # Errors
/// A text that looks like no format, and whatever the format's reader refuses.
pub fn import(
    file: &str,
    text: &str,
    format: Option<ImportFormat>,
    options: &ImportOptions,
) -> Result<Server, SystemError> {
    let start = Position { line: 1, column: 1 };
    let unknown = || {
        let stranger = strangers::named(file, text);
        if let Some(stranger) = stranger.or_else(|| fabric::strangers::of_tools(file, text)) {
            return stranger;
        }
        let problem = "the text looks like no format that describes a machine";
        let remedy =
            format!("give one of these, and its name if need be: {}", ImportFormat::names());
        InputError::at(file, start, problem, text.trim_start(), remedy)
    };
    let (name, pcie) = (options.name.clone(), options.pcie);
    match format.or_else(|| detect(text)).ok_or_else(unknown)? {
        ImportFormat::NvidiaSmi => {
            let options = NvidiaSmiOptions { name, nvlink: options.nvlink, pcie };
            nvidia_smi::read(file, text, &options)
        }
        ImportFormat::RocmSmi => {
            let options = RocmSmiOptions { name, pcie, xgmi_links: options.xgmi_links };
            rocm_smi::read(file, text, &options)
        }
        ImportFormat::AmdSmi => {
            let options = RocmSmiOptions { name, pcie, xgmi_links: options.xgmi_links };
            amd_smi::read(file, text, &options)
        }
        ImportFormat::NcclXml => {
            let options = NcclXmlOptions { name, pcie, nvlink: options.nvlink };
            nccl_xml::read(file, text, &options)
        }
        ImportFormat::Toml => {
            let machine = toml_format::read(file, text)?;
            Ok(match &name {
                Some(name) => machine.renamed(name),
                None => machine,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::system::test_support::{assert_is_helpful, example, quirk};

    const PASTES: [(&str, ImportFormat, usize); 6] = [
        (example!("dgx1-v100.nvidia-smi-topo-m.txt"), ImportFormat::NvidiaSmi, 8),
        (example!("dgx-a100-12-nics.nvidia-smi-topo-m.txt"), ImportFormat::NvidiaSmi, 8),
        (example!("hgx-h100.nvidia-smi-topo-m.txt"), ImportFormat::NvidiaSmi, 8),
        (example!("4x-rtx6000ada-pcie.nvidia-smi-topo-m.txt"), ImportFormat::NvidiaSmi, 4),
        (example!("4x-mi210.rocm-smi-showtopo.txt"), ImportFormat::RocmSmi, 4),
        (quirk!("xgmi-mesh.amd-smi.txt"), ImportFormat::AmdSmi, 8),
    ];

    fn guess(text: &str, options: &ImportOptions) -> Result<Server, SystemError> {
        import("input", text, None, options)
    }

    #[test]
    fn names_are_those_of_the_formats() {
        for format in ImportFormat::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let error = "lstopo".parse::<ImportFormat>().unwrap_err().to_string();
        assert!(
            error.contains("lstopo")
                && error.contains("nvidia-smi, rocm-smi, amd-smi, nccl-xml, toml")
        );
    }

    #[test]
    fn every_input_is_told_and_survives_as_toml() {
        let named = ImportOptions { name: Some("mine".to_owned()), ..ImportOptions::default() };
        for (text, format, gpus) in PASTES {
            assert_eq!(detect(text), Some(format));
            let machine = guess(text, &ImportOptions::default()).unwrap();
            assert_eq!((machine.name(), machine.gpus().len()), (format.name(), gpus));
            let toml = toml_format::write(&machine);
            assert_eq!(detect(&toml), Some(ImportFormat::Toml));
            assert_eq!(guess(&toml, &ImportOptions::default()).unwrap(), machine);
            assert_eq!(guess(&toml, &named).unwrap(), machine.renamed("mine"));
        }
        assert_eq!(detect("\u{feff} <system/>"), Some(ImportFormat::NcclXml));
    }

    #[test]
    fn a_text_of_no_format_is_refused_with_the_formats() {
        for text in ["", "hello", "[[4m"] {
            let error = guess(text, &ImportOptions::default()).unwrap_err();
            assert_is_helpful(&error);
            let known = "nvidia-smi, rocm-smi, amd-smi, nccl-xml, toml";
            assert!(error.to_string().contains(known), "{error}");
        }
        let xml = Some(ImportFormat::NcclXml);
        assert!(import("input", PASTES[0].0, xml, &ImportOptions::default()).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in any::<String>()) {
            let _ = guess(&text, &ImportOptions::default());
            for format in ImportFormat::ALL {
                let _ = import("input", &text, Some(format), &ImportOptions::default());
            }
        }
    }
}
