"""Measures the cost of the study itself."""

from __future__ import annotations

from linkwright.studies.network.runs import Performed
from linkwright.studies.tables import Section, StudyTable

__all__ = ["cost"]


def cost(done: Performed) -> Section:
    """Writes the section on processor time, which differs from run to run."""
    return Section(
        title="Processor time",
        text=[
            "The processor time of all runs, those found finished from an earlier start among "
            "them. Runs on a busy machine cost more than on an idle one.",
        ],
        tables=[
            StudyTable(
                title="Processor time of the runs",
                columns=("runs", "of them found finished", "all (s)", "mean of a run (s)"),
                rows=((done.runs, done.resumed, done.cpu_seconds, done.cpu_seconds / done.runs),),
                formats=("", "", ".0f", ".2f"),
                note=" ".join(done.notes),
            )
        ],
    )
