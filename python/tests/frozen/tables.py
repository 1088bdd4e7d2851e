"""Captured tables from what the library gives."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from frozen.captured import Captured
from linkwright import LinkwrightError
from linkwright.scenario import Table

__all__ = ["FILES", "ROOT", "digest", "matrix", "of_rows", "of_table", "refused_or", "rows_of"]

ROOT = Path(__file__).resolve().parents[3]
FILES = Path(__file__).with_name("files")


def rows_of(table: Table, columns: Sequence[str]) -> list[list[Any]]:
    """A table's rows, of these columns."""
    return [[row[column] for column in columns] for row in table]


def of_table(title: str, table: Table, *, without: Iterable[str] = ()) -> Captured:
    """A table of the library, but for some columns."""
    columns = [name for name in table.column_names if name not in set(without)]
    return Captured(title, columns, rows_of(table, columns))


def of_rows(title: str, columns: str, rows: Iterable[Sequence[Any]]) -> Captured:
    """A table of rows made here, its columns in one text."""
    return Captured(title, columns.split(), [list(row) for row in rows])


def matrix(title: str, cells: Sequence[Sequence[Any]]) -> list[Captured]:
    """A matrix as its different cells and, for each row, which of them stand in it."""
    kinds = list(dict.fromkeys(cell for row in cells for cell in row))
    number = {kind: place for place, kind in enumerate(kinds)}
    return [
        of_rows(f"{title}: cells", "cell", [[kind] for kind in kinds]),
        of_rows(f"{title}: rows", "row", [[[number[cell] for cell in row]] for row in cells]),
    ]


def digest(rows: Iterable[Sequence[Any]]) -> str:
    """What stands for rows that are too many to store."""
    text = "\n".join(json.dumps(list(row)) for row in rows)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def refused_or(row: Callable[[], Sequence[Any]], width: int) -> list[Any]:
    """A row, or `refused` and nothing else where the library refuses it."""
    try:
        return list(row())
    except LinkwrightError:
        return ["refused", *[None] * (width - 1)]
