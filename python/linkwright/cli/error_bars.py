"""The error bars of times that are printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwright import System, time_errors

__all__ = ["error_bars", "legend", "shown", "told"]


def error_bars(system: System, gpus: Sequence[int], sizes: Sequence[int]) -> list[dict[str, Any]]:
    """For each size how far off its time is, as `time_errors` has it, without the size."""
    rows = [dict(row) for row in time_errors(system, list(gpus), list(sizes))]
    for row in rows:
        del row["size"]
    return rows


def shown(bar: dict[str, Any]) -> str:
    """A bar as a table's cell: a star where nothing was measured."""
    return f"{bar['ninetieth']:.0%}{'*' if bar['basis'] == 'never-measured' else ''}"


# What a bar comes from, by its basis.
BASES = {
    "own-log": "of nine of ten times of the log that calibrated the machine, at such sizes",
    "measured": "of nine of ten times measured on such links, at such sizes",
    "never-measured": "the largest of a prediction elsewhere; such a system was never measured",
}


def told(bar: dict[str, Any]) -> str:
    """One bar, in a sentence."""
    return f"± {shown(bar).rstrip('*')}: the error {BASES[bar['basis']]}."


def legend(bars: Sequence[dict[str, Any]]) -> str:
    """What the bars of a table are, in a sentence."""
    found = {bar["basis"] for bar in bars}
    parts = [
        f"{'* ' if basis == 'never-measured' else ''}{words}"
        for basis, words in BASES.items()
        if basis in found
    ]
    return f"±: the error {'; '.join(parts)}."
