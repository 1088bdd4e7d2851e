"""HTML pages that need no network: the charts' scripts and data are in the file, once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import altair as alt
import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import linkwright
from linkwright.limits import check_room
from linkwright.markdown import blocks, code_marked, line
from linkwright.specification import chart_specification
from linkwright.zoom import HINT, interactive

__all__ = ["CONVERTER", "DARK", "EmbeddedCharts", "chart_page", "embed", "render"]

# Charts are drawn for white paper. Turned over, lights are dark and hues stay what they were.
DARK = "filter: invert(.9) hue-rotate(180deg);"

# The converter of charts takes this much; where it may not, it panics or waits for ever.
CONVERTER = {"files": 32, "threads": 16, "space": 3 * 2**30}

# The bundle of scripts ends with this: it lets the page's own script draw charts.
PUBLISH = "window.vegaEmbed = vegaEmbed;"


@dataclass(frozen=True)
class EmbeddedCharts:
    """Holds the script that draws charts, and the specification of each chart of a page."""

    names: Sequence[str]
    script: Markup
    specifications: Sequence[Markup]


def embed(charts: Mapping[str, alt.TopLevelMixin]) -> EmbeddedCharts:
    """Makes charts ready for a page; the names are read to those who cannot see them."""
    return EmbeddedCharts(
        names=list(charts),
        script=Markup(_drawing_script()),
        specifications=[_as_script(chart) for chart in charts.values()],
    )


@cache
def _drawing_script() -> str:
    check_room(**CONVERTER)
    # An end tag inside the script would end it: in JavaScript `<\/` means the same.
    return vl_convert.javascript_bundle(PUBLISH).replace("</script", "<\\/script")


def _as_script(chart: alt.TopLevelMixin) -> Markup:
    # The page's paper is that of its charts.
    shown = {**interactive(chart_specification(chart)), "background": "transparent"}
    text = json.dumps(shown, sort_keys=True, separators=(",", ":"))
    # Names of jobs and machines come from files and must not end the script either.
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028"))


def chart_page(chart: alt.TopLevelMixin) -> bytes:
    """A page that holds one chart."""
    title = chart_specification(chart).get("title", "")
    text = title.get("text", "") if isinstance(title, dict) else title
    return render("chart.html.j2", embed({"chart": chart}), title=text or "Chart")


def render(template: str, charts: EmbeddedCharts, **values: object) -> bytes:
    """One of the package's templates with these values; all text is escaped."""
    environment = Environment(
        loader=PackageLoader("linkwright"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"marked": code_marked, "line": line, "blocks": blocks}
    page = environment.get_template(template)
    hint = HINT if charts.names else ""
    known = {"charts": charts, "hint": hint, "dark": DARK, "version": linkwright.__version__}
    # A file's name that is no UTF-8 is shown by its escapes.
    return page.render(**known, **values).encode(errors="backslashreplace")
