"""The study as a whole, and how it is written to files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import linkwright
from linkwright.files import replace_file
from linkwright.page import embed, render
from linkwright.plot import save_chart
from linkwright.studies.tables import Section, StudyTable, section_markdown

__all__ = ["MapaStudy"]

TITLE = "MAPA reproduced"
INTRODUCTION = (
    "MAPA (Ranganath et al., SC'21) gives jobs on a shared server the GPUs whose links suit "
    "them, and reports what that gains. This study plays the paper's experiments on Linkwright's "
    "model of the same machines and puts each published number beside the reproduced one.",
    "What can be compared is limited by what was published. The job lists, the measured run "
    "times and the measured bandwidths are not; the figures are box plots without a table, so "
    "that the paper's sentences about them are what is checked. The workloads' compute times are "
    "calibrated to the paper's run times on good links, hence ratios between policies are "
    "results, and seconds are not. Where numbers part, the table shows both.",
)


@dataclass(frozen=True)
class MapaStudy:
    """The outcome of a study.

    Attributes:
        sections: One per table or figure of the paper; the same for the same seeds.
        timings: The section whose wall-clock times differ from run to run.
        seeds: The seeds of the job mixes; the first stands for the paper's list.
    """

    sections: Sequence[Section]
    timings: Section
    seeds: Sequence[int]

    @property
    def tables(self) -> list[StudyTable]:
        """All tables, those with timings last."""
        return [table for section in [*self.sections, self.timings] for table in section.tables]

    def write(self, directory: Path) -> list[Path]:
        """Writes the study into a folder, made if need be, and returns the files.

        `report.html` needs no other file; `mapa.md` shows the charts of `figures/`, which are
        SVG and PNG. Of all these the same seeds give the same bytes. `study.json` holds the
        tables, with the timings apart under "timings", and `timings.md` shows those.

        Raises:
            OSError: If a file cannot be written.
        """
        figures = directory / "figures"
        figures.mkdir(parents=True, exist_ok=True)
        contents = {
            directory / "report.html": self._html(),
            directory / "mapa.md": self.to_markdown().encode(),
            directory / "timings.md": self.timings_to_markdown().encode(),
            directory / "study.json": self.to_json().encode(),
        }
        for path, content in contents.items():
            replace_file(path, content)
        written = list(contents)
        for section in [*self.sections, self.timings]:
            for name, chart in section.figures.items():
                for suffix in (".svg", ".png"):
                    written.append(figures / f"{name}{suffix}")
                    save_chart(chart, written[-1])
        return written

    def to_json(self) -> str:
        """The tables as JSON, numbers unrounded; what differs from run to run under "timings"."""
        study = {
            "study": "mapa",
            "version": linkwright.__version__,
            "seeds": list(self.seeds),
            "tables": [table.to_json() for each in self.sections for table in each.tables],
            "timings": [table.to_json() for table in self.timings.tables],
        }
        return json.dumps(study, indent=2, ensure_ascii=False) + "\n"

    def to_markdown(self, figures: str = "figures") -> str:
        """The study as a page, without the timings.

        Args:
            figures: The folder of the figures, as seen from the page.
        """
        parts = [f"# {TITLE}", *INTRODUCTION, self._seeds_sentence()]
        parts += [section_markdown(section, figures) for section in self.sections]
        return "\n\n".join(parts) + "\n"

    def timings_to_markdown(self, figures: str = "figures") -> str:
        """The section on decision times, which differ from run to run."""
        return section_markdown(self.timings, figures) + "\n"

    def _seeds_sentence(self) -> str:
        return f"Job mixes are of seeds {self.seeds[0]} to {self.seeds[-1]}."

    def _html(self) -> bytes:
        charts = {
            name: chart for section in self.sections for name, chart in section.figures.items()
        }
        return render(
            "study.html.j2",
            embed(charts),
            title=TITLE,
            introduction=[*INTRODUCTION, self._seeds_sentence()],
            sections=self.sections,
        )
