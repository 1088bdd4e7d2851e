"""Tables as text: on a terminal as wide as it is, in a pipe as wide as they are.

A terminal's table folds its words and, where need be, the heads of its numbers. Columns that still
have no room are left out and named. Rich prints it, which takes longer to import than a quick
command takes to run. A pipe has no width.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from linkwright.errors import printable

if TYPE_CHECKING:
    import rich.table

__all__ = ["Table", "fitted", "plain_lines", "rich_table"]

# Blanks between columns, and where a terminal is narrow.
WIDE, NARROW = 3, 2


@dataclass
class Table:
    """Holds rows of texts below their heads.

    Attributes:
        columns: The heads, each of one or more lines.
        left: The columns of words, which stand to the left; numbers stand to the right.
        whole: Columns of words that are never folded; numbers are not either.
        kept: Columns of numbers that a narrow terminal leaves out last.
        show_header: Whether the heads are shown.
        gap: The blanks between two columns.
        rows: The cells of each row.
    """

    columns: Sequence[str]
    left: Sequence[str] = ()
    whole: Sequence[str] = ()
    kept: Sequence[str] = ()
    show_header: bool = True
    gap: int = WIDE
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add_row(self, *cells: str) -> None:
        """Adds a row, with a cell for each column."""
        self.rows.append(tuple(printable(cell) for cell in cells))

    def folds(self, column: str) -> bool:
        """Whether a column may be folded where a terminal is narrow."""
        return column in self.left and column not in self.whole

    def tells(self, column: str) -> bool:
        """Whether a row says little without this column."""
        return column in self.left or column in self.kept

    def widths(self, at: int) -> tuple[int, int]:
        """The least width of a column, which cuts no number and no word, and its whole width."""
        column = self.columns[at]
        cells = [row[at] for row in self.rows]
        head = column.split("\n") if self.show_header else []
        whole = max(map(_width, [*head, *cells]), default=0)
        if not self.folds(column):
            return whole, whole
        words = [word for text in [*head, *cells] for word in text.split()]
        return max(map(_width, words), default=0), whole


def fitted(table: Table, width: int) -> tuple[Table, Sequence[str]]:
    """The table for a terminal of this width, and the heads of the columns that it leaves out.

    Numbers are left out from the right, and words after them, which tell one row from another.
    The first column stays, however narrow the terminal is.
    """
    for narrower in (lambda it: replace(it, gap=NARROW), _with_folded_heads):
        if _least(table) > width:
            table = narrower(table)
    columns = range(1, len(table.columns))
    is_first = {at: not table.tells(table.columns[at]) for at in columns}
    kept = list(range(len(table.columns)))
    for at in sorted(columns, key=lambda at: (is_first[at], at), reverse=True):
        if _least(table, kept) <= width:
            break
        kept.remove(at)
    heads = [table.columns[at] for at in kept]
    left_out = [" ".join(it.split()) for at, it in enumerate(table.columns) if at not in kept]
    rows = [tuple(row[at] for at in kept) for row in table.rows]
    return replace(table, columns=heads, rows=rows), left_out


def _least(table: Table, kept: Sequence[int] | None = None) -> int:
    """Gives the least width of these columns, or all."""
    at = range(len(table.columns)) if kept is None else kept
    return sum(table.widths(one)[0] for one in at) + table.gap * (len(at) - 1)


def _with_folded_heads(table: Table) -> Table:
    """The table whose heads of whole columns are as narrow as their cells and words allow."""

    def folded(at: int, column: str) -> str:
        if table.folds(column):
            return column
        room = max(map(_width, [*column.split(), *(row[at] for row in table.rows)]), default=0)
        wrap = textwrap.TextWrapper(
            max(room, 1), break_long_words=False, break_on_hyphens=False
        ).wrap
        lines = [line for part in column.split("\n") for line in wrap(part)]
        # A blank at an end tells two heads of the same words apart.
        return "\n".join(lines) + column[len(column.rstrip()) :]

    heads = [folded(at, column) for at, column in enumerate(table.columns)]

    def now(names: Sequence[str]) -> list[str]:
        return [head for head, column in zip(heads, table.columns, strict=True) if column in names]

    left, whole, kept = map(now, (table.left, table.whole, table.kept))
    return replace(table, columns=heads, left=left, whole=whole, kept=kept)


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
        return (" " * table.gap).join(parts).rstrip()

    rule = "─" * (sum(widths) + table.gap * (len(widths) - 1))
    header = [*map(written, top), rule] if table.show_header else []
    return [*header, *map(written, table.rows)]


def rich_table(table: Table, width: int | None = None) -> tuple[rich.table.Table, int]:
    """The table for a terminal and how wide it is: no more than this where words can be folded."""
    import rich.table
    from rich import box

    made = rich.table.Table(
        header_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        # Rich puts one blank between two columns by itself.
        padding=(0, 1, 0, table.gap - 2),
        show_header=table.show_header,
    )
    widths = _given_widths(table, width)
    for name, given in zip(table.columns, widths, strict=True):
        justify = "left" if name in table.left else "right"
        # Half of a number is another number.
        whole = not table.folds(name)
        made.add_column(name, justify=justify, no_wrap=whole, overflow="fold", width=given)  # type: ignore[arg-type]
    for row in table.rows:
        made.add_row(*row)
    return made, sum(widths) + table.gap * (len(widths) - 1)


def _given_widths(table: Table, width: int | None) -> list[int]:
    """How wide each column is: where there is too little room, the widest give of theirs."""
    bounds = [table.widths(at) for at in range(len(table.columns))]
    given = [whole for _, whole in bounds]
    too_much = 0 if width is None else sum(given) + table.gap * (len(given) - 1) - width
    for _ in range(too_much):
        give = [at for at, (least, _) in enumerate(bounds) if given[at] > least]
        if not give:
            break
        given[max(give, key=given.__getitem__)] -= 1
    return given


def _width(text: str) -> int:
    """How many places of a terminal the text takes: two for a wide letter, none for a mark."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )
