"""Shapes that charts of several kinds of runs have: parts of a time, shares by time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import altair as alt

from linkwright.plot import BLUE, GREY, ORANGE, SKY_BLUE, SPARE_COLOURS, inline_chart, rounded

__all__ = ["PALETTE", "among", "by_name", "parts_of_times", "shares_by_time"]

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
        title: What they are; where there is none, the legend stands above the chart.
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
    """A bar for each thing, of what its time went into.

    Args:
        times: The seconds of each part of each thing.
        of: What the things are, the head of their column.
        colours: The parts' colours, in the order in which they follow one another.
        title: What is seen.
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
        .properties(width=620, height=alt.Step(22))
    )
    return chart


def shares_by_time(
    reached: Mapping[str, Iterable[tuple[float, float]]],
    of: str,
    colour: alt.Color,
    *,
    axis: str,
    title: str,
    subtitle: str,
    interpolate: str = "linear",
) -> alt.Chart:
    """Which share of the jobs took, or waited, for so long at most: a line for each name.

    Args:
        reached: The times and the shares that took no longer, of each name.
        of: What the names are, the head of their column.
        colour: How they are told apart.
        axis: What the times are, with their unit.
        title: What is seen.
        subtitle: A line below it.
        interpolate: How Vega-Lite joins the points.
    """
    rows = [
        {of: name, "time": rounded(time), "share": share}
        for name, line in reached.items()
        for time, share in line
    ]
    chart: alt.Chart = (
        inline_chart(rows, title, subtitle)
        .mark_line(strokeWidth=2, interpolate=interpolate)  # type: ignore[arg-type]
        .encode(
            x=alt.X("time:Q", title=axis),
            y=alt.Y("share:Q", title="share of the jobs", axis=alt.Axis(format=".0%")),
            color=colour,
            order="share:Q",
            tooltip=[f"{of}:N", alt.Tooltip("share:Q", format=".0%"), "time:Q"],
        )
        .properties(width=620, height=240)
    )
    return chart
