"""Tables as text: on a terminal by Rich, which folds words to its width, in a pipe by themselves.

Rich takes longer to import than a quick command takes to run, and a pipe has no width.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from linkwright.errors import printable

if TYPE_CHECKING:
    import rich.table

__all__ = ["Table", "plain_lines", "rich_table"]

GAP = "   "


@dataclass
class Table:
    """Rows of texts below their heads.

    Attributes:
        columns: The heads, each of one or more lines.
        left: The columns of words, which stand to the left; numbers stand to the right.
        whole: Columns of words that are never folded; numbers are not either.
        show_header: Whether the heads are shown.
        rows: The cells of each row.
    """

    columns: Sequence[str]
    left: Sequence[str] = ()
    whole: Sequence[str] = ()
    show_header: bool = True
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add_row(self, *cells: str) -> None:
        """Adds a row, with a cell for each column."""
        self.rows.append(tuple(printable(cell) for cell in cells))

    def folds(self, column: str) -> bool:
        """Whether a column may be folded where a terminal is narrow."""
        return column in self.left and column not in self.whole


def plain_lines(table: Table) -> list[str]:
    """The table's lines, as wide as they are, without blanks at their ends."""
    heads = [column.split("\n") for column in table.columns]
    tall = max(map(len, heads))
    heads = [[""] * (tall - len(head)) + head for head in heads]
    top = [[head[at] for head in heads] for at in range(tall)]
    shown = [*(top if table.show_header else []), *table.rows]
    widths = [max((_width(line[at]) for line in shown), default=0) for at in range(len(heads))]

    def written(cells: Sequence[str]) -> str:
        parts = []
        for column, cell, width in zip(table.columns, cells, widths, strict=True):
            blanks = " " * (width - _width(cell))
            parts.append(cell + blanks if column in table.left else blanks + cell)
        return GAP.join(parts).rstrip()

    rule = "─" * (sum(widths) + len(GAP) * (len(widths) - 1))
    header = [*map(written, top), rule] if table.show_header else []
    return [*header, *map(written, table.rows)]


def rich_table(table: Table) -> rich.table.Table:
    """The same table for a terminal."""
    import rich.table
    from rich import box

    made = rich.table.Table(
        header_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        show_header=table.show_header,
    )
    for name in table.columns:
        justify = "left" if name in table.left else "right"
        # Half of a number is another number.
        whole = not table.folds(name)
        made.add_column(name, justify=justify, no_wrap=whole, overflow="fold")  # type: ignore[arg-type]
    for row in table.rows:
        made.add_row(*row)
    return made


def _width(text: str) -> int:
    """How many places of a terminal the text takes: two for a wide letter, none for a mark."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )
