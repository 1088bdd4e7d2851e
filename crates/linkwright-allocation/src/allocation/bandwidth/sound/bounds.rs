//! Gives bounds that the sound model does not exceed, without packing anything.

use super::SoundModel;
use crate::allocation::GpuSet;

impl SoundModel {
    /// A bandwidth that [`Self::effective_bandwidth`] does not exceed, GB/s: that of
    /// [`Self::most_bandwidth`] on these GPUs, without sorting anything.
    #[must_use]
    pub fn at_most(&self, gpus: GpuSet) -> f64 {
        let size = gpus.len();
        if size < 2 {
            return 0.0;
        }
        let (mut total, mut least, mut fabric) = (0, u64::MAX, f64::INFINITY);
        for gpu in gpus.iter() {
            let mut own = 0;
            for other in gpus.iter().filter(|other| *other != gpu) {
                own += self.direct[gpu * self.count + other];
                fabric = fabric.min(self.fabric[gpu * self.count + other]);
            }
            total += own;
            least = least.min(own);
        }
        self.bounded(size, (total, least), fabric)
    }

    /// Returns a bus bandwidth that `size` GPUs do not exceed. Their direct links come to `total`
    /// (both ends counted), those of the least joined GPU to `least`. `fabric` is the rate of their
    /// shared fabric.
    fn bounded(&self, size: usize, (total, least): (u64, u64), fabric: f64) -> f64 {
        let edges = (size - 1) as f64;
        let within = (total as f64 / (2.0 * edges)).min(least as f64) / 1e9;
        // Two groups exchange the fastest; without direct links every GPU is a group.
        let exchange = if total == 0 { fabric * size as f64 / (2.0 * edges) } else { fabric };
        within.max(exchange) * 2.0 * edges / size as f64
    }

    /// Returns a bandwidth that no set of `size` of these GPUs exceeds, GB/s. No exchange is faster
    /// than between the GPUs whose ways over the fabric are the fastest. One group packs no more
    /// than its least joined GPU, and no more than all direct links divided by the tree's edges.
    #[must_use]
    pub fn most_bandwidth(&self, gpus: GpuSet, size: usize) -> f64 {
        if size < 2 || gpus.len() < size {
            return 0.0;
        }
        let mut fabric = Vec::with_capacity(gpus.len());
        let mut direct = Vec::with_capacity(gpus.len());
        for gpu in gpus.iter() {
            let others = gpus.iter().filter(|other| *other != gpu);
            let at = others.map(|other| gpu * self.count + other);
            let mut ways: Vec<f64> = at.clone().map(|at| self.fabric[at]).collect();
            let mut links: Vec<u64> = at.map(|at| self.direct[at]).collect();
            ways.sort_unstable_by(|a, b| b.total_cmp(a));
            links.sort_unstable_by(|a, b| b.cmp(a));
            fabric.push(ways[size - 2]);
            direct.push(links[..size - 1].iter().sum::<u64>());
        }
        fabric.sort_unstable_by(|a, b| b.total_cmp(a));
        direct.sort_unstable_by(|a, b| b.cmp(a));
        let total = direct[..size].iter().sum();
        self.bounded(size, (total, direct[size - 1]), fabric[size - 1])
    }
}
