"""Holds the parts that every run has: tables, a summary, an answer, a report, and a timeline.

A kind of run plays a scenario or options and gives a `Run`. All kinds are written to a folder,
shown as a page, printed and turned into JSON in the same way. The code for that stands beside this
file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from linkwright import System
from linkwright.documents import write_json
from linkwright.errors import printable
from linkwright.files import PathOrName, path_of
from linkwright.scenario import Table
from linkwright.writing import staged

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

    from linkwright.runs.timeline import Timeline

__all__ = ["Best", "Progress", "Run", "Section", "Sheet", "marked", "write_run"]

# pyarrow and the charts take longer to import than most commands take to run, so they are
# imported where a run is written.

# Is called about every 100 ms. Its arguments are the thing that is played, how much of it is done
# and how much there is. Then come the simulated seconds, and the events that the model of the
# network has handled.
Progress = Callable[[str, int, int, float, int], object]


class Best(str):
    """A cell that is the best of its column."""

    __slots__ = ()


def marked(
    columns: Sequence[Sequence[float | None]],
    best: Sequence[Callable[..., float]],
    formats: Sequence[str],
) -> list[list[str]]:
    """Returns cells row by row, the best of each column marked where the rows differ."""
    found: list[list[str]] = []
    for values, choose, form in zip(columns, best, formats, strict=True):
        texts = ["none" if value is None else format(value, form) for value in values]
        known = [value for value in values if value is not None]
        winner = format(choose(known), form) if known else None
        differ = len(set(texts)) > 1
        found.append([Best(text) if differ and text == winner else text for text in texts])
    return [list(row) for row in zip(*found, strict=True)]


@dataclass(frozen=True)
class Sheet:
    """Holds a table for people, printed by the commands, and part of the report.

    Attributes:
        heads: The head of each column; the part behind a line's end is small, as a unit is.
        rows: The cells, as they are read.
        words: The heads of the columns that hold words; the others hold numbers.
        title: The subject of the table, where the section does not say it.
        note: The facts that its reader must know, in a sentence or two.
        remarks: A title and what is to be said in a list below.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Sequence[str] = ()
    title: str = ""
    note: str = ""
    remarks: tuple[str, Sequence[str]] = ("", ())

    @classmethod
    def of(
        cls,
        things: Iterable[Any],
        columns: Mapping[str, Callable[[Any], str]],
        words: int = 1,
        **told: Any,
    ) -> Self:
        """Makes a row for each thing, of the values of the columns.

        Args:
            things: The things that the rows describe.
            columns: The function that writes a cell, by the column's head.
            words: How many columns hold words; they come first.
            told: The title, the note and the remarks.
        """
        heads = list(columns)
        rows = [[cell(thing) for cell in columns.values()] for thing in things]
        return cls(heads, rows, heads[:words], **told)


@dataclass(frozen=True)
class Section:
    """A part of the report; one without tables, charts, facts and points is left out.

    Attributes:
        title: Its heading.
        text: Paragraphs above its tables; words between backquotes are code.
        facts: Names and what they are.
        sheets: Its tables.
        note: The facts that the reader of its tables must know.
        charts: Its charts by what they show, for those who cannot see them.
        points: A list below.
        points_are: The title of the list, where the heading does not say it.
        matrix: A table of its own, drawn by the page's template.
    """

    title: str
    text: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()
    sheets: Sequence[Sheet] = ()
    note: str = ""
    charts: Mapping[str, alt.TopLevelMixin] = field(default_factory=dict)
    points: Sequence[str] = ()
    points_are: str = ""
    matrix: Mapping[str, object] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.facts or self.sheets or self.charts or self.points or self.matrix)


class Run(ABC):
    """Holds the results of playing jobs; each kind of run has its own tables and charts."""

    system: System
    manifest: Mapping[str, object]

    @property
    @abstractmethod
    def title(self) -> str:
        """Says for headings which jobs were played, and where."""

    @property
    @abstractmethod
    def headline(self) -> str:
        """Gives the answer, in a sentence or two."""

    @property
    def context(self) -> Sequence[str]:
        """Tells the facts that a reader must know before the tables, in a few lines."""
        return ()

    @property
    def warnings(self) -> Sequence[str]:
        """Names the facts that probably change the answer, and their remedies."""
        return ()

    @property
    def notes(self) -> Sequence[str]:
        """Lists the parts of the inputs that were left out or could not be told."""
        return ()

    @property
    def work(self) -> Mapping[str, int]:
        """Counts the work of the simulation by the names of things, for its pace."""
        return {}

    @abstractmethod
    def tables(self) -> Mapping[str, Table | pa.Table]:
        """The columns, by the names of the files that hold them."""

    @abstractmethod
    def summary(self) -> dict[str, object]:
        """Returns the content of `summary.json`, which `--json` prints."""

    @abstractmethod
    def sheets(self) -> Sequence[Sheet]:
        """The tables that are printed."""

    @abstractmethod
    def sections(self) -> Sequence[Section]:
        """Returns the parts of the report, behind its answer."""

    def timeline(self) -> Timeline | None:
        """Shows the events over time; returns None where the run kept nothing of them."""
        return None

    def _repr_html_(self) -> str:
        """The answer and the tables that are printed, as a notebook shows them."""
        tables = "".join(_table_of(sheet) for sheet in self.sheets())
        return f"<p><b>{_escaped(self.title)}</b></p>\n<p>{_escaped(self.headline)}</p>\n{tables}"


def _table_of(sheet: Sheet) -> str:
    """Writes a sheet as a table of HTML below its title."""

    def row(kind: str, cells: Sequence[str]) -> str:
        sides = ["left" if head in sheet.words else "right" for head in sheet.heads]
        return "".join(
            f'<{kind} style="text-align: {side}">{_escaped(cell)}</{kind}>'
            for side, cell in zip(sides, cells, strict=True)
        )

    rows = "".join(f"<tr>{row('td', cells)}</tr>\n" for cells in sheet.rows)
    title = f"<p>{_escaped(sheet.title)}</p>\n" if sheet.title else ""
    head = f"<thead><tr>{row('th', sheet.heads)}</tr></thead>"
    return f"{title}<table>\n{head}\n<tbody>\n{rows}</tbody>\n</table>\n"


def _escaped(text: str) -> str:
    return escape(printable(text.replace("\n", " ")))


def write_run(run: Run, directory: PathOrName) -> list[Path]:
    """Writes a run's tables (Parquet), `summary.json`, `manifest.json` and `report.html`.

    A run that kept a timeline has a `timeline.json`, too. All are written aside and renamed when
    they are whole, so that a run that is interrupted leaves the directory as it was.

    Args:
        run: The run, of any kind.
        directory: Where to; made if it is not there.

    Returns:
        The files.

    Raises:
        FileError: If the directory cannot be written to.
        SimulationError: If the run had no jobs.
        ModuleNotFoundError: If what draws reports is not installed; it names the extra.
    """
    # First what needs most: who lacks it should not be told of less.
    from linkwright.runs.report import write_report
    from linkwright.runs.timeline import write_timeline

    with staged(path_of("directory", directory)) as (aside, written):
        _write_tables(run, aside)
        write_json(aside / "summary.json", run.summary())
        write_json(aside / "manifest.json", run.manifest)
        timeline = run.timeline()
        if timeline is not None:
            write_timeline(timeline, aside / "timeline.json")
        write_report(aside / "report.html", run)
    return written


def _write_tables(run: Run, directory: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, table in run.tables().items():
        # By a file of ours: Arrow takes no name that is not UTF-8.
        with (directory / f"{name}.parquet").open("wb") as file:
            pq.write_table(pa.table(table), file)
