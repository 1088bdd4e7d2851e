//! Gives MAPA's predicted effective bandwidth (SC'21, Eq. 2 and Table 2), as published.
//!
//! A regression on 31 measurements of NCCL's all-reduce on 2 to 5 GPUs of a DGX-1V. It is
//! kept to compare with the paper, not to trust:
//! - it is not monotone: replacing a link by a better one can lower it;
//! - beyond 5 GPUs it leaves its range, and turns negative;
//! - without any link it gives 12.335 GB/s, which is very likely the paper's "12.33 GB/s"
//!   quartile: one-GPU jobs counted in;
//! - the printed RMSE (1.5153) is below the printed MAE (7.0539), which cannot be. The authors'
//!   published script divides the root of the summed squares by the number of samples. Divided by
//!   the root of that number, the RMSE is 1.5153 x sqrt(31) = 8.44 GB/s.

use serde::{Deserialize, Serialize};

use super::super::links::LinkCounts;

/// How many terms Eq. 2 has.
pub const TERMS: usize = 14;

/// The coefficients θ1 to θ14. Table 2 prints them cut to three decimals; these are the
/// same with the digits of the authors' published program (scripts/get_predBW.py).
pub const THETA: [f64; TERMS] = [
    16.396_704_55,
    4.536_821_878,
    1.556_234_04,
    -20.694_845_81,
    -9.467_461_958,
    7.615_106_783,
    -7.973_335_727,
    12.733_237_72,
    -4.195_655_221,
    -8.413_419_363,
    62.851_258_07,
    27.418_325_88,
    -5.114_108_079,
    -46.973_900_71,
];

/// Gives the terms of Eq. 2 for a match with these links.
#[must_use]
pub fn terms(links: LinkCounts) -> [f64; TERMS] {
    let (x, y, z) = (links.double as f64, links.single as f64, links.pcie as f64);
    [
        x,
        y,
        z,
        1.0 / (x + 1.0),
        1.0 / (y + 1.0),
        1.0 / (z + 1.0),
        x * y,
        y * z,
        z * x,
        1.0 / (x * y + 1.0),
        1.0 / (y * z + 1.0),
        1.0 / (z * x + 1.0),
        x * y * z,
        1.0 / (x * y * z + 1.0),
    ]
}

/// Holds coefficients of Eq. 2, GB/s: the paper's, or those of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Regression(pub [f64; TERMS]);

impl Regression {
    /// Holds those of the paper.
    pub const PUBLISHED: Self = Self(THETA);

    /// Gives the effective bandwidth that they predict of a match with these links, GB/s.
    #[must_use]
    pub fn effective_bandwidth(&self, links: LinkCounts) -> f64 {
        self.0.iter().zip(terms(links)).map(|(theta, term)| theta * term).sum()
    }
}

/// Gives the effective bandwidth in GB/s that the paper predicts of a match with these links.
#[must_use]
pub fn effective_bandwidth(links: LinkCounts) -> f64 {
    Regression::PUBLISHED.effective_bandwidth(links)
}

/// Holds the bandwidths that the regression gives for two GPUs, GB/s. These are MAPA's anchors:
/// every model that believes the paper takes from them the reached share of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Anchors {
    /// Gives the bandwidth on one NVLink of Volta, GB/s.
    pub single: f64,
    /// Gives the bandwidth on two NVLinks of Volta, GB/s.
    pub double: f64,
    /// Gives the bandwidth on 16 lanes of PCIe 3, GB/s.
    pub pcie: f64,
}

impl Anchors {
    /// Returns the anchors of the paper.
    #[must_use]
    pub fn of_the_paper() -> Self {
        let anchor =
            |double, single, pcie| effective_bandwidth(LinkCounts { double, single, pcie });
        Self { single: anchor(0, 1, 0), double: anchor(1, 0, 0), pcie: anchor(0, 0, 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(double: usize, single: usize, pcie: usize) -> f64 {
        effective_bandwidth(LinkCounts { double, single, pcie })
    }

    #[test]
    fn the_papers_quartiles_come_out() {
        assert!((at(2, 1, 0) - 57.85).abs() < 0.01, "median of greedy and preserve");
        assert!((at(0, 0, 0) - 12.335).abs() < 0.001, "no link at all, yet 12.3 GB/s");
    }

    #[test]
    fn two_gpus_reach_the_papers_anchors() {
        let Anchors { single, double, pcie } = Anchors::of_the_paper();
        for (found, published) in [(single, 21.61), (double, 39.08), (pcie, 10.08)] {
            assert!((found - published).abs() < 0.005, "{found}");
        }
    }

    #[test]
    fn it_is_not_monotone() {
        assert!(at(0, 1, 3) < at(0, 0, 4), "a single NVLink for PCIe lowers it");
        assert!(at(1, 0, 4) < at(0, 1, 4) - 20.0, "a double for a single NVLink lowers it");
        assert!(at(1, 2, 2) < at(0, 3, 2) - 20.0, "and again");
    }

    #[test]
    fn it_leaves_its_range_beyond_five_gpus() {
        assert!(at(3, 3, 2) < 0.0, "a ring of eight GPUs below zero");
        assert!(at(0, 4, 4) > 150.0, "half of it PCIe, yet above six rings of NVLink");
    }
}
