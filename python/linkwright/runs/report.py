"""A run as one HTML file: its answer, what was played, its tables and charts, what is left out.

The file holds everything it shows, the scripts that draw its charts included. So it can be sent by
mail and opened without a network. The same inputs give the same bytes.
"""

from __future__ import annotations

from pathlib import Path

from linkwright.page import embed, render
from linkwright.runs.run import Best, Run
from linkwright.writing import replace_file

__all__ = ["write_report"]


def write_report(path: Path, run: Run) -> None:
    """Writes the report on a run.

    Args:
        path: The HTML file; it appears whole or not at all.
        run: The run, of any kind.

    Raises:
        SimulationError: If the run had no jobs.
        OSError: If the file cannot be written.
    """
    sections = [section for section in run.sections() if not section.is_empty]
    charts = {name: chart for section in sections for name, chart in section.charts.items()}
    content = render(
        "run.html.j2",
        embed(charts),
        title=run.title,
        headline=run.headline,
        # Where the answer is printed first, the page has it already.
        context=[line for line in run.context if line != run.headline],
        warnings=run.warnings,
        sections=sections,
        is_best=lambda cell: isinstance(cell, Best),
    )
    replace_file(path, content)
