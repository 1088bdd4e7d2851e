"""A machine drawn: its devices where the core lays them out, and every bundle of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from linkwright import System

__all__ = ["machine_drawing"]

# Of each kind of device its fill and its outline, as in the drawing for Graphviz.
DEVICE_COLOURS = {
    "gpu": ("#e3f1c8", "#5b8c00"),
    "cpu": ("#dbe7f6", "#2f5d9b"),
    "host-bridge": ("#f1f3f5", "#6b7683"),
    "pcie-switch": ("#f1f3f5", "#6b7683"),
    "nvswitch": ("#c9e29a", "#3f6b00"),
    "nic": ("#fde6c8", "#b8690b"),
    "network-switch": ("#fbd5a5", "#b8690b"),
    "memory-switch": ("#e8def8", "#6a3fa0"),
    "memory": ("#e8def8", "#6a3fa0"),
}
LINK_COLOURS = {
    "nvlink": "#5b8c00",
    "nvlink-c2c": "#2f5d9b",
    "xgmi": "#c0392b",
    "pcie": "#8b96a3",
    "on-die": "#b9c6d6",
    "infiniband": "#b8690b",
    "ethernet": "#b8690b",
}
# Links between sockets have this colour: QPI, UPI, X-Bus, Infinity Fabric.
SOCKET_COLOUR = "#2f5d9b"

# In points.
WIDTH = 1000
UNIT = 58.0
BOX_HEIGHT = 22.0
POINTS_PER_CHARACTER = 7.0


def machine_drawing(
    system: System,
    *,
    title: str | None = None,
    use: Mapping[tuple[str, str], float] | None = None,
) -> alt.TopLevelMixin:
    """Draws the machine's devices and links; the wider a line, the more bandwidth, but for PCIe.

    NVLinks between two GPUs say how many they are, as `nvidia-smi` does: `NV2` is two.

    Args:
        system: The system.
        title: Instead of the default.
        use: The share of each link that was used, by its ends as the system's links have them. With
            it, colours show that share instead of the kind of link.
    """
    devices = _devices(system)
    links = _links(system, {device["name"]: device for device in devices})
    left, right = _span(devices, "x", 1.0)
    bottom, top = _span(devices, "y", 0.5)
    # Points per unit of the layout: across, as many as there is room for.
    across, down = min(UNIT, WIDTH / (right - left)), UNIT
    for device in devices:
        reach = (POINTS_PER_CHARACTER * max(4, len(device["name"])) / 2 + 3) / across
        rise = BOX_HEIGHT / 2 / down
        device |= {"left": device["x"] - reach, "right": device["x"] + reach}
        device |= {"bottom": device["y"] - rise, "top": device["y"] + rise}

    def x(field: str) -> alt.X:
        scale = alt.Scale(domain=[left, right], nice=False, zero=False)
        return alt.X(f"{field}:Q", axis=None, scale=scale)

    def y(field: str) -> alt.Y:
        scale = alt.Scale(domain=[bottom, top], nice=False, zero=False)
        return alt.Y(f"{field}:Q", axis=None, scale=scale)

    subtitle = "The wider a line, the more bandwidth; PCIe is thin throughout."
    if use is None:
        kinds = {link["kind"]: link["colour"] for link in links}
        colour = alt.Color(
            "kind:N",
            title=None,
            scale=alt.Scale(domain=list(kinds), range=list(kinds.values())),
            legend=alt.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=4),
        )
    else:
        for link in links:
            share = use.get((link["a"], link["b"]), 0.0)
            link |= {"use": round(100 * share, 2), "width": max(link["width"], 2.0)}
            link["bundle"] += f"; {share:.1%} used"
        most = max((link["use"] for link in links), default=0.0)
        subtitle = f"From grey over yellow to red: 0 to {most:.1f} % of the link. {subtitle}"
        colour = alt.Color(
            "use:Q",
            title="used (%)",
            scale=alt.Scale(
                domain=[0, max(most, 1e-9)],
                range=["#e4e8ee", "#f6c244", "#e0632d", "#8c1515"],
                interpolate="rgb",
            ),
            legend=alt.Legend(orient="top", gradientLength=240),
        )
    wires = alt.Chart(alt.InlineData(values=links))
    labelled = wires.transform_filter("datum.label != ''").encode(x=x("at_x"), y=y("at_y"))
    boxes = alt.Chart(alt.InlineData(values=devices))
    layers = alt.layer(
        wires.mark_rule().encode(
            x=x("x"),
            y=y("y"),
            x2="x2:Q",
            y2="y2:Q",
            color=colour,
            strokeWidth=alt.StrokeWidth("width:Q", scale=None),
            tooltip=["bundle:N"],
        ),
        labelled.mark_point(filled=True, shape="square", color="white", opacity=0.9, size=230),
        labelled.mark_text(fontSize=10).encode(
            text="label:N", color=colour if use is None else alt.value("#1C2430")
        ),
        boxes.mark_rect(cornerRadius=4, strokeWidth=1.2).encode(
            x=x("left"),
            x2="right:Q",
            y=y("bottom"),
            y2="top:Q",
            fill=alt.Fill("fill:N", scale=None),
            stroke=alt.Stroke("outline:N", scale=None),
            tooltip=["name:N", "kind:N", "model:N"],
        ),
        boxes.mark_text(fontSize=11, fontWeight=600, color="#1C2430").encode(
            x=x("x"), y=y("y"), text="name:N"
        ),
    )
    heading = alt.TitleParams(
        text=title or f"The devices and links of {system.name}",
        subtitle=subtitle,
        anchor="start",
        subtitleColor="#555555",
        offset=10,
    )
    return layers.properties(
        width=(right - left) * across, height=(top - bottom) * down, title=heading
    )


def _span(devices: Sequence[Mapping[str, Any]], axis: str, margin: float) -> tuple[float, float]:
    places = [device[axis] for device in devices]
    return min(places) - margin, max(places) + margin


def _devices(system: System) -> list[dict[str, Any]]:
    return [
        {
            "name": row["name"],
            "kind": row["kind"],
            "model": row["model"],
            "x": round(row["x"], 3),
            "y": round(row["y"], 3),
            "fill": DEVICE_COLOURS[row["kind"]][0],
            "outline": DEVICE_COLOURS[row["kind"]][1],
        }
        for row in system.devices()
    ]


def _links(system: System, places: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [_link(row, places[row["a"]], places[row["b"]]) for row in system.links()]


def _link(row: Mapping[str, Any], a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    kind, count = row["kind"], row["count"]
    family = next((name for name in LINK_COLOURS if kind.startswith(name)), None)
    gigabytes = row["bandwidth"] / 1e9
    host = family in ("pcie", "on-die")
    return {
        "a": a["name"],
        "b": b["name"],
        "kind": f"{kind}, {gigabytes:g} GB/s",
        "bundle": f"{a['name']} to {b['name']}: {count} of {kind}, {gigabytes:g} GB/s each",
        "colour": LINK_COLOURS[family] if family else SOCKET_COLOUR,
        "width": 1.0 if host else round(min(7.0, max(1.0, 0.4 * (count * gigabytes) ** 0.5)), 2),
        # With a switch all bundles are alike, and their labels would lie on one another.
        "label": f"NV{count}" if family == "nvlink" and a["kind"] == b["kind"] == "gpu" else "",
        "x": a["x"],
        "y": a["y"],
        "x2": b["x"],
        "y2": b["y"],
        # Off the middle, where the lines of a square cross.
        "at_x": a["x"] + 0.36 * (b["x"] - a["x"]),
        "at_y": a["y"] + 0.36 * (b["y"] - a["y"]),
    }
