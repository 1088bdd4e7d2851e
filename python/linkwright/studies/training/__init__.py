"""Training: the dissertation's characterisation of it, each published number beside ours.

Published numbers come from the data file `validation/training.toml`; constants are calibrated
on half of the rows of Tables 2.4 to 2.6 and 2.8 to 2.10, as `halves` and `volta` say.
"""

from __future__ import annotations

from dataclasses import replace

from linkwright.studies.study import Study
from linkwright.studies.training import (
    epochs,
    memories,
    remote,
    shared,
    statements,
    today,
    truly,
    volta,
)
from linkwright.studies.training.charts import published_against_ours
from linkwright.studies.training.published import epochs as published_epochs

__all__ = ["INTRODUCTION", "TITLE", "run"]

TITLE = "Training on several GPUs reproduced"
INTRODUCTION = (
    "Chapter 2 of Mojumder's dissertation (Boston University) trains networks with MXNet on four "
    "systems of several GPUs, and asks where their time goes. This study plays the same steps, "
    "layer by layer, on Linkwright's presets of the systems, and sets what comes out beside what "
    "was published, as `linkwright train` does.",
    "Half of the rows of Tables 2.4 to 2.6 calibrate a few constants; every row says of which half "
    "it is. The V100 system's rows enter nothing, but for every other row of Tables 2.8 and "
    "2.10, and of Table 2.9 on several GPUs.",
)
# What a quick study plays of the V100 system.
QUICK = (("LeNet", "AlexNet"), (16,))
BATCHES = (16, 32, 64)
QUICK_EDGES = remote.EDGES[:2]


def run(*, quick: bool = False, progress: epochs.Progress | None = None) -> Study:
    """Runs the study.

    Args:
        quick: Fewer networks and batches, and none of the large networks' epochs.
        progress: Called with the stage, the rows done, and those in all.
    """
    networks, batches = QUICK if quick else (volta.NETWORKS, BATCHES)
    rows = [
        row
        for row in published_epochs()
        if not quick or row.table == "2.4" or (row.network != "ResNet" and row.gpus < 8)
    ]
    found = epochs.find(rows, progress)
    sections = [
        replace(
            epochs.calibration(found), figures={"training-times": published_against_ours(found)}
        ),
        statements.statements(found, networks, batches),
        epochs.breakdown(found),
        epochs.scaling(found),
        volta.speedups(networks, batches),
    ]
    if not quick:
        sections += [volta.overheads(), memories.memories()]
    sections += [volta.synchronized(), statements.weights(), shared.mechanisms()]
    sections.append(truly.truly_shared(truly.NETWORKS[:2] if quick else truly.NETWORKS))
    sections.append(remote.remote_matrices(QUICK_EDGES if quick else remote.EDGES))
    sections += [today.today(), statements.against_itself()]
    return Study(name="training", title=TITLE, introduction=INTRODUCTION, sections=sections)
