"""Charts of a page answer to a pointer: they zoom, move, and say what is under it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["HINT", "interactive"]

# A page tells this about the zoom. A wheel alone belongs to the page.
HINT = (
    "In a chart drag to move, turn the wheel with Ctrl to zoom, click twice to undo; hover for "
    "the numbers."
)
ZOOM = "wheel![event.ctrlKey]"


def interactive(specification: dict[str, Any]) -> dict[str, Any]:
    """Returns the chart with a zoom over its axes of numbers, and tooltips on every mark.

    Args:
        specification: A chart in Vega-Lite; it is changed in place.
    """
    for number, view in enumerate(_views(specification)):
        layers = view.get("layer", [view])
        axes = sorted({axis for layer in layers for axis in _axes(layer)})
        if axes:
            select = {"type": "interval", "encodings": axes, "zoom": ZOOM}
            zoom = {"name": f"zoom_{number}", "select": select, "bind": "scales"}
            layers[0].setdefault("params", []).append(zoom)
        for layer in layers:
            if "tooltip" not in layer.get("encoding", {}):
                layer["mark"] = _telling(layer["mark"])
    return specification


def _views(specification: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The views that have axes of their own: layers on one another are one."""
    for key in ("vconcat", "hconcat", "concat"):
        for inner in specification.get(key, []):
            yield from _views(inner)
    if "spec" in specification:
        yield from _views(specification["spec"])
    if "mark" in specification or "layer" in specification:
        yield specification


def _axes(layer: dict[str, Any]) -> list[str]:
    """The axes that can be zoomed: of numbers, each at its place."""
    encoding = layer.get("encoding", {})
    return [
        axis
        for axis in ("x", "y")
        if encoding.get(axis, {}).get("type") in ("quantitative", "temporal")
        and not encoding[axis].get("bin")
    ]


def _telling(mark: Any) -> dict[str, Any]:
    known = mark if isinstance(mark, dict) else {"type": mark}
    return {"tooltip": {"content": "encoding"}, **known}
