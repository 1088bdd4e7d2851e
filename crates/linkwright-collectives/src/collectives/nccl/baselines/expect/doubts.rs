//! Where NCCL's choice and our clock do not agree.
//!
//! NCCL chooses by its own model, and our clock plays its choice. The clock may say that the model's next choice would be far
//! faster. Then one of the two is wrong, the choice or the clock.

use super::{ExpectError, Prepared};
use crate::collectives::nccl::baselines::choice::{Choice, Settings};
use crate::collectives::schedule::collective::Collective;
use crate::collectives::schedule::time::CollectiveTerms;
use crate::system::System;
use crate::units::{Bytes, Picoseconds};

/// How much slower a choice may be than the next before one of the two is doubted.
const MOST_SLOWER: f64 = 1.2;

/// On more GPUs none is looked for: to play both would take longer than the answer.
const MOST_GPUS: usize = 128;

/// Says where NCCL's choice is over 20 % slower in our clock than its next. There is a sentence for each pair of choices, about
/// its largest size. Only these are played.
///
/// # Errors
/// Fails as [`super::expect`] does.
pub fn doubts(
    system: &System,
    gpus: &[usize],
    collective: Collective,
    sizes: &[Bytes],
    settings: &Settings,
) -> Result<Vec<String>, ExpectError> {
    let prepared = Prepared::new(system, gpus, collective, &[], settings)?;
    if gpus.len() > MOST_GPUS {
        return Ok(Vec::new());
    }
    let mut pairs: Vec<(Choice, Choice, Bytes)> = Vec::new();
    let kind = |it: &Choice| (it.algorithm, it.protocol);
    for size in sizes {
        let (first, Some(next)) = prepared.chooser.first_two(size.0) else { continue };
        let same = |known: &&mut (Choice, Choice, Bytes)| {
            (kind(&known.0), kind(&known.1)) == (kind(&first), kind(&next))
        };
        match pairs.iter_mut().find(same) {
            Some(known) if known.2 >= *size => {}
            Some(known) => *known = (first, next, *size),
            None => pairs.push((first, next, *size)),
        }
    }
    let time = |of: &Choice, size: Bytes| -> Result<Picoseconds, ExpectError> {
        let sizes = &[size];
        let settings =
            Settings { algorithm: Some(of.algorithm), protocol: Some(of.protocol), ..*settings };
        let prepared = Prepared::new(system, gpus, collective, sizes, &settings)?;
        let timings = prepared.times(&prepared.wiring, CollectiveTerms::shipped())?;
        Ok(timings[0].time)
    };
    let mut found = Vec::new();
    for (first, next, size) in pairs {
        let (own, other) = (time(&first, size)?, time(&next, size)?);
        if own.as_seconds() > MOST_SLOWER * other.as_seconds() {
            found.push(format!(
                "at {} B {} chooses {}, {:.1} us by our clock, and its next choice {} takes {:.1} us. \
                 One of the two is wrong, the choice or the clock",
                size.0,
                prepared.chooser.release(),
                text(&first),
                own.as_seconds() * 1e6,
                text(&next),
                other.as_seconds() * 1e6,
            ));
        }
    }
    Ok(found)
}

fn text(choice: &Choice) -> String {
    format!("{} with {}", choice.algorithm.name(), choice.protocol.name())
}
