"""The table of the links that a run of programs fills most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from linkwright.runs.run import Sheet
from linkwright.summaries.programs import busiest_links
from linkwright.texts import data, percent

__all__ = ["busiest_sheet"]

COLUMNS = {
    "busiest links": lambda row: f"{row['from']} to {row['to']}",
    "level": lambda row: row["level"],
    "load": lambda row: percent(row["utilisation"]),
    "data": lambda row: data(row["data"]),
}


def busiest_sheet(links: Iterable[Mapping[str, Any]], count: int) -> Sheet:
    """So many links, the busiest first; none that carried nothing."""
    return Sheet.of(busiest_links(links, count), COLUMNS, words=2)
