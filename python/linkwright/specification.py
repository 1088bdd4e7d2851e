"""Writes a chart as data: Vega-Lite, in the style that all charts share."""

from __future__ import annotations

import json
from typing import Any

import altair as alt

__all__ = ["chart_specification"]


def chart_specification(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """The chart as Vega-Lite, styled, with only what the chart itself says: no shared state."""
    specification: dict[str, Any] = json.loads(chart.to_json(validate=False))
    specification.setdefault("config", {}).update(
        {
            "background": "white",
            "view": {"stroke": None},
            "font": "Helvetica, Arial, sans-serif",
            "axis": {"gridColor": "#E5E5E5", "domainColor": "#888888", "titleFontWeight": 500},
            "title": {"fontSize": 14, "fontWeight": 600},
        }
    )
    return specification
