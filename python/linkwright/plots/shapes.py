"""Shapes that charts of several kinds of runs have: parts of a time, shares by time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import altair as alt

from linkwright.plot import BLUE, GREY, INK, ORANGE, SKY_BLUE, SPARE_COLOURS, inline_chart, rounded
from linkwright.summaries.policies import time_unit

__all__ = ["PALETTE", "WIDTH", "among", "by_name", "intervals", "parts_of_times", "shares_by_time"]

# Most charts have this width, in pixels.
WIDTH = 620

# In the order in which what has no colour of its own takes them.
PALETTE = (BLUE, ORANGE, SKY_BLUE, GREY, *SPARE_COLOURS)


def by_name(
    field: str, names: Iterable[str], colours: Sequence[str] = PALETTE, title: str | None = None
) -> alt.Color:
    """A colour for each name, in the order given; colours begin anew where there are more names.

    Args:
        field: The column of the names.
        names: The names.
        colours: Theirs, in the same order.
        title: The title of the legend; where there is none, the legend stands above the chart.
    """
    listed = list(names)
    given = [colours[at % len(colours)] for at in range(len(listed))]
    at_top = alt.Legend(orient="top", columns=4, labelLimit=320)
    return alt.Color(
        f"{field}:N",
        title=title,
        sort=listed,
        scale=alt.Scale(domain=listed, range=given),
        legend=alt.Undefined if title else at_top,
    )


def among(
    field: str, names: Sequence[str], own: Mapping[str, str], spare: Sequence[str] = SPARE_COLOURS
) -> alt.Color:
    """As `by_name`; names with a colour of their `own` keep it from chart to chart."""
    others = iter([*spare] * len(names))
    return by_name(field, names, [own.get(name) or next(others) for name in names])


def parts_of_times(
    times: Mapping[str, Mapping[str, float]],
    of: str,
    colours: Mapping[str, str],
    *,
    title: str,
    subtitle: str,
) -> alt.Chart:
    """Draws a bar for each thing, of the parts of its time.

    Args:
        times: The seconds of each part of each thing.
        of: The kind of the things, the head of their column.
        colours: The parts' colours, in the order in which they follow one another.
        title: The heading of the chart.
        subtitle: A line below it.
    """
    rows = [
        {of: name, "part": part, "order": order, "milliseconds": rounded(parts[part] * 1e3)}
        for name, parts in times.items()
        for order, part in enumerate(colours)
    ]
    chart: alt.Chart = (
        inline_chart(rows, title, subtitle)
        .mark_bar()
        .encode(
            y=alt.Y(f"{of}:N", title=None, sort=list(times)),
            x=alt.X("milliseconds:Q", title="time (ms)"),
            color=by_name("part", colours, list(colours.values())),
            order=alt.Order("order:Q"),
            tooltip=[f"{of}:N", "part:N", "milliseconds:Q"],
        )
        .properties(width=WIDTH, height=alt.Step(22))
    )
    return chart


def shares_by_time(
    reached: Mapping[str, Sequence[tuple[float, float]]],
    of: str,
    colour: alt.Color,
    *,
    what: str = "time",
    title: str,
    subtitle: str,
    interpolate: str = "linear",
) -> alt.Chart:
    """Shows the share of jobs that took or waited at most a given time, with a line for each name.

    Args:
        reached: The seconds and the shares that took no longer, of each name, in this order.
        of: The kind of the names, the head of their column.
        colour: How they are told apart.
        what: The kind of the times.
        title: The heading of the chart.
        subtitle: A line below it.
        interpolate: How Vega-Lite joins the points.
    """
    unit, seconds = time_unit(max((line[-1][0] for line in reached.values() if line), default=0.0))
    rows = [
        {of: name, "time": rounded(time / seconds), "share": share}
        for name, line in reached.items()
        for time, share in line
    ]
    chart: alt.Chart = (
        inline_chart(rows, title, subtitle)
        .mark_line(strokeWidth=2, interpolate=interpolate)  # type: ignore[arg-type]
        .encode(
            x=alt.X("time:Q", title=f"{what} ({unit})"),
            y=alt.Y("share:Q", title="share of the jobs", axis=alt.Axis(format=".0%")),
            color=colour,
            order="share:Q",
            tooltip=[f"{of}:N", alt.Tooltip("share:Q", format=".0%"), "time:Q"],
        )
        .properties(width=WIDTH, height=240)
    )
    return chart


def intervals(
    shares: Mapping[str, tuple[float, float | None, float | None]], measure: str, *, axis: str
) -> alt.LayerChart:
    """Draws a point for each thing, with a line over its interval, in percent.

    Args:
        shares: The mean and both ends, as shares; of one seed there are none.
        measure: The measure that the shares are of.
        axis: The title of the axis.
    """
    rows = [
        {
            "what": what,
            "measure": measure,
            "better": rounded(100 * mean),
            "low": rounded(100 * (mean if low is None else low)),
            "high": rounded(100 * (mean if high is None else high)),
        }
        for what, (mean, low, high) in shares.items()
    ]
    base = inline_chart(rows).encode(
        y=alt.Y("what:N", title=None, sort=list(shares), axis=alt.Axis(labelLimit=320)),
        tooltip=["what:N", "measure:N", "better:Q", "low:Q", "high:Q"],
    )
    ends = alt.X("low:Q", axis=alt.Axis(title=axis))
    layers = [
        alt.Chart().mark_rule(color=GREY, strokeDash=[4, 4]).encode(x=alt.datum(0)),
        base.mark_rule(color=INK, strokeWidth=2).encode(x=ends, x2="high:Q"),
        base.mark_point(filled=True, size=80, color=BLUE, opacity=1).encode(x="better:Q"),
    ]
    chart: alt.LayerChart = alt.LayerChart(layer=layers)
    return chart.properties(width=WIDTH, height=alt.Step(22))
