//! Reads networks: layers, blocks of them with numbers for arguments, and variants. The reference
//! of formats has an example, and every key.

mod expand;
mod kinds;
mod source;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use self::expand::{Block, Expansion};
use self::source::{Keys, Numbers, Source};
use super::dataset::Dataset;
use super::network::{INPUT, Network};
use super::shape::{MOST_EXTENT, Shape};
use crate::diagnostic::{InputError, instead_of, toml_table};

/// Lists the keys of a file.
const KEYS: [&str; 10] = [
    "name",
    "source",
    "assumptions",
    "input_assumptions",
    "dataset",
    "input",
    "layers",
    "blocks",
    "block",
    "variant",
];
/// Lists the keys of a variant.
const OF_VARIANT: [&str; 6] =
    ["name", "assumptions", "input_assumptions", "dataset", "input", "layers"];
/// Lists the keys of a block.
const OF_BLOCK: [&str; 3] = ["arguments", "unit", "layers"];
/// The keys of shapes, by how many there are.
const OF_SHAPE: [&str; 4] = ["tokens", "channels", "height", "width"];

/// Blocks by their names.
type Blocks<'a> = BTreeMap<&'a str, Block<'a>>;
type SharedTable = Spanned<DeTable<'static>>;

macro_rules! shared {
    ($($name:literal,)*) => {
        &[$((
            $name,
            concat!("blocks/", $name, ".toml"),
            include_str!(concat!("../networks/blocks/", $name, ".toml")),
        ),)*]
    };
}

/// Files of blocks that several networks have, and that `blocks` asks for by name.
const SHARED: &[(&str, &str, &str)] = shared! {
    "alexnet",
    "bottleneck",
    "llama",
};

/// Every variant that a text describes; at least one.
///
/// # Errors
/// Fails as [`Network::read`] does.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<Network>, InputError> {
    let table: Spanned<DeTable<'_>> = toml_table(file, text)?;
    let source = Source { file, text };
    let keys = Keys::new(source, table.get_ref(), text.len()..text.len());
    keys.check("a network", &KEYS)?;
    let shared = shared(&keys)?;
    let mut known = Blocks::new();
    for (file, text, table) in &shared {
        let source = Source { file, text };
        known.extend(blocks(&Keys::new(source, table.get_ref(), 0..0))?);
    }
    known.extend(blocks(&keys)?);
    let blocks = known;
    let Some(list) = keys.list("variant")? else {
        return Ok(vec![variant(&keys, None, &blocks)?]);
    };
    if let Some(layers) = keys.get("layers") {
        let remedy = "write them below a [[variant]] alone";
        return Err(keys.refuse(layers.span(), "layers beside variants", remedy));
    }
    let mut variants: Vec<Network> = Vec::new();
    for each in list {
        let own = Keys::of(source, each, "a variant")?;
        own.check("a variant", &OF_VARIANT)?;
        let made = variant(&keys, Some(&own), &blocks)?;
        if variants.iter().any(|other| other.variant == made.variant) {
            let problem = format!("two variants have the name `{}`", made.variant);
            return Err(own.refuse(own.span(), problem, "give each its own"));
        }
        variants.push(made);
    }
    if variants.is_empty() {
        return Err(keys.refuse(keys.span(), "no variant", "write a [[variant]] for each"));
    }
    Ok(variants)
}

/// The shared blocks that a file asks for, by the files that they are from.
fn shared(keys: &Keys<'_>) -> Result<Vec<(&'static str, &'static str, SharedTable)>, InputError> {
    let each = keys.texts("blocks")?.into_iter().map(|(name, span)| {
        let Some((_, file, text)) = SHARED.iter().find(|(known, ..)| *known == name) else {
            let known: Vec<&str> = SHARED.iter().map(|(known, ..)| *known).collect();
            return Err(keys.refuse(span, "there are no such blocks", instead_of(name, &known)));
        };
        Ok((*file, *text, toml_table(file, text)?))
    });
    each.collect()
}

/// The blocks that a text describes.
fn blocks<'a>(keys: &Keys<'a>) -> Result<Blocks<'a>, InputError> {
    let mut blocks = Blocks::new();
    let Some(value) = keys.get("block") else { return Ok(blocks) };
    let all = Keys::of(keys.source(), value, "`block`")?;
    for (name, value) in all.every() {
        let block = Keys::of(keys.source(), value, "a block")?;
        block.check("a block", &OF_BLOCK)?;
        let arguments = block.texts("arguments")?.into_iter().map(|(name, span)| {
            if expand::OF_USE.contains(&name) || name.contains('*') {
                let problem = "an argument cannot have this name";
                return Err(block.refuse(span, problem, "give it another"));
            }
            Ok(name)
        });
        let made = Block {
            source: keys.source(),
            arguments: arguments.collect::<Result<_, _>>()?,
            unit: block.flag("unit", false)?,
            layers: needed_layers(&block)?,
        };
        blocks.insert(name.get_ref().as_ref(), made);
    }
    Ok(blocks)
}

/// One variant; `own` has what it says for itself, before what the file says for all.
fn variant<'a>(
    file: &Keys<'a>,
    own: Option<&Keys<'a>>,
    blocks: &Blocks<'a>,
) -> Result<Network, InputError> {
    let holder = own.unwrap_or(file);
    let text = |keys: &Keys<'a>, key| Ok(keys.text(key)?.map(|(text, _)| text.to_owned()));
    let dataset = match own.map(|own| own.text("dataset")).transpose()?.flatten() {
        Some(given) => Some(given),
        None => file.text("dataset")?,
    };
    let dataset = dataset.map(|(name, span)| {
        Dataset::find(name).map_err(|_| {
            let known: Vec<&str> = Dataset::all().iter().map(|it| it.name.as_str()).collect();
            file.refuse(span, "there is no dataset of this name", instead_of(name, &known))
        })
    });
    let dataset = dataset.transpose()?;
    let given = own.and_then(|own| own.get(INPUT)).or_else(|| file.get(INPUT));
    let input = match (given, dataset) {
        (Some(given), _) => shape(&Keys::of(file.source(), given, "`input`")?)?,
        (None, Some(dataset)) => dataset.shape,
        (None, None) => {
            let remedy = "write input = { channels = 3, height = 224, width = 224 } or a dataset";
            return Err(file.refuse(holder.span(), "no input", remedy));
        }
    };
    let assumed = |key| -> Result<Vec<String>, InputError> {
        let each = std::iter::once(file).chain(own).map(|keys| keys.texts(key));
        let texts: Vec<_> = each.collect::<Result<_, _>>()?;
        Ok(texts.into_iter().flatten().map(|(text, _)| text.to_owned()).collect())
    };
    let network = Network {
        name: text(file, "name")?.unwrap_or_else(|| "network".to_owned()),
        variant: match own {
            Some(own) => text(own, "name")?.ok_or_else(|| {
                own.refuse(own.span(), "a variant without a name", "write name = \"...\"")
            })?,
            None => String::new(),
        },
        source: text(file, "source")?.unwrap_or_default(),
        assumptions: assumed("assumptions")?,
        input_assumptions: assumed("input_assumptions")?,
        dataset: dataset.map(|dataset| dataset.name.clone()),
        input,
        layers: Vec::new(),
    };
    let layers = needed_layers(holder)?;
    Expansion::new(blocks, network).expand(file.source(), layers)
}

/// The entries of a list that has some.
fn needed_layers<'a>(keys: &Keys<'a>) -> Result<&'a [Spanned<DeValue<'a>>], InputError> {
    match keys.list("layers")? {
        Some(list) if !list.is_empty() => Ok(list),
        _ => {
            let remedy = "write layers = [{ kind = \"fully-connected\", width = 10 }]";
            Err(keys.refuse(keys.span(), "no layers", remedy))
        }
    }
}

/// Reads the shape of a sample: a width; tokens, each of a width or a number; or channels of a
/// picture.
fn shape(keys: &Keys<'_>) -> Result<Shape, InputError> {
    keys.check("an input", &OF_SHAPE)?;
    let numbers = Numbers::new();
    let extent = |key| keys.number(key, &numbers, (1, MOST_EXTENT));
    let shape = match (extent("tokens")?, extent("channels")?, extent("height")?, extent("width")?)
    {
        (None, None, None, Some(width)) => Shape::Vector { width },
        (Some(tokens), None, None, width) => Shape::Tokens { tokens, width: width.unwrap_or(1) },
        (None, Some(channels), Some(height), Some(width)) => {
            Shape::Image { channels, height, width }
        }
        _ => {
            let problem = "this is no shape";
            let remedy =
                "write width alone, tokens and perhaps width, or channels, height and width";
            return Err(keys.refuse(keys.span(), problem, remedy));
        }
    };
    if !shape.is_possible() {
        let problem = "more numbers than is possible";
        return Err(keys.refuse(keys.span(), problem, "keep to 2^40 in all"));
    }
    Ok(shape)
}
