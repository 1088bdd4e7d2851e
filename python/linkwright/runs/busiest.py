"""The tables of the links that a run fills most, and of their levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from linkwright.runs.run import Sheet
from linkwright.summaries.programs import busiest_links
from linkwright.texts import data, percent

__all__ = ["busiest_sheet", "levels_sheet"]

COLUMNS = {
    "busiest links": lambda row: f"{row['from']} to {row['to']}",
    "level": lambda row: row["level"],
    "load": lambda row: percent(row["utilisation"]),
    "data": lambda row: data(row["data"]),
}

LEVELS = {
    "level": lambda row: row["level"],
    "links": lambda row: f"{row['links']:,}",
    "load\nin the mean": lambda row: _share(row["mean"]),
    "load\nat most": lambda row: _share(row["most"]),
}


def busiest_sheet(links: Iterable[Mapping[str, Any]], count: int, title: str = "") -> Sheet:
    """Shows the busiest links; none that carried nothing, or is not counted."""
    return Sheet.of(busiest_links(links, count), COLUMNS, words=2, title=title)


def levels_sheet(levels: Iterable[Mapping[str, Any]], title: str = "") -> Sheet:
    """Lists each level of links, from where messages enter the network to where they leave it."""
    return Sheet.of(levels, LEVELS, title=title)


def _share(value: float | None) -> str:
    return "not counted" if value is None else percent(value)
