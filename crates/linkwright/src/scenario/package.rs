//! Reads the package whose heat a scenario observes: `[thermal]`.
//!
//! ```toml
//! [thermal]
//! package = "package.toml"      # a floorplan; blocks that are named as GPUs of the server are these
//! busy = 180                    # what each GPU draws while a job holds it, in W
//! rest = 30                     # and while none does; where absent, that is unknown
//!
//! [[thermal.gpu]]               # where a GPU differs, or its block has another name
//! gpu = "GPU0"
//! block = "north"
//! rest = 25
//! ```

use std::collections::{BTreeMap, BTreeSet};

use toml::Value;

use super::fields::{Fields, FileName};
use super::files::{Files, text_of};
use super::settings::Setting;
use super::source::Place;
use crate::diagnostic::{InputError, instead_of};
use crate::simulation::heat::Package;
use crate::simulation::power::{GpuPower, powers};
use crate::system::{LinkKind, Server, System};
use crate::thermal::Floorplan;
use crate::units::MOST_WATTS;

/// Says what a scenario observes the heat of, as written.
#[derive(Debug, Clone, PartialEq)]
pub struct PackageEntry {
    /// Names the file of its floorplan; None where the scenario names none.
    pub(super) floorplan: Option<FileName>,
    /// It is that of GPUs of this server.
    server: (u64, Place),
    /// It is cut into as many cells each way.
    cells: u32,
    /// Its GPUs draw this where nothing else is said.
    power: GpuPower,
    /// It has the entries of single GPUs.
    gpus: Vec<GpuEntry>,
    /// The table stands here.
    place: Place,
}

/// Says what a single GPU draws, and which block it is.
#[derive(Debug, Clone, PartialEq)]
struct GpuEntry {
    gpu: (String, Place),
    block: Option<(String, Place)>,
    power: GpuPower,
}

/// Reads a power in watts.
fn watts(fields: &Fields<'_>, key: &str) -> Result<Option<f64>, InputError> {
    let number = match fields.value(key) {
        None => return Ok(None),
        Some(Value::Integer(whole)) => Some(whole as f64),
        Some(Value::Float(watts)) => Some(watts),
        Some(_) => None,
    };
    let is_power = |watts: &f64| (0.0..=MOST_WATTS).contains(watts);
    number.filter(is_power).map(Some).ok_or_else(|| {
        let below = number.is_some_and(|watts| watts < 0.0);
        let problem = if below { "a power below zero" } else { "no power" };
        fields.refuse(key, problem, format!("write watts from 0 to {MOST_WATTS}, such as 180"))
    })
}

fn power(fields: &Fields<'_>) -> Result<GpuPower, InputError> {
    Ok(GpuPower { busy: watts(fields, "busy")?, rest: watts(fields, "rest")? })
}

impl GpuEntry {
    fn read(fields: &Fields<'_>) -> Result<Self, InputError> {
        let Some(gpu) = fields.optional("gpu")? else {
            let remedy = "name a GPU of the server with `gpu`";
            return Err(fields.refuse("gpu", "an entry of no GPU", remedy));
        };
        let block = fields.optional("block")?.map(|block| (block, fields.place("block")));
        Ok(Self { gpu: (gpu, fields.place("gpu")), block, power: power(fields)? })
    }
}

impl PackageEntry {
    /// Reads a scenario's `[thermal]`; None where there is none.
    ///
    /// # Errors
    /// A power that is none, a number of cells that is out of range, an entry of no GPU.
    pub(super) fn read(scenario: &Fields<'_>) -> Result<Option<Self>, InputError> {
        if !scenario.has("thermal") {
            return Ok(None);
        }
        let fields = scenario.table("thermal")?;
        let cells = Setting::of("thermal.cells");
        let most = cells.range().map_or(u32::MAX, |(_, most)| most as u32);
        let entries = fields.tables("gpu")?;
        Ok(Some(Self {
            floorplan: fields.file("package")?,
            server: (fields.setting("thermal.server")?, fields.place("server")),
            cells: fields.count("cells", cells.default(), most, "too many cells")?,
            power: power(&fields)?,
            gpus: entries.iter().map(GpuEntry::read).collect::<Result<_, _>>()?,
            place: scenario.place("thermal"),
        }))
    }

    /// Makes the package, with the files that the scenario names; `scenario` is its file in errors.
    ///
    /// # Errors
    /// No such server. No floorplan, or a text that is none. A GPU or a block that is not there or is named twice. No block
    /// that is a GPU. GPUs of boards of their own. A GPU whose busy power nobody says.
    pub(super) fn build(
        &self,
        scenario: &str,
        system: &System,
        files: &Files,
    ) -> Result<Package, InputError> {
        let (wanted, place) = self.server;
        let index = u32::try_from(wanted).ok().filter(|index| *index < system.servers());
        let Some(index) = index else {
            let remedy = format!("its servers are 0 to {}", system.servers() - 1);
            let problem = format!("`{}` has no such server", system.name());
            return Err(place.refuse(scenario, &problem, &wanted.to_string(), remedy));
        };
        let server: &Server = system.kind_of(index).server();
        let Some(file) = &self.floorplan else {
            let all: Vec<usize> = (0..server.gpus().len()).collect();
            let (problem, remedy) = apart(server, &all).unwrap_or_else(|| {
                let remedy = "name its floorplan as `package`";
                (format!("no package of `{}` is described", server.name()), remedy.to_owned())
            });
            return Err(self.place.refuse(scenario, &problem, "thermal", remedy));
        };
        let floorplan = Floorplan::read(&file.name, text_of(scenario, file, files)?)?;
        let names: Vec<&str> = server.gpus().iter().map(|gpu| name(server, *gpu)).collect();
        let entries = self.entries(scenario, server.name(), &names)?;
        let blocks = self.blocks(scenario, &floorplan, &names, &entries)?;
        if blocks.is_empty() {
            let problem = format!("no block of the package is a GPU of `{}`", server.name());
            let known = names.join(", ");
            let remedy = format!(
                "name blocks as its GPUs: {known}; or give each its `block` in a `[[thermal.gpu]]`"
            );
            return Err(file.place.refuse(scenario, &problem, &file.name, remedy));
        }
        let named: Vec<usize> = blocks.iter().map(|(gpu, _)| *gpu).collect();
        if let Some((problem, remedy)) = apart(server, &named) {
            return Err(file.place.refuse(scenario, &problem, &file.name, remedy));
        }
        let id = |gpu: usize| system.gpu_at(index, gpu as u32);
        let own = |gpu: &usize| entries.get(gpu).map(|it| it.power).unwrap_or_default();
        let said: BTreeMap<u32, GpuPower> =
            named.iter().map(|gpu| (id(*gpu), own(gpu).or(self.power))).collect();
        let drawn = powers(system, &BTreeMap::new(), &said);
        if let Some(gpu) = named.iter().find(|gpu| drawn[id(**gpu) as usize].busy.is_none()) {
            let gpu = names[*gpu];
            let problem = format!("nobody says what {gpu} of `{}` draws", server.name());
            let remedy = "write `busy`, in W: no file of a GPU model has its `[power]`";
            return Err(self.place.refuse(scenario, &problem, "thermal", remedy));
        }
        let gpus = blocks.into_iter().map(|(gpu, block)| (id(gpu), block)).collect();
        Ok(Package { floorplan, gpus, cells: self.cells as usize, powers: said })
    }

    /// Says which GPUs of the server are no blocks of the package that was built; None where all are.
    pub(super) fn left_out(&self, system: &System, package: &Package) -> Option<String> {
        let index = system.gpu(package.gpus.first()?.0).server;
        let server: &Server = system.kind_of(index).server();
        let all = server.gpus().iter().zip((0..).map(|gpu| system.gpu_at(index, gpu)));
        let is_block = |id: u32| package.gpus.iter().any(|(gpu, _)| *gpu == id);
        let (seen, others): (Vec<_>, Vec<_>) = all.partition(|(_, id)| is_block(*id));
        let named = |gpus: Vec<(&usize, u32)>| {
            gpus.into_iter().map(|(gpu, _)| name(server, *gpu)).collect::<Vec<_>>().join(", ")
        };
        let is_one = others.len() == 1;
        (!others.is_empty()).then(|| {
            format!(
                "`thermal` observes {} alone: of `{}` {} {} of the package.",
                named(seen),
                server.name(),
                named(others),
                if is_one { "is no block" } else { "are no blocks" }
            )
        })
    }

    /// Lists the entries of single GPUs, by their indices in the server.
    fn entries(
        &self,
        scenario: &str,
        server: &str,
        names: &[&str],
    ) -> Result<BTreeMap<usize, &GpuEntry>, InputError> {
        let mut found = BTreeMap::new();
        for entry in &self.gpus {
            let (gpu, place) = &entry.gpu;
            let Some(index) = names.iter().position(|name| name == gpu) else {
                let problem = format!("`{server}` has no GPU of this name");
                return Err(place.refuse(scenario, &problem, gpu, instead_of(gpu, names)));
            };
            if found.insert(index, entry).is_some() {
                let remedy = "write one `[[thermal.gpu]]` for each GPU";
                return Err(place.refuse(scenario, "a GPU is named twice", gpu, remedy));
            }
        }
        Ok(found)
    }

    /// Lists the GPUs that are blocks, by their indices in the server and the floorplan.
    fn blocks(
        &self,
        scenario: &str,
        floorplan: &Floorplan,
        names: &[&str],
        entries: &BTreeMap<usize, &GpuEntry>,
    ) -> Result<Vec<(usize, usize)>, InputError> {
        let known: Vec<&str> = floorplan.blocks.iter().map(|it| it.name.as_str()).collect();
        let mut found: Vec<(usize, usize)> = Vec::new();
        for (gpu, name) in names.iter().enumerate() {
            let entry = entries.get(&gpu);
            let (wanted, place) = match entry {
                None => (*name, None),
                Some(GpuEntry { block: Some((block, place)), .. }) => (block.as_str(), Some(place)),
                Some(GpuEntry { gpu: (_, place), .. }) => (*name, Some(place)),
            };
            let refuse = |problem: &str, remedy: String, place: &Place| {
                Err(place.refuse(scenario, problem, wanted, remedy))
            };
            match (known.iter().position(|block| *block == wanted), place) {
                (Some(block), place) => {
                    if let Some((other, _)) = found.iter().find(|(_, other)| *other == block) {
                        let problem = format!("{} is this block, too", names[*other]);
                        let remedy = "give each GPU a block of its own".to_owned();
                        return refuse(&problem, remedy, place.unwrap_or(&self.place));
                    }
                    found.push((gpu, block));
                }
                (None, Some(place)) => {
                    let remedy = instead_of(wanted, &known);
                    return refuse("the package has no block of this name", remedy, place);
                }
                (None, None) => {}
            }
        }
        Ok(found)
    }
}

fn name(server: &Server, device: usize) -> &str {
    &server.devices()[device].name
}

/// Says why GPUs of a server are no chips of one package, with a remedy; None where they may be.
fn apart(server: &Server, gpus: &[usize]) -> Option<(String, String)> {
    let (first, others) = gpus.split_first()?;
    let reached = within_package(server, server.gpus()[*first]);
    let other = others.iter().find(|gpu| !reached.contains(&server.gpus()[**gpu]))?;
    let (a, b) = (name(server, server.gpus()[*first]), name(server, server.gpus()[*other]));
    let problem = format!(
        "{a} and {b} of `{}` are boards of their own, and no package holds both: no link within a package joins them",
        server.name()
    );
    let remedy =
        "remove `[thermal]`, or take a server whose GPUs links of kind `direct` or `on-die` join";
    Some((problem, remedy.to_owned()))
}

/// Lists the devices that links within a package lead to, from one of them.
fn within_package(server: &Server, from: usize) -> BTreeSet<usize> {
    let (mut reached, mut waiting) = (BTreeSet::from([from]), vec![from]);
    while let Some(device) = waiting.pop() {
        for link in server.links().iter().filter(|link| may_stay_inside(link.kind)) {
            let ends = [(link.a, link.b), (link.b, link.a)];
            let next = ends.into_iter().filter(|(end, _)| *end == device).map(|(_, other)| other);
            waiting.extend(next.filter(|other| reached.insert(*other)));
        }
    }
    reached
}

/// Whether links of a kind may join chips of one package. Those of the MI200 series do: a module has two dies.
fn may_stay_inside(kind: LinkKind) -> bool {
    !(kind.is_nvlink()
        || kind.is_xgmi() && kind != LinkKind::Xgmi
        || kind.is_pcie()
        || kind.is_network()
        || matches!(
            kind,
            LinkKind::NvlinkC2c
                | LinkKind::Qpi
                | LinkKind::Upi
                | LinkKind::Xbus
                | LinkKind::InfinityFabric
        ))
}
