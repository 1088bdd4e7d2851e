"""Draws the study's charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from linkwright.collective_plot import BINARY, COLOURS
from linkwright.plot import BLUE, GREY, SHAPES, inline_chart

__all__ = ["speedup_by_allocation", "speedup_by_size"]


def speedup_by_allocation(rows: Sequence[Mapping[str, Any]], title: str) -> alt.Chart:
    """Draws the speed-up over each baseline on every allocation, two bars each.

    Args:
        rows: The allocation, the baseline and the speed-up.
        title: The heading, which names the work that was timed.
    """
    order = list(dict.fromkeys(row["allocation"] for row in rows))
    baselines = list(dict.fromkeys(row["baseline"] for row in rows))
    data = [{**row, "speedup": float(f"{row['speedup']:.5g}")} for row in rows]
    chart: alt.Chart = (
        inline_chart(data, title, "Modelled: how many times as fast as each NCCL.")
        .mark_bar()
        .encode(
            x=alt.X("allocation:N", title="GPUs", sort=order, axis=alt.Axis(labelAngle=-90)),
            xOffset=alt.XOffset("baseline:N", sort=baselines),
            y=alt.Y("speedup:Q", title="times as fast"),
            color=alt.Color(
                "baseline:N",
                title="against",
                sort=baselines,
                scale=alt.Scale(domain=baselines, range=[GREY, BLUE]),
                legend=alt.Legend(orient="top"),
            ),
            tooltip=["allocation:N", "baseline:N", "speedup:Q"],
        )
        .properties(width=alt.Step(8), height=260)
    )
    return chart


def speedup_by_size(rows: Sequence[Mapping[str, Any]], title: str, subtitle: str) -> alt.Chart:
    """Draws the speed-up by size, a line per comparison.

    Args:
        rows: The size in bytes, the comparison and the speed-up.
        title: The heading, which names the work that was timed.
        subtitle: How.
    """
    names = list(dict.fromkeys(row["comparison"] for row in rows))
    data = [{**row, "speedup": float(f"{row['speedup']:.5g}")} for row in rows]
    legend = alt.Legend(orient="top", columns=2, labelLimit=320)
    colours = alt.Scale(
        domain=names, range=[COLOURS[at % len(COLOURS)] for at in range(len(names))]
    )
    shapes = alt.Scale(domain=names, range=[SHAPES[at % len(SHAPES)] for at in range(len(names))])
    chart: alt.Chart = (
        inline_chart(data, title, subtitle)
        .mark_line(point={"filled": True, "size": 40})
        .encode(
            x=alt.X(
                "size:Q",
                title="size (bytes, in binary units)",
                scale=alt.Scale(type="log", base=2),
                axis=alt.Axis(values=[1 << power for power in range(0, 50, 5)], labelExpr=BINARY),
            ),
            y=alt.Y("speedup:Q", title="times as fast", scale=alt.Scale(zero=True)),
            color=alt.Color("comparison:N", title=None, sort=names, scale=colours, legend=legend),
            shape=alt.Shape("comparison:N", title=None, sort=names, scale=shapes, legend=legend),
            tooltip=["comparison:N", "size:Q", "speedup:Q"],
        )
        .properties(width=520, height=280)
    )
    return chart
