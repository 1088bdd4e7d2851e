"""The error bars of times that are printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwright import System, time_errors
from linkwright.cli import output

__all__ = ["error_bars", "print_legend", "shown", "told"]


def error_bars(system: System, gpus: Sequence[int], sizes: Sequence[int]) -> list[dict[str, Any]]:
    """For each size how far off its time is, as `time_errors` has it, without the size."""
    rows = [dict(row) for row in time_errors(system, list(gpus), list(sizes))]
    for row in rows:
        del row["size"]
    return rows


def shown(bar: dict[str, Any]) -> str:
    """A bar as a table's cell: a star where nothing was measured."""
    return f"{bar['ninetieth']:.0%}{'*' if bar['basis'] == 'never-measured' else ''}"


# The share of public rows that lay inside such a bar, by its basis: those of docs/accuracy.md.
# From here on `make accuracy` writes.
SHARES_INSIDE = {
    "measured": "89%",
    "never-measured": "68%",
}
# End of what `make accuracy` writes.

# What a bar says, by its basis.
MEANINGS = {
    "own-log": "Nine of ten times in the machine's own log, at such sizes, were at most this far "
    "off.",
    "measured": "Nine of ten times that set it, on such links and at such sizes, were at most this "
    f"far off. Of the public rows with such a bar {SHARES_INSIDE['measured']} lay inside.",
    "never-measured": "No such system was measured. Nine of ten predictions elsewhere were at most "
    "this far off. Of the public rows with such a bar "
    f"{SHARES_INSIDE['never-measured']} lay inside.",
}


def told(bar: dict[str, Any]) -> str:
    """One bar, and what it says."""
    return f"± {shown(bar).rstrip('*')}: {MEANINGS[bar['basis']]}"


def print_legend(bars: Sequence[dict[str, Any]]) -> None:
    """Prints what the bars of a table say, a line for each kind."""
    found = {bar["basis"] for bar in bars}
    for basis, meaning in MEANINGS.items():
        if basis in found:
            output.say(f"{'*' if basis == 'never-measured' else '±'}: {meaning}")
