"""The network study (IPCCC 2021): GPUs per node, bandwidth and NIC scheduling on two networks.

Bhowmik et al., "A Simulation Study of Hardware Parameters for Future GPU-based HPC Platforms".
Published numbers come from the data file `validation/network.toml`; of the figures, the
sentences that the paper writes about them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from linkwright.studies.network.cost import cost
from linkwright.studies.network.jobs import mixes
from linkwright.studies.network.quartz import quartz
from linkwright.studies.network.quartz_runs import perform_quartz
from linkwright.studies.network.runs import Progress, perform, placed_jobs, placed_plan, plan
from linkwright.studies.network.study import (
    INTRODUCTION,
    TITLE,
    NetworkStudy,
    coverage,
    sections_of,
)
from linkwright.sweeps import Workers

__all__ = ["CHECKPOINT", "NetworkStudy", "run"]

# Beside the study's files, so that a study that was stopped goes on where it was.
CHECKPOINT = "runs.jsonl"
# The same for Fig. 3.
QUARTZ_CHECKPOINT = "quartz-runs.jsonl"
# The same for placements.
PLACED_CHECKPOINT = "placed-runs.jsonl"


def run(
    *,
    quick: bool = False,
    progress: Progress | None = None,
    workers: Workers | None = None,
    directory: Path | None = None,
) -> NetworkStudy:
    """Runs the study.

    Args:
        quick: Five of the twenty mixes, and under each placement what Figs. 8 to 11 show alone; the
            tables are the same ones.
        progress: Called with what is done and how fast, the runs done, and the runs in all.
        workers: Where the runs are performed; processes on this computer where absent.
        directory: Where finished runs are kept, and found by the next study into it.

    Raises:
        SweepInterruptedError: On Ctrl-C; with a directory, finished runs are kept.
        InputError: If the directory has the runs of another study, such as the quick one.
        FileError: If the directory cannot be written.
    """
    jobs = mixes()
    checkpoint = quartz_checkpoint = placed_checkpoint = None
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        checkpoint, quartz_checkpoint = directory / CHECKPOINT, directory / QUARTZ_CHECKPOINT
        placed_checkpoint = directory / PLACED_CHECKPOINT
    done = perform(
        jobs, plan(jobs, quick=quick), workers=workers, checkpoint=checkpoint, progress=progress
    )
    on_quartz, also = perform_quartz(
        workers=workers, checkpoint=quartz_checkpoint, progress=progress
    )
    alone = placed_jobs()
    placed = perform(
        alone,
        placed_plan(alone, quick=quick),
        workers=workers,
        checkpoint=placed_checkpoint,
        progress=progress,
    )
    all_done = replace(
        done,
        runs=done.runs + len(also.results) + placed.runs,
        resumed=done.resumed + also.resumed + placed.resumed,
        cpu_seconds=done.cpu_seconds + also.cpu_seconds + placed.cpu_seconds,
        notes=[*done.notes, *also.notes, *placed.notes],
    )
    return NetworkStudy(
        name="network",
        title=TITLE,
        introduction=(*INTRODUCTION, coverage(done.times)),
        sections=[*sections_of(done.times, placed.times), quartz(on_quartz)],
        timings=cost(all_done),
        times=done.times,
        on_quartz=on_quartz,
        placed=placed.times,
    )
