//! Draws how many tokens each expert gets, as those do who measure kernels of experts.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::diagnostic::{Diagnosis, instead_of, shown};
use crate::engine::Random;
use crate::training::error::TrainingError;

/// Says how tokens are drawn over experts.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpertDraw {
    /// Every expert gets as many.
    #[default]
    Balanced,
    /// Loads follow a power law with this exponent, from one token to four fifths of all; the GPU with most tokens
    /// counts.
    PowerLaw(f64),
}

/// This seed draws which experts stand on one GPU.
const SEED: u64 = 7;
/// The largest part of all tokens that one expert is drawn to get.
const LARGEST: f64 = 0.8;
/// Keeps exponents to what doubles can raise.
const MOST_EXPONENT: f64 = 10.0;

impl ExpertDraw {
    /// Reads it: `balanced` or `power-law:A`.
    ///
    /// # Errors
    /// A name that there is not, and an exponent out of range.
    pub fn read(text: &str) -> Result<Self, TrainingError> {
        let refuse = |problem: String, remedy: String| {
            TrainingError::Kernel(Diagnosis::of(problem).remedy(remedy))
        };
        if text == "balanced" || text == "uniform" {
            return Ok(Self::Balanced);
        }
        let Some(exponent) = text.strip_prefix("power-law:") else {
            let problem = format!("there is no draw of experts `{}`", shown(text));
            return Err(refuse(problem, instead_of(text, &["balanced", "power-law:A"])));
        };
        let number = exponent.parse().ok().filter(|it: &f64| (0.0..=MOST_EXPONENT).contains(it));
        number.map(Self::PowerLaw).ok_or_else(|| {
            let problem = format!("`{}` is no exponent of a power law", shown(exponent));
            refuse(problem, format!("write a number from 0 to {MOST_EXPONENT}, as power-law:1.2"))
        })
    }

    /// The text that [`ExpertDraw::read`] reads.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Balanced => "balanced".to_owned(),
            Self::PowerLaw(exponent) => format!("power-law:{exponent}"),
        }
    }

    /// Gives the tokens of each expert on the GPU that has most, of `tokens` that go to `top` of `experts` each; these stand on
    /// `gpus`.
    pub(super) fn loads(self, [tokens, top, experts, gpus]: [u64; 4]) -> Vec<f64> {
        let all = tokens as f64 * top as f64;
        let own = (experts / gpus).max(1) as usize;
        let Self::PowerLaw(exponent) = self else {
            return vec![all / experts as f64; own];
        };
        let mut loads = drawn(exponent, experts, tokens as f64, all);
        let mut random = Random::new(SEED);
        for last in (1..loads.len()).rev() {
            let bound = NonZeroU64::MIN.saturating_add(last as u64);
            loads.swap(last, random.below(bound) as usize);
        }
        let busiest = loads.chunks(own).max_by(|one, other| {
            let [one, other] = [one, other].map(|it| it.iter().sum::<f64>());
            one.total_cmp(&other)
        });
        busiest.unwrap_or_default().to_vec()
    }
}

/// Gives the quantiles of a power law, whose sum is `all`; none is above `tokens`, since no token goes to an expert twice.
fn drawn(exponent: f64, experts: u64, tokens: f64, all: f64) -> Vec<f64> {
    let most = (LARGEST * tokens).max(2.0);
    // An exponent of one is the limit, which this comes near enough.
    let power = if (1.0 - exponent).abs() < 1e-6 { 1e-6 } else { 1.0 - exponent };
    let quantile = |expert: u64| {
        let part = (expert as f64 + 0.5) / experts as f64;
        (part * (most.powf(power) - 1.0) + 1.0).powf(1.0 / power)
    };
    let mut loads: Vec<f64> = (0..experts).map(quantile).collect();
    let sum: f64 = loads.iter().sum();
    for load in &mut loads {
        *load *= all / sum;
    }
    // No expert gets more than all tokens; the rest goes to those that have room, by their loads.
    for _ in 0..20 {
        let beyond: f64 = loads.iter().map(|load| (load - tokens).max(0.0)).sum();
        if beyond < 1e-9 {
            break;
        }
        let room: f64 = loads.iter().filter(|load| **load < tokens).sum();
        if room <= 0.0 {
            break;
        }
        for load in &mut loads {
            *load = if *load < tokens { *load * (1.0 + beyond / room) } else { tokens };
        }
    }
    loads
}
