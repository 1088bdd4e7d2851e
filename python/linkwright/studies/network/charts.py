"""Draws the study's charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from linkwright.collective_plot import COLOURS
from linkwright.plot import BLUE, GREY, ORANGE, SHAPES, SKY_BLUE, inline_chart

__all__ = [
    "shares_by_application",
    "speedup_by_bandwidth",
    "speedup_by_nic",
    "speedup_by_ranks",
]

FOUR = (GREY, SKY_BLUE, BLUE, ORANGE)
Rows = Sequence[Mapping[str, Any]]


def shares_by_application(rows: Rows) -> alt.Chart:
    """Draws stacked shares of time, before and after scaling (Fig. 4).

    Args:
        rows: The application, the kind of computation, the part, and its share.
    """
    parts = ["communicating", "computing"]
    scale = alt.Scale(domain=parts, range=[ORANGE, BLUE])
    chart: alt.Chart = (
        inline_chart(
            _rounded(rows, "share"),
            "Computing and communicating on 32 processes",
            "Simulated; each application alone on the fat-tree, 1 GPU per node.",
        )
        .mark_bar()
        .encode(
            x=alt.X("application:N", title=None, sort=_order(rows, "application")),
            y=alt.Y("share:Q", title="share of time", axis=alt.Axis(format="%")),
            color=alt.Color("part:N", title=None, scale=scale, legend=alt.Legend(orient="top")),
            column=alt.Column("computation:N", title=None, sort=_order(rows, "computation")),
            tooltip=["application:N", "computation:N", "part:N", "share:Q"],
        )
        .properties(width=210, height=220)
    )
    return chart


def speedup_by_ranks(rows: Rows, title: str, subtitle: str) -> alt.Chart:
    """Draws speed-ups by application and processes, a bar for each number of GPUs per node.

    Args:
        rows: The application, its ranks, which system, and the speed-up.
        title: The heading, which names the measurement.
        subtitle: How.
    """
    return _bars(rows, title, subtitle, "ranks", "processes", "which")


def speedup_by_nic(rows: Rows, title: str, subtitle: str) -> alt.Chart:
    """Draws speed-ups by application and system, a bar for each policy.

    Args:
        rows: The application, the system (`64 on 8`), the policy, and the speed-up.
        title: The heading, which names the measurement.
        subtitle: How.
    """
    return _bars(rows, title, subtitle, "system", "processes on GPUs per node", "policy")


def _bars(rows: Rows, title: str, subtitle: str, field: str, axis: str, colour: str) -> alt.Chart:
    kinds = _order(rows, colour)
    scale = alt.Scale(domain=kinds, range=list(FOUR))
    chart: alt.Chart = (
        inline_chart(_rounded(rows, "speedup"), title, subtitle)
        .mark_bar()
        .encode(
            x=alt.X(f"{field}:O", title=axis, sort=sorted(_order(rows, field), key=_numbers)),
            xOffset=alt.XOffset(f"{colour}:N", sort=kinds),
            y=alt.Y("speedup:Q", title="speed-up"),
            color=alt.Color(
                f"{colour}:N", title=None, sort=kinds, scale=scale, legend=alt.Legend(orient="top")
            ),
            facet=alt.Facet(
                "application:N", title=None, columns=3, sort=_order(rows, "application")
            ),
            tooltip=["application:N", f"{field}:O", f"{colour}:N", "speedup:Q"],
        )
        .properties(width=210, height=140)
    )
    return chart


def speedup_by_bandwidth(rows: Rows, title: str, subtitle: str) -> alt.Chart:
    """Draws the speed-up by bandwidth, a line per application (Fig. 7).

    Args:
        rows: The application, the factor of bandwidth, and the speed-up.
        title: The heading, which names the measurement.
        subtitle: How.
    """
    names = _order(rows, "application")
    colours = alt.Scale(domain=names, range=COLOURS[: len(names)])
    shapes = alt.Scale(domain=names, range=list(SHAPES[: len(names)]))
    legend = alt.Legend(orient="right")
    label = "datum.value < 1 ? 'x/' + 1 / datum.value : datum.value == 1 ? 'x' : datum.value + 'x'"
    chart: alt.Chart = (
        inline_chart(_rounded(rows, "speedup"), title, subtitle)
        .mark_line(point={"filled": True, "size": 40})
        .encode(
            x=alt.X(
                "bandwidth:Q",
                title="bandwidth of links",
                scale=alt.Scale(type="log", base=2),
                axis=alt.Axis(values=_order(rows, "bandwidth"), labelExpr=label),
            ),
            y=alt.Y("speedup:Q", title="speed-up", scale=alt.Scale(type="log", base=2)),
            color=alt.Color("application:N", title=None, sort=names, scale=colours, legend=legend),
            shape=alt.Shape("application:N", title=None, sort=names, scale=shapes, legend=legend),
            tooltip=["application:N", "bandwidth:Q", "speedup:Q"],
        )
        .properties(width=460, height=260)
    )
    return chart


def _numbers(name: int | str) -> list[int]:
    """The numbers in a name, by which names sort."""
    return [int(word) for word in str(name).split() if word.isdecimal()]


def _order(rows: Rows, field: str) -> list[Any]:
    return list(dict.fromkeys(row[field] for row in rows))


def _rounded(rows: Rows, field: str) -> list[dict[str, Any]]:
    return [{**row, field: float(f"{row[field]:.5g}")} for row in rows]
