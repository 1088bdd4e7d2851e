"""Draws charts of the results of variants on the same seeds: gains, distributions, GPUs held."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from linkwright.plot import (
    BLUE,
    GREY,
    ORANGE,
    SKY_BLUE,
    SPARE_COLOURS,
    chart_title,
    inline_chart,
    rounded,
)
from linkwright.plots.shapes import WIDTH, among, intervals, shares_by_time
from linkwright.summaries.measures import MEASURES, SHARES
from linkwright.summaries.over_seeds import OverSeeds

__all__ = ["distribution", "gains", "held"]

# These measures are drawn of each choice.
PRINTED = ("job_time", "wait", "makespan")


def _colour(of: OverSeeds, names: Sequence[str]) -> alt.Color:
    """The reference is grey, the scenario as written blue, whatever the chart."""
    own = {of.name_of(of.reference): GREY, of.name_of(of.together): BLUE}
    shown = [of.name_of(name) for name in names]
    return among("variant", shown, own, [ORANGE, SKY_BLUE, *SPARE_COLOURS])


def gains(of: OverSeeds) -> alt.TopLevelMixin:
    """Draws a point and its interval for each variant and measure, in percent of the reference."""
    charts = []
    for name, what in ((it.name, it.what) for it in MEASURES if it.name in PRINTED):
        shares = {
            of.name_of(gain.what): (gain.share.mean, gain.share.low, gain.share.high)
            for gain in of.gains
            if gain.measure == name
        }
        charts.append(intervals(shares, what, axis=f"{what}: better by (%)"))
    joined: alt.TopLevelMixin = alt.vconcat(*charts).properties(
        title=chart_title(
            f"By how much each is better than {of.reference}",
            f"Point: mean over {len(of.seeds)} seeds; line: 95 % interval. Right is better.",
        )
    )
    return joined


def distribution(of: OverSeeds, column: str, what: str, until: str) -> alt.Chart:
    """Which share of jobs was done, or had waited, for so long at most, by variant."""
    return shares_by_time(
        {
            of.name_of(name): [
                (sum(each[column][at] for each in of_seeds) / len(of_seeds), share)
                for at, share in enumerate(SHARES)
            ]
            for name, of_seeds in of.found.items()
        },
        "variant",
        _colour(of, list(of.found)),
        what=what.lower(),
        title=f"{what}, from arrival to {until}",
        subtitle="Of each share of the jobs the mean over seeds.",
    )


def held(of: OverSeeds) -> alt.Chart:
    """Shows how many GPUs of a server jobs of several hold, as shares."""
    rows = []
    for name in of.found:
        counts = of.held(name)
        whole = sum(counts.values()) or 1
        rows += [
            {"variant": of.name_of(name), "gpus": gpus, "share": rounded(count / whole)}
            for gpus, count in counts.items()
        ]
    chart: alt.Chart = (
        inline_chart(rows, "GPUs that a job of several holds in a server", "As Blink's histogram.")
        .mark_bar()
        .encode(
            x=alt.X("gpus:O", title="GPUs in the server", axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("variant:N", sort=[of.name_of(name) for name in of.found]),
            y=alt.Y("share:Q", title="share of jobs and servers", axis=alt.Axis(format=".0%")),
            color=_colour(of, list(of.found)),
            tooltip=["variant:N", "gpus:O", alt.Tooltip("share:Q", format=".1%")],
        )
        .properties(width=WIDTH, height=200)
    )
    return chart
