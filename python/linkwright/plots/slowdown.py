"""Charts of what slowed jobs: by cause, and by how many GPUs they have."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt

from linkwright.plot import BLUE, GREY, ORANGE, SPARE_COLOURS, inline_chart, rounded
from linkwright.plots.shapes import WIDTH, by_name
from linkwright.summaries.attribution import (
    PARTS,
    Attributed,
    SlowdownParts,
    attribution_rows,
    parts_told,
    slowdown_parts,
)

__all__ = ["slowdown_by_cause", "slowdown_by_size"]

COLOURS = dict(zip(PARTS, (GREY, BLUE, ORANGE, SPARE_COLOURS[2]), strict=True))


def slowdown_by_cause(
    parts: Sequence[SlowdownParts], *, title: str = "Slowdown by cause"
) -> alt.TopLevelMixin:
    """Draws a bar for each policy; on its logarithmic axis the parts add up to the whole."""
    rows = []
    causes = parts_told(parts)
    for of in parts:
        begin = 1.0
        for part in causes:
            factor = getattr(of, part)
            rows.append(
                {
                    "policy": of.policy,
                    "cause": part,
                    "factor": rounded(factor),
                    "from": rounded(begin),
                    "to": rounded(begin * factor),
                }
            )
            begin *= factor
    subtitle = "Times as long as alone on the best GPUs of the idle system, in the geometric mean."
    chart: alt.TopLevelMixin = (
        inline_chart(rows, title, subtitle)
        .mark_bar()
        .encode(
            y=alt.Y("policy:N", title=None, sort=[of.policy for of in parts]),
            x=alt.X("from:Q", title="slowdown", scale=alt.Scale(type="log", nice=False)),
            x2="to:Q",
            color=by_name("cause", causes, [COLOURS[it] for it in causes]),
            tooltip=["policy:N", "cause:N", "factor:Q"],
        )
        .properties(width=WIDTH, height=alt.Step(24))
    )
    return chart


def slowdown_by_size(
    results: Sequence[Attributed], *, title: str = "Slowdown by size"
) -> alt.TopLevelMixin:
    """Draws a point for each number of GPUs and cause: the geometric mean over its jobs."""
    rows = []
    causes = parts_told([it for it in map(slowdown_parts, results) if it is not None])
    for result in results:
        of_size: dict[int, list[dict[str, float]]] = {}
        for row in attribution_rows(result):
            of_size.setdefault(row["gpu_count"], []).append(row)
        for size, jobs in sorted(of_size.items()):
            for part in causes:
                logarithms = [math.log(job[part]) for job in jobs if job[part] > 0] or [0.0]
                factor = math.exp(math.fsum(logarithms) / len(logarithms))
                rows.append(
                    {
                        "policy": result.policy,
                        "cause": part,
                        "gpus": size,
                        "factor": rounded(factor),
                        "jobs": len(jobs),
                    }
                )
    chart = (
        inline_chart(rows, title, "Geometric means of the jobs that have as many GPUs.")
        .mark_line(point=True)
        .encode(
            x=alt.X("gpus:Q", title="GPUs of the job", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("factor:Q", title="slowdown", scale=alt.Scale(type="log", nice=False)),
            color=by_name("cause", causes, [COLOURS[it] for it in causes]),
            tooltip=["policy:N", "cause:N", "gpus:Q", "factor:Q", "jobs:Q"],
        )
        .properties(width=WIDTH, height=200)
    )
    shown: alt.TopLevelMixin = chart
    if len(results) > 1:
        shown = chart.properties(width=WIDTH // 2).facet(
            facet=alt.Facet("policy:N", title=None, sort=[it.policy for it in results]), columns=2
        )
    return shown
