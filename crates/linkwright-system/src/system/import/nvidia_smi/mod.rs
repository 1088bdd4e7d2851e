//! Reads the matrix that `nvidia-smi topo -m` prints, as people paste it.
//!
//! The result holds the wires that explain the matrix. The paste leaves out generations, the
//! switches that there are, and links that NVLink hides. These are assumed, and each assumption is
//! recorded in the machine. A paste that is cut off or contradicts itself is refused, never read as
//! a smaller machine.

mod cells;
mod matrix;
mod mig;
mod names;
mod nvlink;
mod peer_access;
#[cfg(test)]
mod tests;

use self::cells::Cell;
pub(in crate::system) use self::cells::MOST_NVLINKS;
pub(in crate::system) use self::matrix::is_nic_name;
use self::matrix::{Device, Matrix};
use self::names::Names;
use self::nvlink::Fabric;
use crate::diagnostic::{InputError, Position, Registered};
use crate::system::error::SystemError;
use crate::system::gpus::Vendor;
use crate::system::identity::Identity;
use crate::system::import::host_tree::{Contradiction, Endpoint, Host, HostTree};
use crate::system::import::paste::{self, Line};
use crate::system::import::{ImportFormat, ImportOptions, models};
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::locality::Locality;
use crate::system::server::{Link, Server, ServerBuilder};

/// Reads what `nvidia-smi topo -m` prints.
#[derive(Debug)]
pub struct NvidiaSmi;

impl Registered for NvidiaSmi {
    fn name(&self) -> &'static str {
        "nvidia-smi"
    }
}

impl ImportFormat for NvidiaSmi {
    fn looks_like(&self, text: &str) -> bool {
        text.contains("nvidia-smi topo")
            || text.lines().any(|line| paste::is_gpu_name(&paste::first_word(line)))
    }

    fn read(&self, file: &str, text: &str, options: &ImportOptions) -> Result<Server, SystemError> {
        let ImportOptions { name, nvlink, pcie, .. } = options.clone();
        read(file, text, &NvidiaSmiOptions { name, nvlink, pcie })
    }
}

/// Holds facts that the paste does not say and its owner may know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NvidiaSmiOptions {
    /// Names the machine; `nvidia-smi` where absent.
    pub name: Option<String>,
    /// The NVLink generation; inferred from the counts where absent. Where the matrix shows no
    /// NVLink, each GPU that may have some gets all of that generation to one NVSwitch.
    pub nvlink: Option<LinkKind>,
    /// Gives the PCIe generation; inferred from the NVLink generation where absent.
    pub pcie: Option<LinkKind>,
}

/// Reads a machine from the text of `nvidia-smi topo -m`; `file` names it in errors.
///
/// # Errors
/// Refuses a text without a whole matrix, and cells or affinities that nvidia-smi does not print.
/// Refuses relations that no machine can have. Each error has file, line, column and remedy.
pub fn read(file: &str, text: &str, options: &NvidiaSmiOptions) -> Result<Server, SystemError> {
    check_options(file, options)?;
    let lines = paste::lines(file, text)?;
    let matrix = matrix::read(file, text, &lines)?;
    let names = names::read(file, &lines, &matrix)?;
    let fabric = nvlink::reconstruct(file, &matrix, options.nvlink, names.product())?;
    let tree = HostTree::rebuild(host(&matrix, &names))
        .map_err(|contradiction| explain(file, &matrix, &contradiction))?;

    let mut builder =
        ServerBuilder::new(options.name.as_deref().unwrap_or("nvidia-smi"), "nvidia-smi topo -m");
    for warning in &fabric.warnings {
        builder.warn(warning.as_str());
    }
    if let Some(warning) = mig::warning(&lines) {
        builder.warn(warning);
    }
    if lines.iter().any(asks_for_pcie_only) {
        builder.warn(
            "The matrix is that of `nvidia-smi topo -mp`, which leaves NVLinks out; paste the \
             output of `nvidia-smi topo -m`.",
        );
    } else if let Some(warning) = nvlink::missing(&matrix, &names, &fabric) {
        builder.warn(warning);
    }
    if !matrix.glued.is_empty() {
        builder.assume(format!(
            "Cells ran into each other: {}; with any other reading the rows would have another \
             number of cells.",
            matrix.glued.join(", ")
        ));
    }
    for assumption in &fabric.assumptions {
        builder.assume(assumption.as_str());
    }
    let gpus = matrix.devices.iter().filter(|device| device.is_gpu);
    let named = gpus.map(|gpu| (gpu.name.text.as_str(), names.of(&gpu.name.text)));
    models::note_unknown(
        &mut builder,
        named,
        "paste the output of `nvidia-smi -L` before the matrix",
    );
    let pcie = pcie_kind(&mut builder, &fabric, &names, options);
    let installed = tree.install(&mut builder, pcie, fabric.switches.len())?;
    let id = |device: usize| installed.endpoints[device];
    if let Some(kind) = fabric.kind {
        let (bandwidth, latency) = (fabric.bandwidth, kind.data_sheet().latency);
        let (discipline, flits, measured) = (None, None, None);
        let bundle = |a, b, count| Link {
            a,
            b,
            kind,
            count,
            bandwidth,
            latency,
            discipline,
            flits,
            measured,
        };
        for (a, b, count) in fabric.direct {
            builder.link(bundle(id(a), id(b), count))?;
        }
        for (gpus, switch) in fabric.switches.iter().zip(&installed.fabric_switches) {
            for (gpu, count) in gpus {
                builder.link(bundle(id(*gpu), *switch, *count))?;
            }
        }
    }
    Ok(builder.build()?)
}

/// Whether a line is the prompt of the command that shows PCIe alone.
fn asks_for_pcie_only(line: &Line) -> bool {
    line.tokens.windows(2).any(|pair| pair[0].text == "topo" && pair[1].text == "-mp")
}

fn check_options(file: &str, options: &NvidiaSmiOptions) -> Result<(), InputError> {
    let refuse = |option: &str, kind: LinkKind| {
        let problem = format!("the option `{option}` is no generation of {option}");
        let remedy = format!("choose such as {option}3, or leave the option out");
        InputError::at(file, Position { line: 1, column: 1 }, problem, kind.name(), remedy)
    };
    match (options.nvlink, options.pcie) {
        (Some(kind), _) if !kind.is_nvlink() => Err(refuse("nvlink", kind)),
        (_, Some(kind)) if !kind.is_pcie() => Err(refuse("pcie", kind)),
        _ => Ok(()),
    }
}

/// The PCIe generation of the GPUs that are named, or of the servers that the NVLink
/// generation came in.
fn pcie_kind(
    builder: &mut ServerBuilder,
    fabric: &Fabric,
    names: &Names,
    options: &NvidiaSmiOptions,
) -> LinkKind {
    if let Some(kind) = options.pcie {
        return kind;
    }
    let kind = match (names.product(), fabric.kind) {
        (Some((_, model)), _) => model.pcie,
        (None, fabric) => pcie_beside(fabric),
    };
    builder.assume(format!(
        "The PCIe generation is not given; every PCIe link is taken to be {} with 16 lanes \
         (option `pcie`).",
        kind.name()
    ));
    kind
}

const fn pcie_beside(fabric: Option<LinkKind>) -> LinkKind {
    match fabric {
        Some(LinkKind::Nvlink1 | LinkKind::Nvlink2) => LinkKind::Pcie3,
        Some(LinkKind::Nvlink4 | LinkKind::Nvlink5) => LinkKind::Pcie5,
        _ => LinkKind::Pcie4,
    }
}

fn host(matrix: &Matrix, names: &Names) -> Host {
    let any_numa = matrix.devices.iter().any(|device| device.numa.is_some());
    let endpoint = |device: &Device| Endpoint {
        name: device.name.text.clone(),
        kind: if device.is_gpu { DeviceKind::Gpu } else { DeviceKind::Nic },
        model: names.of(&device.name.text).map(str::to_owned),
        // It shows no other vendor's GPUs, and of interfaces only their names.
        identity: match device.is_gpu {
            true => Identity::of_vendor(Vendor::Nvidia.pci_id()),
            false => Identity::default(),
        },
        affinity: if any_numa { device.numa.clone() } else { device.cores.clone() },
        locality: Locality {
            cpu_affinity: device.cores.clone(),
            numa_affinity: device.numa.clone(),
            pci_address: names.address(&device.name.text).map(str::to_owned),
        },
    };
    let relation =
        |cell: &Cell| if let Cell::Pcie(relation) = cell { Some(*relation) } else { None };
    Host {
        endpoints: matrix.devices.iter().map(endpoint).collect(),
        relations: matrix.cells.iter().map(|row| row.iter().map(relation).collect()).collect(),
    }
}

fn explain(file: &str, matrix: &Matrix, contradiction: &Contradiction) -> InputError {
    let Contradiction { a, b, through } = *contradiction;
    let name = |device: usize| matrix.devices[device].name.text.as_str();
    let word = |a: usize, b: usize| matrix.words[a][b].text.as_str();
    let (first, last) = (name(a), name(b));
    let problem = match through {
        Some(c) => format!(
            "{first} and {last} cannot be that far apart: {first} is {} to {middle}, and \
             {middle} is {} to {last}",
            word(a, c),
            word(c, b),
            middle = name(c)
        ),
        None => format!("{first} and {last} cannot be that far apart: other cells join them"),
    };
    matrix.words[a][b].refuse(file, problem, "mend the wrong cell or paste again")
}
