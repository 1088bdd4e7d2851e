"""Writes public measurements anew, as the tables of `validation/accuracy/`.

    PYTHONPATH=scripts python -m accuracy.restate FOLDER

FOLDER holds the measurements as their authors published them, condensed to one file each. Our
tables keep the figure of every row, the question behind it and its source, in their own columns.
"""

from __future__ import annotations

import sys
from pathlib import Path

from accuracy.restate import collectives, insides, kernels
from accuracy.restate.training.steps import steps


def main() -> None:
    """Writes every table."""
    folder = Path(sys.argv[1])
    collectives.threads(folder)
    collectives.logs(folder)
    steps(folder)
    insides.kernels(folder)
    insides.microbenchmarks(folder)
    kernels.kernels(folder)


if __name__ == "__main__":
    main()
