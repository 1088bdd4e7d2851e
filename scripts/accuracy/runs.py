"""Keeps what runs came to that cost more than a second, with the command that repeats them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from accuracy.rows import Series, rounded
from accuracy.tables import STORED, table, write_table
from linkwright.errors import SimulationError

NAME = "runs.csv"
COMMAND = "PYTHONPATH=scripts python -m accuracy --runs"


@cache
def _stored() -> dict[str, dict[str, str]]:
    return {row["run"]: row for row in table(STORED / NAME)}


def stored_run(name: str) -> float:
    """Reads the figure that a run came to.

    Raises:
        SimulationError: If the run was refused; the text is that of the run.
    """
    found = _stored()[name]
    if found["refusal"]:
        raise SimulationError(found["refusal"])
    return float(found["figure"])


def repeat(series: Sequence[Series]) -> None:
    """Repeats every costly run, and stores the figures."""
    rows = []
    for each in series:
        if each.repeat is not None:
            [row] = each.repeat()
            figure = "" if row.expected is None else f"{rounded(row.expected):g}"
            rows.append({"run": each.name, "figure": figure, "refusal": row.refusal})
            print(f"{each.name}: {figure or row.refusal}", flush=True)
    write_table(
        NAME,
        f"Runs that cost more than a second: seconds, or times over alone. To repeat:\n{COMMAND}",
        rows,
    )
    _stored.cache_clear()
