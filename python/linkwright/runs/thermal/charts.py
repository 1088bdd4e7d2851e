"""The map of a package's temperatures."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa

from linkwright.gpu import ThermalMap
from linkwright.plot import INK, chart_title

__all__ = ["temperature_map"]

# From cool to hot: each is darker than the one before it, so that grey shows the order, too.
COLOURS = ("#fff7d6", "#f9c74f", "#f3722c", "#b5179e", "#2b0a3d")
WIDTH = 520


def temperature_map(found: ThermalMap, layer: str) -> alt.LayerChart:
    """A layer's temperatures over the interposer, with the blocks of that layer.

    Args:
        found: The temperatures.
        layer: Which layer.
    """
    plan = found.floorplan
    columns = pa.table(found.temperatures(layer))
    x, y, temperature = (np.asarray(columns[name]) for name in ("x", "y", "temperature"))
    left, right = max(0.0, float(x.min())), min(plan.width, float(x.max()))
    front, back = max(0.0, float(y.min())), min(plan.height, float(y.max()))
    inside = (x >= left) & (x <= right) & (y >= front) & (y <= back)
    across = len(np.unique(x[inside]))
    cells = temperature[inside].reshape(-1, across)
    low, high = float(cells.min()), float(cells.max())
    half = {
        "x": float(columns["width"][0].as_py()) if across == 1 else (right - left) / (across - 1),
        "y": 0.0 if len(cells) == 1 else (back - front) / (len(cells) - 1),
    }
    stops = [low + (high - low) * at / (len(COLOURS) - 1) for at in range(len(COLOURS))]
    if high <= low:
        stops = [low + 1e-3 * at for at in range(len(COLOURS))]
    picture = {
        "url": _picture(cells, stops),
        "x": left - half["x"] / 2,
        "x2": right + half["x"] / 2,
        "y": front - half["y"] / 2,
        "y2": back + half["y"] / 2,
    }
    scales = {
        "x": alt.Scale(domain=[0, plan.width], nice=False),
        "y": alt.Scale(domain=[0, plan.height], nice=False),
    }

    def at_x(name: str) -> alt.X:
        return alt.X(f"{name}:Q", title="mm", scale=scales["x"])

    def at_y(name: str) -> alt.Y:
        return alt.Y(f"{name}:Q", title="mm", scale=scales["y"])

    image = (
        alt.Chart(alt.InlineData(values=[picture]))
        .mark_image(aspect=False)
        .encode(x=at_x("x"), x2="x2:Q", y=at_y("y"), y2="y2:Q", url="url:N")
    )
    blocks = alt.Chart(alt.InlineData(values=_blocks(found, layer, low)))
    colour = alt.Color(
        "maximum:Q",
        title="°C",
        scale=alt.Scale(domain=stops, range=list(COLOURS), interpolate="rgb"),
        legend=alt.Legend(gradientLength=240, gradientOpacity=1, format=".1f"),
    )
    shades = blocks.mark_point(opacity=0).encode(x=at_x("at_x"), y=at_y("at_y"), color=colour)
    outlines = blocks.mark_rect(fillOpacity=0, stroke=INK, strokeWidth=1).encode(
        x=at_x("left"),
        x2="right:Q",
        y=at_y("front"),
        y2="back:Q",
        tooltip=["name:N", "power:Q", "maximum:Q", "mean:Q"],
    )
    labels = blocks.mark_text(
        fontSize=11, lineBreak="\n", stroke="white", strokeWidth=3, strokeJoin="round"
    ).encode(x=at_x("at_x"), y=at_y("at_y"), text="label:N")
    texts = blocks.mark_text(fontSize=11, lineBreak="\n", color=INK).encode(
        x=at_x("at_x"), y=at_y("at_y"), text="label:N"
    )
    layers = [image, shades, outlines, labels, texts]
    chart: alt.LayerChart = alt.LayerChart(layer=layers).properties(
        width=WIDTH,
        height=WIDTH * plan.height / plan.width,
        title=chart_title(
            f"{plan.name}: temperatures of {layer}",
            f"Steady state, {plan.power:.1f} W, at most {found.maximum:.1f} °C",
        ),
    )
    return chart


def _blocks(found: ThermalMap, layer: str, low: float) -> list[dict[str, Any]]:
    """The blocks of a layer; where there are none, a mark without a name for the legend."""
    rows = []
    for place, heat in zip(found.floorplan.blocks(), found.blocks(), strict=True):
        if place["layer"] != layer:
            continue
        rows.append(
            {
                "name": place["name"],
                "power": place["power"],
                "left": place["x"],
                "right": place["x"] + place["width"],
                "front": place["y"],
                "back": place["y"] + place["height"],
                "at_x": place["x"] + place["width"] / 2,
                "at_y": place["y"] + place["height"] / 2,
                "maximum": round(heat["maximum"], 3),
                "mean": round(heat["mean"], 3),
                "label": f"{place['name']}\n{heat['maximum']:.1f}",
            }
        )
    nothing = dict.fromkeys(("left", "right", "front", "back", "at_x", "at_y", "power"), 0.0)
    return rows or [{**nothing, "name": "", "label": "", "maximum": low, "mean": low}]


def _picture(cells: np.ndarray[Any, Any], stops: list[float]) -> str:
    """The cells as a picture (PNG) in an address: the last row of cells is the uppermost."""
    shades = [
        np.interp(cells[::-1], stops, [int(colour[at : at + 2], 16) for colour in COLOURS])
        for at in (1, 3, 5)
    ]
    pixels = np.rint(np.stack(shades, axis=-1)).astype(np.uint8)
    height, width = cells.shape
    # Each row begins with how it is filtered: not at all.
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")]
    png = b"\x89PNG\r\n\x1a\n"
    for name, content in parts:
        check = zlib.crc32(name + content)
        png += struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
