"""The study's charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from linkwright.collective_plot import COLOURS
from linkwright.plot import inline_chart

__all__ = ["by_pair"]


def by_pair(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """Throughput over round-robin of every pair, a bar for each policy.

    Args:
        rows: The pair, the policy and the throughput.
    """
    order = list(dict.fromkeys(row["pair"] for row in rows))
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    data = [{**row, "throughput": float(f"{row['throughput']:.5g}")} for row in rows]
    chart: alt.Chart = (
        inline_chart(
            data,
            "Throughput of two tasks over round-robin",
            "Modelled: two GPUs a task, one x16 link to the root.",
        )
        .mark_bar()
        .encode(
            x=alt.X("pair:N", title="pair", sort=order, axis=alt.Axis(labelAngle=-90)),
            xOffset=alt.XOffset("policy:N", sort=policies),
            y=alt.Y("throughput:Q", title="over round-robin"),
            color=alt.Color(
                "policy:N",
                title=None,
                sort=policies,
                scale=alt.Scale(domain=policies, range=list(COLOURS[: len(policies)])),
                legend=alt.Legend(orient="top"),
            ),
            tooltip=["pair:N", "policy:N", "throughput:Q"],
        )
        .properties(width=alt.Step(6), height=260)
    )
    return chart
