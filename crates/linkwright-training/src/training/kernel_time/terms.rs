//! Holds what kernels reach, by generation of GPU and width of numbers.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::generation::KernelGeneration;
use super::numbers::KernelNumbers;
use super::reach::{AttentionTerms, DecodingTerms, ExpertsTerms, ProductTerms};
use crate::diagnostic::{InputError, Position, from_toml};
use crate::training::terms::values::Amount;

/// The values that are compiled in; the tests read them, so that they cannot fail for a user.
static TERMS: LazyLock<KernelTerms> = LazyLock::new(|| {
    KernelTerms::read("kernel_terms.toml", KernelTerms::TEXT)
        .expect("the compiled-in terms are valid")
});

/// Holds what all kernels reach.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelTerms(BTreeMap<KernelGeneration, GenerationTerms>);

/// Holds what kernels reach on GPUs of a generation.
#[derive(Debug, Clone, PartialEq)]
struct GenerationTerms {
    products: BTreeMap<KernelNumbers, ProductTerms>,
    experts: BTreeMap<KernelNumbers, ExpertsTerms>,
    attention: AttentionTerms,
    decoding: DecodingTerms,
    energy: f64,
}

/// Holds what was measured of a generation; the rest is another's.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredTerms {
    energy: Option<Amount>,
    #[serde(default)]
    product: BTreeMap<KernelNumbers, ProductTerms>,
    #[serde(default)]
    experts: BTreeMap<KernelNumbers, ExpertsTerms>,
    attention: Option<AttentionTerms>,
    decoding: Option<DecodingTerms>,
}

type Measured = BTreeMap<KernelGeneration, MeasuredTerms>;

impl KernelTerms {
    /// The text of those that are compiled in.
    pub const TEXT: &'static str = include_str!("kernel_terms.toml");

    /// Those that are compiled in.
    #[must_use]
    pub fn own() -> &'static Self {
        &TERMS
    }

    /// Reads terms from their TOML text. A generation takes terms that it lacks from the nearest one that has them.
    ///
    /// # Errors
    /// Text that is none, with line and column, and terms that no generation has.
    pub fn read(file: &str, text: &str) -> Result<Self, InputError> {
        let measured: Measured = from_toml(file, text)?;
        let generations = KernelGeneration::ALL.into_iter();
        let all = generations.map(|generation| {
            let terms = GenerationTerms::of(&measured, generation).map_err(|missing| {
                let problem = format!("no generation has terms for {missing}");
                InputError::at(
                    file,
                    Position::of_offset(text, 0),
                    problem,
                    "",
                    "give them to one generation",
                )
            })?;
            Ok((generation, terms))
        });
        Ok(Self(all.collect::<Result<_, InputError>>()?))
    }

    fn of(&self, generation: KernelGeneration) -> &GenerationTerms {
        &self.0[&generation]
    }

    /// Gives those of products.
    pub(super) fn product(
        &self,
        generation: KernelGeneration,
        numbers: KernelNumbers,
    ) -> &ProductTerms {
        &self.of(generation).products[&numbers]
    }

    /// Gives those of experts.
    pub(super) fn experts(
        &self,
        generation: KernelGeneration,
        numbers: KernelNumbers,
    ) -> &ExpertsTerms {
        &self.of(generation).experts[&numbers]
    }

    /// Gives those of attention within sequences.
    pub(super) fn attention(&self, generation: KernelGeneration) -> &AttentionTerms {
        &self.of(generation).attention
    }

    /// Gives those of attention of new tokens.
    pub(super) fn decoding(&self, generation: KernelGeneration) -> &DecodingTerms {
        &self.of(generation).decoding
    }

    /// Gives the picojoules of an operation with numbers of 16 bits at the data sheet's clock; a multiply-add is two.
    pub(super) fn energy(&self, generation: KernelGeneration) -> f64 {
        self.of(generation).energy
    }
}

impl GenerationTerms {
    /// Gives those of a generation, or the name of what nobody has.
    fn of(measured: &Measured, generation: KernelGeneration) -> Result<Self, &'static str> {
        let near = || generation.nearest().into_iter().filter_map(|it| measured.get(&it));
        let missing = |what| move || what;
        let mut products = BTreeMap::new();
        let mut experts = BTreeMap::new();
        for numbers in KernelNumbers::ALL {
            let product = near().find_map(|it| nearest(&it.product, numbers));
            products.insert(numbers, product.ok_or_else(missing("products"))?);
            let own = near().find_map(|it| nearest(&it.experts, numbers));
            experts.insert(numbers, own.ok_or_else(missing("experts"))?);
        }
        Ok(Self {
            products,
            experts,
            attention: near().find_map(|it| it.attention).ok_or_else(missing("attention"))?,
            decoding: near().find_map(|it| it.decoding).ok_or_else(missing("decoding"))?,
            energy: near().find_map(|it| it.energy).ok_or_else(missing("energy"))?.0,
        })
    }
}

/// Gives the terms of the nearest numbers that have some.
fn nearest<T: Clone>(known: &BTreeMap<KernelNumbers, T>, numbers: KernelNumbers) -> Option<T> {
    numbers.nearest().iter().find_map(|it| known.get(it)).cloned()
}
