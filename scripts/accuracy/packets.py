"""Holds the packet model against TraceR, as the documentation tells it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from accuracy.rows import Row, Series
from accuracy.tables import STORED, table

PACKETS = "packets against TraceR"


def series() -> Iterator[Series]:
    """Lists the runs that both simulators played."""
    for row in table(STORED / "packets-tracer.csv"):
        yield Series(PACKETS, f"{row['what']}: {row['source']}", partial(told, row))


def told(row: dict[str, str]) -> list[Row]:
    """Reads both figures of a run."""
    facets = {"run": f"{row['what']}, {row['quantity']}"}
    return [Row(float(row["tracer"]), float(row["here"]), facets)]
