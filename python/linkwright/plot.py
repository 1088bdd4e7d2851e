"""Holds the common parts of all charts: colours, titles, boxes, and the files they are saved in.

Every function that draws returns an Altair chart, to be changed, shown in a notebook or saved.
The colours are Okabe and Ito's, which people with any common kind of colour blindness can tell
apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from linkwright.files import PathOrName, path_of
from linkwright.limits import check_room
from linkwright.page import CONVERTER, DARK, chart_page
from linkwright.quartiles import Quartiles
from linkwright.specification import chart_specification
from linkwright.writing import replace_file

__all__ = ["boxes", "chart_title", "inline_chart", "rounded", "save_chart"]

# Bytes of addresses that the converter reserves for what it draws itself, by its sandbox.
DRAWING = 64 * 2**30

INK = "#1C2430"
GREY = "#8C8C8C"
SKY_BLUE = "#56B4E9"
ORANGE = "#E69F00"
BLUE = "#0072B2"
SPARE_COLOURS = ("#009E73", "#CC79A7", "#D55E00", "#F0E442", "#000000")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")


def inline_chart(
    rows: Sequence[Mapping[str, Any]], title: str = "", subtitle: str = ""
) -> alt.Chart:
    """A chart of these rows, which are in it, and with a title where there is one."""
    # Holds inline data, since Altair refuses more than 5,000 rows of any other kind. It is not held
    # against Vega-Lite's schema row by row. That takes longer than the simulation of the drawn rows
    # took.
    with debug_mode(False):
        data = alt.InlineData(values=[dict(row) for row in rows])
    return alt.Chart(data, title=chart_title(title, subtitle)) if title else alt.Chart(data)


def chart_title(title: str, subtitle: str) -> alt.TitleParams:
    """Makes a title and a line below it."""
    return alt.TitleParams(
        text=title, subtitle=subtitle, anchor="start", subtitleColor="#555555", offset=10
    )


def boxes(
    groups: Mapping[tuple[str, str], Sequence[float]],
    *,
    across: alt.X | alt.Y,
    offset: alt.XOffset | alt.YOffset,
    colour: alt.Color,
    axis: str,
    scale: alt.Scale,
    format: str = "",
    size: int = 13,
    title: str = "",
    subtitle: str = "",
) -> alt.LayerChart:
    """A box for each group of values: quartiles, the median, and whiskers to both ends.

    Args:
        groups: The values by group on the axis and by policy beside one another there. These are
            the columns `group` and `policy` of the chart.
        across: The axis with a place for each group; the values stand on the other.
        offset: Where the policies of a group stand.
        colour: How they are told apart.
        axis: The title of the values' axis.
        scale: Its scale.
        format: How its values are written.
        size: How thick a box is, in points.
        title: The chart's title.
        subtitle: A line below it.
    """
    names = {"minimum": "minimum", "lower": "25 %", "median": "median", "upper": "75 %"}
    names["maximum"] = "maximum"
    rows = []
    for (group, policy), values in groups.items():
        if values:
            five = {name: rounded(it) for name, it in asdict(Quartiles.of(values)).items()}
            rows.append({"group": group, "policy": policy, "count": len(values), **five})
    lies = isinstance(across, alt.Y)
    written: dict[str, Any] = {"format": format} if format else {}
    places: dict[str, Any] = {"y" if lies else "x": across}
    places["yOffset" if lies else "xOffset"] = offset

    def values_of(first: str, second: str | None = None) -> dict[str, Any]:
        channel, end = (alt.X, alt.X2) if lies else (alt.Y, alt.Y2)
        at = channel(f"{first}:Q", title=axis, scale=scale, axis=alt.Axis(**written))
        found: dict[str, Any] = {"x" if lies else "y": at}
        if second is not None:
            found["x2" if lies else "y2"] = end(f"{second}:Q")
        return found

    base = inline_chart(rows).encode(
        **places,
        tooltip=[
            alt.Tooltip("group:N"),
            alt.Tooltip("policy:N"),
            *(alt.Tooltip(f"{name}:Q", title=of, **written) for name, of in names.items()),
            alt.Tooltip("count:Q", title="jobs"),
        ],
    )
    layers = [
        base.mark_rule(color=INK).encode(**values_of("minimum", "maximum")),
        base.mark_bar(size=size).encode(color=colour, **values_of("lower", "upper")),
        base.mark_tick(color=INK, thickness=2, size=size).encode(**values_of("median")),
    ]
    chart: alt.LayerChart = alt.LayerChart(layer=layers, title=chart_title(title, subtitle))
    return chart


def rounded(value: float) -> float:
    """Six digits: more than a screen shows, and a file of half the size."""
    return float(f"{value:.6g}")


def save_chart(chart: alt.TopLevelMixin, path: PathOrName) -> None:
    """Writes a chart in the format that the path's suffix names: .html, .png, .svg or .json.

    The HTML needs no network: the scripts that draw the chart are in it. HTML and SVG are dark
    where their reader's screen is. The file appears whole or not at all.

    Args:
        chart: The chart.
        path: The file.

    Raises:
        ValueError: If the suffix is none of these.
        OSError: If the file cannot be written.
    """
    specification = chart_specification(chart)
    path = path_of("path", path)
    if path.suffix.lower() in (".png", ".svg"):
        check_room(**CONVERTER | {"space": DRAWING})
    match path.suffix.lower():
        case ".html":
            content = chart_page(chart)
        case ".png":
            content = vl_convert.vegalite_to_png(specification, scale=2)
        case ".svg":
            content = _with_style(vl_convert.vegalite_to_svg(specification)).encode()
        case ".json":
            content = json.dumps(specification, indent=2, sort_keys=True).encode() + b"\n"
        case suffix:
            raise ValueError(f"no chart format `{suffix}`; choose .html, .png, .svg or .json")
    replace_file(path, content)


def _with_style(svg: str) -> str:
    """The drawing with a style of its own, which a page that shows it as a picture cannot give."""
    head, body = svg.split(">", 1)
    dark = f"@media screen and (prefers-color-scheme: dark) {{ svg.marks {{ {DARK} }} }}"
    # The converter drops how the lines around letters are joined, which else have spikes.
    joined = "svg.marks text { stroke-linejoin: round; }"
    return f"{head}><style>{joined} {dark}</style>{body}"
