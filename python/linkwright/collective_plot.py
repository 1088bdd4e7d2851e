"""Draws charts of collectives: packed trees, bandwidth by size, algorithms side by side.

As in `linkwright.plot`, every function returns an Altair chart, to be changed, shown in a
notebook or saved with `linkwright.plot.save_chart`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from linkwright import System
from linkwright.collectives import Schedule, Tree
from linkwright.plot import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    SHAPES,
    SKY_BLUE,
    chart_title,
    inline_chart,
)

__all__ = ["bandwidth_by_algorithm", "bandwidth_by_size", "packed_trees"]

# Okabe and Ito's, but for the yellow, on which no white number can be read.
COLOURS = [BLUE, ORANGE, "#009E73", "#CC79A7", "#D55E00", SKY_BLUE, "#5B5B5B"]


def coloured(field: str, names: Sequence[str], legend: alt.Legend) -> alt.Color:
    """A colour for each of these names of a field, in their order.

    Args:
        field: The field of the rows.
        names: Its values, no more than there are colours.
        legend: Where they stand.
    """
    scale = alt.Scale(domain=names, range=COLOURS[: len(names)])
    return alt.Color(f"{field}:N", title=None, sort=names, scale=scale, legend=legend)


# A size as people who benchmark write it, for an axis whose values are powers of two.
BINARY = (
    "datum.value < 1024 ? datum.value + ' B' : datum.value < 1048576 ? datum.value / 1024 + ' KiB'"
    " : datum.value < 1073741824 ? datum.value / 1048576 + ' MiB'"
    " : datum.value / 1073741824 + ' GiB'"
)
LINK = "#DADDE1"

# Where an arrow's head sits on its edge: past the middle, so that two that meet stay apart.
HEAD = 0.62

Position = tuple[float, float]


def packed_trees(
    schedule: Schedule, system: System, *, columns: int | None = None, title: str | None = None
) -> alt.TopLevelMixin:
    """Draws the trees of a plan, one picture each, on the NVLinks between the job's GPUs.

    Arrows lead from the root, which is dark, outwards. An all-reduce goes up the arrows with
    partial sums and down them with the result; a reduce goes up, a broadcast down.

    Args:
        schedule: A plan with trees.
        system: The system that it was planned for.
        columns: How many pictures stand side by side; about as many as rows where None.
        title: Instead of the default, which says what is seen.

    Raises:
        ValueError: If the schedule has no trees.
    """
    trees = schedule.trees
    if not trees:
        raise ValueError(f"`{schedule.name}` has no trees to draw")
    places = _places(system, schedule.gpus)
    links = _links(system, schedule.gpus)
    pictures = [
        _picture(number, tree, places, links, COLOURS[(number - 1) % len(COLOURS)])
        for number, tree in enumerate(trees, 1)
    ]
    across = columns or math.ceil(math.sqrt(len(trees)))
    count = "one spanning tree" if len(trees) == 1 else f"{len(trees)} spanning trees"
    default = f"{schedule.collective.capitalize()} on {system.name} over {count}"
    rate = "" if schedule.rate is None else f"{schedule.rate:.1f} GB/s of the data's size"
    best = schedule.rate is not None and schedule.optimum is not None
    if best and math.isclose(schedule.rate or 0, schedule.optimum or 0, rel_tol=1e-4):
        rate += ", which no other trees can pass"
    chart: alt.TopLevelMixin = alt.concat(*pictures, columns=across).properties(
        title=chart_title(title or default, f"{rate}. Grey: NVLinks, thick where there are two.")
    )
    return chart


def _places(system: System, gpus: Sequence[int]) -> dict[int, Position]:
    """Where each GPU stands: the two quads of a DGX-1, else a ring."""
    dgx1 = system.renumbering(System("dgx1-v100")) if system.gpu_count == 8 else None
    if dgx1 is not None:
        # Every corner has a height of its own, so that no link passes through a third GPU.
        quad = [(1.0, 3.0), (3.0, -1.0), (-1.0, -3.0), (-3.0, 1.0)]
        left = [(x - 5.0, y) for x, y in quad]
        places = left + [(-x, y) for x, y in left]
        return {gpu: places[dgx1[gpu]] for gpu in gpus}
    turn = 2 * math.pi / len(gpus)
    return {gpu: (5 * math.sin(turn * at), 5 * math.cos(turn * at)) for at, gpu in enumerate(gpus)}


def _links(system: System, gpus: Sequence[int]) -> dict[tuple[int, int], int]:
    """How many NVLinks join each pair of these GPUs, where any does."""
    matrix = system.gpu_matrix()
    found = {}
    for at, a in enumerate(gpus):
        for b in gpus[at + 1 :]:
            label = matrix[a][b][0]
            if label.startswith("NV") and label[2:].isdecimal():
                found[a, b] = int(label[2:])
    return found


def _picture(
    number: int,
    tree: Tree,
    places: Mapping[int, Position],
    links: Mapping[tuple[int, int], int],
    colour: str,
) -> alt.LayerChart | alt.FacetChart:
    reach = max(max(abs(x), abs(y)) for x, y in places.values()) * 1.12
    tall = max(abs(y) for _, y in places.values()) * 1.25

    def x(field: str = "x") -> alt.X:
        return alt.X(f"{field}:Q", axis=None, scale=alt.Scale(domain=[-reach, reach]))

    def y(field: str = "y") -> alt.Y:
        return alt.Y(f"{field}:Q", axis=None, scale=alt.Scale(domain=[-tall, tall]))

    def line(a: int, b: int, width: float) -> dict[str, float]:
        (x1, y1), (x2, y2) = places[a], places[b]
        row = {"x": x1, "y": y1, "x2": x2, "y2": y2, "width": width}
        row["at_x"], row["at_y"] = x1 + HEAD * (x2 - x1), y1 + HEAD * (y2 - y1)
        row["angle"] = math.degrees(math.atan2(x2 - x1, y2 - y1))
        return {key: round(value, 4) for key, value in row.items()}

    wires = inline_chart([line(a, b, 1.2 * min(count, 2)) for (a, b), count in links.items()])
    edges = inline_chart([line(a, b, 2.5) for a, b in tree.edges])
    nodes = inline_chart(
        [
            {"gpu": str(gpu), "x": at[0], "y": at[1], "root": gpu == tree.root}
            for gpu, at in places.items()
        ]
    )
    dark = alt.condition("datum.root", alt.value(colour), alt.value("white"))
    pale = alt.condition("datum.root", alt.value("white"), alt.value(INK))
    thickness = alt.StrokeWidth("width:Q", scale=None)
    layers = [
        wires.mark_rule(color=LINK).encode(
            x=x(), y=y(), x2="x2:Q", y2="y2:Q", strokeWidth=thickness
        ),
        edges.mark_rule(color=colour).encode(
            x=x(), y=y(), x2="x2:Q", y2="y2:Q", strokeWidth=thickness
        ),
        edges.mark_point(shape="triangle", filled=True, size=90, color=colour, opacity=1).encode(
            x=x("at_x"), y=y("at_y"), angle=alt.Angle("angle:Q", scale=None)
        ),
        nodes.mark_point(
            shape="circle", filled=True, size=330, stroke=colour, strokeWidth=2, opacity=1
        ).encode(x=x(), y=y(), fill=dark),
        nodes.mark_text(fontSize=11, fontWeight=600, baseline="middle", dy=0.5).encode(
            x=x(), y=y(), text="gpu:N", color=pale
        ),
    ]
    heading = alt.TitleParams(
        text=f"tree {number}: {tree.share:.1%} of the data",
        fontSize=11,
        fontWeight="normal",
        anchor="middle",
        offset=2,
    )
    width = 190
    height = round(width * tall / reach)
    return alt.layer(*layers).properties(width=width, height=height, title=heading)


def bandwidth_by_size(
    sweeps: Mapping[str, Sequence[Mapping[str, Any]]], collective: str, *, title: str | None = None
) -> alt.Chart:
    """Draws bus bandwidth by size, a line per algorithm, in GB/s, on a logarithmic axis of sizes.

    Args:
        sweeps: For each name the rows of `time_sweep`.
        collective: The collective that was timed, for the title.
        title: Instead of the default.
    """
    names = list(sweeps)
    rows = [
        {
            "algorithm": name,
            "size": row["size"],
            "bandwidth": float(f"{row['bus_bandwidth']:.5g}"),
            "microseconds": float(f"{row['time'] * 1e6:.5g}"),
        }
        for name, sweep in sweeps.items()
        for row in sweep
    ]
    shade = alt.Scale(domain=names, range=[COLOURS[at % len(COLOURS)] for at in range(len(names))])
    shapes = alt.Scale(domain=names, range=[SHAPES[at % len(SHAPES)] for at in range(len(names))])
    legend = alt.Legend(orient="top")
    chart: alt.Chart = (
        inline_chart(
            rows,
            title or f"Bus bandwidth of {collective} by size",
            "Modelled; busbw as nccl-tests defines it.",
        )
        .mark_line(point={"filled": True, "size": 40})
        .encode(
            x=alt.X(
                "size:Q",
                title="size (bytes, in binary units)",
                scale=alt.Scale(type="log", base=2),
                axis=alt.Axis(values=[1 << power for power in range(0, 50, 5)], labelExpr=BINARY),
            ),
            y=alt.Y("bandwidth:Q", title="bus bandwidth (GB/s)"),
            color=alt.Color("algorithm:N", title=None, sort=names, scale=shade, legend=legend),
            shape=alt.Shape("algorithm:N", title=None, sort=names, scale=shapes, legend=legend),
            tooltip=["algorithm:N", "size:Q", "bandwidth:Q", "microseconds:Q"],
        )
        .properties(width=520, height=280)
    )
    return chart


def bandwidth_by_algorithm(rows: Sequence[Mapping[str, Any]], title: str) -> alt.Chart:
    """Draws bus bandwidth of several algorithms at one size, a bar each, in GB/s.

    Args:
        rows: For each algorithm its name, links, time in seconds and bus bandwidth in GB/s.
        title: The heading: the work that was timed, its size and its machine.
    """
    data = [
        {
            "algorithm": row["algorithm"],
            "baseline": row["algorithm"].startswith("nccl"),
            "links": row["links"],
            "bandwidth": float(f"{row['bus_bandwidth']:.5g}"),
            "microseconds": float(f"{row['time'] * 1e6:.5g}"),
        }
        for row in rows
    ]
    names = [row["algorithm"] for row in data]
    chart: alt.Chart = (
        inline_chart(data, title, "Modelled; busbw as nccl-tests defines it. Grey: baselines.")
        .mark_bar()
        .encode(
            y=alt.Y("algorithm:N", title=None, sort=names),
            x=alt.X("bandwidth:Q", title="bus bandwidth (GB/s)"),
            color=alt.condition("datum.baseline", alt.value(GREY), alt.value(BLUE)),
            tooltip=["algorithm:N", "links:N", "bandwidth:Q", "microseconds:Q"],
        )
        .properties(width=460, height=alt.Step(22))
    )
    return chart
