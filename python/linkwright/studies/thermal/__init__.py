"""Runs the thermal check of MGPU-TSM's package (section 3.4 of the dissertation).

Published numbers come from the data file `validation/thermal.toml`; the package is
`examples/mgpu-tsm-package.toml`, whose assumptions say what is not published.
"""

from __future__ import annotations

from linkwright.studies.parts import Parts, chosen, made
from linkwright.studies.study import Study
from linkwright.studies.thermal.packages import changed
from linkwright.studies.thermal.sections import (
    Progress,
    finer,
    package,
    readings,
    statements,
    worth,
)

__all__ = ["CELLS", "INTRODUCTION", "QUICK", "TITLE", "run"]

TITLE = "The heat of a package"
INTRODUCTION = (
    "The MGPU-TSM dissertation puts four GPUs, a CPU and four stacks of memory on one interposer. "
    "It checks with HotSpot that the package can be cooled: 88.6 °C at most, where systems "
    "tolerate 100 °C (section 3.4). This study does the same on Linkwright's [thermal "
    "model](../concepts/thermal.md), as `linkwright thermal` does.",
    "**With the assumptions of the same group elsewhere, the package reaches 99.7 °C instead of "
    "88.6 °C**. This is 11 K more, still below 100 °C. A sink of half the resistance, or air 11 K "
    "cooler, gives the published temperature.",
)
# Cells of the interposer each way: from here on the maximum changes by less than 0.02 K.
CELLS = 64
QUICK = 32


def run(*, quick: bool = False, progress: Progress | None = None, only: str | None = None) -> Study:
    """Runs the study, or one section.

    Args:
        quick: On coarser cells.
        progress: Called with the stage, the packages solved, and those in all.
        only: Makes this section alone.

    Raises:
        LinkwrightError: If there is no section of that name.
    """
    cells = QUICK if quick else CELLS
    parts: Parts = {
        "package": package,
        "readings": lambda: readings(cells, progress),
        "statements": lambda: statements(changed({}).solve(cells)),
        "assumptions": lambda: worth(cells, progress),
        "cells": lambda: finer((16, 32) if quick else (16, 32, 64, 128)),
    }
    sections = made(chosen("thermal", parts, only))
    return Study(name="thermal", title=TITLE, introduction=INTRODUCTION, sections=sections)
