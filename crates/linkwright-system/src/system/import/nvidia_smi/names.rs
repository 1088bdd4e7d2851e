//! The GPUs' names, which people paste with the matrix: from `nvidia-smi -L` and from the
//! table that `nvidia-smi` alone prints.

use std::collections::BTreeMap;

use super::matrix::Matrix;
use crate::diagnostic::InputError;
use crate::system::gpus::{self, GpuModel};
use crate::system::import::paste::{self, Line, Token};
use crate::system::locality::is_pci_address;

/// Holds the names in a paste: for each GPU of the matrix its product, where the paste says it.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    by_number: BTreeMap<u32, String>,
    addresses: BTreeMap<u32, String>,
}

/// Reads the names.
///
/// # Errors
/// A GPU that the matrix lacks, or that has two names.
pub(super) fn read(file: &str, lines: &[Line], matrix: &Matrix) -> Result<Names, InputError> {
    let mut names = Names::default();
    for line in lines {
        let table = tabled(line);
        if let Some((number, _, _, address)) = &table {
            names.addresses.insert(*number, address.clone());
        }
        let table = table.map(|(number, token, name, _)| (number, token, name));
        let Some((number, token, name)) = listed(line).or(table) else { continue };
        let gpu = format!("GPU{number}");
        if !matrix.devices.iter().any(|device| device.name.text == gpu) {
            let problem = "the paste names this GPU, but the matrix has none of its number";
            let remedy = "paste names and matrix of one server, or the matrix alone";
            return Err(token.refuse(file, problem, remedy));
        }
        let known = names.by_number.entry(number).or_insert_with(|| name.clone());
        // The table cuts long names off.
        if gpus::by_text(known).is_none() {
            *known = name;
        }
    }
    Ok(names)
}

/// Reads `GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)`.
fn listed(line: &Line) -> Option<(u32, &Token, String)> {
    let [gpu, number, name @ ..] = line.tokens.as_slice() else { return None };
    let digits = number.text.strip_suffix(':').filter(|_| gpu.text == "GPU")?;
    let name = words(name.iter().take_while(|word| !word.text.starts_with("(UUID")));
    Some((paste::number(digits)?, number, name))
}

/// Reads the name and the address in `|   0  NVIDIA H100 80GB HBM3    On  | 00000000:1B:00.0 Off |
/// ...`.
fn tabled(line: &Line) -> Option<(u32, &Token, String, String)> {
    let [bar, number, rest @ ..] = line.tokens.as_slice() else { return None };
    let end = rest.iter().position(|word| word.text == "|").filter(|_| bar.text == "|")?;
    let address = &rest.get(end + 1)?.text;
    let is_address = address.matches(':').count() == 2 && address.contains('.');
    // The last word of the first field is the persistence mode.
    let name = words(rest[..end].split_last()?.1.iter());
    is_address.then_some(())?;
    Some((paste::number(&number.text)?, number, name, as_linux_writes(address)))
}

/// An address whose domain has eight digits, in lower case and with four where the rest are zeros.
fn as_linux_writes(address: &str) -> String {
    let address = address.to_ascii_lowercase();
    let short = address.strip_prefix("0000").filter(|rest| rest.find(':') == Some(4));
    short.unwrap_or(&address).to_owned()
}

fn words<'a>(tokens: impl Iterator<Item = &'a Token>) -> String {
    let all: Vec<&str> = tokens.map(|token| token.text.as_str()).collect();
    let name = all.join(" ");
    name.strip_prefix("NVIDIA ").unwrap_or(&name).to_owned()
}

impl Names {
    /// Returns the name of the GPU of a header's word.
    pub(super) fn of(&self, gpu: &str) -> Option<&str> {
        let number = paste::number(gpu.strip_prefix("GPU")?)?;
        self.by_number.get(&number).map(String::as_str)
    }

    /// Returns the PCI address of the GPU of a header's word.
    pub(super) fn address(&self, gpu: &str) -> Option<&str> {
        let number = paste::number(gpu.strip_prefix("GPU")?)?;
        let known = self.addresses.get(&number).map(String::as_str);
        known.filter(|address| is_pci_address(address))
    }

    /// The product that all named GPUs are, with its name, where they agree on the links.
    pub(super) fn product(&self) -> Option<(&str, &'static GpuModel)> {
        let mut known =
            self.by_number.values().map(|name| Some((name.as_str(), gpus::by_text(name)?)));
        let first = known.next()??;
        let alike = |other: Option<(&str, &GpuModel)>| {
            other.is_some_and(|(_, model)| {
                (model.links, model.pcie) == (first.1.links, first.1.pcie)
            })
        };
        known.all(alike).then_some(first)
    }
}
