//! Blocks put in place of their names, and layers behind one another.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use super::kinds;
use super::source::{Keys, Numbers, Source};
use crate::diagnostic::{InputError, Named, instead_of};
use crate::training::layer::{LayerKind, Split};
use crate::training::network::{INPUT, Network, Spot};
use crate::training::shape::MOST_EXTENT;

/// The most layers of a network, and the most uses of blocks.
pub(super) const MOST_LAYERS: usize = 10_000;
/// How deep blocks may use one another.
const DEEPEST: usize = 8;
/// Lists the keys of a use of a block, besides its arguments.
pub(super) const OF_USE: [&str; 4] = ["name", "use", "from", "repeat"];

/// Holds layers that stand for a name.
pub(super) struct Block<'a> {
    /// The text that describes it: the network's own, or one of shared blocks.
    pub source: Source<'a>,
    /// Names of numbers that every use gives.
    pub arguments: Vec<&'a str>,
    /// Whether its parameters are gathered at once.
    pub unit: bool,
    /// Lists its entries.
    pub layers: &'a [Spanned<DeValue<'a>>],
}

/// Says where entries stand.
#[derive(Clone, Copy)]
struct Scope<'s, 'a> {
    /// The text that has them.
    source: Source<'a>,
    /// Stands before each name.
    prefix: &'s str,
    /// Holds the arguments of the block.
    numbers: &'s Numbers,
    /// Names the input of its first layer.
    input: Option<usize>,
    /// How many blocks it lies in.
    depth: usize,
}

/// A network that grows entry by entry.
pub(super) struct Expansion<'e, 'a> {
    blocks: &'e BTreeMap<&'a str, Block<'a>>,
    network: Network,
    names: BTreeSet<String>,
    uses: usize,
    /// The unit that layers are added to; none where the next one starts another.
    unit: Option<u32>,
    units: u32,
}

impl<'e, 'a> Expansion<'e, 'a> {
    pub(super) fn new(blocks: &'e BTreeMap<&'a str, Block<'a>>, network: Network) -> Self {
        let names = BTreeSet::new();
        Self { blocks, network, names, uses: 0, unit: None, units: 0 }
    }

    /// Returns the network with all layers of a list.
    pub(super) fn expand(
        mut self,
        source: Source<'a>,
        layers: &'a [Spanned<DeValue<'a>>],
    ) -> Result<Network, InputError> {
        let numbers = Numbers::new();
        let scope = Scope { source, prefix: "", numbers: &numbers, input: None, depth: 0 };
        self.entries(layers, scope)?;
        self.network.settle();
        Ok(self.network)
    }

    /// Adds every entry of a list, and tells what the last one gives.
    fn entries(
        &mut self,
        layers: &'a [Spanned<DeValue<'a>>],
        scope: Scope<'_, 'a>,
    ) -> Result<Option<usize>, InputError> {
        let mut ends: BTreeMap<String, Option<usize>> = BTreeMap::new();
        ends.insert(INPUT.to_owned(), scope.input);
        let mut numbers = Numbered::new();
        let mut last = scope.input;
        for entry in layers {
            let keys = Keys::of(scope.source, entry, "a layer")?;
            let inputs = inputs(&keys, &ends)?;
            let given = if inputs.is_empty() { vec![last] } else { inputs };
            let name = own_name(&keys, &ends, &mut numbers)?;
            last = if keys.get("use").is_some() {
                self.used(&keys, &name, given, scope)?
            } else {
                self.layer(&keys, &name, given, scope)?
            };
            ends.insert(name, last);
        }
        Ok(last)
    }

    /// Adds a layer and those that `then` puts behind it.
    fn layer(
        &mut self,
        keys: &Keys<'a>,
        name: &str,
        inputs: Vec<Option<usize>>,
        scope: Scope<'_, 'a>,
    ) -> Result<Option<usize>, InputError> {
        let kind = kinds::kind(keys, scope.numbers)?;
        let split = split(keys, &kind)?;
        let name = format!("{}{name}", scope.prefix);
        let mut last = self.push(keys, keys.span(), kind, name.clone(), inputs, split)?;
        for (then, span) in keys.texts("then")? {
            let Some(kind) = kinds::plain(then) else {
                let remedy = instead_of(then, &kinds::plain_names());
                return Err(keys.refuse(span, "this cannot stand in `then`", remedy));
            };
            last = self.push(keys, span, kind, format!("{name}.{then}"), vec![last], None)?;
        }
        Ok(last)
    }

    fn push(
        &mut self,
        keys: &Keys<'a>,
        span: Range<usize>,
        kind: LayerKind,
        name: String,
        inputs: Vec<Option<usize>>,
        split: Option<Split>,
    ) -> Result<Option<usize>, InputError> {
        let at = self.network.layers.len();
        if at == MOST_LAYERS {
            let problem = format!("more than {MOST_LAYERS} layers");
            return Err(keys.refuse(span, problem, "repeat less"));
        }
        if !self.names.insert(name.clone()) {
            let problem = format!("two layers have the name `{name}`");
            return Err(keys.refuse(span, problem, "give each its own"));
        }
        let unit = *self.unit.get_or_insert_with(|| {
            self.units += 1;
            self.units - 1
        });
        let is_cut = |input: &Option<usize>| {
            input.is_some_and(|at| self.network.layers[at].split == Some(Split::Columns))
        };
        let inherits = !kind.is_trained() && inputs.iter().all(is_cut);
        let split = split.or(inherits.then_some(Split::Columns));
        let spot = Spot { name: name.clone(), unit, split };
        self.network.push(kind, inputs, spot).map_err(|fault| {
            let fault = fault.within(format_args!("layer `{name}`"));
            keys.refuse(span, fault.problem, fault.remedy.unwrap_or_default())
        })?;
        Ok(Some(at))
    }

    /// Adds a block's layers, as often as its use says, one behind the other.
    fn used(
        &mut self,
        keys: &Keys<'a>,
        name: &str,
        inputs: Vec<Option<usize>>,
        scope: Scope<'_, 'a>,
    ) -> Result<Option<usize>, InputError> {
        let (wanted, span) = keys.text("use")?.unwrap_or_default();
        let blocks = self.blocks;
        let Some(block) = blocks.get(wanted) else {
            let known: Vec<&str> = blocks.keys().copied().collect();
            let remedy = match known.as_slice() {
                [] => format!("describe it below [block.{wanted}]"),
                known => instead_of(wanted, known),
            };
            return Err(keys.refuse(span, "there is no block of this name", remedy));
        };
        if scope.depth == DEEPEST {
            let problem = format!("blocks use one another more than {DEEPEST} deep");
            return Err(keys.refuse(span, problem, "use no block within itself"));
        }
        let [input] = inputs[..] else {
            let problem = "a block has one input";
            return Err(keys.refuse(keys.span(), problem, "name one in `from`"));
        };
        let numbers = arguments(keys, wanted, block, scope.numbers)?;
        let repeat = keys.number("repeat", scope.numbers, (1, MOST_LAYERS as u64))?;
        let mut last = input;
        for turn in 0..repeat.unwrap_or(1) {
            self.uses += 1;
            if self.uses > MOST_LAYERS {
                let problem = format!("blocks are used more than {MOST_LAYERS} times");
                return Err(keys.refuse(keys.span(), problem, "repeat less"));
            }
            let prefix = match repeat {
                Some(_) => format!("{}{name}.{turn}.", scope.prefix),
                None => format!("{}{name}.", scope.prefix),
            };
            if block.unit {
                self.unit = None;
            }
            let inner = Scope {
                source: block.source,
                prefix: &prefix,
                numbers: &numbers,
                input: last,
                depth: scope.depth + 1,
            };
            last = self.entries(block.layers, inner).map_err(|error| {
                if block.source.file == scope.source.file {
                    return error;
                }
                // Who uses a shared block can mend only how.
                keys.refuse(keys.span(), error.problem, error.remedy)
            })?;
            if block.unit {
                self.unit = None;
            }
        }
        Ok(last)
    }
}

/// Returns the inputs that an entry reads by `from`; nothing where it says nothing.
fn inputs(
    keys: &Keys<'_>,
    ends: &BTreeMap<String, Option<usize>>,
) -> Result<Vec<Option<usize>>, InputError> {
    let find = |(name, span): (&str, Range<usize>)| {
        ends.get(name).copied().ok_or_else(|| {
            let known: Vec<&str> = ends.keys().map(String::as_str).collect();
            keys.refuse(span, "nothing before has this name here", instead_of(name, &known))
        })
    };
    keys.texts("from")?.into_iter().map(find).collect()
}

/// Of each kind or block, the number from which on none of its entries has been named.
type Numbered = BTreeMap<String, usize>;

/// An entry's name, or its kind's or block's, with a number where that is taken.
fn own_name(
    keys: &Keys<'_>,
    ends: &BTreeMap<String, Option<usize>>,
    numbers: &mut Numbered,
) -> Result<String, InputError> {
    if let Some((name, span)) = keys.text("name")? {
        if ends.contains_key(name) {
            let problem = "this name is taken";
            return Err(keys.refuse(span, problem, "give each layer its own"));
        }
        return Ok(name.to_owned());
    }
    let (what, _) = match keys.text("use")? {
        Some(used) => used,
        None => keys.text("kind")?.unwrap_or_default(),
    };
    let number = numbers.entry(what.to_owned()).or_insert(1);
    loop {
        let name = if *number == 1 { what.to_owned() } else { format!("{what}-{number}") };
        *number += 1;
        if !ends.contains_key(&name) {
            return Ok(name);
        }
    }
}

/// How tensor parallelism cuts a layer, as its entry says.
fn split(keys: &Keys<'_>, kind: &LayerKind) -> Result<Option<Split>, InputError> {
    let Some((name, span)) = keys.text("split")? else { return Ok(None) };
    if !matches!(kind, LayerKind::FullyConnected { .. } | LayerKind::Embedding { .. }) {
        let problem = format!("a layer of kind {} is not cut by itself", kind.name());
        let remedy = "leave `split` out: layers between columns and rows are cut, too";
        return Err(keys.refuse(span, problem, remedy));
    }
    let split = Split::from_name(name).map_err(|_| {
        keys.refuse(span, "there is no such split", instead_of(name, &Split::names()))
    });
    split.map(Some)
}

/// The numbers that a use gives a block.
fn arguments(
    keys: &Keys<'_>,
    name: &str,
    block: &Block<'_>,
    numbers: &Numbers,
) -> Result<Numbers, InputError> {
    let known: Vec<&str> = OF_USE.iter().chain(&block.arguments).copied().collect();
    keys.check(&format!("a use of block `{name}`"), &known)?;
    let each = block.arguments.iter().map(|argument| {
        match keys.number(argument, numbers, (0, MOST_EXTENT))? {
            Some(number) => Ok(((*argument).to_owned(), number)),
            None => {
                let problem = format!("block `{name}` needs `{argument}`");
                Err(keys.refuse(keys.span(), problem, format!("write {argument} = a whole number")))
            }
        }
    });
    each.collect()
}
