"""Charts of a system's network: messages, the load of every link, and the times of programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from linkwright.network import ClusterRun
from linkwright.plot import BLUE, GREY, ORANGE, chart_title, inline_chart, rounded
from linkwright.plots.shapes import by_name, parts_of_times
from linkwright.summaries.links import LinkLoads
from linkwright.summaries.programs import busiest_links, job_summaries

__all__ = ["job_times", "link_heat_map", "link_loads", "message_latencies"]

# More switches than this are folded into bands below one another, to stay wide enough to see.
BAND = 128
WIDTH = 760
# From nearly white to dark, through several hues, so that neighbours part in print, too.
SCHEME = alt.SchemeParams("yellowgreenblue", extent=[0.05, 1])


PARTS = {"computing": BLUE, "communicating": ORANGE, "waiting for others to end": GREY}


def job_times(run: ClusterRun, *, title: str = "Time of each job") -> alt.Chart:
    """What each job's time went into, in the mean over its ranks, in milliseconds."""
    times = {}
    for job in job_summaries(run):
        waiting = max(0.0, 1 - job.computing - job.communicating)
        shares = zip(PARTS, (job.computing, job.communicating, waiting), strict=True)
        times[job.name] = {part: share * job.time for part, share in shares}
    return parts_of_times(times, "job", PARTS, title=title, subtitle="Means over its ranks.")


def message_latencies(run: ClusterRun, *, title: str = "How long messages took") -> alt.Chart:
    """Histogram of how long messages took, by their size, on a logarithmic axis."""
    counts: dict[tuple[str, int], int] = {}
    classes: dict[str, None] = {}
    for row in run.latency_histogram():
        name = _size_class(row["largest"], row["within_node"])
        classes[name] = None
        # Eight bars to a decade; what takes no time at all stands with the shortest.
        at = math.floor(math.log10(max(row["longest"], 1e-9)) * 8)
        counts[name, at] = counts.get((name, at), 0) + row["messages"]
    rows: list[dict[str, Any]] = []
    tops: dict[int, int] = {}
    # The classes of one bar stand on one another, in the order of their sizes.
    for name, at in sorted(counts, key=lambda key: [*classes].index(key[0])):
        below = tops.get(at, 0)
        tops[at] = below + counts[name, at]
        rows.append(
            {
                "size": name,
                "from": rounded(10 ** (at / 8) * 1e6),
                "to": rounded(10 ** ((at + 1) / 8) * 1e6),
                "below": below,
                "above": tops[at],
                "messages": counts[name, at],
            }
        )
    total = sum(counts.values())
    chart: alt.Chart = (
        inline_chart(
            rows,
            title,
            f"{total:,} messages, from their sending to the arrival of their data.",
        )
        .mark_rect(stroke="white", strokeWidth=0.4)
        .encode(
            x=alt.X(
                "from:Q",
                title="latency (µs)",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format="~g"),
            ),
            x2="to:Q",
            y=alt.Y("below:Q", title="messages"),
            y2="above:Q",
            color=by_name("size", classes, title="size, at most"),
            tooltip=["size:N", "from:Q", "to:Q", "messages:Q"],
        )
        .properties(width=560, height=240)
    )
    return chart


def link_loads(of: LinkLoads, *, title: str = "Load of the links, by level") -> alt.Chart:
    """How many links of each level were how busy: the share at or above each utilisation.

    A level that is not counted is left out.
    """
    rows: list[dict[str, Any]] = []
    known = (row["level"] for row in of.levels if row["mean"] is not None)
    by_level: dict[str, list[float]] = {level: [] for level in known}
    for row in of.links:
        if row["level"] in by_level:
            by_level[row["level"]].append(row["utilisation"])
    for level, loads in by_level.items():
        loads.sort(reverse=True)
        # A hundred steps draw the same line as ten thousand links.
        step = max(1, len(loads) // 100)
        for at in [*range(0, len(loads), step), len(loads) - 1]:
            rows.append(
                {
                    "level": level,
                    "links": rounded((at + 1) / len(loads)),
                    "utilisation": rounded(loads[at]),
                }
            )
    chart: alt.Chart = (
        inline_chart(rows, title, "Each level's links, sorted.")
        .mark_line(interpolate="step-before")
        .encode(
            x=alt.X("links:Q", title="share of the level's links", axis=alt.Axis(format="%")),
            y=alt.Y("utilisation:Q", title="utilisation", axis=alt.Axis(format="%")),
            color=by_name("level", by_level, title="level"),
            tooltip=["level:N", "links:Q", "utilisation:Q"],
        )
        .properties(width=560, height=240)
    )
    return chart


def link_heat_map(of: LinkLoads, *, title: str = "How busy every link was") -> alt.TopLevelMixin:
    """The utilisation of every link: a map for each level, a cell for each direction of a link.

    A map holds the switches of which a link carried data, or a dragonfly's groups. A level that
    carried none, or is not counted, has no map.

    A column of a map is a switch, and its cells are that switch's links of the level; links
    between two tiers stand at the lower switch, so that the way up and the way down compare.
    In a dragonfly a column is a link of a group, and a row is a switch in its group.
    """
    rows = [row for row in of.links if row["data"] is not None]
    most = max((row["utilisation"] for row in rows), default=0.0)
    # Where nothing was carried, all is as empty as it looks.
    scale = alt.Scale(scheme=SCHEME, domain=[0, most or 1.0])
    maps = []
    for summary in of.levels:
        level = [row for row in rows if row["level"] == summary["level"]]
        shown = _carrying(level)
        if not shown:
            continue
        cells, across, down = _cells(shown)
        columns = max(cell["right"] for cell in cells)
        lines = max(cell["bottom"] for cell in cells)
        width = min(WIDTH, max(160, 20 * columns))
        height = min(260, max(48, 10 * lines))
        load = f"{summary['mean']:.1%} busy in the mean, {summary['most']:.1%} at most"
        if len(shown) < len(level):
            load += f"; {len(level) - len(shown):,} at places that carried nothing are left out"
        maps.append(
            inline_chart(cells, summary["level"], f"{summary['links']:,} links, {load}")
            .mark_rect()
            .encode(
                x=alt.X(
                    "left:Q",
                    title=across,
                    axis=alt.Axis(tickMinStep=1, grid=False),
                    scale=alt.Scale(domain=[0, columns], nice=False),
                ),
                x2="right:Q",
                y=alt.Y(
                    "top:Q",
                    title=down,
                    axis=alt.Axis(tickMinStep=1, grid=False, tickCount=5),
                    scale=alt.Scale(domain=[lines, 0], nice=False),
                ),
                y2="bottom:Q",
                color=alt.Color(
                    "utilisation:Q",
                    title="utilisation",
                    scale=scale,
                    legend=alt.Legend(format=".0%", orient="right"),
                ),
                tooltip=["link:N", alt.Tooltip("utilisation:Q", format=".2%")]
                + (["queue:Q"] if "queue" in cells[0] else []),
            )
            .properties(width=width, height=height)
        )
    if not maps:
        empty = inline_chart([{"text": "No link carried data."}], "Links", "")
        maps.append(empty.mark_text(align="left").encode(text="text:N").properties(width=WIDTH))
    found = busiest_links(of.links, 1)
    busiest = (
        f"Busiest: {found[0]['from']} to {found[0]['to']}, {found[0]['utilisation']:.1%} of "
        f"the {of.makespan * 1e3:.4g} ms."
        if found
        else "No message left its node."
    )
    chart: alt.TopLevelMixin = alt.vconcat(*maps, spacing=14).properties(
        title=chart_title(title, busiest)
    )
    return chart


def _carrying(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The links at switches, or in groups, of which a link carried data."""

    def place(row: Mapping[str, Any]) -> object:
        return row["at"] if row["group"] is None else row["group"]

    busy = {place(row) for row in rows if row["data"] > 0}
    return [row for row in rows if place(row) in busy]


def _cells(rows: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], str, str]:
    """A rectangle for each link of a level, and what its columns and its rows are."""
    in_groups = all(row["group"] is not None for row in rows)
    # Where not all are shown, the others leave no gap.
    columns = {place: at for at, place in enumerate(sorted({row["group"] or 0 for row in rows}))}
    switches = {place: at for at, place in enumerate(dict.fromkeys(row["at"] for row in rows))}
    count: dict[str, int] = {}
    ports: list[int] = []
    for row in rows:
        ports.append(count.get(row["at"], 0))
        count[row["at"]] = ports[-1] + 1
    most = max(count.values())
    cells = []
    for row, port in zip(rows, ports, strict=True):
        if in_groups:
            column, top = columns[row["group"]], row["member"]
            left, right, bottom = column + port / most, column + (port + 1) / most, top + 1
        else:
            band, left = divmod(switches[row["at"]], BAND)
            right, top = left + 1, band * most + port
            bottom = top + 1
        cells.append(
            {
                "link": f"{row['from']} to {row['to']}",
                "left": rounded(left),
                "right": rounded(right),
                "top": top,
                "bottom": bottom,
                "utilisation": rounded(row["utilisation"]),
                **({"queue": row["longest_queue"]} if "longest_queue" in row else {}),
            }
        )
    if in_groups:
        return cells, "group", "switch"
    folded = f", {BAND} to a band" if len(switches) > BAND else ""
    levels = {row["at_level"] for row in rows}
    if "device" in levels:
        return cells, f"device where the link starts{folded}", "link"
    [level] = levels if len(levels) == 1 else [""]
    which = f"{level} switch" if level not in ("", "switch") else "switch"
    return cells, f"{which}{folded}", "link"


def _size_class(largest: int, within_node: bool) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    number = float(largest)
    while number >= 1024 and len(units) > 1:
        number /= 1024
        units.pop(0)
    return f"{number:g} {units[0]}{' in the node' if within_node else ''}"
