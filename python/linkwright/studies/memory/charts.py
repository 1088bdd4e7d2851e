"""Draws the study's charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from linkwright.collective_plot import COLOURS, coloured
from linkwright.plot import SHAPES, inline_chart

__all__ = ["figure", "lines"]

Rows = Sequence[Mapping[str, Any]]


def figure(
    name: str,
    values: Mapping[str, Mapping[str, float]],
    title: str,
    subtitle: str,
    axis: str = "speed-up",
) -> Mapping[str, alt.Chart]:
    """A figure by its file's name; none where nothing was run.

    Args:
        name: Of its file.
        values: For each memory system its values by benchmark.
        title: Of the chart.
        subtitle: How it was measured.
        axis: The title of the values' axis.
    """
    rows = [
        {"benchmark": benchmark, "memory": memory, "value": value}
        for memory, by in values.items()
        for benchmark, value in by.items()
    ]
    return {name: _bars(rows, title, subtitle, axis)} if rows else {}


def _bars(rows: Rows, title: str, subtitle: str, axis: str) -> alt.Chart:
    """Draws a bar for each benchmark and memory system.

    Args:
        rows: The benchmark, the memory system and the value.
        title: The heading, which names the measurement.
        subtitle: How.
        axis: The name of the value.
    """
    kinds = list(dict.fromkeys(row["memory"] for row in rows))
    order = list(dict.fromkeys(row["benchmark"] for row in rows))
    chart: alt.Chart = (
        inline_chart(_rounded(rows), title, subtitle)
        .mark_bar()
        .encode(
            x=alt.X("benchmark:N", title=None, sort=order),
            xOffset=alt.XOffset("memory:N", sort=kinds),
            y=alt.Y("value:Q", title=axis),
            color=coloured("memory", kinds, alt.Legend(orient="top", columns=3, labelLimit=0)),
            tooltip=["benchmark:N", "memory:N", "value:Q"],
        )
        .properties(width=alt.Step(8), height=240)
    )
    return chart


def lines(rows: Rows, axes: tuple[str, str], title: str, subtitle: str) -> alt.Chart:
    """Draws a line for each benchmark, a panel for each consistency.

    Args:
        rows: The benchmark, its panel, the place on the axis, and the value.
        axes: Titles below and left.
        title: The heading, which names the measurement.
        subtitle: How.
    """
    names = list(dict.fromkeys(row["benchmark"] for row in rows))
    shapes = [SHAPES[at % len(SHAPES)] for at in range(len(names))]
    colours = [COLOURS[at % len(COLOURS)] for at in range(len(names))]
    legend = alt.Legend(orient="right")
    chart: alt.Chart = (
        inline_chart(_rounded(rows), title, subtitle)
        .mark_line(point={"filled": True, "size": 40})
        .encode(
            x=alt.X("at:Q", title=axes[0], scale=alt.Scale(type="log", base=2)),
            y=alt.Y("value:Q", title=axes[1]),
            color=alt.Color(
                "benchmark:N",
                title=None,
                scale=alt.Scale(domain=names, range=colours),
                legend=legend,
            ),
            shape=alt.Shape(
                "benchmark:N",
                title=None,
                scale=alt.Scale(domain=names, range=shapes),
                legend=legend,
            ),
            facet=alt.Facet("of:N", title=None),
            tooltip=["benchmark:N", "of:N", "at:Q", "value:Q"],
        )
        .properties(width=240, height=220)
    )
    return chart


def _rounded(rows: Rows) -> list[dict[str, Any]]:
    return [{**row, "value": float(f"{row['value']:.5g}")} for row in rows]
