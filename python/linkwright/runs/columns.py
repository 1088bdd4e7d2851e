"""Turns rows that Python made into tables, with a type and a unit for each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Column", "arrow_table"]


@dataclass(frozen=True)
class Column:
    """Describes a column of a table.

    Attributes:
        name: Its name, the key of its values in the rows.
        kind: The kind of values that it holds.
        unit: Its unit; empty of what has none.
        known: Whether every row has a value.
    """

    name: str
    kind: Literal["text", "count", "number"]
    unit: str = ""
    known: bool = False


def arrow_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> pa.Table:
    """Returns the rows as columns, each with its unit."""
    import pyarrow as pa

    types = {"text": pa.string(), "count": pa.uint64(), "number": pa.float64()}
    fields: list[pa.Field[Any]] = [
        pa.field(it.name, types[it.kind], nullable=not it.known, metadata={"unit": it.unit})
        for it in columns
    ]
    return pa.Table.from_pylist([dict(row) for row in rows], schema=pa.schema(fields))
