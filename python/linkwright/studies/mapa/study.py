"""MAPA's study as a whole: what differs from run to run stands apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwright.studies.study import Study
from linkwright.studies.tables import Section, StudyTable, section_markdown

__all__ = ["INTRODUCTION", "TITLE", "MapaStudy"]

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
class MapaStudy(Study):
    """The outcome of MAPA's study; its sections are the same for the same seeds.

    Attributes:
        timings: The section whose wall-clock times differ from run to run.
        seeds: The seeds of the job mixes; the first stands for the paper's list.
    """

    timings: Section
    seeds: Sequence[int]

    @property
    def tables(self) -> list[StudyTable]:
        """All tables, those with timings last."""
        return [*super().tables, *self.timings.tables]

    def contents(self) -> dict[str, bytes]:
        """The files but for the figures, by name; `timings.md` shows the timings."""
        return {**super().contents(), "timings.md": self.timings_to_markdown().encode()}

    def fields(self) -> dict[str, Any]:
        """What the JSON holds; what differs from run to run under "timings"."""
        return {
            **super().fields(),
            "seeds": list(self.seeds),
            "timings": [table.to_json() for table in self.timings.tables],
        }

    def figure_sections(self) -> Sequence[Section]:
        """The sections whose charts are written."""
        return [*self.sections, self.timings]

    def timings_to_markdown(self, figures: str = "figures") -> str:
        """The section on decision times, which differ from run to run."""
        return section_markdown(self.timings, figures) + "\n"
