"""Draws synthetic traffic: latency and what arrives, over loads."""

from __future__ import annotations

from typing import Any

import altair as alt

from linkwright.scenario import Table
from linkwright.plot import BLUE, GREY, ORANGE, inline_chart, rounded

__all__ = ["latency_by_load"]


def latency_by_load(table: Table, title: str = "Latency by load") -> alt.TopLevelMixin:
    """The latency of messages above, and below the share that arrives, over what is offered.

    Args:
        table: The rows of `System.traffic`.
        title: Above both.
    """
    rows: list[dict[str, Any]] = []
    for row in table:
        offered = row["accepted"] if row["load"] is None else row["load"]
        for kind in ("latency", "p99"):
            if row[kind] is not None:
                name = "mean" if kind == "latency" else "99th percentile"
                rows.append({"offered": offered, "kind": name, "latency": rounded(row[kind] * 1e6)})
        rows.append({"offered": offered, "kind": "accepted", "share": rounded(row["accepted"])})
    x = alt.X("offered:Q", title="load", axis=alt.Axis(format="%"))
    domain = ["mean", "99th percentile", "accepted"]
    scale = alt.Scale(domain=domain, range=[BLUE, ORANGE, GREY])
    colour = alt.Color("kind:N", title=None, sort=domain, scale=scale)
    latency = (
        inline_chart([row for row in rows if "latency" in row], title)
        .mark_line(point=True)
        .encode(
            x=x,
            y=alt.Y("latency:Q", title="latency (µs)", scale=alt.Scale(type="log")),
            color=colour,
        )
        .properties(width=420, height=220)
    )
    share = (
        inline_chart([row for row in rows if "share" in row])
        .mark_line(point=True)
        .encode(
            x=x,
            y=alt.Y("share:Q", title="accepted", axis=alt.Axis(format="%")),
            color=colour,
        )
        .properties(width=420, height=140)
    )
    return alt.vconcat(latency, share)
