"""Which published rows the constants are calibrated on, and which are held back.

Rows that differ only in their GPUs make a block. In each of Tables 2.4, 2.5 and 2.6 every other
block is calibrated on, the first of each table counted. In Tables 2.8 and 2.10 every other row is.
In Table 2.9 it is every other row of several GPUs. Nothing else is.
"""

from __future__ import annotations

from functools import cache

from linkwright.studies.training.published import Epoch, epochs

__all__ = ["CALIBRATED", "HELD_BACK", "half", "is_calibrated"]

CALIBRATED = "calibrated"
HELD_BACK = "held back"


@cache
def _blocks() -> dict[tuple[str, str, str, int, str], bool]:
    chosen: dict[tuple[str, str, str, int, str], bool] = {}
    counts: dict[str, int] = {}
    for row in epochs():
        if row.block not in chosen:
            counts[row.table] = counts.get(row.table, 0) + 1
            chosen[row.block] = counts[row.table] % 2 == 1
    return chosen


def is_calibrated(row: Epoch) -> bool:
    """Whether constants are calibrated on a row."""
    return _blocks()[row.block]


def half(row: Epoch) -> str:
    """Which half a row is of."""
    return CALIBRATED if is_calibrated(row) else HELD_BACK
