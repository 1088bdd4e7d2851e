//! Reads and writes a GPU model's file.
//!
//! The types of [`super::model`] say what a file holds. A value of the right kind may still make no
//! sense (a bandwidth of zero, a GPU on InfiniBand). It is refused here, where the place is still
//! known.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error as _};

use super::model::{GpuModel, NumberType, PciId};
use crate::diagnostic::{InputError, from_toml};
use crate::system::kinds::LinkKind;
use crate::units::OperationRate;

/// Reads a model from its TOML text; `file` names it in errors.
///
/// # Errors
/// Text that is not TOML, unknown keys and kinds, and values that no GPU has, each with file,
/// line and column.
pub fn read(file: &str, text: &str) -> Result<GpuModel, InputError> {
    from_toml(file, text)
}

/// The model as text that [`read`] reads back to an equal one.
///
/// # Panics
/// Never: every part of a model has a form in TOML.
#[must_use]
pub fn write(model: &GpuModel) -> String {
    toml::to_string(model).expect("a model is a table")
}

/// Text that says something.
pub(super) fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.trim().is_empty() { Err(D::Error::custom("the text is empty")) } else { Ok(text) }
}

/// Reads texts that each say something.
pub(super) fn lists_of_words<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    if texts.iter().any(|text| text.trim().is_empty()) {
        return Err(D::Error::custom("one of the texts is empty"));
    }
    Ok(texts)
}

/// A quantity that is not zero.
pub(super) fn above_zero<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default + PartialEq,
{
    let value = T::deserialize(deserializer)?;
    if value == T::default() {
        return Err(D::Error::custom("give a value above 0; leave an unknown section out"));
    }
    Ok(value)
}

/// A quantity from `LEAST` to `MOST`, as models of its inside can have.
pub(super) fn between<'de, D, T, const LEAST: u64, const MOST: u64>(
    deserializer: D,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Copy + Into<u64>,
{
    let value = T::deserialize(deserializer)?;
    let number: u64 = value.into();
    if (LEAST..=MOST).contains(&number) {
        return Ok(value);
    }
    Err(D::Error::custom(format!("{number} is not from {LEAST} to {MOST}")))
}

/// The same of what has to be a power of two.
pub(super) fn power_of_two<'de, D, T, const LEAST: u64, const MOST: u64>(
    deserializer: D,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Copy + Into<u64>,
{
    let value: T = between::<D, T, LEAST, MOST>(deserializer)?;
    let number: u64 = value.into();
    if number.is_power_of_two() {
        return Ok(value);
    }
    let above = number.checked_next_power_of_two().unwrap_or(1 << 63);
    Err(D::Error::custom(format!("{number} is no power of two; the next is {above}")))
}

/// A quantity that is not zero and may be left out.
pub(super) fn above_zero_if_any<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default + PartialEq,
{
    above_zero(deserializer).map(Some)
}

/// In how many directions copies go at once.
pub(super) fn one_or_two<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let value = u32::deserialize(deserializer)?;
    if matches!(value, 1 | 2) { Ok(value) } else { Err(D::Error::custom("it must be 1 or 2")) }
}

/// Reads speeds by number type, none of them zero.
pub(super) fn rates<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<NumberType, OperationRate>, D::Error> {
    let rates = BTreeMap::<NumberType, OperationRate>::deserialize(deserializer)?;
    match rates.iter().find(|(_, rate)| rate.0 == 0) {
        Some((number, _)) => Err(D::Error::custom(format!(
            "the speed of {} is zero; leave out what the GPU cannot do",
            number.name()
        ))),
        None => Ok(rates),
    }
}

/// Reads a generation of PCIe.
pub(super) fn pcie<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LinkKind, D::Error> {
    let kind = LinkKind::deserialize(deserializer)?;
    if kind.is_pcie() { Ok(kind) } else { Err(D::Error::custom("it is no generation of PCIe")) }
}

/// Reads the kind of links that joins GPUs: NVLink or xGMI.
pub(super) fn gpu_fabric<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LinkKind, D::Error> {
    let kind = LinkKind::deserialize(deserializer)?;
    if kind.is_nvlink() || kind.is_xgmi() {
        return Ok(kind);
    }
    Err(D::Error::custom("it is no generation of NVLink or xGMI, which join GPUs"))
}

impl fmt::Display for PciId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:04x}", self.vendor, self.device)
    }
}

impl From<PciId> for String {
    fn from(id: PciId) -> Self {
        id.to_string()
    }
}

impl FromStr for PciId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = |part: &str| {
            let hexadecimal = part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
            hexadecimal.then(|| u16::from_str_radix(part, 16).ok()).flatten()
        };
        let ids = text.split_once(':').and_then(|(a, b)| Some((digits(a)?, digits(b)?)));
        let (vendor, device) = ids.ok_or(
            "it is no PCI id; write vendor and device in four hexadecimal digits each, such as \
             10de:1db1, as `lspci -nn` does",
        )?;
        Ok(Self { vendor, device })
    }
}

impl TryFrom<String> for PciId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
