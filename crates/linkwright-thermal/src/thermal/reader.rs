//! Reads a floorplan, and refuses one that no package has, each with its place.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::floorplan::{Block, Conductivity, Floorplan, PackageLayer, SLACK};
use crate::diagnostic::{InputError, Position, from_toml, instead_of};

/// The most layers of a package, and the most cells that they are divided into from the board up.
const MOST_LAYERS: usize = 64;
/// Limits the blocks of a package.
const MOST_BLOCKS: usize = 10_000;
/// Gives HotSpot's default, in degrees Celsius.
const AMBIENT: f64 = 45.0;

/// Limits a number, from the least to the most.
#[derive(Clone, Copy)]
struct Bounds {
    least: f64,
    most: f64,
    unit: &'static str,
}

const LENGTH: Bounds = Bounds { least: 1e-3, most: 1e4, unit: "mm" };
const THICKNESS: Bounds = Bounds { least: 1e-4, most: 1e3, unit: "mm" };
const PLACE: Bounds = Bounds { least: 0.0, most: 1e4, unit: "mm" };
const CONDUCTIVITY: Bounds = Bounds { least: 1e-3, most: 1e5, unit: "W/(m K)" };
const POWER: Bounds = Bounds { least: 0.0, most: 1e6, unit: "W" };
/// Limits resistances to the air, in K/W.
pub(super) const RESISTANCE: (f64, f64) = (1e-6, 1e6);
const TO_AIR: Bounds = Bounds { least: RESISTANCE.0, most: RESISTANCE.1, unit: "K/W" };
/// Limits temperatures of the air, in degrees Celsius.
pub(super) const AIR: (f64, f64) = (-273.15, 1000.0);
const TEMPERATURE: Bounds = Bounds { least: AIR.0, most: AIR.1, unit: "degrees Celsius" };

type Number = Spanned<f64>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    name: Option<String>,
    #[serde(default)]
    source: String,
    #[serde(default)]
    assumptions: Vec<String>,
    width: Number,
    height: Number,
    ambient: Option<Number>,
    layer: Vec<Spanned<LayerText>>,
    #[serde(default)]
    block: Vec<Spanned<BlockText>>,
    sink: AirText,
    board: Option<AirText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AirText {
    resistance: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayerText {
    name: Spanned<String>,
    thickness: Number,
    width: Option<Number>,
    height: Option<Number>,
    conductivity: Number,
    vertical_conductivity: Option<Number>,
    cells: Option<Spanned<u32>>,
    beside: Option<Spanned<String>>,
    beside_conductivity: Option<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockText {
    name: Spanned<String>,
    layer: Spanned<String>,
    x: Number,
    y: Number,
    width: Number,
    height: Number,
    power: Number,
    conductivity: Option<Number>,
    vertical_conductivity: Option<Number>,
}

/// Holds a text and its name, for errors.
#[derive(Clone, Copy)]
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn refuse(
        self,
        span: Range<usize>,
        problem: impl fmt::Display,
        remedy: impl fmt::Display,
    ) -> InputError {
        let value = self.text.get(span.clone()).unwrap_or_default();
        let position = Position::of_offset(self.text, span.start);
        InputError::at(self.file, position, problem.to_string(), value, remedy.to_string())
    }

    /// Reads a number within its bounds.
    fn number(self, given: &Number, what: &str, bounds: Bounds) -> Result<f64, InputError> {
        let Bounds { least, most, unit } = bounds;
        let value = *given.get_ref();
        if (least..=most).contains(&value) {
            return Ok(value);
        }
        let problem = format!("`{what}` is out of range");
        Err(self.refuse(given.span(), problem, format!("write {least} to {most}, in {unit}")))
    }

    fn conductivity(
        self,
        lateral: &Number,
        vertical: Option<&Number>,
    ) -> Result<Conductivity, InputError> {
        let lateral = self.number(lateral, "conductivity", CONDUCTIVITY)?;
        let vertical = vertical
            .map(|given| self.number(given, "vertical_conductivity", CONDUCTIVITY))
            .transpose()?
            .unwrap_or(lateral);
        Ok(Conductivity { lateral, vertical })
    }

    /// A name that says something, and that nothing of its kind before it has.
    fn name(
        self,
        given: &Spanned<String>,
        what: &str,
        taken: &[&str],
    ) -> Result<String, InputError> {
        let name = given.get_ref();
        if name.trim().is_empty() {
            return Err(self.refuse(given.span(), format!("a {what} without a name"), "name it"));
        }
        if taken.contains(&name.as_str()) {
            let problem = format!("two {what}s have one name");
            return Err(self.refuse(given.span(), problem, "give each its own"));
        }
        Ok(name.clone())
    }
}

impl Floorplan {
    /// Reads a floorplan from its TOML text; `file` names it in errors.
    ///
    /// # Errors
    /// Refuses text that is not TOML, unknown keys, and numbers out of range. It also refuses
    /// blocks that overlap or leave the interposer or their layer, and layers that do not exist.
    /// Each error has file, line and column.
    pub fn read(file: &str, text: &str) -> Result<Self, InputError> {
        let raw: FileText = from_toml(file, text)?;
        let source = Source { file, text };
        let width = source.number(&raw.width, "width", LENGTH)?;
        let height = source.number(&raw.height, "height", LENGTH)?;
        let ambient = raw.ambient.as_ref();
        let ambient = ambient.map(|given| source.number(given, "ambient", TEMPERATURE));
        let mut plan = Self {
            name: raw.name.unwrap_or_else(|| "package".to_owned()),
            source: raw.source,
            assumptions: raw.assumptions,
            width,
            height,
            ambient: ambient.transpose()?.unwrap_or(AMBIENT),
            layers: Vec::new(),
            blocks: Vec::new(),
            sink: source.number(&raw.sink.resistance, "resistance", TO_AIR)?,
            board: (raw.board.as_ref())
                .map(|board| source.number(&board.resistance, "resistance", TO_AIR))
                .transpose()?,
        };
        plan.read_layers(source, &raw.layer)?;
        plan.read_blocks(source, &raw.block)?;
        Ok(plan)
    }

    fn read_layers(
        &mut self,
        source: Source<'_>,
        given: &[Spanned<LayerText>],
    ) -> Result<(), InputError> {
        if given.is_empty() {
            let end = source.text.len();
            return Err(source.refuse(end..end, "no layer", "write a [[layer]] for each"));
        }
        let mut planes = 0;
        for layer in given {
            let (span, layer) = (layer.span(), layer.get_ref());
            let taken: Vec<&str> = self.layers.iter().map(|it| it.name.as_str()).collect();
            let size = |given: &Option<Number>, what, absent| match given {
                Some(given) => source.number(given, what, LENGTH),
                None => Ok(absent),
            };
            let cells = layer.cells.as_ref().map_or(1, |cells| *cells.get_ref());
            planes += cells.max(1) as usize;
            if cells == 0 || planes > MOST_LAYERS {
                let span = layer.cells.as_ref().map_or(span, Spanned::span);
                let problem = "the number of cells from the board up is out of range";
                let remedy = format!("write layers of 1 to {MOST_LAYERS} cells together");
                return Err(source.refuse(span, problem, remedy));
            }
            let made = PackageLayer {
                name: source.name(&layer.name, "layer", &taken)?,
                thickness: source.number(&layer.thickness, "thickness", THICKNESS)?,
                width: size(&layer.width, "width", self.width)?,
                height: size(&layer.height, "height", self.height)?,
                conductivity: source
                    .conductivity(&layer.conductivity, layer.vertical_conductivity.as_ref())?,
                cells,
                beside: None,
            };
            self.layers.push(made);
        }
        for (at, layer) in given.iter().enumerate() {
            self.layers[at].beside = self.beside(source, at, layer.get_ref())?;
        }
        Ok(())
    }

    /// The layer whose blocks a layer lies under or over, and how it conducts there.
    fn beside(
        &self,
        source: Source<'_>,
        own: usize,
        layer: &LayerText,
    ) -> Result<Option<(usize, Conductivity)>, InputError> {
        match (&layer.beside, &layer.beside_conductivity) {
            (None, None) => Ok(None),
            (Some(name), Some(conductivity)) => {
                let conductivity = source.conductivity(conductivity, None)?;
                let other = self.find_layer(source, name)?;
                if other == own {
                    let problem = "a layer does not lie beside itself";
                    return Err(source.refuse(name.span(), problem, "name the layer of blocks"));
                }
                Ok(Some((other, conductivity)))
            }
            (Some(name), None) => {
                let problem = "`beside` says nothing by itself";
                Err(source.refuse(name.span(), problem, "write `beside_conductivity`, too"))
            }
            (None, Some(given)) => {
                let problem = "`beside_conductivity` says nothing by itself";
                let remedy = "write `beside`, the layer whose blocks it lies under or over";
                Err(source.refuse(given.span(), problem, remedy))
            }
        }
    }

    fn find_layer(&self, source: Source<'_>, name: &Spanned<String>) -> Result<usize, InputError> {
        self.layer(name.get_ref()).ok_or_else(|| {
            let known: Vec<&str> = self.layers.iter().map(|it| it.name.as_str()).collect();
            source.refuse(name.span(), "unknown layer", instead_of(name.get_ref(), &known))
        })
    }

    fn read_blocks(
        &mut self,
        source: Source<'_>,
        given: &[Spanned<BlockText>],
    ) -> Result<(), InputError> {
        if let Some(first) = given.get(MOST_BLOCKS) {
            let problem = format!("more than {MOST_BLOCKS} blocks");
            return Err(source.refuse(first.span(), problem, "describe fewer, larger ones"));
        }
        let mut names = std::collections::BTreeSet::new();
        for block in given {
            let block = block.get_ref();
            let layer = self.find_layer(source, &block.layer)?;
            let name = source.name(&block.name, "block", &[])?;
            if !names.insert(name.clone()) {
                let problem = "two blocks have one name";
                return Err(source.refuse(block.name.span(), problem, "give each its own"));
            }
            let made = Block {
                name,
                layer,
                x: source.number(&block.x, "x", PLACE)?,
                y: source.number(&block.y, "y", PLACE)?,
                width: source.number(&block.width, "width", LENGTH)?,
                height: source.number(&block.height, "height", LENGTH)?,
                power: source.number(&block.power, "power", POWER)?,
                conductivity: match &block.conductivity {
                    Some(given) => {
                        source.conductivity(given, block.vertical_conductivity.as_ref())?
                    }
                    None => Conductivity {
                        vertical: match &block.vertical_conductivity {
                            Some(given) => {
                                source.number(given, "vertical_conductivity", CONDUCTIVITY)?
                            }
                            None => self.layers[layer].conductivity.vertical,
                        },
                        ..self.layers[layer].conductivity
                    },
                },
            };
            self.check_inside(source, block, &made)?;
            self.check_apart(source, block, &made)?;
            self.blocks.push(made);
        }
        Ok(())
    }

    /// Refuses a block that leaves the interposer, or its layer where that is smaller.
    fn check_inside(
        &self,
        source: Source<'_>,
        given: &BlockText,
        block: &Block,
    ) -> Result<(), InputError> {
        let layer = &self.layers[block.layer];
        let edges = [
            ("x", &given.x, block.x, block.width, self.width, layer.width),
            ("y", &given.y, block.y, block.height, self.height, layer.height),
        ];
        for (key, at, start, size, whole, of_layer) in edges {
            // Both are centred on the same point.
            let (least, most) =
                (((whole - of_layer) / 2.0).max(0.0), ((whole + of_layer) / 2.0).min(whole));
            if start >= least - SLACK && start + size <= most + SLACK {
                continue;
            }
            let what = if of_layer < whole { "its layer" } else { "the interposer" };
            let name = &block.name;
            let problem = format!(
                "block `{name}` leaves {what}: from {key} = {start} to {}, where there is {least} to {most}",
                rounded(start + size)
            );
            let remedy = if size <= most - least {
                format!("write {key} = {least} to {}", rounded(most - size))
            } else {
                format!("make it at most {} mm wide that way", rounded(most - least))
            };
            return Err(source.refuse(at.span(), problem, remedy));
        }
        Ok(())
    }

    /// Refuses a block that lies over one before it.
    fn check_apart(
        &self,
        source: Source<'_>,
        given: &BlockText,
        block: &Block,
    ) -> Result<(), InputError> {
        for other in &self.blocks {
            let Some((across, along)) = block.overlap(other) else { continue };
            let problem = format!(
                "block `{}` overlaps block `{}` by {} x {} mm",
                block.name,
                other.name,
                rounded(across),
                rounded(along)
            );
            // The shorter way out.
            let (key, at, low, high) = if across <= along {
                ("x", &given.x, other.x - block.width, other.right())
            } else {
                ("y", &given.y, other.y - block.height, other.back())
            };
            let low =
                if low >= 0.0 { format!("up to {} or ", rounded(low)) } else { String::new() };
            let remedy = format!("write {key} = {low}from {}", rounded(high));
            return Err(source.refuse(at.span(), problem, remedy));
        }
        Ok(())
    }
}

/// A length without the digits that sums of decimal fractions leave behind.
fn rounded(length: f64) -> f64 {
    (length * 1e9).round() / 1e9
}
