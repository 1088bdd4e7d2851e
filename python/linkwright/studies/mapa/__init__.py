"""Computes the tables and figures of MAPA (SC'21), each published number beside the reproduced one.

Ranganath et al., "MAPA: Multi-Accelerator Pattern Allocation Policy for Multi-Tenant GPU
Servers", https://doi.org/10.1145/3458817.3480853. Published numbers come from the data file
`validation/mapa.toml`; of the figures, the sentences that the paper writes about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

from linkwright.studies.mapa.bandwidth import FIGURES, effective_bandwidth
from linkwright.studies.mapa.decision_time import decision_time
from linkwright.studies.mapa.fragmentation import fragmentation
from linkwright.studies.mapa.links import all_reduce_by_size, data_of_networks, speedup_by_link
from linkwright.studies.mapa.mix import Progress, Run, play
from linkwright.studies.mapa.patterns import other_patterns
from linkwright.studies.mapa.readings import READINGS, ReadingName
from linkwright.studies.mapa.regression import regression
from linkwright.studies.mapa.sensitivity import labels_of_sensitivity
from linkwright.studies.mapa.speedup import speedup
from linkwright.studies.mapa.study import INTRODUCTION, TITLE, MapaStudy
from linkwright.studies.mapa.table_3_readings import readings
from linkwright.studies.mapa.trends import by_bandwidth, by_gpus, by_scores
from linkwright.studies.parts import Parts, chosen, made
from linkwright.studies.tables import Section

__all__ = ["MapaStudy", "run"]

SEEDS = 20
QUICK_SEEDS = 3
# The section whose numbers are a clock's.
DECISIONS = "decisions"
# Seconds: jobs of three GPUs then keep about half of 16 GPUs busy. They take six minutes where they
# are calibrated on seconds, and a little more than two by the slope.
MEAN_INTERARRIVAL: dict[ReadingName, float] = {"published-fit": 150.0, "text": 50.0}


def run(
    *,
    reading: ReadingName = "text",
    quick: bool = False,
    progress: Progress | None = None,
    only: str | None = None,
) -> MapaStudy:
    """Runs the study, or one section.

    Args:
        reading: How the paper's mix of jobs is read: `text`, as its sentences have it, or
            `published-fit`, fitted to the seconds that it prints.
        quick: Fewer seeds and fewer repeats of each timing; the tables are the same ones.
        progress: Called with the stage, the steps done, and the steps in all.
        only: Makes this section alone.

    Raises:
        LinkwrightError: If there is no section of that name.
    """
    seeds = range(QUICK_SEEDS if quick else SEEDS)
    read = READINGS[reading]

    @cache
    def runs(machine: str) -> Sequence[Run]:
        return play(machine, seeds, read, progress)

    def of_torus(machine: str) -> Section:
        gap = MEAN_INTERARRIVAL[reading]
        spaced = play(machine, seeds, read, progress, mean_interarrival=gap)
        return effective_bandwidth(runs(machine), spaced, gap)

    dgx, *others = FIGURES
    parts: Parts = {
        "all-reduce": all_reduce_by_size,
        "links": lambda: speedup_by_link(read),
        "fragmentation": lambda: fragmentation(seeds, read, progress),
        "data": data_of_networks,
        "sensitivity": lambda: labels_of_sensitivity(read),
        "by-gpus": lambda: by_gpus(read),
        "by-scores": lambda: by_scores(read),
        "regression": regression,
        "speed-up": lambda: speedup(runs(dgx), read),
        "readings": lambda: readings(seeds, progress),
        dgx: lambda: effective_bandwidth(runs(dgx)),
        "by-bandwidth": lambda: by_bandwidth(runs(dgx), read),
        "patterns": lambda: other_patterns(seeds, read, progress),
        **{machine: partial(of_torus, machine) for machine in others},
        DECISIONS: lambda: decision_time(3 if quick else 20, progress),
    }
    wanted = dict(chosen("mapa", parts, only))
    timed = wanted.pop(DECISIONS, None)
    sections = tuple(made(wanted))
    timings = made({} if timed is None else {DECISIONS: timed})
    mixes = f"Job mixes are of seeds {seeds[0]} to {seeds[-1]}, in the reading `{reading}`."
    return MapaStudy(
        name="mapa",
        title=TITLE,
        introduction=(*INTRODUCTION, mixes),
        sections=sections,
        timings=timings[0] if timings else None,
        seeds=tuple(seeds),
        reading=reading,
    )
