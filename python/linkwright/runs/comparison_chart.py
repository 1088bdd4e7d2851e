"""The chart of a comparison of programs: how many times as fast each job is under each variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from linkwright.plot import BLUE, GREY, inline_chart, rounded
from linkwright.runs.compared import WHOLE

__all__ = ["job_speedups"]


def job_speedups(
    rows: Sequence[Mapping[str, Any]], reference: str, *, title: str | None = None
) -> alt.LayerChart:
    """Draws a point for each job of each variant, on a logarithmic axis, and one for all of them.

    Args:
        rows: Those of `Comparison.rows`.
        reference: The variant that the others are compared with, which stands at 1.
        title: Instead of the default, which says what is seen.
    """
    shown = [
        {
            "variant": row["variant"],
            "job": row["job"] or WHOLE,
            "what": "a job" if row["job"] else "all jobs",
            "speedup": rounded(row["speedup"]),
            "milliseconds": rounded(row["time"] * 1e3),
        }
        for row in rows
        if row["speedup"] and row["variant"] != reference
    ]
    variants = list(dict.fromkeys(row["variant"] for row in shown))
    what = alt.Color(
        "what:N",
        title=None,
        legend=alt.Legend(orient="top"),
        scale=alt.Scale(domain=["a job", "all jobs"], range=[GREY, BLUE]),
    )
    default = f"Times as fast as under {reference}"
    points: alt.Chart = (
        inline_chart(shown, title or default, "Above 1 is faster.")
        .mark_point(filled=True, size=90, opacity=0.8)
        .encode(
            y=alt.Y("variant:N", title=None, sort=variants),
            x=alt.X(
                "speedup:Q",
                title="time under the reference over time",
                scale=alt.Scale(type="log", nice=False, padding=20),
            ),
            color=what,
            tooltip=["variant:N", "job:N", "speedup:Q", "milliseconds:Q"],
        )
        .properties(width=620, height=alt.Step(26))
    )
    one = alt.Chart().mark_rule(color=GREY, strokeDash=[4, 4]).encode(x=alt.datum(1))
    both: alt.LayerChart = points + one
    return both
