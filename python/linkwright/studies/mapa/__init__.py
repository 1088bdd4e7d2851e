"""MAPA (SC'21): its tables and figures, each published number beside the reproduced one.

Ranganath et al., "MAPA: Multi-Accelerator Pattern Allocation Policy for Multi-Tenant GPU
Servers", https://doi.org/10.1145/3458817.3480853. Published numbers come from the data file
`validation/mapa.toml`; of the figures, the sentences that the paper writes about them.
"""

from __future__ import annotations

from linkwright.studies.mapa.bandwidth import FIGURES, effective_bandwidth
from linkwright.studies.mapa.decision_time import decision_time
from linkwright.studies.mapa.fragmentation import fragmentation
from linkwright.studies.mapa.links import all_reduce_by_size, data_of_networks, speedup_by_link
from linkwright.studies.mapa.mix import Progress, play
from linkwright.studies.mapa.patterns import other_patterns
from linkwright.studies.mapa.readings import READINGS, ReadingName
from linkwright.studies.mapa.regression import regression
from linkwright.studies.mapa.sensitivity import labels_of_sensitivity
from linkwright.studies.mapa.speedup import speedup
from linkwright.studies.mapa.study import INTRODUCTION, TITLE, MapaStudy
from linkwright.studies.mapa.table_3_readings import readings
from linkwright.studies.mapa.trends import by_bandwidth, by_gpus, by_scores

__all__ = ["MapaStudy", "run"]

SEEDS = 20
QUICK_SEEDS = 3
# Seconds: jobs of three GPUs then keep about half of 16 GPUs busy. They take six minutes where they
# are calibrated on seconds, and a little more than two by the slope.
MEAN_INTERARRIVAL: dict[ReadingName, float] = {"published-fit": 150.0, "text": 50.0}


def run(
    *, reading: ReadingName = "text", quick: bool = False, progress: Progress | None = None
) -> MapaStudy:
    """Runs the study.

    Args:
        reading: How the paper's mix of jobs is read: `text`, as its sentences have it, or
            `published-fit`, fitted to the seconds that it prints.
        quick: Fewer seeds and fewer repeats of each timing; the tables are the same ones.
        progress: Called with the stage, the steps done, and the steps in all.
    """
    seeds = range(QUICK_SEEDS if quick else SEEDS)
    chosen = READINGS[reading]
    sections = [
        all_reduce_by_size(),
        speedup_by_link(chosen),
        fragmentation(seeds, chosen, progress),
        data_of_networks(),
        labels_of_sensitivity(chosen),
        by_gpus(chosen),
        by_scores(chosen),
        regression(),
    ]
    for machine in FIGURES:
        runs = play(machine, seeds, chosen, progress)
        if machine == "dgx1-v100":
            sections += [
                speedup(runs, chosen),
                readings(seeds, progress),
                effective_bandwidth(runs),
                by_bandwidth(runs, chosen),
                other_patterns(seeds, chosen, progress),
            ]
        else:
            gap = MEAN_INTERARRIVAL[reading]
            spaced = play(machine, seeds, chosen, progress, mean_interarrival=gap)
            sections.append(effective_bandwidth(runs, spaced, gap))
    timings = decision_time(3 if quick else 20, progress)
    mixes = f"Job mixes are of seeds {seeds[0]} to {seeds[-1]}, in the reading `{reading}`."
    return MapaStudy(
        name="mapa",
        title=TITLE,
        introduction=(*INTRODUCTION, mixes),
        sections=tuple(sections),
        timings=timings,
        seeds=tuple(seeds),
        reading=reading,
    )
