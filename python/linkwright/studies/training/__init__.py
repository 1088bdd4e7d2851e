"""Holds the dissertation's characterisation of training, each published number beside ours.

Published numbers come from the data file `validation/training.toml`. Constants are calibrated on
half of the rows of Tables 2.4 to 2.6 and 2.8 to 2.10. The modules `halves` and `volta` say which.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from linkwright.studies.parts import Parts, chosen, made
from linkwright.studies.study import Study
from linkwright.studies.tables import Section
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

TITLE = "Epochs of training"
INTRODUCTION = (
    "Chapter 2 of Mojumder's dissertation (Boston University) trains networks with MXNet on four "
    "systems of several GPUs, and asks where their time goes. This study plays the same steps, "
    "layer by layer, on Linkwright's presets of the systems. It sets our numbers beside "
    "the published ones, as `linkwright train` does.",
    "Half of the rows of Tables 2.4 to 2.6 calibrate a few constants, and every row names its "
    "half. Of the V100 system, every other row of Tables 2.8 and 2.10, and of Table 2.9 on "
    "several GPUs, calibrates. Its other rows enter nothing.",
)
# A quick study plays these networks and batches of the V100 system.
QUICK = (("LeNet", "AlexNet"), (16,))
BATCHES = (16, 32, 64)
QUICK_EDGES = remote.EDGES[:2]


def run(
    *, quick: bool = False, progress: epochs.Progress | None = None, only: str | None = None
) -> Study:
    """Runs the study, or one section.

    Args:
        quick: Plays fewer networks and batches.
        progress: Called with stage, rows done, and all.
        only: Makes one section.

    Raises:
        LinkwrightError: If there is no section of that name.
    """
    networks, batches = QUICK if quick else (volta.NETWORKS, BATCHES)
    rows = [
        row
        for row in published_epochs()
        if not quick or row.table == "2.4" or (row.network != "ResNet" and row.gpus < 8)
    ]

    @cache
    def found() -> epochs.Found:
        return epochs.find(rows, progress)

    def calibration() -> Section:
        figures = {"training-times": published_against_ours(found())}
        return replace(epochs.calibration(found()), figures=figures)

    of_large: Parts = {} if quick else {"nccl": volta.overheads, "memory": memories.memories}
    edges = QUICK_EDGES if quick else remote.EDGES
    shared_by = truly.NETWORKS[:2] if quick else truly.NETWORKS
    parts: Parts = {
        "calibration": calibration,
        "statements": lambda: statements.statements(found(), networks, batches),
        "epochs": lambda: epochs.breakdown(found()),
        "scaling": lambda: epochs.scaling(found()),
        "volta": lambda: volta.speedups(networks, batches),
        **of_large,
        "waiting": volta.synchronized,
        "weights": statements.weights,
        "sharing": shared.mechanisms,
        "truly-shared": lambda: truly.truly_shared(shared_by),
        "remote": lambda: remote.remote_matrices(edges),
        "today": today.today,
        "contradictions": statements.against_itself,
    }
    sections = made(chosen("training", parts, only))
    return Study(name="training", title=TITLE, introduction=INTRODUCTION, sections=sections)
