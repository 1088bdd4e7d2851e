//! Networks: layers in an order in which each reads only what is before it.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::dataset::Dataset;
use super::derive::{Derived, Given, derive, kept};
use super::error::TrainingError;
use super::layer::{Layer, LayerKind, Split};
use super::reader;
use super::shape::Shape;
use crate::diagnostic::{Diagnosis, InputError};

/// Names the network's own input in errors and files.
pub(super) const INPUT: &str = "input";

/// A network that is trained, with all that one sample takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Names the network in commands and files.
    pub name: String,
    /// Which of its forms it is, where there are several; otherwise empty.
    pub variant: String,
    /// Where its layers were published.
    pub source: String,
    /// Lists the points that the source leaves open.
    pub assumptions: Vec<String>,
    /// Holds assumptions on the shape of a sample, which samples of another shape have not.
    pub input_assumptions: Vec<String>,
    /// The [`Dataset`] that it is trained on, unless another is asked for.
    pub dataset: Option<String>,
    /// Gives the shape of one sample.
    pub input: Shape,
    /// Its layers; those that no other reads are its ends.
    pub layers: Vec<Layer>,
}

/// How large samples are, where it is not the network's own size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SampleSize {
    /// Points of an image, each way.
    pub points: Option<u64>,
    /// Counts the channels of an image, beside its points.
    pub channels: Option<u64>,
    /// Counts the tokens of a sequence.
    pub tokens: Option<u64>,
}

macro_rules! files {
    ($($name:literal,)*) => {
        &[$((
            concat!($name, ".toml"),
            include_str!(concat!("networks/", $name, ".toml")),
        ),)*]
    };
}

/// Lists the file of every network: the oldest kinds first.
const FILES: &[(&str, &str)] = files! {
    "mlp",
    "lenet",
    "alexnet",
    "caffenet",
    "vgg-16",
    "googlenet",
    "inception-v3",
    "resnet-18",
    "resnet-50",
    "resnet-110",
    "resnet-152",
    "lstm",
    "gpt2-1.5b",
    "llama3-8b",
    "llama3-70b",
};

/// Holds the networks of each file, read when one of them is asked for. The tests read them all, so
/// that none can fail for a user.
static READ: [OnceLock<Vec<Network>>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

/// Returns the networks of one file: a name's variants.
fn of_file(at: usize) -> &'static [Network] {
    READ[at].get_or_init(|| {
        let (file, text) = FILES[at];
        reader::read(file, text).expect("the compiled-in networks are valid")
    })
}

/// Returns a name without the marks that people leave out.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', '_'], "")
}

/// Returns the text of a network's file.
#[cfg(test)]
pub(super) fn text(name: &str) -> &'static str {
    let found = FILES.iter().find(|(file, _)| file.strip_suffix(".toml") == Some(name));
    found.map(|(_, text)| *text).expect("the file is there")
}

impl Network {
    /// Every network in every variant; the first of a name is what the name alone means.
    #[must_use]
    pub fn all() -> Vec<&'static Self> {
        (0..FILES.len()).flat_map(of_file).collect()
    }

    /// The network of a name (`resnet-50`), or of a name and a variant (`googlenet:plain`). Upper
    /// and lower case are one, and hyphens may be left out.
    ///
    /// # Errors
    /// A name that no network has.
    pub fn find(name: &str) -> Result<&'static Self, TrainingError> {
        let wanted = plain(name);
        let (whole, variant) = wanted.split_once(':').unwrap_or((&wanted, ""));
        // A file is called as its network is.
        let is_it = |(file, _): &(&str, &str)| plain(file.trim_end_matches(".toml")) == whole;
        let variants = FILES.iter().position(is_it).map_or(&[][..], of_file);
        let is_meant = |it: &&Self| variant.is_empty() || plain(&it.variant) == variant;
        variants.iter().find(is_meant).ok_or_else(|| {
            let mut known: Vec<String> = Vec::new();
            for network in Self::all() {
                for name in [network.name.clone(), network.full_name()] {
                    if !known.contains(&name) {
                        known.push(name);
                    }
                }
            }
            TrainingError::Unknown { what: "network", name: name.to_owned(), known }
        })
    }

    /// Reads one's own network from its TOML text; `file` names it in errors. Of several variants
    /// it is the first.
    ///
    /// # Errors
    /// Text that is not TOML, unknown keys and kinds, values out of range, layers whose shapes do
    /// not meet, each with file, line and column.
    ///
    /// # Panics
    /// It never does: a file that is read has at least one variant.
    pub fn read(file: &str, text: &str) -> Result<Self, InputError> {
        let variants = reader::read(file, text)?;
        Ok(variants.into_iter().next().expect("a file has at least one variant"))
    }

    /// Reads the same in every variant of the file.
    ///
    /// # Errors
    /// Fails as [`Network::read`] does.
    pub fn read_all(file: &str, text: &str) -> Result<Vec<Self>, InputError> {
        reader::read(file, text)
    }

    /// Its name, with its variant where there are several: `googlenet:plain`.
    #[must_use]
    pub fn full_name(&self) -> String {
        match self.variant.as_str() {
            "" => self.name.clone(),
            variant => format!("{}:{variant}", self.name),
        }
    }

    /// All that is assumed of it on its samples.
    pub fn assumed(&self) -> impl Iterator<Item = &String> {
        self.input_assumptions.iter().chain(&self.assumptions)
    }

    /// Counts the trained numbers of all layers.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        self.layers.iter().map(|layer| layer.parameters).sum()
    }

    /// Counts the multiply-adds of one sample's forward pass.
    #[must_use]
    pub fn multiply_adds(&self) -> u64 {
        self.layers.iter().map(|layer| layer.multiply_adds).sum()
    }

    /// Elements of one sample that are kept for the backward pass, without the sample itself.
    #[must_use]
    pub fn saved(&self) -> u64 {
        self.layers.iter().map(|layer| layer.saved).sum()
    }

    /// Finds the layer of a name.
    ///
    /// # Errors
    /// A name that none has.
    pub fn layer(&self, name: &str) -> Result<&Layer, TrainingError> {
        self.layers.iter().find(|layer| layer.name == name).ok_or_else(|| {
            let known = self.layers.iter().map(|layer| layer.name.clone()).collect();
            TrainingError::Unknown { what: "layer", name: name.to_owned(), known }
        })
    }

    /// The dataset that it is trained on, unless another is asked for.
    #[must_use]
    pub fn dataset(&self) -> Option<&'static Dataset> {
        self.dataset.as_deref().and_then(|name| Dataset::find(name).ok())
    }

    /// Returns the same network on samples of another size. Sizes that are not given stay.
    ///
    /// # Errors
    /// A size that samples of its kind do not have or that is not possible, and one that a layer cannot take.
    pub fn resized(&self, size: SampleSize) -> Result<Self, TrainingError> {
        let SampleSize { points, channels, tokens } = size;
        let input = match (self.input, (points, channels), tokens) {
            (input, (None, None), None) => input,
            (Shape::Image { channels: own, .. }, (Some(points), channels), None) => {
                let channels = channels.unwrap_or(own);
                Shape::Image { channels, height: points, width: points }
            }
            (Shape::Tokens { width, .. }, (None, None), Some(tokens)) => {
                Shape::Tokens { tokens, width }
            }
            (input, ..) => {
                return Err(TrainingError::Samples { network: self.full_name(), input });
            }
        };
        if !input.is_possible() {
            return Err(TrainingError::SampleSize { network: self.full_name(), size });
        }
        self.with_input(input)
    }

    /// Returns the same network on samples of another shape: pictures of another size, sequences of
    /// another length.
    ///
    /// # Errors
    /// A shape that one of its layers cannot take.
    pub fn with_input(&self, input: Shape) -> Result<Self, TrainingError> {
        let mut made =
            Self { input, layers: Vec::with_capacity(self.layers.len()), ..self.clone() };
        if input != self.input {
            made.input_assumptions.clear();
        }
        for layer in &self.layers {
            let Layer { name, kind, inputs, unit, split, .. } = layer;
            let spot = Spot { name: name.clone(), unit: *unit, split: *split };
            made.push(*kind, inputs.clone(), spot).map_err(|fault| TrainingError::Layer {
                network: self.full_name(),
                layer: name.clone(),
                fault,
            })?;
        }
        made.settle();
        Ok(made)
    }

    /// The shape that a layer reads from a place.
    pub(super) fn shape_of(&self, place: Option<usize>) -> Shape {
        place.map_or(self.input, |at| self.layers[at].output)
    }

    /// Adds a layer, with all that follows from what it reads.
    ///
    /// # Errors
    /// Refuses inputs that its kind cannot take.
    pub(super) fn push(
        &mut self,
        kind: LayerKind,
        inputs: Vec<Option<usize>>,
        spot: Spot,
    ) -> Result<(), Diagnosis> {
        let given = inputs.iter().map(|place| Given {
            name: place.map_or(INPUT, |at| self.layers[at].name.as_str()),
            shape: self.shape_of(*place),
        });
        let given: Vec<Given<'_>> = given.collect();
        check_tied(&kind, &given, &self.layers)?;
        let Derived { output, parameters, multiply_adds, elementwise, read, steps } =
            derive(&kind, &given)?;
        let Spot { name, unit, split } = spot;
        let layer = Layer {
            name,
            kind,
            inputs,
            output,
            parameters,
            multiply_adds,
            elementwise,
            read,
            saved: 0,
            steps,
            unit,
            split,
        };
        self.layers.push(layer);
        Ok(())
    }

    /// Settles which elements are kept for the backward pass. Later layers decide that, too.
    pub(super) fn settle(&mut self) {
        let kept = self.kept(true);
        for (layer, kept) in self.layers.iter_mut().zip(kept) {
            layer.saved = kept;
        }
    }

    /// Counts the elements of each layer that are kept for the backward pass, of one sample.
    /// Functions such as a rectifier are done in place or, as some frameworks do, beside their
    /// input.
    #[must_use]
    pub fn kept(&self, in_place: bool) -> Vec<u64> {
        let mut wanted = vec![false; self.layers.len()];
        let mut own = Vec::with_capacity(self.layers.len());
        for (at, layer) in self.layers.iter().enumerate() {
            let input = self.shape_of(layer.inputs[0]);
            let needs = kept(&layer.kind, input, layer.output, in_place);
            own.push(needs.own);
            wanted[at] |= needs.output;
            if needs.inputs {
                for input in layer.inputs.iter().flatten() {
                    wanted[*input] = true;
                }
            }
        }
        let each = self.layers.iter().zip(wanted).zip(own);
        each.map(|((layer, wanted), own)| own + if wanted { layer.output.elements() } else { 0 })
            .collect()
    }
}

/// Refuses a layer that shares the matrix of an embedding where there is none of its shape.
fn check_tied(kind: &LayerKind, given: &[Given<'_>], layers: &[Layer]) -> Result<(), Diagnosis> {
    let (LayerKind::FullyConnected { width: own, tied: true, .. }, [input]) = (*kind, given) else {
        return Ok(());
    };
    let numbers = input.shape.elements() / input.shape.positions();
    let shared = LayerKind::Embedding { vocabulary: own, width: numbers };
    if layers.iter().any(|layer| layer.kind == shared) {
        return Ok(());
    }
    let problem =
        format!("no embedding of {own} token numbers in {numbers} is there to be tied to");
    Err(Diagnosis::of(problem).remedy("leave `tied` out, or give both the same shape"))
}

/// Holds the facts about a layer that its kind and inputs do not say.
pub(super) struct Spot {
    pub name: String,
    pub unit: u32,
    pub split: Option<Split>,
}
