//! Holds the known facts of one model of GPU.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::hierarchy::Hierarchy;
use super::reader;
use crate::diagnostic::{Diagnose, Diagnosis, shown};
use crate::system::kinds::LinkKind;
use crate::units::{Bandwidth, Bytes, OperationRate, Power};

/// Describes one model of GPU, as its file does.
///
/// A GPU is what a tool shows as one: a die of a module of two, where the dies show apart.
/// A section that the file lacks is unknown, not zero; the accessor of each says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuModel {
    /// Names it here, and names its file: `v100-sxm2-16gb`.
    #[serde(deserialize_with = "reader::words")]
    pub name: String,
    /// Its name as the vendor's tool prints it, without the vendor: `Tesla V100-SXM2-16GB`.
    #[serde(deserialize_with = "reader::words")]
    pub product: String,
    /// Other words that mean it, wherever a text holds them.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "reader::lists_of_words"
    )]
    pub names: Vec<String>,
    /// Who makes it.
    pub vendor: Vendor,
    /// Lists its PCI vendor and device ids.
    pub pci_ids: Vec<PciId>,
    /// Lists the names that compilers give its processor: `sm_70`, `gfx942`.
    pub processors: Vec<String>,
    /// Gives its generation of PCIe, 16 lanes.
    #[serde(deserialize_with = "reader::pcie")]
    pub pcie: LinkKind,
    /// Where the names, ids and links come from.
    #[serde(deserialize_with = "reader::words")]
    pub source: String,
    /// Lists the points that the sources leave open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chip: Option<Chip>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) peak: Option<Peak>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<Memory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) copy_engines: Option<CopyEngines>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) caches: Option<Caches>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hierarchy: Option<Hierarchy>,
    /// Its links to other GPUs; none where it is sold without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<GpuLinks>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) peer_access: Option<PeerAccess>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) power: Option<PowerDrawn>,
}

/// Tells what a GPU draws while it works. No data sheet says it of one at rest, and there is no key for that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerDrawn {
    /// It draws this at most while it works: the data sheet's thermal design power (TDP), its memory's
    /// included.
    #[serde(deserialize_with = "reader::above_zero")]
    pub busy: Power,
    /// Says where this comes from.
    #[serde(deserialize_with = "reader::words")]
    pub source: String,
}

/// Tells whether a GPU reaches the memory of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerAccess {
    /// Whether it does over PCIe. Where it does not, copies between GPUs go through the host's memory.
    pub pcie: bool,
    /// Says where this comes from.
    #[serde(deserialize_with = "reader::words")]
    pub source: String,
}

/// Tells the clock of a GPU's cores, and on how many pieces of silicon they stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chip {
    /// Counts the megahertz of the boost clock.
    #[serde(deserialize_with = "reader::between::<_, _, 100, 10_000>")]
    pub clock: u32,
    /// Counts the dies with cores that make one GPU.
    #[serde(default = "one", deserialize_with = "reader::between::<_, _, 1, 16>")]
    pub dies: u32,
    /// Says where these come from.
    #[serde(deserialize_with = "reader::words")]
    pub source: String,
}

const fn one() -> u32 {
    1
}

/// Who makes a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Vendor {
    /// Is shown by `nvidia-smi`.
    Nvidia,
    /// Is shown by `rocm-smi`.
    Amd,
}

impl Vendor {
    /// Returns the vendor's name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nvidia => "nvidia",
            Self::Amd => "amd",
        }
    }

    /// Returns the vendor's PCI id.
    #[must_use]
    pub const fn pci_id(self) -> &'static str {
        match self {
            Self::Nvidia => "10de",
            Self::Amd => "1002",
        }
    }
}

/// A PCI vendor id and device id, written as `lspci -nn` does: `10de:1db1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PciId {
    /// Gives the vendor's id.
    pub vendor: u16,
    /// Gives the device's id.
    pub device: u16,
}

/// Names a kind of numbers that a GPU calculates with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumberType {
    /// Is IEEE 754 double precision.
    Fp64,
    /// Is IEEE 754 single precision.
    Fp32,
    /// Is NVIDIA's TensorFloat-32 (AMD: XF32): 8 bits of exponent, 10 of mantissa.
    Tf32,
    /// Is IEEE 754 half precision.
    Fp16,
    /// Is brain floating point: 8 bits of exponent, 7 of mantissa.
    Bf16,
    /// Is floating point of 8 bits.
    Fp8,
    /// Is floating point of 6 bits.
    Fp6,
    /// Is floating point of 4 bits.
    Fp4,
    /// Stands for integers of 8 bits.
    Int8,
}

impl NumberType {
    /// Lists every type, the widest first.
    pub const ALL: [Self; 9] = [
        Self::Fp64,
        Self::Fp32,
        Self::Tf32,
        Self::Fp16,
        Self::Bf16,
        Self::Fp8,
        Self::Fp6,
        Self::Fp4,
        Self::Int8,
    ];

    /// Returns the type's name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp64 => "fp64",
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
            Self::Fp8 => "fp8",
            Self::Fp6 => "fp6",
            Self::Fp4 => "fp4",
            Self::Int8 => "int8",
        }
    }
}

/// Maps number types to speeds.
pub(super) type OperationRates = BTreeMap<NumberType, OperationRate>;

/// Holds peak speeds at the boost clock, by number type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// Names their source.
    #[serde(deserialize_with = "reader::words")]
    pub source: String,
    /// Holds the speeds of the plain cores.
    #[serde(default, deserialize_with = "reader::rates")]
    pub vector: OperationRates,
    /// Holds the speeds of the tensor cores (AMD: matrix cores) on dense matrices, without
    /// sparsity.
    #[serde(default, deserialize_with = "reader::rates")]
    pub matrix: OperationRates,
}

/// Names the kind of a GPU's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each is called by its standard's name")]
pub enum MemoryKind {
    Gddr5,
    Gddr6,
    Gddr6x,
    Gddr7,
    Hbm,
    Hbm2,
    Hbm2e,
    Hbm3,
    Hbm3e,
}

impl MemoryKind {
    /// Returns the kind's name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gddr5 => "gddr5",
            Self::Gddr6 => "gddr6",
            Self::Gddr6x => "gddr6x",
            Self::Gddr7 => "gddr7",
            Self::Hbm => "hbm",
            Self::Hbm2 => "hbm2",
            Self::Hbm2e => "hbm2e",
            Self::Hbm3 => "hbm3",
            Self::Hbm3e => "hbm3e",
        }
    }
}

/// Describes a GPU's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Names its kind.
    pub kind: MemoryKind,
    /// Counts its bytes as sold. Data sheets say 16 GB of a GPU's memory for 16 GiB. Drivers keep
    /// some of it.
    #[serde(deserialize_with = "reader::above_zero")]
    pub capacity: Bytes,
    /// Holds the peak bandwidth, reading and writing together.
    #[serde(deserialize_with = "reader::above_zero")]
    pub bandwidth: Bandwidth,
    /// Names the source of these.
    #[serde(deserialize_with = "reader::words")]
    pub source: String,
}

/// Describes the engines that copy between a GPU's memory and the rest while the cores work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyEngines {
    /// How many there are.
    #[serde(deserialize_with = "reader::above_zero")]
    pub count: u32,
    /// Counts the directions between host and GPU in which they copy at once: 1 or 2.
    #[serde(deserialize_with = "reader::one_or_two")]
    pub directions: u32,
    /// Names the source of these.
    #[serde(deserialize_with = "reader::words")]
    pub source: String,
}

/// Describes a GPU's caches, and the units that they serve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caches {
    /// Counts the streaming multiprocessors (AMD: compute units).
    #[serde(deserialize_with = "reader::above_zero")]
    pub units: u32,
    /// The first-level data cache of each of them, with the shared memory that is cut from it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "reader::above_zero_if_any"
    )]
    pub l1: Option<Bytes>,
    /// Counts the bytes of the second level, all slices together.
    #[serde(deserialize_with = "reader::above_zero")]
    pub l2: Bytes,
    /// The third level (AMD: Infinity Cache), where there is one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "reader::above_zero_if_any"
    )]
    pub l3: Option<Bytes>,
    /// Names the source of these.
    #[serde(deserialize_with = "reader::words")]
    pub source: String,
}

/// Says how the links of a GPU reach other GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkReach {
    /// The board that it is sold on joins it to others.
    Board,
    /// A bridge that some buy joins it to another.
    Bridge,
}

/// Describes a GPU's links to other GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuLinks {
    /// Says whether they are NVLink or xGMI, with the generation.
    #[serde(deserialize_with = "reader::gpu_fabric")]
    pub kind: LinkKind,
    /// How many it has.
    #[serde(deserialize_with = "reader::above_zero")]
    pub count: u32,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "reader::above_zero_if_any"
    )]
    bandwidth: Option<Bandwidth>,
    /// Says how they reach other GPUs.
    pub wiring: LinkReach,
}

impl GpuLinks {
    /// Bandwidth of one link in one direction: the model's own, where it is not the kind's.
    #[must_use]
    pub fn bandwidth(self) -> Bandwidth {
        self.bandwidth.unwrap_or_else(|| self.kind.data_sheet().bandwidth)
    }
}

/// Why a GPU's model does not answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum GpuError {
    /// A name that is no model's.
    Unknown {
        /// Holds the name asked for.
        name: String,
        /// Says what would work.
        instead: String,
    },
    /// A section that the model's file lacks.
    NoSection {
        /// Names the model.
        model: String,
        /// Names the section.
        section: &'static str,
        /// The file that lacks it.
        file: String,
    },
    /// A number type whose speed the model's file does not give.
    NoRate {
        /// Names the model.
        model: String,
        /// The section that lacks it.
        section: &'static str,
        /// Names the number type.
        number: &'static str,
        /// Names the file.
        file: String,
    },
    /// A GPU has no known model that could be changed.
    NoModel {
        /// It is called this.
        gpu: String,
    },
    /// A part of a GPU would be none.
    Nothing {
        /// It is this part.
        what: &'static str,
    },
    /// A GPU without work does not keep a limit of power.
    TooLittlePower {
        /// It is of this model.
        model: String,
        /// It would draw this at most.
        power: Power,
        /// It draws this at rest.
        rest: Power,
    },
}

/// Tells how what a file lacks is given.
const GIVE_IT: &str = "give it with its source in a file of your own (`--gpu FILE`)";

impl Diagnose for GpuError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Unknown { name, instead } => {
                Diagnosis::of(format!("there is no GPU model `{}`", shown(name))).remedy(instead)
            }
            Self::NoSection { model, section, file } => Diagnosis::of(format!(
                "the GPU model `{model}` has no section [{section}] in {file}"
            ))
            .remedy(format!("{GIVE_IT}, or name another model")),
            Self::NoRate { model, section, number, file } => Diagnosis::of(format!(
                "the GPU model `{model}` has no {number} in [{section}] of {file}"
            ))
            .remedy(format!("{GIVE_IT}, or calculate with another number type")),
            Self::NoModel { gpu } => Diagnosis::of(format!(
                "`{gpu}` has no model, so there are no figures to change"
            ))
            .remedy(
                "give its figures in a file (`--gpu FILE`), or name its model in the machine's \
                 file",
            ),
            Self::Nothing { what } => Diagnosis::of(format!("a GPU's {what} cannot be zero"))
                .remedy("give a number above 0, or leave it out"),
            Self::TooLittlePower { model, power, rest } => Diagnosis::of(format!(
                "{} W is less than what a `{model}` draws at rest",
                power.as_watts()
            ))
            .remedy(format!("give more than {} W", rest.as_watts())),
        }
    }
}

impl GpuModel {
    /// Gives the clock and the dies.
    ///
    /// # Errors
    /// [`GpuError::NoSection`] where the file has none.
    pub fn chip(&self) -> Result<&Chip, GpuError> {
        self.section("chip", self.chip.as_ref())
    }

    /// Returns the peak speeds.
    ///
    /// # Errors
    /// [`GpuError::NoSection`] where the file has none.
    pub fn peak(&self) -> Result<&Peak, GpuError> {
        self.section("peak", self.peak.as_ref())
    }

    /// Returns the peak speed of the plain cores with numbers of a type.
    ///
    /// # Errors
    /// [`GpuError::NoSection`] and [`GpuError::NoRate`] where the file does not say it.
    pub fn vector_rate(&self, number: NumberType) -> Result<OperationRate, GpuError> {
        self.rate("peak.vector", &self.peak()?.vector, number)
    }

    /// Returns the peak speed of the tensor or matrix cores on dense matrices of a type.
    ///
    /// # Errors
    /// [`GpuError::NoSection`] and [`GpuError::NoRate`] where the file does not say it.
    pub fn matrix_rate(&self, number: NumberType) -> Result<OperationRate, GpuError> {
        self.rate("peak.matrix", &self.peak()?.matrix, number)
    }

    /// Returns the memory.
    ///
    /// # Errors
    /// [`GpuError::NoSection`] where the file has none.
    pub fn memory(&self) -> Result<&Memory, GpuError> {
        self.section("memory", self.memory.as_ref())
    }

    /// Returns the copy engines.
    ///
    /// # Errors
    /// [`GpuError::NoSection`] where the file has none.
    pub fn copy_engines(&self) -> Result<&CopyEngines, GpuError> {
        self.section("copy_engines", self.copy_engines.as_ref())
    }

    /// Returns the caches.
    ///
    /// # Errors
    /// [`GpuError::NoSection`] where the file has none.
    pub fn caches(&self) -> Result<&Caches, GpuError> {
        self.section("caches", self.caches.as_ref())
    }

    /// Tells whether it reaches the memory of others.
    ///
    /// # Errors
    /// [`GpuError::NoSection`] where the file has none.
    pub fn peer_access(&self) -> Result<&PeerAccess, GpuError> {
        self.section("peer_access", self.peer_access.as_ref())
    }

    /// Tells what it draws.
    ///
    /// # Errors
    /// [`GpuError::NoSection`] where the file has none.
    pub fn power(&self) -> Result<&PowerDrawn, GpuError> {
        self.section("power", self.power.as_ref())
    }

    /// Returns its compute units, caches and memory as a cycle-level model times them.
    ///
    /// # Errors
    /// [`GpuError::NoSection`] where the file has none.
    pub fn hierarchy(&self) -> Result<&Hierarchy, GpuError> {
        self.section("hierarchy", self.hierarchy.as_ref())
    }

    /// Returns a section's contents, or an error that names it, the model and the file.
    fn section<T>(&self, section: &'static str, found: Option<T>) -> Result<T, GpuError> {
        found.ok_or_else(|| GpuError::NoSection {
            model: self.name.clone(),
            section,
            file: self.file(),
        })
    }

    fn rate(
        &self,
        section: &'static str,
        rates: &BTreeMap<NumberType, OperationRate>,
        number: NumberType,
    ) -> Result<OperationRate, GpuError> {
        rates.get(&number).copied().ok_or_else(|| GpuError::NoRate {
            model: self.name.clone(),
            section,
            number: number.name(),
            file: self.file(),
        })
    }

    fn file(&self) -> String {
        format!("system/gpus/{}.toml", self.name)
    }
}
