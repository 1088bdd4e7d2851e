"""Draws what a job of a shared system's day costs, by how many jobs there are.

    cargo bench --bench scenario -- pod | tee pod.txt
    python python/benchmarks/cost_per_job.py pod.txt docs/images/cost-per-job.svg

The first file is what the benchmark prints. Beside the measured points stands what each job would
cost if all of them grew as n log n from the least number on.
"""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path

import altair as alt

ROW = re.compile(r"^pod (?P<jobs>\d+) jobs on 64 servers +[\d.]+ s +(?P<cost>[\d.]+) us a job")


def rows(text: str) -> list[tuple[int, float]]:
    """Returns the jobs and milliseconds a job of each row of the benchmark's output."""
    found = [row for line in text.splitlines() if (row := ROW.match(line))]
    return sorted((int(row["jobs"]), float(row["cost"]) / 1_000) for row in found)


def draw(measured: list[tuple[int, float]], picture: Path) -> None:
    """Draws measured points, and the line that n log n allows from the first on."""
    least, first = measured[0]
    allowed = [(jobs, first * math.log(jobs) / math.log(least)) for jobs, _ in measured]
    values = [
        {"jobs": jobs, "ms a job": each, "what": what}
        for what, points in (("measured", measured), ("n log n", allowed))
        for jobs, each in points
    ]
    chart = alt.Chart(alt.InlineData(values=values), title="A day on 64 DGX-1Vs as fluids")
    chart = chart.mark_line(point=True).properties(width=480, height=280)
    chart.encode(
        x=alt.X("jobs:Q").title("jobs"),
        y=alt.Y("ms a job:Q").title("CPU, ms a job"),
        color=alt.Color("what:N").title(None),
    ).save(picture)


def main() -> None:
    """Reads the benchmark's output and writes the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("output", type=Path, help="what the benchmark printed")
    parser.add_argument("picture", type=Path, help="the picture to write: .svg, .png or .html")
    given = parser.parse_args()
    draw(rows(given.output.read_text()), given.picture)


if __name__ == "__main__":
    main()
