//! Draws random mixes of jobs that fill a system.

use std::num::NonZeroU64;

use thiserror::Error;

use super::shuffle;
use crate::diagnostic::{Diagnose, Diagnosis};
use crate::engine::Random;
use crate::program::skeletons::APPLICATIONS;

/// Describes one job of a mix.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MixJob {
    /// Names the application.
    pub application: String,
    /// How many processes it has.
    pub ranks: u32,
}

/// Holds the rules that mixes obey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixRules {
    /// Counts the processes of each mix, exactly.
    pub processes: u32,
    /// Lists the applications to choose from.
    pub applications: Vec<String>,
    /// Lists the sizes to choose from, each a divisor of the next larger one, and the largest a
    /// divisor of the processes.
    pub sizes: Vec<u32>,
    /// Counts the mixes.
    pub mixes: u32,
    /// Says how often each application appears at each size, at least, over all mixes.
    pub at_least: u32,
}

impl Default for MixRules {
    /// Gives the paper's rules: 20 mixes of 2048 processes, six applications at 32 to 512
    /// processes, each four times.
    fn default() -> Self {
        Self {
            processes: 2048,
            applications: APPLICATIONS.map(|application| application.name.to_owned()).to_vec(),
            sizes: vec![32, 64, 128, 256, 512],
            mixes: 20,
            at_least: 4,
        }
    }
}

/// Rules that no mixes can obey.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub enum MixError {
    /// Says that there is nothing to choose from.
    Empty,
    /// A size that is zero, given twice, or no divisor of the next larger one.
    Indivisible {
        /// Holds the size.
        size: u32,
        /// Holds the next larger size, or the number of processes.
        next: u32,
    },
    /// More jobs demanded than there is room for.
    NoRoom {
        /// Holds the number asked for.
        at_least: u32,
        /// The processes that it takes.
        needed: u64,
        /// The processes that there are.
        room: u64,
    },
}

impl Diagnose for MixError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Empty => Diagnosis::of("the mix has no application or no size"),
            Self::Indivisible { size, next } => {
                Diagnosis::of(format!("the sizes {size} and {next} do not fit each other")).remedy(
                    "use sizes that each divide the next larger one; the largest must divide the \
                 number of processes",
                )
            }
            Self::NoRoom { at_least, needed, room } => Diagnosis::of(format!(
                "{at_least} of each application and size need {needed} processes, but all mixes \
                 have {room} together"
            ))
            .remedy("draw more mixes, or ask for fewer of each"),
        }
    }
}

/// The most processes over all mixes: beyond, the jobs would not fit into memory.
const MOST_PROCESSES: u64 = 1 << 32;

/// Draws mixes that obey the rules, from a seed.
///
/// The jobs that must appear are dealt first, the largest first, each to a random mix that still
/// has room for it. Then every mix is filled as the paper does it. It gets an application and a
/// size that still fits, each by chance, until the sum is reached. At last the jobs of each mix are
/// put into a random order. Because each size divides the next, the room left in a mix is always a
/// multiple of the size being dealt. So everything that fits in sum fits. Neither step can fail or
/// repeat: there is no rejection.
///
/// # Errors
/// Rules that no mixes can obey.
///
/// ```
/// use linkwright_runtime::program::workload::{MixRules, random_mixes};
///
/// let mixes = random_mixes(&MixRules::default(), 7)?;
/// assert!(mixes.iter().all(|mix| mix.iter().map(|job| job.ranks).sum::<u32>() == 2048));
/// # Ok::<(), linkwright_runtime::program::workload::MixError>(())
/// ```
pub fn random_mixes(rules: &MixRules, seed: u64) -> Result<Vec<Vec<MixJob>>, MixError> {
    let sizes = checked(rules)?;
    let mut random = Random::new(seed);
    let mut mixes = vec![Vec::new(); rules.mixes as usize];
    let mut room = vec![rules.processes; rules.mixes as usize];
    for &ranks in sizes.iter().rev() {
        for application in &rules.applications {
            for _ in 0..rules.at_least {
                let open: Vec<_> = (0..room.len()).filter(|mix| room[*mix] >= ranks).collect();
                let mix = *random.choose(&open).expect("what fits in sum fits");
                room[mix] -= ranks;
                mixes[mix].push(MixJob { application: application.clone(), ranks });
            }
        }
    }
    for (mix, room) in mixes.iter_mut().zip(room) {
        fill(mix, room, &rules.applications, &sizes, &mut random);
        shuffle(mix, &mut random);
    }
    Ok(mixes)
}

/// Adds random jobs until no room is left.
fn fill(
    mix: &mut Vec<MixJob>,
    mut room: u32,
    applications: &[String],
    sizes: &[u32],
    random: &mut Random,
) {
    while room > 0 {
        let fitting = sizes.iter().filter(|size| **size <= room).count() as u64;
        let fitting = NonZeroU64::new(fitting).expect("the smallest size divides the room");
        let ranks = sizes[random.below(fitting) as usize];
        let application = random.choose(applications).expect("there is one").clone();
        room -= ranks;
        mix.push(MixJob { application, ranks });
    }
}

/// The sizes in ascending order, where the rules can be obeyed.
fn checked(rules: &MixRules) -> Result<Vec<u32>, MixError> {
    let mut sizes = rules.sizes.clone();
    sizes.sort_unstable();
    if sizes.is_empty() || rules.applications.is_empty() {
        return Err(MixError::Empty);
    }
    let distinct = sizes.windows(2).all(|pair| pair[0] < pair[1]);
    let nexts = sizes[1..].iter().copied().chain([rules.processes]);
    for (size, next) in sizes.iter().copied().zip(nexts) {
        if size == 0 || next % size != 0 || (!distinct && next == size) {
            return Err(MixError::Indivisible { size, next });
        }
    }
    let (at_least, mixes) = (u64::from(rules.at_least), u64::from(rules.mixes));
    let each: u64 = sizes.iter().map(|size| u64::from(*size)).sum();
    let needed = at_least.saturating_mul(rules.applications.len() as u64).saturating_mul(each);
    let room = (mixes * u64::from(rules.processes)).min(MOST_PROCESSES);
    if needed > room || mixes * u64::from(rules.processes) > MOST_PROCESSES {
        return Err(MixError::NoRoom { at_least: rules.at_least, needed, room });
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn counts(mixes: &[Vec<MixJob>]) -> BTreeMap<&MixJob, u32> {
        let mut counts = BTreeMap::new();
        mixes.iter().flatten().for_each(|job| *counts.entry(job).or_insert(0) += 1);
        counts
    }

    #[test]
    fn the_papers_rules_hold_for_every_seed() {
        for seed in 0..200 {
            let mixes = random_mixes(&MixRules::default(), seed).unwrap();
            assert_eq!(mixes.len(), 20);
            for mix in &mixes {
                assert_eq!(mix.iter().map(|job| job.ranks).sum::<u32>(), 2048);
            }
            let counts = counts(&mixes);
            assert_eq!(counts.len(), 30);
            assert!(counts.values().all(|count| *count >= 4), "{counts:?}");
        }
    }

    #[test]
    fn a_seed_gives_the_same_mixes_and_another_gives_others() {
        let rules = MixRules::default();
        assert_eq!(random_mixes(&rules, 3), random_mixes(&rules, 3));
        assert_ne!(random_mixes(&rules, 3), random_mixes(&rules, 4));
    }

    #[test]
    fn rules_that_cannot_be_obeyed_are_refused() {
        let refused = |change: &dyn Fn(&mut MixRules)| {
            let mut rules = MixRules::default();
            change(&mut rules);
            random_mixes(&rules, 1).unwrap_err()
        };
        assert_eq!(refused(&|rules| rules.sizes.clear()), MixError::Empty);
        assert_eq!(refused(&|rules| rules.applications.clear()), MixError::Empty);
        let not = |size, next| MixError::Indivisible { size, next };
        assert_eq!(refused(&|rules| rules.sizes = vec![32, 48]), not(32, 48));
        assert_eq!(refused(&|rules| rules.sizes = vec![32, 32]), not(32, 32));
        assert_eq!(refused(&|rules| rules.sizes = vec![0, 32]), not(0, 32));
        assert_eq!(refused(&|rules| rules.processes = 2050), not(512, 2050));
        assert_eq!(refused(&|rules| rules.sizes.push(4096)), not(4096, 2048));
        let (at_least, room) = (7, 40_960);
        let none = MixError::NoRoom { at_least, needed: 41_664, room };
        assert_eq!(refused(&|rules| rules.at_least = 7), none);
        assert!(matches!(refused(&|rules| rules.mixes = u32::MAX), MixError::NoRoom { .. }));
    }

    proptest! {
        #[test]
        fn rules_are_obeyed_or_refused(
            seed: u64, smallest in 1_u32..5, factors in prop::collection::vec(2_u32..4, 0..4),
            times in 0_u32..6, mixes in 0_u32..6, at_least in 0_u32..4,
        ) {
            let grow = |size: &mut u32, factor| { *size *= factor; Some(*size) };
            let sizes = [smallest].into_iter().chain(factors.into_iter().scan(smallest, grow));
            let applications = vec!["a".to_owned(), "b".to_owned()];
            let sizes: Vec<u32> = sizes.collect();
            let processes = sizes[sizes.len() - 1] * times;
            let rules = MixRules { processes, applications, sizes, mixes, at_least };
            if let Ok(found) = random_mixes(&rules, seed) {
                prop_assert_eq!(found.len() as u32, mixes);
                for mix in &found {
                    prop_assert_eq!(mix.iter().map(|job| job.ranks).sum::<u32>(), processes);
                }
                let demanded = 2 * rules.sizes.len();
                let counts = counts(&found);
                prop_assert!(at_least == 0 || counts.len() == demanded);
                prop_assert!(counts.values().all(|count| *count >= at_least));
            }
        }
    }
}
