"""Draws a network: its switches and interfaces, and each link in the colour of its load."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from linkwright.plot import GREY, chart_title, inline_chart, rounded
from linkwright.plots.network import SCHEME
from linkwright.summaries.links import LinkLoads

__all__ = ["MOST_LINKS", "fabric_charts", "fabric_map"]

# A map of more links is a blot; the maps of each level show those.
MOST_LINKS = 1200
WIDTH = 760
ROW = 110

Place = tuple[float, float]
# The ends of a link, the lesser name first.
Ends = tuple[str, str]


def fabric_charts(of: LinkLoads) -> dict[str, alt.TopLevelMixin]:
    """Gives the map by its title; nothing of a lone server, and of a network of too many links."""
    found = fabric_map(of, title="The network, by the load of its links")
    return {} if found is None else {"Map of the network": found}


def fabric_map(of: LinkLoads, *, title: str) -> alt.TopLevelMixin | None:
    """Draws switches in rows, interfaces below; a link has the colour of its fuller direction.

    Switches of one row stand in a circle. A link that is not counted is grey and broken. There is
    no map where there is no network, or where it has more than `MOST_LINKS` links.
    """
    rows = [row for row in of.links if row["kind"] in ("injection", "ejection", "switch")]
    loads = _loads(rows)
    if not loads or len(loads) > MOST_LINKS:
        return None
    places = _places(rows)
    lines = [_line(ends, places, load) for ends, load in loads.items()]
    devices = [
        {"x": rounded(x), "y": rounded(y), "device": name} for name, (x, y) in places.items()
    ]
    most = max((line["load"] for line in lines if line["load"] is not None), default=0.0)
    height = (
        ROW * (1 + round(max(y for _, y in places.values()))) if _is_rows(places) else WIDTH // 2
    )
    axes = {
        "x": alt.X("x:Q", axis=None, scale=alt.Scale(nice=False, padding=12)),
        "y": alt.Y("y:Q", axis=None, scale=alt.Scale(nice=False, padding=12)),
    }
    colour = alt.Color(
        "load:Q",
        title="load",
        scale=alt.Scale(scheme=SCHEME, domain=[0, most or 1.0]),
        legend=alt.Legend(format=".0%", orient="right"),
    )
    told = ["link:N", alt.Tooltip("load:Q", format=".2%"), "forth:N", "back:N"]
    shown = inline_chart([line for line in lines if line["load"] is not None], "", "")
    drawn = shown.mark_rule(strokeWidth=2).encode(
        **axes, x2="x2:Q", y2="y2:Q", color=colour, tooltip=told
    )
    layers = [drawn]
    unknown = [line for line in lines if line["load"] is None]
    if unknown:
        broken = inline_chart(unknown, "", "").mark_rule(strokeDash=[3, 3], color=GREY)
        layers.insert(0, broken.encode(**axes, x2="x2:Q", y2="y2:Q", tooltip=["link:N"]))
    points = inline_chart(devices, "", "").mark_point(
        filled=True, size=40, color="black", opacity=1
    )
    layers.append(points.encode(**axes, tooltip=["device:N"]))
    subtitle = "Each link in the colour of its fuller direction; interfaces below, switches above."
    if unknown:
        subtitle += " Broken lines are not counted."
    chart: alt.TopLevelMixin = alt.layer(*layers).properties(
        width=WIDTH, height=height, title=chart_title(title, subtitle)
    )
    return chart


def _ends(row: Mapping[str, Any]) -> Ends:
    first, second = sorted((row["from"], row["to"]))
    return first, second


def _loads(rows: Sequence[Mapping[str, Any]]) -> dict[Ends, list[tuple[str, float | None]]]:
    """Lists the directions of links between each pair of devices, each with its load."""
    found: dict[Ends, list[tuple[str, float | None]]] = {}
    for row in rows:
        found.setdefault(_ends(row), []).append((row["from"], row["utilisation"]))
    return found


def _line(
    ends: Ends, places: Mapping[str, Place], loads: Sequence[tuple[str, float | None]]
) -> dict[str, Any]:
    (x, y), (x2, y2) = places[ends[0]], places[ends[1]]

    def of(name: str) -> float | None:
        each = [load for begin, load in loads if begin == name]
        known = [load for load in each if load is not None]
        return max(known) if known and len(known) == len(each) else None

    forth, back = of(ends[0]), of(ends[1])
    known = [load for load in (forth, back) if load is not None]
    return {
        "x": rounded(x),
        "y": rounded(y),
        "x2": rounded(x2),
        "y2": rounded(y2),
        "link": f"{ends[0]} and {ends[1]}",
        "load": rounded(max(known)) if known else None,
        "forth": _told(ends[0], forth),
        "back": _told(ends[1], back),
    }


def _told(name: str, load: float | None) -> str:
    return f"from {name}: {'not counted' if load is None else f'{load:.2%}'}"


def _is_rows(places: Mapping[str, Place]) -> bool:
    return all(float(y).is_integer() for _, y in places.values())


def _places(rows: Sequence[Mapping[str, Any]]) -> dict[str, Place]:
    """Where each device stands: in the row of its height, or in a circle."""
    interfaces = {row["from"]: row["to"] for row in rows if row["kind"] == "injection"}
    beside: dict[str, list[str]] = {}
    for row in rows:
        if row["kind"] == "switch":
            beside.setdefault(row["from"], []).append(row["to"])
    heights = dict.fromkeys(interfaces.values(), 1)
    reached = list(heights)
    while reached:
        following = []
        for name in reached:
            for other in beside.get(name, []):
                if other not in heights:
                    heights[other] = heights[name] + 1
                    following.append(other)
        reached = following
    switches = list(heights)
    if len(set(heights.values())) == 1 and len(switches) > 2:
        return _circle(switches, interfaces)
    placed: dict[str, Place] = {}
    order = {name: at for at, name in enumerate(switches)}
    lower = sorted(interfaces, key=lambda name: order[interfaces[name]])
    for height in range(max(heights.values(), default=0) + 1):
        row_of = lower if height == 0 else [name for name in switches if heights[name] == height]
        for at, name in enumerate(row_of):
            placed[name] = ((at + 0.5) / len(row_of), float(height))
    return placed


def _circle(switches: Sequence[str], interfaces: Mapping[str, str]) -> dict[str, Place]:
    """Switches in a circle, and their interfaces around it."""
    placed: dict[str, Place] = {}
    own: dict[str, list[str]] = {}
    for name, switch in interfaces.items():
        own.setdefault(switch, []).append(name)
    step = 2 * math.pi / len(switches)
    for at, switch in enumerate(switches):
        placed[switch] = (math.sin(at * step), math.cos(at * step))
        around = own.get(switch, [])
        for index, name in enumerate(around):
            angle = at * step + step * ((index + 0.5) / len(around) - 0.5) * 0.8
            placed[name] = (1.25 * math.sin(angle), 1.25 * math.cos(angle))
    return placed
