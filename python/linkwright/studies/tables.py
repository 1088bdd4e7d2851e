"""Defines the parts of a study, which are tables, statements and charts, and writes them down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt

__all__ = ["Cell", "Section", "StudyTable", "figure_markdown", "folded", "section_markdown"]

Cell = str | int | float | None

# A note of more words is folded away.
SHORT_NOTE = 40
NOTE = "Why, and what was assumed"


@dataclass(frozen=True)
class StudyTable:
    """Holds a table with published and reproduced numbers side by side.

    Attributes:
        title: The subject of the comparison.
        columns: The heads, each with its unit where it has one.
        rows: The cells; None where there is no such number.
        note: Where both part, and why.
        formats: How each column's numbers are printed, as `format` takes it.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    formats: tuple[str, ...] = ()

    def printed(self) -> list[list[str]]:
        """Returns the cells as text."""
        formats = self.formats or ("",) * len(self.columns)
        return [
            [_printed(cell, form) for cell, form in zip(row, formats, strict=True)]
            for row in self.rows
        ]

    def is_number(self, column: int) -> bool:
        """Whether a column holds numbers, and so is aligned to the right."""
        return any(isinstance(row[column], int | float) for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """The table as it enters a study's JSON: numbers unrounded."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "note": self.note,
        }

    def to_markdown(self) -> str:
        """Writes the table in Markdown, with its title above and its note below, folded if long."""
        rule = ["---:" if self.is_number(column) else "---" for column in range(len(self.columns))]
        lines = [self.columns, rule, *self.printed()]
        table = "\n".join("| " + " | ".join(map(_escaped, line)) + " |" for line in lines)
        title = f"**{self.title}**" if self.title else ""
        note = folded(NOTE, self.note) if self.has_long_note else self.note
        return "\n\n".join(part for part in (title, table, note) if part)

    @property
    def has_long_note(self) -> bool:
        """Whether the note stands behind a heading that folds."""
        return len(self.note.split()) > SHORT_NOTE


def _printed(cell: Cell, form: str) -> str:
    match cell:
        case None:
            return ""
        case str():
            return cell
        case bool():
            return "yes" if cell else "no"
        case _:
            return format(cell, form)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


@dataclass(frozen=True)
class Section:
    """Holds a part of a study: one table or figure of the paper.

    Attributes:
        title: The subject of the section.
        text: Paragraphs.
        tables: Its tables.
        figures: Its charts by the name of their files, without suffix.
        reasons: Paragraphs on why numbers part, which are folded away.
    """

    title: str
    text: Sequence[str]
    tables: Sequence[StudyTable]
    figures: Mapping[str, alt.TopLevelMixin] = field(default_factory=dict)
    reasons: Sequence[str] = ()


REASONS = "Why published and computed numbers part"


def section_markdown(section: Section, figures: str) -> str:
    """The section in Markdown; its figures are linked as SVG in the folder `figures`."""
    images = [figure_markdown(name, figures) for name in section.figures]
    tables = [table.to_markdown() for table in section.tables]
    reasons = [folded(REASONS, *section.reasons)] if section.reasons else []
    return "\n\n".join([f"## {section.title}", *section.text, *tables, *images, *reasons])


def figure_markdown(name: str, figures: str) -> str:
    """Writes a chart in Markdown, as SVG in the folder `figures`."""
    return f"![{name.replace('-', ' ')}]({figures}/{name}.svg)"


def folded(title: str, *paragraphs: str) -> str:
    """Paragraphs of Markdown behind a heading that unfolds them, on any page that shows HTML."""
    head = f'<details markdown="1"><summary>{title}</summary>'
    return "\n\n".join([head, *paragraphs, "</details>"])
