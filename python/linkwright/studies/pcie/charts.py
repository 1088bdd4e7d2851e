"""Draws the study's charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from linkwright.collective_plot import coloured
from linkwright.plot import inline_chart

__all__ = ["by_mix", "by_pair"]


def by_pair(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """Draws the throughput over round-robin of every pair, a bar for each policy.

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
            color=coloured("policy", policies, alt.Legend(orient="top")),
            tooltip=["pair:N", "policy:N", "throughput:Q"],
        )
        .properties(width=alt.Step(6), height=260)
    )
    return chart


def by_mix(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """How much slower each kind of task is in each mix of eight, a line for each kind and server.

    Args:
        rows: The mix, the task and by how much it is slower.
    """
    order = list(dict.fromkeys(row["mix"] for row in rows))
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    data = [{**row, "slower": float(f"{row['slower']:.5g}")} for row in rows]
    chart: alt.Chart = (
        inline_chart(
            data,
            "Tasks of eight on one server, slower than alone",
            "Modelled: copies share links of PCIe, and nothing else.",
        )
        .mark_line(point=True)
        .encode(
            x=alt.X("mix:N", title="tasks of ResNet-50 + of DeepInterest", sort=order),
            y=alt.Y("slower:Q", title="slower", axis=alt.Axis(format="%")),
            color=coloured("task", tasks, alt.Legend(orient="top", columns=2, labelLimit=300)),
            tooltip=["mix:N", "task:N", "slower:Q"],
        )
        .properties(width=420, height=260)
    )
    return chart
