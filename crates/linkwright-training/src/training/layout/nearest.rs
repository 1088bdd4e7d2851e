//! The sound layout that is nearest to one that is not.

use super::{AskedLayout, ModelLayout};

impl AskedLayout<'_> {
    /// Gives the sound layout of the same GPUs whose parts differ by the fewest factors. Of equal ones it
    /// takes that with the most replicas.
    pub(super) fn nearest(&self, wanted: &ModelLayout) -> Option<ModelLayout> {
        let experts = self.model.experts().map_or(1, |experts| experts.count);
        let chunks =
            divisors(self.model.layers() + 2).into_iter().chain(divisors(self.model.layers()));
        let mut chunks: Vec<u64> = chunks.chain([1, wanted.vp]).filter(|it| *it <= 16).collect();
        chunks.sort_unstable();
        chunks.dedup();
        let apart = |layout: &ModelLayout| distance(wanted, layout);
        let mut best: Option<(u64, ModelLayout)> = None;
        for [dp, fsdp, tp, pp, cp] in factors(self.gpus).into_iter().rev() {
            for ep in divisors(experts.min(1 << 16)) {
                // Without experts, no part of them.
                let etp = if experts > 1 { wanted.etp } else { None };
                for vp in chunks.iter().copied().filter(|vp| pp > 1 || *vp == 1) {
                    let layout = ModelLayout { dp, fsdp, tp, pp, vp, cp, ep, etp };
                    let far = apart(&layout);
                    if best.as_ref().is_some_and(|(least, _)| *least <= far) {
                        continue;
                    }
                    if self.sound(&layout).is_ok() {
                        best = Some((far, layout));
                    }
                }
            }
        }
        best.map(|(_, layout)| layout)
    }
}

/// How far two layouts are apart: the logarithms of the ratios of their parts, in thousandths.
fn distance(one: &ModelLayout, other: &ModelLayout) -> u64 {
    let of = |(a, b): (u64, u64)| ((a as f64 / b as f64).log2().abs() * 1000.0).round() as u64;
    let both = one.parts().into_iter().zip(other.parts());
    both.map(|((_, a), (_, b))| of((a, b))).sum()
}

/// Gives all that divide a number, from one on.
pub(in crate::training) fn divisors(number: u64) -> Vec<u64> {
    let mut found: Vec<u64> = (1..).take_while(|it| it * it <= number).collect();
    found.retain(|it| number.is_multiple_of(*it));
    let larger: Vec<u64> = found.iter().rev().map(|it| number / it).collect();
    found.extend(larger);
    found.dedup();
    found
}

/// Gives every way to write a number as a product of five, in order.
fn factors(number: u64) -> Vec<[u64; 5]> {
    let mut found = Vec::new();
    for first in divisors(number) {
        for second in divisors(number / first) {
            let rest = number / first / second;
            for third in divisors(rest) {
                for fourth in divisors(rest / third) {
                    found.push([first, second, third, fourth, rest / third / fourth]);
                }
            }
        }
    }
    found
}
