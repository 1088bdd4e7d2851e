//! Reads a scenario from its texts.

use super::compare::{Variant, differing, variants};
use super::demand::is_day;
use super::failure::FailureEntries;
use super::fields::{Fields, FileName, Placed};
use super::keys::{NETWORK_ALONE, REFERENCE, SCENARIO, SEEDS, checked, settled};
use super::mix::Mix;
use super::network::NetworkSettings;
use super::package::PackageEntry;
use super::programs::Programs;
use super::registries::Registries;
use super::source::{Source, Texts};
use super::tree::{Entry, Item, Node, Tree, parse, plain, put_over};
use super::written::Written;
use crate::diagnostic::InputError;
use crate::simulation::SimulationError;
use crate::simulation::cluster::Fidelity;

/// Holds the texts that a scenario is read from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Given {
    /// Names the text in errors.
    pub file: String,
    /// Holds the whole text.
    pub text: String,
    /// Settings that are put over it, as TOML; errors name [`SETTINGS_FILE`](super::SETTINGS_FILE).
    pub settings: String,
    /// The variant that is meant: one of its policies, or a name of its `[compare]`.
    pub variant: Option<String>,
    /// Holds what its names may mean.
    pub registries: Registries,
}

/// A scenario, checked as far as its own text goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Names its text in errors.
    pub file: String,
    /// Names the scenario; empty where it has no name.
    pub name: String,
    /// Decides every choice by chance.
    pub seed: u64,
    /// Holds what its names mean.
    pub registries: Registries,
    /// The servers, what joins them, and how both are simulated.
    pub network: NetworkSettings,
    /// Holds the jobs.
    pub asked: Asked,
    /// It has the package whose heat is observed.
    pub package: Option<PackageEntry>,
    /// Says what its system loses.
    pub failures: FailureEntries,
    /// Lists the variants that can be compared: each of its policies, or itself; then each name of
    /// its `[compare]`.
    pub variants: Vec<Variant>,
    /// The variant that the others are compared with.
    pub reference: usize,
    /// On how many seeds they are compared; None where nobody says.
    pub seeds: Option<u32>,
    /// Holds the differences of each variant of its `[compare]`, by its keys.
    pub differences: Vec<(String, toml::Table)>,
    /// The keys of the system and of how jobs are played on it, as they are settled.
    pub settings: toml::Table,
    /// It tells which settings the text has.
    pub(super) written: Written,
}

/// Holds the jobs of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// Holds jobs of GPUs, which a policy places.
    Mix(Box<Mix>),
    /// Holds jobs of ranks, which run programs.
    Programs(Programs),
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// Refuses text that is no such TOML, unknown keys and names, and values out of range. It
    /// refuses two jobs of one name, no job at all, and jobs that do not fit. It refuses a variant
    /// that changes nothing or does not exist. Each error has line and column.
    pub fn read(given: &Given) -> Result<Self, InputError> {
        let texts = Texts::new(&given.file, &given.text, &given.settings, &given.registries);
        let source = texts.source();
        let mut tree = settled(source, checked(source, SCENARIO, parse(source, false)?)?)?;
        if !given.settings.is_empty() {
            let over = settled(source, checked(source, SCENARIO, parse(source, true)?)?)?;
            put_over(source, &mut tree, over)?;
        }
        let Compared { reference, seeds, differences } = compared(source, tree.remove("compare"))?;
        let written = read_one(source, &tree)?;
        if let (Some((_, span)), Asked::Programs(_)) = (&seeds, &written.asked) {
            let remedy = "remove it: it is of jobs that a policy places";
            return Err(source.refuse(span, "seeds of programs", remedy));
        }
        // Settings beside a file may be what one of its variants says; whoever plays that one is told.
        let may_be_same = given.variant.is_none() && !given.settings.is_empty();
        let read = |name: &str| differing(source, &tree, &written, &differences, name, may_be_same);
        if let Some(name) = &given.variant {
            return read(name);
        }
        let (variants, reference) =
            variants(source, &written, &differences, reference.as_ref(), &read)?;
        let plainly =
            |(name, entry): &(String, Entry)| Some((name.clone(), plain(entry.node.as_tree()?)));
        let seeds = seeds.map(|(seeds, _)| seeds);
        let differences = differences.iter().filter_map(plainly).collect();
        Ok(Self { variants, reference, seeds, differences, ..written })
    }

    /// The files that it names and does not hold itself, in the order of its tables. An archive's anchor stands for all
    /// of its files: `dir/traces.otf2` for `dir/traces.def`, `dir/traces/0.evt` and so on.
    #[must_use]
    pub fn files(&self) -> Vec<&FileName> {
        let network = self.network.named_files();
        let package = self.package.iter().filter_map(|it| it.floorplan.as_ref());
        let network = network.chain(package);
        let all: Vec<&FileName> = match &self.asked {
            Asked::Mix(mix) => network.chain(mix.files()).collect(),
            Asked::Programs(programs) => network.chain(programs.files()).collect(),
        };
        all.into_iter().filter(|file| !self.network.files.contains_key(&file.name)).collect()
    }
}

/// Holds the differences under each name, in the order of the text.
pub(super) type Differences = Vec<(String, Entry)>;

/// Limits the seeds of a comparison.
pub const MOST_SEEDS: u32 = 1_000;

/// Holds a scenario's keys about its comparison.
#[derive(Default)]
struct Compared {
    /// Gives the name to compare with.
    reference: Option<Node>,
    /// On how many seeds, and where that is said.
    seeds: Option<Placed<u32>>,
    /// Holds the differences under each name.
    differences: Differences,
}

fn compared(source: Source<'_>, entry: Option<Entry>) -> Result<Compared, InputError> {
    let mut tree = match entry {
        None => return Ok(Compared::default()),
        Some(Entry { node: Node { item: Item::Table(tree), .. }, .. }) => tree,
        Some(Entry { node, .. }) => {
            let remedy = "write what differs below `[compare.NAME]`";
            return Err(source.refuse(&node.span, "no table", remedy));
        }
    };
    let mut plainly = |key: &str| {
        let is_plain = tree.get(key).is_some_and(|it| matches!(it.node.item, Item::Plain(_)));
        if is_plain { tree.remove(key).map(|entry| entry.node) } else { None }
    };
    let (reference, seeds) = (plainly(REFERENCE), plainly(SEEDS));
    let seeds = seeds.map(|node| {
        let whole = node.value().as_integer().and_then(|it| u32::try_from(it).ok());
        let seeds = whole.filter(|seeds| (1..=MOST_SEEDS).contains(seeds));
        seeds.map(|seeds| (seeds, node.span.clone())).ok_or_else(|| {
            let remedy = format!("write a whole number from 1 to {MOST_SEEDS}");
            source.refuse(&node.span, "no number of seeds", remedy)
        })
    });
    let mut differences: Differences = tree.into_iter().collect();
    differences.sort_by_key(|(_, entry)| entry.key.start);
    Ok(Compared { reference, seeds: seeds.transpose()?, differences })
}

/// The scenario of a tree, as it is.
pub(super) fn read_one(source: Source<'_>, tree: &Tree) -> Result<Scenario, InputError> {
    let fields = Fields::new(source, 0..0, tree);
    let seed = fields.or("seed", 0)?;
    let network = NetworkSettings::read(&fields)?;
    let asked = if is_day(&fields)? {
        let mix = Mix::read(&fields, &network, seed)?;
        if network.servers.is_empty() {
            let remedy = "name one as `server` in `[system]`, a preset or a file";
            let system = fields.span_of("system");
            return Err(source.refuse(&system, "jobs without a server that is described", remedy));
        }
        Asked::Mix(Box::new(mix))
    } else {
        Asked::Programs(Programs::read(&fields, &network)?)
    };
    let failures = FailureEntries::read(&fields)?;
    check_times(source, &asked, &failures)?;
    let of_system =
        ["system", "failure", "fidelity", "protocol", "collectives", "seed", "pcie", "trace"];
    let mut settings = Tree::new();
    for key in of_system {
        if let Some(entry) = tree.get(key) {
            settings.insert(key.to_owned(), entry.clone());
        }
    }
    Ok(Scenario {
        file: source.file.to_owned(),
        name: fields.or("name", String::new())?,
        seed,
        registries: source.registries.clone(),
        network,
        asked,
        package: PackageEntry::read(&fields)?,
        failures,
        variants: Vec::new(),
        reference: 0,
        seeds: None,
        differences: Vec::new(),
        settings: plain(&settings),
        written: Written::of(tree),
    })
}

/// Refuses failures that come and go where nothing can go around them.
fn check_times(
    source: Source<'_>,
    asked: &Asked,
    failures: &FailureEntries,
) -> Result<(), InputError> {
    let Some(place) = failures.place_of_times().filter(|_| failures.is_timed()) else {
        return Ok(());
    };
    let played = match asked {
        Asked::Programs(_) => "jobs whose GPUs a mapping names",
        Asked::Mix(mix) if mix.choices.run_time.is_formula() => "a formula",
        Asked::Mix(mix) if mix.choices.fidelity == Fidelity::Packet => "packets",
        Asked::Mix(_) => return Ok(()),
    };
    let error = SimulationError::TimedFailures { played };
    Err(place.refuse_as(source.file, error, "", "let the parts be lost all day"))
}

/// Reads the settings of a network from a TOML text. Its top level is a scenario's `[network]`,
/// with `seed`, `[protocol]`, `[collectives]` and `[[system.server]]` beside. `file` names the text
/// in errors.
///
/// # Errors
/// Text that is no such TOML, unknown keys, values out of range, each with line and column.
pub fn read_network(file: &str, text: &str) -> Result<NetworkSettings, InputError> {
    let registries = Registries::default();
    let texts = Texts::new(file, text, "", &registries);
    let source = texts.source();
    let mut network = checked(source, NETWORK_ALONE, parse(source, false)?)?;
    let beside = ["seed", "protocol", "collectives", "system", "pcie", "files"];
    let mut tree: Tree =
        beside.into_iter().filter_map(|key| Some((key.to_owned(), network.remove(key)?))).collect();
    let node = Node { span: 0..0, item: Item::Table(network) };
    tree.insert("network".to_owned(), Entry { key: 0..0, node });
    let tree = settled(source, tree)?;
    NetworkSettings::read(&Fields::new(source, 0..0, &tree))
}

/// Holds the tables of a scenario that describe a system.
#[derive(Debug, Clone)]
pub struct SystemText {
    /// Has the servers and the fabric.
    pub network: NetworkSettings,
    /// Has its keys as they are settled, but for the files that it holds.
    pub settings: toml::Table,
}

/// Names the tables that describe a system.
const OF_SYSTEM: [&str; 6] = ["name", "system", "network", "machine", "pcie", "files"];

/// Whether a text begins with a table that describes a system, and so no lone server's.
#[must_use]
pub fn is_system(text: &str) -> bool {
    let first = text.lines().map(str::trim_start).find(|line| line.starts_with('['));
    let name = first.map(|line| line.trim_start_matches('[').trim_start());
    name.is_some_and(|name| {
        let end = name.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(0);
        OF_SYSTEM.contains(&&name[..end])
    })
}

/// Reads a system from the tables of a scenario that describe one.
///
/// # Errors
/// Text that is no such TOML, unknown keys, values out of range, and tables of something else, each with its place.
pub fn read_system(file: &str, text: &str) -> Result<SystemText, InputError> {
    let registries = Registries::default();
    let texts = Texts::new(file, text, "", &registries);
    let source = texts.source();
    let mut tree = settled(source, checked(source, SCENARIO, parse(source, false)?)?)?;
    if let Some((_, entry)) = tree.iter().find(|(key, _)| !OF_SYSTEM.contains(&key.as_str())) {
        let remedy = "remove it; `linkwright run` plays scenarios";
        return Err(source.refuse(&entry.key, "this is no part of a machine", remedy));
    }
    let unhealthy = tree.get("system").and_then(|it| it.node.as_tree()?.get("unhealthy"));
    if let Some(entry) = unhealthy {
        let remedy = "remove it; `linkwright state mark-unhealthy` keeps GPUs from jobs";
        return Err(source.refuse(&entry.key, "this is no part of a machine", remedy));
    }
    let network = NetworkSettings::read(&Fields::new(source, 0..0, &tree))?;
    tree.remove("files");
    Ok(SystemText { network, settings: plain(&tree) })
}

impl SystemText {
    /// The files that it names and does not hold itself.
    #[must_use]
    pub fn files(&self) -> Vec<&FileName> {
        let all = self.network.named_files();
        all.filter(|file| !self.network.files.contains_key(&file.name)).collect()
    }
}
