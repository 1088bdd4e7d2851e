"""Charts of the study that no run has: two models against one another, and decision times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import altair as alt

from linkwright.plot import (
    BLUE,
    GREY,
    ORANGE,
    SHAPES,
    SKY_BLUE,
    SPARE_COLOURS,
    chart_title,
    inline_chart,
    rounded,
)

__all__ = [
    "DecisionTime",
    "LinkPoint",
    "ModelPoint",
    "bandwidth_by_size",
    "decision_times",
    "predicted_against_model",
]


@dataclass(frozen=True)
class ModelPoint:
    """Holds a mix of links, and the effective bandwidth that two models give it, in GB/s."""

    gpus: int
    double: int
    single: int
    pcie: int
    published: float
    sound: float


@dataclass(frozen=True)
class DecisionTime:
    """Says how long one decision took for a job of `gpus` GPUs on an idle machine."""

    machine: str
    gpus: int
    seconds: float


@dataclass(frozen=True)
class LinkPoint:
    """Holds the bus bandwidth in GB/s of an all-reduce of a given size on a class of links."""

    link: str
    size: int
    bandwidth: float


LINKS = {"double": "two NVLinks", "single": "one NVLink", "pcie": "PCIe"}


def bandwidth_by_size(points: Sequence[LinkPoint], *, title: str | None = None) -> alt.Chart:
    """Draws the bus bandwidth in GB/s by size, a line for each class of links (Fig. 2a)."""
    rows = [
        {
            "link": LINKS[point.link],
            "size": point.size,
            "bandwidth": rounded(point.bandwidth),
        }
        for point in points
    ]
    names, colours = list(LINKS.values()), [BLUE, ORANGE, GREY]
    default = "All-reduce of two GPUs by size and link"
    chart: alt.Chart = (
        inline_chart(rows, title or default, "Logarithmic sizes; NCCL's own choice of protocol.")
        .mark_line(point={"filled": True, "size": 45})
        .encode(
            x=alt.X("size:Q", title="size (B)", scale=alt.Scale(type="log")),
            y=alt.Y("bandwidth:Q", title="bus bandwidth (GB/s)"),
            color=alt.Color(
                "link:N",
                title="link",
                sort=names,
                scale=alt.Scale(domain=names, range=colours),
            ),
            shape=alt.Shape(
                "link:N",
                title="link",
                sort=names,
                scale=alt.Scale(domain=names, range=list(SHAPES[: len(names)])),
            ),
            tooltip=["link:N", "size:Q", "bandwidth:Q"],
        )
        .properties(width=460, height=260)
    )
    return chart


def predicted_against_model(
    points: Sequence[ModelPoint], *, title: str | None = None
) -> alt.TopLevelMixin:
    """Draws the published regression against the sound model (after Fig. 12), in GB/s."""
    rows = [asdict(point) for point in points]
    for row in rows:
        row["published"] = rounded(row["published"])
        row["sound"] = rounded(row["sound"])
    most = max((max(row["published"], row["sound"]) for row in rows), default=1.0)
    diagonal = inline_chart([{"at": 0.0}, {"at": rounded(most)}]).mark_line(
        color=GREY, strokeDash=[4, 4]
    )
    dots = (
        inline_chart(rows)
        .mark_point(filled=True, size=70, opacity=0.85)
        .encode(
            x=alt.X("sound:Q", title="sound model (GB/s)"),
            y=alt.Y("published:Q", title="published regression, Eq. 2 (GB/s)"),
            color=alt.Color(
                "gpus:O",
                title="GPUs",
                scale=alt.Scale(range=[SKY_BLUE, ORANGE, BLUE, *SPARE_COLOURS]),
            ),
            shape=alt.Shape("gpus:O", title="GPUs", scale=alt.Scale(range=list(SHAPES))),
            tooltip=["gpus:Q", "double:Q", "single:Q", "pcie:Q", "published:Q", "sound:Q"],
        )
    )
    default = "Two models of effective bandwidth, by mix of links"
    lines = diagonal.encode(x="at:Q", y="at:Q")
    layers = alt.layer(lines, dots).properties(width=380, height=300)
    return layers.properties(
        title=chart_title(
            title or default, "On the dashed line both agree; one dot per mix of links."
        )
    )


def decision_times(points: Sequence[DecisionTime], *, title: str | None = None) -> alt.Chart:
    """Draws the time of one decision by job size, a line per machine (Fig. 19), in milliseconds."""
    rows = [
        {
            "machine": point.machine,
            "gpus": point.gpus,
            "milliseconds": float(f"{point.seconds * 1e3:.3g}"),
        }
        for point in points
        if point.seconds > 0
    ]
    machines = list(dict.fromkeys(point.machine for point in points))
    colours = [BLUE, ORANGE, SKY_BLUE, *SPARE_COLOURS]
    default = "Time to decide where a job goes, on an idle machine"
    chart: alt.Chart = (
        inline_chart(rows, title or default, "Logarithmic scale; the minimum of several runs.")
        .mark_line(point={"filled": True, "size": 45})
        .encode(
            x=alt.X("gpus:O", title="GPUs of the job", axis=alt.Axis(labelAngle=0)),
            y=alt.Y(
                "milliseconds:Q",
                title="time of one decision (ms)",
                axis=alt.Axis(tickCount=4),
                scale=alt.Scale(type="log"),
            ),
            color=alt.Color(
                "machine:N",
                title="machine",
                sort=machines,
                scale=alt.Scale(domain=machines, range=colours[: len(machines)]),
            ),
            shape=alt.Shape(
                "machine:N",
                title="machine",
                sort=machines,
                scale=alt.Scale(domain=machines, range=list(SHAPES[: len(machines)])),
            ),
            tooltip=["machine:N", "gpus:Q", "milliseconds:Q"],
        )
        .properties(width=460, height=260)
    )
    return chart
