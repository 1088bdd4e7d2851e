"""A study as a whole, and how it is written to files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import linkwright
from linkwright.page import embed, render
from linkwright.plot import save_chart
from linkwright.studies.openings import OPENINGS
from linkwright.studies.tables import (
    Section,
    StudyTable,
    figure_markdown,
    folded,
    section_markdown,
)
from linkwright.writing import replace_file

__all__ = ["INTRODUCTION", "Study", "TimedStudy"]

INTRODUCTION = "What was compared, and how"


@dataclass(frozen=True)
class Study:
    """Holds the outcome of a study.

    Attributes:
        name: The name of the command.
        title: The page's title.
        introduction: The page's first paragraphs.
        sections: One section for each table or figure of the paper.
    """

    name: str
    title: str
    introduction: Sequence[str]
    sections: Sequence[Section]

    @property
    def tables(self) -> list[StudyTable]:
        """Returns all tables."""
        return [table for section in self.sections for table in section.tables]

    def write(self, directory: Path) -> list[Path]:
        """Writes the study into a folder, made if need be, and returns the files.

        `report.html` needs no other file; the page, named as the study is, shows the charts of
        `figures/`, which are SVG and PNG. `study.json` holds the tables. The same study gives
        the same bytes.

        Raises:
            OSError: If a file cannot be written.
        """
        directory.mkdir(parents=True, exist_ok=True)
        contents = self.contents()
        for name, content in contents.items():
            replace_file(directory / name, content)
        return [*(directory / name for name in contents), *self._write_figures(directory)]

    def contents(self) -> dict[str, bytes]:
        """Returns the files but for the figures, by name."""
        return {
            "report.html": self._html(),
            f"{self.name}.md": self.to_markdown().encode(),
            "study.json": self.to_json().encode(),
        }

    def to_json(self) -> str:
        """Writes the tables as JSON, numbers unrounded."""
        return json.dumps(self.fields(), indent=2, ensure_ascii=False) + "\n"

    def fields(self) -> dict[str, Any]:
        """Returns the fields of the JSON."""
        return {
            "study": self.name,
            "version": linkwright.__version__,
            "tables": [table.to_json() for each in self.sections for table in each.tables],
        }

    def to_markdown(self, figures: str = "figures") -> str:
        """Writes the study as a page: a question, one picture and one table, and then all sections.

        Args:
            figures: The folder of the figures, as seen from the page.
        """
        parts = [f"# {self.title}", *self._opening(figures)]
        parts.append(folded(INTRODUCTION, *self.introduction))
        parts += [section_markdown(section, figures) for section in self.sections]
        return "\n\n".join(parts) + "\n"

    def _opening(self, figures: str) -> list[str]:
        """The question, and its picture and table where their sections were made."""
        opening = OPENINGS[self.name]
        drawn = any(opening.figure in section.figures for section in self.sections)
        table = opening.of(self.tables)
        return [
            f"**{opening.question}**",
            *([figure_markdown(opening.figure, figures)] if drawn else ()),
            *((opening.reads, table.to_markdown()) if table is not None else ()),
        ]

    def figure_sections(self) -> Sequence[Section]:
        """The sections whose charts are written."""
        return self.sections

    def _write_figures(self, directory: Path) -> list[Path]:
        figures = directory / "figures"
        figures.mkdir(exist_ok=True)
        written = []
        for section in self.figure_sections():
            for name, chart in section.figures.items():
                for suffix in (".svg", ".png"):
                    written.append(figures / f"{name}{suffix}")
                    save_chart(chart, written[-1])
        return written

    def _html(self) -> bytes:
        charts = {
            name: chart for section in self.sections for name, chart in section.figures.items()
        }
        return render(
            "study.html.j2",
            embed(charts),
            title=self.title,
            question=OPENINGS[self.name].question,
            introduction=self.introduction,
            sections=self.sections,
        )


@dataclass(frozen=True)
class TimedStudy(Study):
    """Holds a study with a part that differs from run to run, and stands apart.

    Attributes:
        timings: The section with what clocks said; all others are the same for the same seeds. None
            where another section alone was asked for.
    """

    timings: Section | None

    @property
    def tables(self) -> list[StudyTable]:
        """Returns all tables, those with timings last."""
        return [*super().tables, *self._timing_tables()]

    def _timing_tables(self) -> Sequence[StudyTable]:
        return () if self.timings is None else self.timings.tables

    def contents(self) -> dict[str, bytes]:
        """The files but for the figures, by name; `timings.md` shows the timings."""
        timed = {} if self.timings is None else {"timings.md": self.timings_to_markdown().encode()}
        return {**super().contents(), **timed}

    def fields(self) -> dict[str, Any]:
        """Returns the fields of the JSON; `timings` holds those that differ from run to run."""
        return {
            **super().fields(),
            "timings": [table.to_json() for table in self._timing_tables()],
        }

    def figure_sections(self) -> Sequence[Section]:
        """The sections whose charts are written."""
        return [*self.sections, *(() if self.timings is None else (self.timings,))]

    def timings_to_markdown(self, figures: str = "figures") -> str:
        """Writes the section on times by the clock, which differ from run to run."""
        return "" if self.timings is None else section_markdown(self.timings, figures) + "\n"
