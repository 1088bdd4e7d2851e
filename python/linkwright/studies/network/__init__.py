"""Plays the network study (IPCCC 2021): GPUs per node, bandwidth and NIC scheduling.

Bhowmik et al., "A Simulation Study of Hardware Parameters for Future GPU-based HPC Platforms".
Published numbers come from the data file `validation/network.toml`; of the figures, the
sentences that the paper writes about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from linkwright.studies.network.cost import cost
from linkwright.studies.network.jobs import mixes
from linkwright.studies.network.quartz_measured import QuartzTime
from linkwright.studies.network.quartz_runs import perform_quartz
from linkwright.studies.network.runs import (
    Mixes,
    Performed,
    Progress,
    Run,
    neighbour_plan,
    perform,
    placed_jobs,
    placed_plan,
    plan,
    settings_by_section,
)
from linkwright.studies.network.study import (
    INTRODUCTION,
    TITLE,
    NetworkStudy,
    coverage,
    sections_of,
)
from linkwright.studies.parts import checkpoint_name, chosen, costs
from linkwright.sweeps import Workers

__all__ = ["CHECKPOINT", "NetworkStudy", "run"]

# Beside the study's files, so that a study that was stopped goes on where it was.
CHECKPOINT = "runs.jsonl"
# The same for Fig. 3.
QUARTZ_CHECKPOINT = "quartz-runs.jsonl"
# The same for placements.
PLACED_CHECKPOINT = "placed-runs.jsonl"
# The same for mixes under each placement.
MIXED_CHECKPOINT = "placed-mix-runs.jsonl"


def run(
    *,
    quick: bool = False,
    progress: Progress | None = None,
    workers: Workers | None = None,
    directory: Path | None = None,
    only: str | None = None,
) -> NetworkStudy:
    """Runs the study, or one section.

    Args:
        quick: Five of the twenty mixes, and under each placement what Figs. 8 to 11 show alone; the
            tables are the same ones.
        progress: Called with what is done and how fast, the runs done, and the runs in all.
        workers: Where the runs are performed; processes on this computer where absent.
        directory: Where finished runs are kept, and found by the next study into it.
        only: Makes this section alone.

    Raises:
        LinkwrightError: If there is no section of that name.
        SweepInterruptedError: On Ctrl-C; with a directory, finished runs are kept.
        InputError: If the directory has the runs of another study, such as the quick one.
        FileError: If the directory cannot be written.
    """
    if only is not None:
        chosen("network", dict.fromkeys(each.section for each in costs("network")), only)
    checkpoints: dict[str, Path] = {}
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        names = (CHECKPOINT, QUARTZ_CHECKPOINT, PLACED_CHECKPOINT, MIXED_CHECKPOINT)
        checkpoints = {name: directory / checkpoint_name(name, only) for name in names}

    def performed(jobs: Mixes, runs: Sequence[Run], name: str) -> Performed:
        if not runs:
            return Performed([], 0, 0, 0.0, [])
        at = checkpoints.get(name)
        return perform(jobs, runs, workers=workers, checkpoint=at, progress=progress)

    jobs, alone = mixes(), placed_jobs()
    needed = None if only in (None, "findings") else settings_by_section().get(only or "", ())
    done = performed(jobs, plan(jobs, quick=quick, settings=needed), CHECKPOINT)
    on_quartz: Sequence[QuartzTime] = []
    also = None
    if only in (None, "quartz"):
        on_quartz, also = perform_quartz(
            workers=workers, checkpoint=checkpoints.get(QUARTZ_CHECKPOINT), progress=progress
        )
    of_placements = only in (None, "findings", "placement")
    placed = performed(
        alone, placed_plan(alone, quick=quick) if of_placements else [], PLACED_CHECKPOINT
    )
    mixed = performed(
        jobs, neighbour_plan(jobs) if of_placements and not quick else [], MIXED_CHECKPOINT
    )
    parts = (done, placed, mixed)
    all_done = replace(
        done,
        runs=sum(part.runs for part in parts) + (0 if also is None else len(also.results)),
        resumed=sum(part.resumed for part in parts) + (0 if also is None else also.resumed),
        cpu_seconds=sum(part.cpu_seconds for part in parts)
        + (0.0 if also is None else also.cpu_seconds),
        notes=[
            *done.notes,
            *(() if also is None else also.notes),
            *placed.notes,
            *mixed.notes,
        ],
    )
    return NetworkStudy(
        name="network",
        title=TITLE,
        introduction=(*INTRODUCTION, *([coverage(done.times)] if done.times else ())),
        sections=sections_of(done.times, placed.times, mixed.times, on_quartz=on_quartz, only=only),
        timings=cost(all_done) if all_done.runs else None,
        times=done.times,
        on_quartz=on_quartz,
        placed=placed.times,
        placed_mixes=mixed.times,
    )
