//! Says how many tokens each expert of a block gets.
//!
//! It represents a router that prefers some experts, others in each block: a distribution and a seed name
//! them. Experts may have a capacity, and then drop what is beyond. It leaves out that a router's choice
//! changes from step to step and between micro-batches.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use super::error::TrainingError;
use crate::diagnostic::{Diagnosis, instead_of, shown};
use crate::engine::Random;

/// Keeps a distribution's exponent to what is no single expert yet.
const MOST_EXPONENT: f64 = 10.0;
/// Keeps capacities to what no router reaches.
const MOST_CAPACITY: f64 = 65_536.0;

/// Names a distribution of tokens over experts.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpertImbalance {
    /// Gives each expert as many.
    #[default]
    Uniform,
    /// Gives the one that is wanted n-th most a share that falls by n to this power (Zipf's law).
    Zipf(f64),
}

impl ExpertImbalance {
    /// Reads it: `uniform` or `zipf:S`.
    ///
    /// # Errors
    /// A name that there is not, and an exponent out of range.
    pub fn read(text: &str) -> Result<Self, TrainingError> {
        let refuse = |problem: String, remedy: String| {
            TrainingError::ModelLayout(Diagnosis::of(problem).remedy(remedy))
        };
        if text == "uniform" {
            return Ok(Self::Uniform);
        }
        let Some(exponent) = text.strip_prefix("zipf:") else {
            let problem = format!("there is no imbalance `{}`", shown(text));
            return Err(refuse(problem, instead_of(text, &["uniform", "zipf:S"])));
        };
        let number = exponent.parse().ok().filter(|it| (0.0..=MOST_EXPONENT).contains(it));
        number.map(Self::Zipf).ok_or_else(|| {
            let problem = format!("`{}` is no exponent of an imbalance", shown(exponent));
            refuse(problem, format!("write a number from 0 to {MOST_EXPONENT}, as zipf:0.5"))
        })
    }

    /// The text that [`ExpertImbalance::read`] reads.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Uniform => "uniform".to_owned(),
            Self::Zipf(exponent) => format!("zipf:{exponent}"),
        }
    }
}

/// How a router sends tokens to experts.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ExpertRouting {
    /// Says how uneven experts are wanted.
    pub imbalance: ExpertImbalance,
    /// Decides which experts are wanted most in each block.
    pub seed: u64,
    /// The most tokens of an expert, in even shares; others are dropped. None drops none (dropless).
    pub capacity: Option<f64>,
}

impl ExpertRouting {
    /// Checks a capacity factor.
    ///
    /// # Errors
    /// A factor that is no number above zero.
    pub fn with_capacity(self, factor: f64) -> Result<Self, TrainingError> {
        if factor > 0.0 && factor <= MOST_CAPACITY {
            return Ok(Self { capacity: Some(factor), ..self });
        }
        let problem = format!("{factor} is no capacity of an expert in even shares");
        let told = Diagnosis::of(problem);
        let remedy = "take a number above 0, as 1.25, or none: no token is dropped then";
        Err(TrainingError::ModelLayout(told.remedy(remedy)))
    }

    /// Says whether every expert gets as many tokens, and none is dropped.
    #[must_use]
    pub fn is_even(&self) -> bool {
        let is_level = matches!(self.imbalance, ExpertImbalance::Uniform)
            || matches!(self.imbalance, ExpertImbalance::Zipf(exponent) if exponent == 0.0);
        is_level && self.capacity.is_none_or(|factor| factor >= 1.0)
    }

    /// Counts the tokens that each expert gets of `tokens` that go to `top` experts each; `block` is the
    /// place of the block in the model.
    ///
    /// The sum is `tokens` times `top` where none is dropped. No expert gets a token twice.
    #[must_use]
    pub fn loads(&self, experts: u64, top: u64, tokens: u64, block: u64) -> Vec<u64> {
        let all = u128::from(tokens) * u128::from(top.min(experts));
        let mut order: Vec<usize> = (0..experts as usize).collect();
        let exponent = match self.imbalance {
            ExpertImbalance::Zipf(exponent) if exponent > 0.0 => {
                self.shuffle(&mut order, block);
                exponent
            }
            _ => 0.0,
        };
        let weights: Vec<f64> = (1..=experts).map(|place| (place as f64).powf(-exponent)).collect();
        let mut behind: f64 = weights.iter().sum();
        let most = self.most(experts, all);
        let mut left = all;
        let mut loads = vec![0; experts as usize];
        for (place, (expert, weight)) in order.into_iter().zip(weights).enumerate() {
            // Those behind are wanted less, and could not take more than an even share each.
            let even = left / (u128::from(experts) - place as u128);
            let wanted = (left as f64 * (weight / behind)) as u128;
            let load = wanted.clamp(even, left).min(u128::from(tokens)) as u64;
            left -= u128::from(load);
            behind = (behind - weight).max(f64::MIN_POSITIVE);
            loads[expert] = load.min(most);
        }
        loads
    }

    /// Counts them by GPUs. Each has as many experts, in a row.
    #[must_use]
    pub fn by_gpu(
        &self,
        (experts, gpus): (u64, u64),
        top: u64,
        tokens: u64,
        block: u64,
    ) -> Vec<u64> {
        let loads = self.loads(experts, top, tokens, block);
        let each = (experts / gpus.max(1)).max(1) as usize;
        let sum = |own: &[u64]| own.iter().fold(0_u64, |sum, load| sum.saturating_add(*load));
        loads.chunks(each).map(sum).collect()
    }

    /// The most tokens that an expert takes: even shares times the factor, rounded up, as Megatron has it
    /// (`get_capacity` in `core/transformer/moe/moe_utils.py`).
    fn most(&self, experts: u64, all: u128) -> u64 {
        self.capacity
            .map_or(u64::MAX, |factor| (all as f64 / experts as f64 * factor).ceil() as u64)
    }

    fn shuffle(&self, order: &mut [usize], block: u64) {
        let mut random = Random::stream(self.seed, block);
        for end in (1..order.len()).rev() {
            let bound = NonZeroU64::MIN.saturating_add(end as u64);
            order.swap(end, random.below(bound) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn routing(text: &str, seed: u64) -> ExpertRouting {
        ExpertRouting { imbalance: ExpertImbalance::read(text).unwrap(), seed, capacity: None }
    }

    #[test]
    fn shares_fall_as_their_law_says() {
        let mut loads = routing("zipf:1", 7).loads(4, 1, 25_000, 0);
        loads.sort_unstable_by_key(|load| std::cmp::Reverse(*load));
        // Of 1 + 1/2 + 1/3 + 1/4 = 25/12.
        assert_eq!(loads, [12_000, 6_000, 4_000, 3_000]);
        assert_eq!(routing("uniform", 7).loads(4, 2, 10, 3), [5; 4]);
        // Two of four experts get every token where each goes to two and the law is steep.
        let steep = routing("zipf:10", 7).loads(4, 2, 100_000, 0);
        assert_eq!(steep.iter().max(), Some(&100_000));
    }

    #[test]
    fn a_seed_and_a_block_decide_which_experts_are_wanted() {
        let own = routing("zipf:1", 7);
        assert_eq!(own.loads(64, 8, 4096, 1), own.loads(64, 8, 4096, 1));
        assert_ne!(own.loads(64, 8, 4096, 1), own.loads(64, 8, 4096, 2));
        assert_ne!(own.loads(64, 8, 4096, 1), routing("zipf:1", 8).loads(64, 8, 4096, 1));
    }

    #[test]
    fn a_capacity_drops_what_is_beyond() {
        let own = routing("zipf:1", 7).with_capacity(1.0).unwrap();
        let loads = own.loads(4, 1, 25_000, 0);
        assert_eq!(loads.iter().max(), Some(&6_250));
        assert_eq!(loads.iter().sum::<u64>(), 6_250 + 6_000 + 4_000 + 3_000);
        assert!(own.with_capacity(0.0).is_err() && own.with_capacity(f64::NAN).is_err());
    }

    #[test]
    fn what_is_no_imbalance_is_refused() {
        for (text, told) in
            [("ziph:1", "zipf:S"), ("zipf:x", "from 0 to 10"), ("zipf:-1", "from 0")]
        {
            let error = ExpertImbalance::read(text).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
        assert_eq!(ExpertImbalance::read("zipf:0.5").unwrap().name(), "zipf:0.5");
    }

    proptest! {
        #[test]
        fn no_token_is_lost_or_met_twice(
            experts in 1_u64..300, top in 1_u64..9, tokens in 0_u64..100_000, exponent in 0.0_f64..3.0,
            seed: u64, block in 0_u64..100,
        ) {
            let own = ExpertRouting { imbalance: ExpertImbalance::Zipf(exponent), seed, capacity: None };
            let loads = own.loads(experts, top, tokens, block);
            prop_assert_eq!(loads.iter().sum::<u64>(), tokens * top.min(experts));
            prop_assert!(loads.iter().all(|load| *load <= tokens));
            for gpus in (1..=experts).filter(|gpus| experts % gpus == 0) {
                let by_gpu = own.by_gpu((experts, gpus), top, tokens, block);
                prop_assert_eq!(by_gpu.len() as u64, gpus);
                prop_assert_eq!(by_gpu.iter().sum::<u64>(), tokens * top.min(experts));
            }
        }
    }
}
