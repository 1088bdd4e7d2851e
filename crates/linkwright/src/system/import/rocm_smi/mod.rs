//! Reads what `rocm-smi --showtopo` prints, as people paste it.
//!
//! What it represents: Infinity Fabric (xGMI) links between GPUs and the host tree behind
//! them. What it leaves out: PCIe switches, which the output does not show. A pair counts as
//! directly joined if it is one hop apart and no xGMI pair weighs less: the driver reports
//! one hop for indirect xGMI pairs too, and adds weight for each further hop.

mod blocks;
#[cfg(test)]
mod tests;

use self::blocks::{LinkType, Topology};
use crate::diagnostic::{InputError, Position};
use crate::system::error::SystemError;
use crate::system::gpus::{self, GpuModel, Vendor};
use crate::system::identity::Identity;
use crate::system::import::host_tree::{Contradiction, Endpoint, Host, HostTree, Relation};
use crate::system::import::models;
use crate::system::import::paste::Token;
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::locality::{Locality, is_pci_address};
use crate::system::server::{Server, ServerBuilder};

/// What the paste does not say and its owner may know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RocmSmiOptions {
    /// The machine's name; `rocm-smi` where absent.
    pub name: Option<String>,
    /// The PCIe generation; PCIe 4 where absent.
    pub pcie: Option<LinkKind>,
    /// How many xGMI links join a pair; one where absent.
    pub xgmi_links: Option<u32>,
}

/// Reads a machine from the text of `rocm-smi --showtopo`; `file` names it in errors.
///
/// # Errors
/// A text without a whole link type block, cells that rocm-smi does not print, blocks that
/// contradict each other and pastes that were cut, each with file, line, column and remedy.
pub fn read(file: &str, text: &str, options: &RocmSmiOptions) -> Result<Server, SystemError> {
    check_options(file, options)?;
    let topology = blocks::read(file, text)?;
    let (direct, indirect) = xgmi_pairs(file, &topology)?;
    let models = gpu_models(text, &topology);
    let host = host(file, text, &topology, &models)?;
    let tree = HostTree::rebuild(host)
        .map_err(|contradiction| explain(file, &topology, &contradiction))?;

    let name = options.name.as_deref().unwrap_or("rocm-smi");
    let mut builder = ServerBuilder::new(name, "rocm-smi --showtopo");
    let named = topology.gpus.iter().zip(&models);
    let named = named.map(|(gpu, model)| (gpu.as_str(), model.map(|it| it.product.as_str())));
    let remedy = "paste the output of `rocm-smi --showproductname` with it";
    models::note_unknown(&mut builder, named, remedy);
    let pcie = options.pcie.unwrap_or(LinkKind::Pcie4);
    if options.pcie.is_none() {
        builder.assume(format!(
            "The PCIe generation is not given; every PCIe link is taken to be {} with 16 lanes \
             (option `pcie`).",
            pcie.name()
        ));
    }
    let xgmi = xgmi_kind(&mut builder, text, &direct, topology.gpus.len());
    let count = options.xgmi_links.unwrap_or(1);
    if options.xgmi_links.is_none() && !direct.is_empty() {
        builder.assume(
            "The number of xGMI links of a pair is not given; each pair is taken to have one \
             (option `xgmi_links`).",
        );
    }
    for (a, b) in indirect {
        builder.assume(format!(
            "{} and {} speak xGMI, but other pairs are nearer; they are taken to have no link of \
             their own.",
            topology.gpus[a], topology.gpus[b]
        ));
    }
    let installed = tree.install(&mut builder, pcie, 0)?;
    for (a, b) in direct {
        let (a, b) = (installed.endpoints[a], installed.endpoints[b]);
        builder.data_sheet_link(a, b, xgmi, count)?;
    }
    Ok(builder.build()?)
}

/// The most GPUs that one of the MI200 series and older has xGMI links to.
const MOST_PEERS_OF_MI200: usize = 4;

/// The xGMI generation: of the GPUs that the paste names, or that have so many neighbours.
fn xgmi_kind(
    builder: &mut ServerBuilder,
    text: &str,
    direct: &[(usize, usize)],
    gpus: usize,
) -> LinkKind {
    let words = || text.split(|c: char| !c.is_ascii_alphanumeric());
    let named = words().find_map(|word| {
        let product = gpus::by_text(word).and_then(|model| model.links);
        let product = product.map(|links| links.kind).filter(|kind| kind.is_xgmi());
        product.or_else(|| word.starts_with("gfx").then(|| gpus::xgmi_of(word))?)
    });
    let peers = |gpu: usize| direct.iter().filter(|(a, b)| *a == gpu || *b == gpu).count();
    let most = (0..gpus).map(peers).max().unwrap_or(0);
    match (named, most) {
        (Some(kind), _) => kind,
        (None, 0) => LinkKind::Xgmi,
        (None, ..=MOST_PEERS_OF_MI200) => {
            builder.assume(
                "The GPUs are not named; their xGMI is taken to be that of the MI200 series, 50 \
                 GB/s a link (paste the output of `rocm-smi --showproductname` with it).",
            );
            LinkKind::Xgmi
        }
        (None, _) => {
            builder.warn(format!(
                "The GPUs are not named; since one has links to {most} others, their xGMI is taken \
                 to be that of the MI300 series, 64 GB/s a link; of the MI350 series it is 76.8. \
                 Paste the output of `rocm-smi --showproductname` with it."
            ));
            LinkKind::XgmiMi300
        }
    }
}

/// The model of each GPU: what `rocm-smi --showproductname` says of its number, else of the one
/// product that the paste names.
fn gpu_models(text: &str, topology: &Topology) -> Vec<Option<&'static GpuModel>> {
    let named: Vec<(&str, &GpuModel)> =
        text.lines().filter_map(|line| Some((line, gpus::by_text(line)?))).collect();
    let first = named.first().map(|(_, model)| *model);
    let only = first.filter(|first| named.iter().all(|(_, model)| model.name == first.name));
    let of_gpu = |gpu: &String| {
        let own = named.iter().find(|(line, _)| is_of(line, gpu));
        own.map(|(_, model)| *model).or(only)
    };
    topology.gpus.iter().map(of_gpu).collect()
}

/// Whether a line is one of a block about single GPUs, `GPU[3] : ...`, and of this GPU.
fn is_of(line: &str, gpu: &str) -> bool {
    let number = |gpu: &str| gpu.strip_prefix("GPU").map(str::to_owned);
    let rest = line.trim_start().strip_prefix("GPU[");
    let rest = number(gpu).and_then(|number| rest?.strip_prefix(number.as_str()));
    rest.is_some_and(|rest| rest.starts_with(']'))
}

/// What `rocm-smi --showbus` says of a GPU: `GPU[0] : PCI Bus: 0000:29:00.0`.
fn pci_address(text: &str, gpu: &str) -> Option<String> {
    let said = text.lines().filter(|line| is_of(line, gpu));
    let addresses = said.filter_map(|line| Some(line.split_once("PCI Bus:")?.1.trim()));
    let sound = |address: &&str| is_pci_address(address);
    addresses.filter(sound).map(str::to_ascii_lowercase).next()
}

fn check_options(file: &str, options: &RocmSmiOptions) -> Result<(), InputError> {
    let refuse = |problem: &str, value: &str, remedy: &str| {
        Err(InputError::at(file, Position { line: 1, column: 1 }, problem, value, remedy))
    };
    match options {
        RocmSmiOptions { pcie: Some(kind), .. } if !kind.is_pcie() => refuse(
            "the option `pcie` is no generation of pcie",
            kind.name(),
            "choose such as pcie4, or leave the option out",
        ),
        RocmSmiOptions { xgmi_links: Some(0), .. } => {
            refuse("the option `xgmi_links` is zero", "0", "choose at least 1")
        }
        _ => Ok(()),
    }
}

type Pairs = Vec<(usize, usize)>;

/// The xGMI pairs with links of their own, and those without.
fn xgmi_pairs(file: &str, topology: &Topology) -> Result<(Pairs, Pairs), InputError> {
    let size = topology.gpus.len();
    let all = (0..size).flat_map(|a| (a + 1..size).map(move |b| (a, b)));
    let xgmi: Pairs =
        all.filter(|(a, b)| topology.link_type.cells[*a][*b] == LinkType::Xgmi).collect();
    let weight = |pair: &(usize, usize)| {
        topology.weight.as_ref().map_or(0, |block| block.cells[pair.0][pair.1])
    };
    let hops =
        |pair: &(usize, usize)| topology.hops.as_ref().map_or(1, |b| b.cells[pair.0][pair.1]);
    let lightest = xgmi.iter().filter(|pair| hops(pair) == 1).map(weight).min();
    let (direct, indirect): (Pairs, Pairs) =
        xgmi.into_iter().partition(|pair| hops(pair) == 1 && Some(weight(pair)) == lightest);
    if let (true, Some((a, b)), Some(block)) = (direct.is_empty(), indirect.first(), &topology.hops)
    {
        let problem = "GPUs speak xGMI, but none is one hop from another";
        return Err(block.words[*a][*b].refuse(file, problem, "mend the hops or paste again"));
    }
    Ok((direct, indirect))
}

/// Hops of a PCIe pair: two where both GPUs are on one socket, three or more across sockets.
fn host(
    file: &str,
    text: &str,
    topology: &Topology,
    models: &[Option<&GpuModel>],
) -> Result<Host, InputError> {
    let size = topology.gpus.len();
    let mut relations = vec![vec![None; size]; size];
    for (a, row) in relations.iter_mut().enumerate() {
        for (b, relation) in row.iter_mut().enumerate() {
            if topology.link_type.cells[a][b] != LinkType::Pcie {
                continue;
            }
            let Some(hops) = &topology.hops else { continue };
            *relation = match hops.cells[a][b] {
                2 => Some(Relation::Socket),
                3.. => Some(Relation::System),
                _ => {
                    let problem = "a PCIe pair is at least two hops apart";
                    let remedy = "mend the hops or the link type, or paste again";
                    return Err(hops.words[a][b].refuse(file, problem, remedy));
                }
            };
        }
    }
    let endpoint = |((name, numa), model): ((&String, &Option<_>), &Option<&GpuModel>)| Endpoint {
        name: name.clone(),
        kind: DeviceKind::Gpu,
        model: model.map(|model| model.product.clone()),
        affinity: Option::clone(numa),
        // It shows no other vendor's GPUs.
        identity: Identity::of_vendor(Vendor::Amd.pci_id()),
        locality: Locality {
            numa_affinity: numa.clone(),
            pci_address: pci_address(text, name),
            ..Locality::default()
        },
    };
    let endpoints = topology.gpus.iter().zip(&topology.numa).zip(models).map(endpoint).collect();
    Ok(Host { endpoints, relations })
}

fn explain(file: &str, topology: &Topology, contradiction: &Contradiction) -> InputError {
    let Contradiction { a, b, .. } = *contradiction;
    let words = topology.hops.as_ref().map_or(&topology.link_type.words, |block| &block.words);
    let word: &Token = &words[a][b];
    let problem = format!(
        "{} and {} cannot be on different sockets: other hops put them on one",
        topology.gpus[a], topology.gpus[b]
    );
    word.refuse(file, problem, "mend the wrong cell or paste again")
}
