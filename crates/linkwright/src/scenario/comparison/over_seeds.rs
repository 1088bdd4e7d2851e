//! Sets variants of a scenario against one of them, by what they came to on the same seeds.

use std::collections::BTreeMap;

use super::Comparison;
use super::intervals::{Bootstrap, Estimate, saved};
use crate::simulation::summary::{DayMeasures, MEASURES, sum};
use crate::table::Table;

/// Says whose a gain is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GainOf {
    /// The variant of this index has it.
    Variant(usize),
    /// All choices together would have it, if each saved what it saves alone.
    Sum,
    /// Choices do this to one another: they save it together beyond that sum.
    LeftOver,
}

/// Says by how much a measure is better than under the reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// Says whose it is.
    pub of: GainOf,
    /// It is the index of the measure in [`MEASURES`].
    pub measure: usize,
    /// It is a share of what the measure is under the reference; below zero where it is worse.
    pub share: Estimate,
}

/// Holds what variants of a scenario came to on the same seeds, set against one of them.
#[derive(Debug, Clone)]
pub struct OverSeeds {
    /// Each variant has its name; true where it is one choice alone.
    pub variants: Vec<(String, bool)>,
    /// They have this order.
    pub seeds: Vec<u64>,
    /// The others are compared with the variant of this index.
    pub reference: usize,
    /// It holds what each variant came to on each seed.
    pub found: Vec<Vec<DayMeasures>>,
    bootstrap: Bootstrap,
}

impl OverSeeds {
    /// Holds what each variant came to on each seed.
    #[must_use]
    pub fn new(
        variants: Vec<(String, bool)>,
        seeds: Vec<u64>,
        reference: usize,
        found: Vec<Vec<DayMeasures>>,
    ) -> Self {
        let bootstrap = Bootstrap::new(seeds.len());
        Self { variants, seeds, reference, found, bootstrap }
    }

    /// Gives a variant's mean of a measure over the seeds, with its interval.
    #[must_use]
    pub fn mean(&self, variant: usize, measure: usize) -> Option<Estimate> {
        let of = MEASURES[measure].of;
        let values: Vec<Option<f64>> = self.found[variant].iter().map(of).collect();
        self.bootstrap.estimate(&values)
    }

    /// Gives by how much a variant is better than the reference in a measure. None where that cannot be said.
    #[must_use]
    pub fn gain(&self, variant: usize, measure: usize) -> Option<Estimate> {
        self.bootstrap.estimate(&self.saved_by(variant, measure))
    }

    /// Gives what a variant saves of a measure on each seed, as a share of the reference's.
    fn saved_by(&self, variant: usize, measure: usize) -> Vec<Option<f64>> {
        let measure = &MEASURES[measure];
        let less = measure.less_is_better.unwrap_or_default();
        let both = self.found[self.reference].iter().zip(&self.found[variant]);
        both.map(|(before, after)| saved((measure.of)(before), (measure.of)(after), less)).collect()
    }

    /// Gives by how much each variant is better; of choices their sum and what is left over, too.
    #[must_use]
    pub fn gains(&self) -> Vec<Gain> {
        let together = Comparison::TOGETHER;
        let is_choice = |variant: &usize| self.variants[*variant].1;
        let choices: Vec<usize> = (0..self.variants.len()).filter(is_choice).collect();
        let rest = |is_wanted: &dyn Fn(usize) -> bool| -> Vec<usize> {
            let others = (0..self.variants.len()).filter(|it| *it != self.reference);
            others.filter(|it| is_wanted(*it)).collect()
        };
        let mut listed = Vec::new();
        for (measure, described) in MEASURES.iter().enumerate() {
            if described.less_is_better.is_none() {
                continue;
            }
            let own = |variant: usize| (GainOf::Variant(variant), self.saved_by(variant, measure));
            let shares: Vec<(GainOf, Vec<Option<f64>>)> = if choices.is_empty() {
                rest(&|_| true).into_iter().map(own).collect()
            } else {
                let alone: Vec<_> = choices.iter().map(|choice| own(*choice)).collect();
                let whole = own(together);
                let of_seed = |at: usize| added(alone.iter().map(|(_, values)| values[at]));
                let total: Vec<Option<f64>> = (0..self.seeds.len()).map(of_seed).collect();
                let each = whole.1.iter().zip(&total);
                let left = each.map(|(a, b)| added([*a, b.map(|b| -b)].into_iter())).collect();
                let others = rest(&|it| it != together && !choices.contains(&it));
                let of_choices = [(GainOf::Sum, total), (GainOf::LeftOver, left), whole];
                alone.into_iter().chain(of_choices).chain(others.into_iter().map(own)).collect()
            };
            let told = |(of, values): (GainOf, Vec<Option<f64>>)| {
                let share = self.bootstrap.estimate(&values)?;
                Some(Gain { of, measure, share })
            };
            listed.extend(shares.into_iter().filter_map(told));
        }
        listed
    }

    /// Counts how often a job of several GPUs had as many in a server, over all seeds.
    #[must_use]
    pub fn held(&self, variant: usize) -> BTreeMap<usize, u64> {
        let mut total = BTreeMap::new();
        for (gpus, count) in self.found[variant].iter().flat_map(|day| &day.held) {
            *total.entry(*gpus).or_default() += count;
        }
        total
    }

    /// Names whose gain it is, as tables do.
    #[must_use]
    pub fn name_of(&self, gain: GainOf) -> &str {
        match gain {
            GainOf::Variant(variant) => &self.variants[variant].0,
            GainOf::Sum => "the sum of these",
            GainOf::LeftOver => "left over: effects of choices on one another",
        }
    }

    /// Gives what every run came to: a row for each variant and seed, a column for each measure.
    #[must_use]
    pub fn runs_table(&self) -> Table {
        let rows = || {
            let each = self.variants.iter().zip(&self.found);
            each.flat_map(|((name, _), days)| {
                self.seeds.iter().zip(days).map(move |(seed, day)| (name, *seed, day))
            })
        };
        let names: Vec<String> = rows().map(|(name, ..)| name.clone()).collect();
        let seeds: Vec<u64> = rows().map(|(_, seed, _)| seed).collect();
        let head = Table::new().with("variant", "", names).with("seed", "", seeds);
        MEASURES.iter().fold(head, |table, measure| {
            let values: Vec<Option<f64>> = rows().map(|(.., day)| (measure.of)(day)).collect();
            table.with(measure.name, measure.unit, values)
        })
    }

    /// Gives the gains: a row for each, with the ends of its interval.
    #[must_use]
    pub fn gains_table(&self) -> Table {
        let gains = self.gains();
        let names = gains.iter().map(|gain| self.name_of(gain.of).to_owned());
        let measures = gains.iter().map(|gain| MEASURES[gain.measure].name.to_owned());
        let numbers = |of: fn(&Estimate) -> Option<f64>| -> Vec<Option<f64>> {
            gains.iter().map(|gain| of(&gain.share)).collect()
        };
        Table::new()
            .with("what", "", names.collect::<Vec<_>>())
            .with("measure", "", measures.collect::<Vec<_>>())
            .with("better", "", numbers(|share| Some(share.mean)))
            .with("low", "", numbers(|share| share.low))
            .with("high", "", numbers(|share| share.high))
    }

    /// Gives how often jobs of several GPUs had as many in a server: a row for each variant and count.
    #[must_use]
    pub fn held_table(&self) -> Table {
        let of_variant = |(at, (name, _)): (usize, &(String, bool))| {
            let held = self.held(at).into_iter();
            held.map(|(gpus, count)| (name.clone(), gpus, count)).collect::<Vec<_>>()
        };
        let rows: Vec<_> = self.variants.iter().enumerate().flat_map(of_variant).collect();
        let whole = |of: fn(&(String, usize, u64)) -> u64| -> Vec<Option<u64>> {
            rows.iter().map(|row| Some(of(row))).collect()
        };
        Table::new()
            .with("variant", "", rows.iter().map(|row| row.0.clone()).collect::<Vec<_>>())
            .with("gpus", "", whole(|row| row.1 as u64))
            .with("count", "", whole(|row| row.2))
    }
}

/// Adds values; gives None where one of them is.
fn added(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.collect::<Option<Vec<f64>>>().map(sum)
}
