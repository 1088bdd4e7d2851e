//! Describes GPUs by model: their speed, memory, copy engines, caches and links.
//!
//! Each model has one file here, `NAME.toml`, whose sections name the data sheets and whitepapers
//! that their numbers come from. PCI ids are those of the PCI ID Repository. No other place holds a
//! fact of a GPU. A [`Device`](super::Device) names its model, as presets and importers set it, and
//! [`find`] finds it. The model leaves out power at rest, which no data sheet states, and the part
//! of a peak that programs reach.
//!
//! A section that a file lacks is unknown, and whoever asks for it gets an error that names it.

mod changes;
mod hierarchy;
mod load;
mod model;
mod reader;
#[cfg(test)]
mod tests;
mod wiring;

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

pub use changes::{GpuChanges, GpuSections};
pub use hierarchy::{
    Channels, Compute, DramBanks, Driver, FirstLevel, Flits, Hierarchy, LeasedLines, Merging,
    MessageSizes, RequestTracker, SecondLevel, TimestampStorage, Translation,
};
pub use load::MatrixLoad;
pub use model::{
    Caches, Chip, CopyEngines, GpuError, GpuLinks, GpuModel, LinkReach, Memory, MemoryKind,
    NumberType, PciId, Peak, PeerAccess, PowerDrawn, Vendor,
};
pub use reader::{read, write};
pub use wiring::{PackageWiring, WiringShape};

use crate::diagnostic::{InputError, Registered, Registry, closest, instead_of, one_of};
use crate::system::kinds::LinkKind;

/// Holds the file of a model, which is read when it is first asked for.
#[derive(Debug)]
pub struct GpuFile {
    name: &'static str,
    text: &'static str,
    model: OnceLock<GpuModel>,
}

impl GpuFile {
    /// Names the file of a model.
    #[must_use]
    pub const fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, text, model: OnceLock::new() }
    }

    /// Reads the model.
    ///
    /// # Errors
    /// A text that is no model's, with its place.
    pub fn model(&self) -> Result<&GpuModel, InputError> {
        if let Some(model) = self.model.get() {
            return Ok(model);
        }
        let model = read(&format!("{}.toml", self.name), self.text)?;
        Ok(self.model.get_or_init(|| model))
    }
}

impl Registered for GpuFile {
    fn name(&self) -> &'static str {
        self.name
    }
}

macro_rules! files {
    ($($name:literal,)*) => {
        /// Holds the file of every model: by vendor, the oldest first.
        static FILES: [GpuFile; [$($name),*].len()] =
            [$(GpuFile::new($name, include_str!(concat!($name, ".toml"))),)*];
    };
}

files! {
    "k40c",
    "k20c",
    "gtx-titan-z",
    "k80",
    "p100-sxm2-16gb",
    "p100-pcie-16gb",
    "p100-pcie-12gb",
    "v100-sxm2-16gb",
    "v100-sxm2-32gb",
    "v100-sxm3-32gb",
    "v100-dgxs-16gb",
    "v100-dgxs-32gb",
    "v100-pcie-16gb",
    "v100-pcie-32gb",
    "v100-fhhl-16gb",
    "v100s-pcie-32gb",
    "quadro-gv100",
    "titan-v",
    "rtx-2080-ti",
    "rtx-2080",
    "rtx-2080-super",
    "titan-rtx",
    "quadro-rtx-8000",
    "quadro-rtx-6000",
    "quadro-rtx-5000",
    "t4",
    "a100-sxm4-40gb",
    "a100-sxm4-80gb",
    "a100-pcie-40gb",
    "a100-pcie-80gb",
    "a800-sxm4-80gb",
    "a30",
    "a40",
    "a10",
    "a10g",
    "a16",
    "rtx-a6000",
    "rtx-a5500",
    "rtx-a5000",
    "rtx-a4500",
    "rtx-a4000",
    "rtx-3090-ti",
    "rtx-3090",
    "rtx-3080",
    "rtx-3080-ti",
    "rtx-3080-12gb",
    "l40s",
    "l40",
    "l4",
    "l20",
    "rtx-6000-ada",
    "rtx-5000-ada",
    "rtx-4090",
    "rtx-4090-d",
    "rtx-4080",
    "rtx-4080-super",
    "h100-sxm5-80gb",
    "h100-sxm5-94gb",
    "h100-pcie-80gb",
    "h100-nvl",
    "h200-sxm5-141gb",
    "h200-nvl",
    "h800-pcie",
    "h800",
    "h20",
    "gh200-96gb",
    "gh200-144gb",
    "b200-sxm6-180gb",
    "gb200-186gb",
    "b100",
    "b300",
    "gb300",
    "rtx-pro-6000-blackwell",
    "rtx-pro-6000-blackwell-server",
    "rtx-5090",
    "rtx-5090-d",
    "r9-nano",
    "mi50-16gb",
    "mi60",
    "mi100",
    "mi210",
    "mi250",
    "mi250x",
    "mi300x",
    "mi300a",
    "mi308x",
    "mi325x",
    "mi350x",
    "mi355x",
}

/// Lists every model: by vendor, the oldest first.
///
/// # Panics
/// Never: the tests read what is compiled in, so that it cannot fail for a user.
pub fn all() -> impl Iterator<Item = &'static GpuModel> {
    FILES.iter().map(|file| file.model().expect("the compiled-in GPU models are valid"))
}

/// Lists the file of every model by name.
#[must_use]
pub fn gpu_models() -> Registry<GpuFile> {
    Registry::new("GPU model", &FILES.iter().collect::<Vec<_>>())
}

/// Finds the model of a name, as [`find`] takes it, among those that are not Linkwright's own.
///
/// # Errors
/// A text of one of them that is no model's, with its place.
pub(in crate::system) fn find_added(
    name: &str,
    models: &Registry<GpuFile>,
) -> Result<Option<&'static GpuModel>, InputError> {
    let capitals = name.trim().to_ascii_uppercase();
    for file in models.iter().filter(|file| !FILES.iter().any(|own| std::ptr::eq(own, *file))) {
        let model = file.model()?;
        let is_it =
            |known: &str| without_brands(&known.to_ascii_uppercase()) == without_brands(&capitals);
        if words(model).any(|known| is_it(known)) {
            return Ok(Some(model));
        }
    }
    Ok(None)
}

/// Lists the names that texts have for a model.
fn words(model: &GpuModel) -> impl Iterator<Item = &String> {
    [&model.name, &model.product].into_iter().chain(&model.names)
}

/// The model of a name: its own here, or a product's as tools print it. Upper and lower case are
/// one, and brands may be left out: `NVIDIA H100 80GB HBM3`, `V100-SXM2-16GB`.
///
/// # Errors
/// [`GpuError::Unknown`], with the name that was probably meant: also of an `A100-SXM-64GB`,
/// since no file says how much memory that has.
pub fn find(name: &str) -> Result<&'static GpuModel, GpuError> {
    let capitals = name.trim().to_ascii_uppercase();
    let found = WITHOUT_BRANDS.get(without_brands(&capitals));
    found.copied().ok_or_else(|| {
        let known: Vec<&str> = all().map(|model| model.name.as_str()).collect();
        let meant = closest(&name.to_ascii_lowercase(), &known);
        let instead =
            meant.map_or_else(|| one_of(&known), |meant| format!("did you mean `{meant}`?"));
        GpuError::Unknown { name: name.to_owned(), instead }
    })
}

/// The same of the models whose inside is known, so that kernels can run in them.
///
/// # Errors
/// [`GpuError::Unknown`] with the names of these, and a model whose file has no `[hierarchy]`.
pub fn find_inside(name: &str) -> Result<&'static GpuModel, GpuError> {
    let model = find(name).map_err(|_| {
        let inside = all().filter(|model| model.hierarchy().is_ok());
        let known: Vec<&str> = inside.map(|model| model.name.as_str()).collect();
        let instead = instead_of(&name.to_ascii_lowercase(), &known);
        GpuError::Unknown { name: name.to_owned(), instead }
    })?;
    model.hierarchy().map(|_| model)
}

/// Drops from a name in capitals the brands that tools print and people leave out.
fn without_brands(name: &str) -> &str {
    let brands = ["NVIDIA ", "TESLA ", "GEFORCE ", "AMD ", "INSTINCT "];
    let shorter = brands.iter().find_map(|brand| name.strip_prefix(brand));
    shorter.map_or(name, without_brands)
}

/// The model that a text names, or one of the same family, whose links are the same: an
/// `A100-SXM-64GB` holds `A100`. Of several names that it holds the longest is meant, so that an
/// `RTX 4090 D` is no `RTX 4090`.
pub(in crate::system) fn by_text(text: &str) -> Option<&'static GpuModel> {
    let text = text.to_ascii_uppercase();
    let mut best: Option<(usize, &GpuModel)> = None;
    for (name, model) in NAMES.iter() {
        // Most words of a paste are shorter than most names: a search would cost more than they.
        let may_be = name.len() <= text.len() && best.is_none_or(|(length, _)| length < name.len());
        if may_be && holds(&text, name) {
            best = Some((name.len(), model));
        }
    }
    best.map(|(_, model)| model)
}

/// Lists every name that texts hold, in capitals, with its model.
static NAMES: LazyLock<Vec<(String, &'static GpuModel)>> = LazyLock::new(|| {
    let names =
        all().flat_map(|model| words(model).map(move |name| (name.to_ascii_uppercase(), model)));
    names.collect()
});

/// Gives the model of every name in capitals without its brands. No two models have one name.
static WITHOUT_BRANDS: LazyLock<HashMap<&str, &GpuModel>> =
    LazyLock::new(|| NAMES.iter().map(|(name, model)| (without_brands(name), *model)).collect());

/// The model of a PCI device id, of any vendor where none is given.
pub(in crate::system) fn by_pci_id(vendor: Option<u16>, device: u16) -> Option<&'static GpuModel> {
    let is_it = |id: &PciId| id.device == device && vendor.is_none_or(|vendor| vendor == id.vendor);
    all().find(|model| model.pci_ids.iter().any(is_it))
}

/// How many links a GPU of a generation of NVLink or xGMI has at most.
pub(in crate::system) fn most_links(kind: LinkKind) -> u32 {
    let links = all().filter_map(|model| model.links);
    links.filter(|links| links.kind == kind).map(|links| links.count).max().unwrap_or(0)
}

/// Returns the xGMI generation of a processor as AMD's tools name it: `gfx942`, or `942` in
/// topology files.
pub(in crate::system) fn xgmi_of(processor: &str) -> Option<LinkKind> {
    let digits = processor.strip_prefix("gfx").unwrap_or(processor);
    let is_it = |known: &String| known.strip_prefix("gfx") == Some(digits);
    let model = all().find(|model| model.processors.iter().any(is_it))?;
    model.links.map(|links| links.kind)
}

/// Whether a text holds a name that no further letter or digit makes another: `A100` is
/// not in `A1000`.
fn holds(text: &str, name: &str) -> bool {
    let mut starts = text.match_indices(name).map(|(at, _)| at);
    starts.any(|at| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        !joins(before) && !joins(after)
    })
}
