//! Finds the machine behind the pairs of GPUs that AMD's tools show.

use crate::diagnostic::InputError;
use crate::system::error::SystemError;
use crate::system::gpus::{self, GpuModel, LinkReach, Vendor};
use crate::system::identity::Identity;
use crate::system::import::host_tree::{Contradiction, Endpoint, Host, HostTree, Relation};
use crate::system::import::models;
use crate::system::import::paste::Token;
use crate::system::import::rocm_smi::RocmSmiOptions;
use crate::system::import::squares::Block;
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::system::locality::{Affinity, Locality};
use crate::system::server::{Server, ServerBuilder};

/// Says how a pair of GPUs is joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::system::import) enum LinkType {
    /// Stands in a GPU's cell with itself.
    Itself,
    /// Says that Infinity Fabric joins them.
    Xgmi,
    /// Says that they meet over PCIe, through the host.
    Pcie,
}

/// Holds the whole paste.
#[derive(Debug, Clone)]
pub(in crate::system::import) struct Topology {
    /// Names the GPUs, in the order of the columns.
    pub(in crate::system::import) gpus: Vec<String>,
    /// Gives their PCI addresses, where the columns do.
    pub(in crate::system::import) addresses: Vec<Option<String>>,
    /// Holds weights, where the block is there.
    pub(in crate::system::import) weight: Option<Block<u32>>,
    /// Holds hops, where the block is there.
    pub(in crate::system::import) hops: Option<Block<u32>>,
    /// Holds link types.
    pub(in crate::system::import) link_type: Block<LinkType>,
    /// Counts the xGMI links that join a pair, where the paste tells.
    pub(in crate::system::import) links: Vec<Vec<Option<u32>>>,
    /// Gives the NUMA node of each GPU, where it is known.
    pub(in crate::system::import) numa: Vec<Option<Affinity>>,
}

/// Counts the most GPUs that one of the MI200 series and older has xGMI links to.
const MOST_PEERS_OF_MI200: usize = 4;

/// Describes a tool that shows such a topology.
pub(in crate::system::import) struct Tool {
    /// Names it, and a machine that is given no name.
    pub(in crate::system::import) name: &'static str,
    /// Names the command that shows the topology.
    pub(in crate::system::import) command: &'static str,
    /// Names the command that names the GPUs.
    pub(in crate::system::import) names: &'static str,
}

impl Tool {
    /// Makes the machine of a topology; `text` may name its GPUs.
    ///
    /// # Errors
    /// xGMI without a pair one hop apart, and hops that no host has.
    pub(in crate::system::import) fn machine(
        &self,
        file: &str,
        text: &str,
        topology: &Topology,
        options: &RocmSmiOptions,
    ) -> Result<Server, SystemError> {
        let (direct, indirect) = xgmi_pairs(file, topology)?;
        let models = gpu_models(text, topology);
        let host = host(file, topology, &models)?;
        let tree = HostTree::rebuild(host)
            .map_err(|contradiction| explain(file, topology, &contradiction))?;

        let name = options.name.as_deref().unwrap_or(self.name);
        let mut builder = ServerBuilder::new(name, self.command);
        let named = topology.gpus.iter().zip(&models);
        let named = named.map(|(gpu, model)| (gpu.as_str(), model.map(|it| it.product.as_str())));
        let remedy = format!("paste the output of `{}` with it", self.names);
        models::note_unknown(&mut builder, named, &remedy);
        let pcie = options.pcie.unwrap_or(LinkKind::Pcie4);
        if options.pcie.is_none() {
            builder.assume(format!(
                "The PCIe generation is not given; every PCIe link is taken to be {} with 16 lanes \
                 (option `pcie`).",
                pcie.name()
            ));
        }
        let xgmi = self.xgmi_kind(&mut builder, text, &direct, topology.gpus.len());
        let count = |a: usize, b: usize| options.xgmi_links.or(topology.links[a][b]);
        let is_counted = direct.iter().all(|(a, b)| count(*a, *b).is_some());
        if !is_counted {
            builder.assume(
                "The number of xGMI links of a pair is not given; each pair is taken to have one \
                 (option `xgmi_links`).",
            );
        } else if options.xgmi_links.is_none() && !direct.is_empty() {
            builder.assume(
                "A pair is taken to have as many xGMI links as its least bandwidth goes into its \
                 most (option `xgmi_links`).",
            );
        }
        for (a, b) in indirect {
            builder.assume(format!(
                "{} and {} speak xGMI, but other pairs are nearer; they are taken to have no link of \
                 their own.",
                topology.gpus[a], topology.gpus[b]
            ));
        }
        if let Some((product, links)) = models.iter().copied().flatten().find_map(of_board)
            && direct.is_empty()
            && topology.gpus.len() > 1
        {
            builder.warn(format!(
                "{product} has {links} xGMI links, and the paste shows none: these GPUs share PCIe \
                 alone. A virtual machine may hide them. Where they are up, state them in a \
                 machine's TOML, or take a preset such as `mi300x-8`."
            ));
        }
        let installed = tree.install(&mut builder, pcie, 0)?;
        for (a, b) in direct {
            let count = if is_counted { count(a, b).unwrap_or(1) } else { 1 };
            let (a, b) = (installed.endpoints[a], installed.endpoints[b]);
            builder.data_sheet_link(a, b, xgmi, count)?;
        }
        Ok(builder.build()?)
    }

    /// Tells the xGMI generation by the GPUs that the paste names, else by their neighbours.
    fn xgmi_kind(
        &self,
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
                builder.assume(format!(
                    "The GPUs are not named. Their xGMI is taken to be that of the MI200 series, 50 \
                     GB/s a link (paste the output of `{}` with it).",
                    self.names
                ));
                LinkKind::Xgmi
            }
            (None, _) => {
                builder.warn(format!(
                    "The GPUs are not named; since one has links to {most} others, their xGMI is taken \
                     to be that of the MI300 series. It has 64 GB/s a link, the MI350 series 76.8. \
                     Paste the output of `{}` with it.",
                    self.names
                ));
                LinkKind::XgmiMi300
            }
        }
    }
}

/// Finds the model of each GPU: `rocm-smi --showproductname` gives it by its number. Else it is the
/// one product that the paste names.
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

/// Names the product of a model that is sold only on a board of xGMI links, and counts them.
fn of_board(model: &'static GpuModel) -> Option<(&'static str, u32)> {
    let links = model.links.filter(|links| links.wiring == LinkReach::Board)?;
    Some((model.product.as_str(), links.count))
}

/// Tells whether a line is one of a block about single GPUs, `GPU[3] : ...`, and of this GPU.
pub(super) fn is_of(line: &str, gpu: &str) -> bool {
    let number = |gpu: &str| gpu.strip_prefix("GPU").map(str::to_owned);
    let rest = line.trim_start().strip_prefix("GPU[");
    let rest = number(gpu).and_then(|number| rest?.strip_prefix(number.as_str()));
    rest.is_some_and(|rest| rest.starts_with(']'))
}

type Pairs = Vec<(usize, usize)>;

/// Tells the xGMI pairs with links of their own from those without.
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

/// Takes the hops of a PCIe pair: two where both GPUs are on one socket, three or more across sockets.
fn host(file: &str, topology: &Topology, models: &[Option<&GpuModel>]) -> Result<Host, InputError> {
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
    let endpoint = |gpu: usize| Endpoint {
        name: topology.gpus[gpu].clone(),
        kind: DeviceKind::Gpu,
        model: models[gpu].map(|model| model.product.clone()),
        affinity: topology.numa[gpu].clone(),
        // It shows no other vendor's GPUs.
        identity: Identity::of_vendor(Vendor::Amd.pci_id()),
        locality: Locality {
            numa_affinity: topology.numa[gpu].clone(),
            pci_address: topology.addresses[gpu].clone(),
            ..Locality::default()
        },
    };
    let endpoints = (0..size).map(endpoint).collect();
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
