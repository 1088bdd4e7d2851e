//! Fits Eq. 2 anew: the regression of MAPA (SC'21, Section 3.4.3) on samples of one's own.
//!
//! The fourteen terms are fixed, so that least squares give their coefficients. Some mixes of links cannot tell all
//! terms apart: a machine without single NVLinks has such. A term that the others explain gets zero, which
//! changes no prediction on the samples' mixes.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::published::{Regression, TERMS, terms};
use crate::allocation::error::AllocationError;
use crate::allocation::links::LinkCounts;
use crate::diagnostic::{InputError, from_toml};

/// Bounds samples and coefficients, GB/s: far above what any link carries.
const MOST: f64 = 1e9;
/// Gives the most links of a class in a sample: those between 128 GPUs.
const MOST_LINKS: usize = 8128;
/// The columns before one explain it where less than this share of it is left.
const EXPLAINED: f64 = 1e-9;

/// Holds a measured effective bandwidth on a mix of links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Gives the links that the pattern used.
    pub links: LinkCounts,
    /// The bus bandwidth that was reached, GB/s.
    pub bandwidth: f64,
}

/// Holds coefficients of Eq. 2 and how far they miss the samples that they were fitted to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// Holds GB/s in the order of the paper's Table 2.
    pub coefficients: Coefficients,
    /// How many samples there were.
    pub samples: usize,
    /// How many of the terms the samples tell apart; the others have a coefficient of zero.
    pub terms: usize,
    /// Gives the root of the mean squared error, GB/s.
    #[serde(deserialize_with = "error_of_a_fit")]
    pub root_mean_square_error: f64,
    /// Gives the mean of the errors' absolute values, GB/s.
    #[serde(deserialize_with = "error_of_a_fit")]
    pub mean_absolute_error: f64,
    /// The root mean square error of each sample's prediction by a fit to all others, GB/s. It is over the samples that
    /// the others can predict; absent where there are none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "left_out_error_of_a_fit"
    )]
    pub left_out_error: Option<f64>,
    /// How many samples the others cannot predict: each alone decides a term.
    pub deciding: usize,
}

fn error_of_a_fit<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(from)?;
    if is_bounded(value) && value >= 0.0 {
        return Ok(value);
    }
    Err(D::Error::custom(format!("{value} is no error of a fit, which is from 0 to 1e9 GB/s")))
}

fn left_out_error_of_a_fit<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    error_of_a_fit(from).map(Some)
}

/// Holds fourteen finite numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub struct Coefficients(pub Regression);

impl TryFrom<Vec<f64>> for Coefficients {
    type Error = String;

    fn try_from(values: Vec<f64>) -> Result<Self, String> {
        if let Some(value) = values.iter().find(|value| !is_bounded(**value)) {
            return Err(format!("{value} is no coefficient, which is from -1e9 to 1e9 GB/s"));
        }
        let count = values.len();
        let exact = <[f64; TERMS]>::try_from(values);
        exact.map(|theta| Self(Regression(theta))).map_err(|_| {
            format!("Eq. 2 has {TERMS} coefficients, and there are {count}; give {TERMS}")
        })
    }
}

impl From<Coefficients> for Vec<f64> {
    fn from(Coefficients(Regression(theta)): Coefficients) -> Self {
        theta.to_vec()
    }
}

impl Fit {
    /// Fits Eq. 2 to samples by least squares.
    ///
    /// # Errors
    /// No sample, or one whose bandwidth is no number from 0 to 1e9 GB/s, or with more links than 128 GPUs have.
    pub fn to(samples: &[Sample]) -> Result<Self, AllocationError> {
        let refused = |sample: &&Sample| {
            let LinkCounts { double, single, pcie } = sample.links;
            let is_known = is_bounded(sample.bandwidth) && sample.bandwidth >= 0.0;
            !is_known || [double, single, pcie].iter().any(|count| *count > MOST_LINKS)
        };
        if samples.is_empty() {
            return Err(AllocationError::NoSamples);
        }
        if let Some(sample) = samples.iter().find(refused) {
            return Err(AllocationError::Sample {
                links: sample.links,
                bandwidth: sample.bandwidth.to_string(),
            });
        }
        let measured: Vec<f64> = samples.iter().map(|sample| sample.bandwidth).collect();
        let basis = Basis::of(samples);
        let regression = Regression(basis.coefficients(&measured));
        let errors: Vec<f64> = samples
            .iter()
            .map(|sample| regression.effective_bandwidth(sample.links) - sample.bandwidth)
            .collect();
        // A sample's weight in its own prediction says what the error is without it.
        let alone = errors.iter().enumerate().filter_map(|(at, error)| {
            let others = 1.0 - basis.own_weight(at);
            (others > EXPLAINED).then_some(error / others)
        });
        let alone: Vec<f64> = alone.collect();
        Ok(Self {
            coefficients: Coefficients(regression),
            samples: samples.len(),
            terms: basis.directions.len(),
            root_mean_square_error: root_mean_square(&errors).unwrap_or_default(),
            mean_absolute_error: errors.iter().map(|error| error.abs()).sum::<f64>()
                / samples.len() as f64,
            left_out_error: root_mean_square(&alone),
            deciding: samples.len() - alone.len(),
        })
    }

    /// Reads what [`Self::to_toml`] wrote; `file` names it in errors.
    ///
    /// # Errors
    /// Text that is no TOML, an unknown or absent key, or other than fourteen finite coefficients, with the place.
    pub fn read(file: &str, text: &str) -> Result<Self, InputError> {
        from_toml(file, text)
    }

    /// Writes the file that [`Self::read`] reads.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let Coefficients(Regression(theta)) = self.coefficients;
        let listed: Vec<String> = theta.iter().map(|value| format!("    {value:?},\n")).collect();
        let left_out = self
            .left_out_error
            .map_or(String::new(), |error| format!("left_out_error = {error:?}\n"));
        format!(
            "# Eq. 2 of MAPA with coefficients of its own: a model of effective bandwidth, in GB/s.\n\
             coefficients = [\n{}]\nsamples = {}\nterms = {}\nroot_mean_square_error = {:?}\n\
             mean_absolute_error = {:?}\n{left_out}deciding = {}\n",
            listed.concat(),
            self.samples,
            self.terms,
            self.root_mean_square_error,
            self.mean_absolute_error,
            self.deciding,
        )
    }
}

fn is_bounded(value: f64) -> bool {
    value.is_finite() && value.abs() <= MOST
}

fn root_mean_square(errors: &[f64]) -> Option<f64> {
    let sum: f64 = errors.iter().map(|error| error * error).sum();
    (!errors.is_empty()).then(|| (sum / errors.len() as f64).sqrt())
}

/// An orthogonal basis of what the terms can say of the samples.
struct Basis {
    /// Holds unit vectors over the samples.
    directions: Vec<Vec<f64>>,
    /// Holds the term that each direction came from, with the part of each term along it.
    parts: Vec<(usize, [f64; TERMS])>,
    /// Gives the length of each term's values over the samples.
    lengths: [f64; TERMS],
}

impl Basis {
    /// Takes the largest remainder of a term, again and again, and its direction out of the others.
    fn of(samples: &[Sample]) -> Self {
        let rows: Vec<[f64; TERMS]> = samples.iter().map(|sample| terms(sample.links)).collect();
        let column = |term: usize| rows.iter().map(|row| row[term]).collect::<Vec<f64>>();
        let mut rest: Vec<Vec<f64>> = (0..TERMS).map(column).collect();
        let mut lengths = [0.0; TERMS];
        for (column, length) in rest.iter_mut().zip(&mut lengths) {
            *length = dot(column, column).sqrt();
            if *length > 0.0 {
                column.iter_mut().for_each(|value| *value /= *length);
            }
        }
        let mut basis = Self { directions: Vec::new(), parts: Vec::new(), lengths };
        while let Some((term, left)) = rest
            .iter()
            .map(|column| dot(column, column).sqrt())
            .enumerate()
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, left)| *left > EXPLAINED && basis.directions.len() < samples.len())
        {
            let mut direction = std::mem::replace(&mut rest[term], vec![0.0; rows.len()]);
            direction.iter_mut().for_each(|value| *value /= left);
            // Rounding leaves a little of the directions before.
            for before in &basis.directions {
                take_out(&mut direction, before);
            }
            let length = dot(&direction, &direction).sqrt();
            direction.iter_mut().for_each(|value| *value /= length);
            let mut parts = [0.0; TERMS];
            for (other, column) in rest.iter_mut().enumerate() {
                parts[other] = take_out(column, &direction);
            }
            parts[term] = left;
            basis.directions.push(direction);
            basis.parts.push((term, parts));
        }
        basis
    }

    /// Gives the coefficients that come nearest to the values of the samples.
    fn coefficients(&self, values: &[f64]) -> [f64; TERMS] {
        let mut wanted: Vec<f64> = self.directions.iter().map(|it| dot(it, values)).collect();
        let mut found = [0.0; TERMS];
        for at in (0..wanted.len()).rev() {
            let (term, parts) = self.parts[at];
            found[term] = wanted[at] / parts[term];
            for (before, (_, parts)) in wanted[..at].iter_mut().zip(&self.parts) {
                *before -= found[term] * parts[term];
            }
        }
        for (value, length) in found.iter_mut().zip(self.lengths) {
            if length > 0.0 {
                *value /= length;
            }
        }
        found
    }

    /// How much of a sample's prediction is the sample itself, from 0 to 1.
    fn own_weight(&self, sample: usize) -> f64 {
        self.directions.iter().map(|direction| direction[sample] * direction[sample]).sum()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Takes a direction out of a column, and says how much of it there was.
fn take_out(column: &mut [f64], direction: &[f64]) -> f64 {
    let part = dot(column, direction);
    column.iter_mut().zip(direction).for_each(|(value, along)| *value -= part * along);
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mixes() -> impl Iterator<Item = LinkCounts> {
        let counts = |most: usize| 0..=most;
        counts(4).flat_map(move |double| {
            counts(4).flat_map(move |single| {
                counts(4).map(move |pcie| LinkCounts { double, single, pcie })
            })
        })
    }

    fn of_the_paper(links: LinkCounts) -> Sample {
        Sample { links, bandwidth: Regression::PUBLISHED.effective_bandwidth(links).max(0.0) }
    }

    #[test]
    fn the_published_values_give_the_published_coefficients() {
        let positive =
            mixes().filter(|links| Regression::PUBLISHED.effective_bandwidth(*links) >= 0.0);
        let fit = Fit::to(&positive.map(of_the_paper).collect::<Vec<_>>()).unwrap();
        let Coefficients(Regression(found)) = fit.coefficients;
        for (found, published) in found.iter().zip(Regression::PUBLISHED.0) {
            assert!((found - published).abs() < 1e-9, "{found} for {published}");
        }
        assert_eq!((fit.terms, fit.deciding), (TERMS, 0));
        assert!(fit.root_mean_square_error < 1e-9 && fit.left_out_error.unwrap() < 1e-9);
        assert_eq!(Fit::read("fit.toml", &fit.to_toml()), Ok(fit));
    }

    #[test]
    fn a_left_out_error_is_that_of_a_fit_without_the_sample() {
        let noisy = |(at, links): (usize, LinkCounts)| Sample {
            links,
            bandwidth: 60.0 + (at * 37 % 23) as f64,
        };
        // Without single NVLinks, some terms cannot be told apart.
        for every in [1, 5] {
            let kept = mixes().filter(|links| every == 1 || links.single == 0);
            let samples: Vec<Sample> = kept.enumerate().map(noisy).collect();
            let fit = Fit::to(&samples).unwrap();
            assert_eq!(fit.terms == TERMS, every == 1, "{}", fit.terms);
            let (mut sum, mut counted) = (0.0, 0);
            for at in 0..samples.len() {
                let mut others = samples.clone();
                let sample = others.remove(at);
                let without = Fit::to(&others).unwrap();
                if without.terms < fit.terms {
                    continue;
                }
                let Coefficients(regression) = without.coefficients;
                sum += (regression.effective_bandwidth(sample.links) - sample.bandwidth).powi(2);
                counted += 1;
            }
            assert_eq!(samples.len() - counted, fit.deciding);
            let expected = (sum / counted as f64).sqrt();
            let told = fit.left_out_error.unwrap();
            assert!((told - expected).abs() < 1e-6 * expected, "{told} {expected}");
        }
    }

    #[test]
    fn what_is_no_sample_or_no_file_is_refused_with_a_remedy() {
        assert_eq!(Fit::to(&[]), Err(AllocationError::NoSamples));
        let links = LinkCounts { double: 1, ..LinkCounts::default() };
        for bandwidth in [-1.0, f64::NAN, f64::INFINITY, 1e10] {
            let error = Fit::to(&[Sample { links, bandwidth }]).unwrap_err().to_string();
            assert!(error.contains("GB/s"), "{error}");
        }
        let one = Fit::to(&[Sample { links, bandwidth: 40.0 }]).unwrap();
        assert_eq!((one.terms, one.deciding, one.left_out_error), (1, 1, None));
        let text = one.to_toml();
        for (from, to) in [
            ("samples = 1", "sample = 1"),
            ("= [\n", "= [\nnan,\n"),
            ("= [\n", "= [\n1,\n"),
            ("mean_absolute_error = ", "mean_absolute_error = -1"),
        ] {
            let error = Fit::read("f.toml", &text.replace(from, to)).unwrap_err().to_string();
            assert!(error.starts_with("f.toml:"), "{error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_damaged_file_is_read_or_refused(
            at in 0_usize..600, length in 0_usize..12, other in "[a-z0-9=.,\\[\\]\n -]{0,8}|nan|inf|1e400",
        ) {
            let samples: Vec<Sample> = mixes().map(of_the_paper).collect();
            let text = Fit::to(&samples).unwrap().to_toml();
            let at = at % text.len();
            let end = (at + length).min(text.len());
            let damaged = format!("{}{other}{}", &text[..at], &text[end..]);
            match Fit::read("f.toml", &damaged) {
                Ok(fit) => prop_assert_eq!(Fit::read("f.toml", &fit.to_toml()), Ok(fit)),
                Err(error) => {
                    let told = error.to_string();
                    prop_assert!(told.starts_with("f.toml:") && !told.contains('\n'), "{}", told);
                }
            }
        }
    }
}
