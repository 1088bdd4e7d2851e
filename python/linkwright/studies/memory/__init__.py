"""Computes the MGPU-TSM dissertation's results: caches and memory of several GPUs.

Published numbers come from the data file `validation/memory.toml`, which has the dissertation's
tables and sentences. Its sentences are checked as statements, with MGCC mended and as printed.
"""

from __future__ import annotations

from pathlib import Path

from linkwright.studies.memory.runs import Progress, perform
from linkwright.studies.memory.settings import plan
from linkwright.studies.memory.study import NEEDS, MemoryStudy, study_of
from linkwright.studies.parts import checkpoint_name, chosen
from linkwright.sweeps import Workers

__all__ = ["CHECKPOINT", "MemoryStudy", "run"]

# Beside the study's files, so that a study that was stopped goes on where it was.
CHECKPOINT = "runs.jsonl"


def run(
    *,
    quick: bool = False,
    progress: Progress | None = None,
    workers: Workers | None = None,
    directory: Path | None = None,
    only: str | None = None,
) -> MemoryStudy:
    """Runs the study, or one section.

    Args:
        quick: Small sizes; the tables are the same ones.
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
    needs = None if only is None else chosen("memory", NEEDS, only)[only]
    checkpoint = None
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        checkpoint = directory / checkpoint_name(CHECKPOINT, only)
    runs = plan(quick=quick, parts=needs)
    done = perform(runs, workers=workers, checkpoint=checkpoint, progress=progress)
    return study_of(done.runs, only)
