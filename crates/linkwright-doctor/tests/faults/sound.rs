//! Makes systems without any fault.

use linkwright_collectives::collectives::Collective;

use super::run::Run;

/// Gives all of them: one to eight servers of seven kinds of GPU.
pub fn all() -> Vec<Run> {
    let (reduce, gather, scatter) =
        (Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter);
    let rows = [
        ("dgx1-v100", 1, "2.18.5", reduce),
        ("dgx1-v100", 1, "2.30.7", gather),
        ("dgx1-v100", 2, "2.23.4", reduce),
        ("dgx-a100", 1, "2.18.5", scatter),
        ("dgx-a100", 1, "2.30.7", reduce),
        ("dgx-a100", 2, "2.27.7", reduce),
        ("dgx-a100", 4, "2.23.4", gather),
        ("hgx-h100", 1, "2.18.5", reduce),
        ("hgx-h100", 1, "2.30.7", Collective::AllToAll),
        ("hgx-h100", 2, "2.23.4", reduce),
        ("hgx-h100", 4, "2.27.7", scatter),
        ("hgx-h100", 8, "2.30.7", reduce),
        ("hgx-b200", 1, "2.27.7", reduce),
        ("hgx-b200", 1, "2.30.7", gather),
        ("hgx-b200", 2, "2.30.7", reduce),
        ("hgx-b200", 4, "2.27.7", reduce),
        ("4x-l40s-pcie", 1, "2.23.4", reduce),
        ("4x-l40s-pcie", 2, "2.18.5", reduce),
        ("8x-rtx-pro-6000", 1, "2.27.7", reduce),
        ("8x-l40s", 1, "2.30.7", gather),
    ];
    let of = |(seed, (preset, servers, release, collective)): (u64, (_, _, _, Collective))| {
        let mut run = Run::of(preset, servers, release, seed);
        run.collective = collective;
        if collective != Collective::AllReduce || servers >= 4 {
            run.sizes[0] = 1 << 18;
        }
        (run.shows_graph, run.shows_choices) = (seed % 3 == 0, seed % 4 == 1);
        run
    };
    (1..).zip(rows).map(of).collect()
}
