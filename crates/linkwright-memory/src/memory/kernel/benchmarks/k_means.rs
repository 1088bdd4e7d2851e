//! Runs one round of k-means (Hetero-Mark), in groups of 256. Points change from rows to columns.
//! Then each work-item finds the nearest of the centres for its point.

use super::{Fact, KernelWorkload, Layout, Setting, small};
use crate::memory::kernel::{LANES, Launch, Mismatch, Wavefront};

const GROUP: u64 = 256;
const FEATURES: u64 = 32;
const CENTRES: u64 = 5;

pub(super) const FACT: Fact = Fact {
    what: "one round of k-means, 32 features and 5 centres",
    size: "points",
    multiple: GROUP,
    small: 16 << 10,
    full: 512 << 10,
    most: 1 << 26,
    workload,
};

#[derive(Debug, Clone, Copy)]
struct Buffers {
    rows: u64,
    columns: u64,
    centres: u64,
    nearest: u64,
    points: u64,
}

/// Returns a feature of a centre.
fn of_centre(at: u64) -> f32 {
    small(at + 1_000_003)
}

fn workload(setting: Setting) -> KernelWorkload {
    let Setting { page, size: points, .. } = setting;
    let mut layout = Layout::new(page);
    let at = Buffers {
        rows: layout.input("rows", points * FEATURES, |at| small(at).to_bits()),
        columns: layout.output("columns", points * FEATURES, false),
        centres: layout.input("centres", CENTRES * FEATURES, |at| of_centre(at).to_bits()),
        nearest: layout.output("nearest", points, true),
        points,
    };
    let groups = (points / GROUP, 4);
    KernelWorkload {
        name: format!("k-means {points}"),
        buffers: layout.buffers(),
        launches: vec![
            Launch::new("swap", groups, move |wavefront| swap(wavefront, at)).of_code(192, 18),
            Launch::new("distances", groups, move |wavefront| distances(wavefront, at))
                .of_code(408, 23),
        ],
        check: Box::new(move |image| {
            Mismatch::words(image, ("nearest", at.nearest), points, |point| {
                let distance = |centre: u64| -> f32 {
                    let term = |feature: u64| {
                        let of_point = small(point * FEATURES + feature);
                        (of_point - of_centre(centre * FEATURES + feature)).powi(2)
                    };
                    (0..FEATURES).map(term).sum()
                };
                let nearer = |best: u64, centre: u64| {
                    if distance(centre) < distance(best) { centre } else { best }
                };
                (1..CENTRES).fold(0, nearer) as u32
            })
        }),
    }
}

async fn swap(wavefront: Wavefront, at: Buffers) {
    wavefront.compute(10).await;
    for feature in 0..FEATURES {
        let from = |lane| Some(at.rows + 4 * (wavefront.item(lane) * FEATURES + feature));
        let loaded = wavefront.load(1, from).await;
        let values = wavefront.arrived(loaded).await;
        wavefront.compute(6).await;
        let to = |lane| Some(at.columns + 4 * (feature * at.points + wavefront.item(lane)));
        wavefront.store(1, to, |lane, _| values.word(lane, 0)).await;
    }
}

async fn distances(wavefront: Wavefront, at: Buffers) {
    let mut nearest = [(f32::INFINITY, 0_u32); LANES];
    wavefront.compute(10).await;
    for centre in 0..CENTRES {
        let mut sums = [0.0_f32; LANES];
        for feature in 0..FEATURES {
            let of_points =
                |lane| Some(at.columns + 4 * (feature * at.points + wavefront.item(lane)));
            let of_points = wavefront.load(1, of_points).await;
            let place = at.centres + 4 * (centre * FEATURES + feature);
            let of_centre = wavefront.load_scalar(4, place).await;
            let of_points = wavefront.arrived(of_points).await;
            let of_centre = wavefront.arrived(of_centre).await;
            wavefront.compute(6).await;
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum += (of_points.float(lane) - of_centre.float(0)).powi(2);
            }
        }
        wavefront.compute(4).await;
        for (best, sum) in nearest.iter_mut().zip(sums) {
            if sum < best.0 {
                *best = (sum, centre as u32);
            }
        }
    }
    let place = |lane| Some(at.nearest + 4 * wavefront.item(lane));
    wavefront.store(1, place, |lane, _| nearest[lane].1).await;
}
