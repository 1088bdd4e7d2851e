"""The error bars of times that are printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwright import System, names
from linkwright.collectives import time_errors
from linkwright.cli import output

__all__ = ["error_bars", "print_legend", "shown", "told"]


def error_bars(
    system: System,
    gpus: Sequence[int],
    sizes: Sequence[int],
    collective: names.CollectiveName | None = None,
    algorithms: Sequence[str | None] = (),
    *,
    p2p: bool = True,
) -> list[dict[str, Any]]:
    """For each size how far off its time is, as `time_errors` has it, without the size.

    `algorithms` has a name for each size, as `expect` or `plan` has it, or none.
    """
    known = [name.removeprefix("nccl-") if name else "" for name in algorithms] or None
    found = time_errors(
        system, list(gpus), list(sizes), collective=collective, algorithms=known, p2p=p2p
    )
    rows = [dict(row) for row in found]
    for row in rows:
        del row["size"]
    return rows


def shown(bar: dict[str, Any]) -> str:
    """A bar as a table's cell: a star where nothing was measured."""
    return f"{bar['ninetieth']:.0%}{'*' if bar['basis'] == 'never-measured' else ''}"


# The share of public rows that lay inside such a bar, by its basis: those of docs/accuracy.md.
# From here on `make accuracy` writes.
SHARES_INSIDE = {
    "alike": "90%",
    "measured": "81%",
    "never-measured": "89%",
}
# End of what `make accuracy` writes.

# Each says what a bar of its basis means.
MEANINGS = {
    "own-log": "Nine of ten times in the machine's own log, at such sizes, were at most this far "
    "off.",
    "measured": "Nine of ten times of this collective on as many such GPUs, at such sizes, were at "
    "most this far off. The clock was fitted without these GPUs.",
    "alike": "Nine of ten times on GPUs that are joined so, at such sizes, were at most this far "
    "off. The clock was fitted without their kind.",
    "never-measured": "No such system was measured. Nine of ten predictions elsewhere were at most "
    "this far off.",
}


def meaning(basis: str) -> str:
    """Says what a bar means, with the share of public rows inside such bars."""
    inside = SHARES_INSIDE.get(basis)
    if inside is None:
        return MEANINGS[basis]
    return (
        f"{MEANINGS[basis]} Of the public rows, each without its own system, {inside} lay inside "
        "such a bar."
    )


def told(bar: dict[str, Any]) -> str:
    """Shows one bar with what it says."""
    return f"± {shown(bar).rstrip('*')}: {meaning(bar['basis'])}"


def print_legend(bars: Sequence[dict[str, Any]]) -> None:
    """Prints what the bars of a table say, a line for each kind."""
    found = {bar["basis"] for bar in bars}
    for basis in MEANINGS:
        if basis in found:
            mark = "*" if basis == "never-measured" else "±"
            output.say(f"{mark}: {meaning(basis)}")
