"""MAPA (SC'21): its tables and figures, each published number beside the reproduced one.

Ranganath et al., "MAPA: Multi-Accelerator Pattern Allocation Policy for Multi-Tenant GPU
Servers", https://doi.org/10.1145/3458817.3480853. Published numbers come from the data file
`validation/mapa.toml`; of the figures, the sentences that the paper writes about them.
"""

from __future__ import annotations

from linkwright.studies.mapa.bandwidth import FIGURES, effective_bandwidth
from linkwright.studies.mapa.decision_time import decision_time
from linkwright.studies.mapa.fragmentation import fragmentation
from linkwright.studies.mapa.mix import Progress, play
from linkwright.studies.mapa.regression import regression
from linkwright.studies.mapa.speedup import speedup
from linkwright.studies.mapa.study import INTRODUCTION, TITLE, MapaStudy

__all__ = ["MapaStudy", "run"]

SEEDS = 20
QUICK_SEEDS = 3
# Seconds: jobs of three GPUs and six minutes then keep about half of 16 GPUs busy.
MEAN_INTERARRIVAL = 150.0


def run(*, quick: bool = False, progress: Progress | None = None) -> MapaStudy:
    """Runs the study.

    Args:
        quick: Fewer seeds and fewer repeats of each timing; the tables are the same ones.
        progress: Called with the stage, the steps done, and the steps in all.
    """
    seeds = range(QUICK_SEEDS if quick else SEEDS)
    sections = [fragmentation(seeds, progress), regression()]
    for machine in FIGURES:
        runs = play(machine, seeds, progress)
        if machine == "dgx1-v100":
            sections += [speedup(runs), effective_bandwidth(runs)]
        else:
            spaced = play(machine, seeds, progress, mean_interarrival=MEAN_INTERARRIVAL)
            sections.append(effective_bandwidth(runs, spaced, MEAN_INTERARRIVAL))
    timings = decision_time(3 if quick else 20, progress)
    mixes = f"Job mixes are of seeds {seeds[0]} to {seeds[-1]}."
    return MapaStudy(
        name="mapa",
        title=TITLE,
        introduction=(*INTRODUCTION, mixes),
        sections=tuple(sections),
        timings=timings,
        seeds=tuple(seeds),
    )
