//! Numbers from Python that the core cannot count with.
//!
//! Left to PyO3, a number that is negative or too large raises `OverflowError` and names no
//! argument. Arguments are therefore taken as wide as they come, and narrowed here.

use linkwright::diagnostic::Diagnosis;
use std::fmt::Display;

use linkwright::units::{Bandwidth, Picoseconds};
use pyo3::prelude::*;

use crate::errors;

/// The widest effective bandwidth that is taken, in GB/s; the core counts bytes in 64 bits.
const WIDEST: f64 = 1e9;

/// A whole number from zero to the most that its type or its meaning allows.
pub fn whole<T>(what: &str, value: i128, most: T) -> PyResult<T>
where
    T: TryFrom<i128> + PartialOrd + Display,
{
    within(what, value, most, errors::range)
}

/// Checks a whole number as [`whole`] does, with the exception of another layer than the
/// simulation's.
pub fn within<T>(
    what: &str,
    value: i128,
    most: T,
    error: impl Fn(Diagnosis) -> PyErr,
) -> PyResult<T>
where
    T: TryFrom<i128> + PartialOrd + Display,
{
    let refuse = |most: &T| {
        error(Diagnosis::of(format!("{what} is {value}")).remedy(format!("give 0 to {most}")))
    };
    T::try_from(value).ok().filter(|value| *value <= most).ok_or_else(|| refuse(&most))
}

/// Returns the id of one of a server's GPUs.
pub fn gpu_of(gpus: usize, value: i128) -> PyResult<usize> {
    usize::try_from(value).ok().filter(|gpu| *gpu < gpus).ok_or_else(|| {
        let last = gpus.saturating_sub(1);
        errors::allocation_choice(
            Diagnosis::of(format!("there is no GPU {value}"))
                .remedy(format!("the machine has GPUs 0 to {last}")),
        )
    })
}

/// Converts seconds that a user gave into a time.
pub fn time(what: &str, seconds: f64) -> PyResult<Picoseconds> {
    if (0.0..1e7).contains(&seconds) {
        return Ok(Picoseconds::from_seconds(seconds));
    }
    Err(errors::range(
        Diagnosis::of(format!("{what} is {seconds}")).remedy("give seconds from 0 to 10^7"),
    ))
}

/// Converts gigabytes per second that a user gave into a bandwidth.
pub fn bandwidth(what: &str, gigabytes_per_second: f64) -> PyResult<Bandwidth> {
    if (0.0..=WIDEST).contains(&gigabytes_per_second) {
        return Ok(Bandwidth((gigabytes_per_second * 1e9).round() as u64));
    }
    Err(errors::range(
        Diagnosis::of(format!("{what} is {gigabytes_per_second}"))
            .remedy("give GB/s from 0 to 10^9"),
    ))
}

/// The id of a GPU of a machine that is not known yet.
pub fn gpu(value: i128) -> PyResult<usize> {
    let refuse = || {
        errors::collective(
            Diagnosis::of(format!("there is no GPU {value}")).remedy("ids count from 0"),
        )
    };
    u32::try_from(value).map(|gpu| gpu as usize).map_err(|_| refuse())
}
