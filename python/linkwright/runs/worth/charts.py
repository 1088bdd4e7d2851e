"""Charts of what choices are worth: intervals, distributions, who held what, and use of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import altair as alt

from linkwright.plot import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    SKY_BLUE,
    SPARE_COLOURS,
    chart_title,
    inline_chart,
    rounded,
)
from linkwright.plots import jobs as of_jobs
from linkwright.plots.shapes import among, shares_by_time
from linkwright.summaries.measures import MEASURES
from linkwright.summaries.policies import time_unit

if TYPE_CHECKING:
    from linkwright.runs.worth.run import Worth

__all__ = ["distribution", "gains", "heats", "held", "occupancies"]

WIDTH = 620


def _colour(worth: Worth, names: Sequence[str]) -> alt.Color:
    """The reference is grey, the scenario as written blue, whatever the chart."""
    own = {worth.name_of(worth.reference): GREY, worth.name_of(worth.together): BLUE}
    shown = [worth.name_of(name) for name in names]
    return among("variant", shown, own, [ORANGE, SKY_BLUE, *SPARE_COLOURS])


def gains(worth: Worth) -> alt.TopLevelMixin:
    """A point and its interval for each variant and measure, in percent of the reference."""
    measures = {it.name: it.what for it in MEASURES}
    rows = [
        {
            "what": worth.name_of(gain.what),
            "measure": measures[gain.measure],
            "better": rounded(100 * gain.share.mean),
            "low": rounded(100 * (gain.share.mean if gain.share.low is None else gain.share.low)),
            "high": rounded(
                100 * (gain.share.mean if gain.share.high is None else gain.share.high)
            ),
        }
        for gain in worth.gains
    ]
    order = list(dict.fromkeys(str(row["what"]) for row in rows))
    wanted = [what for name, what in measures.items() if name in ("job_time", "wait", "makespan")]
    charts = []
    for what in wanted:
        data = [row for row in rows if row["measure"] == what]
        base = inline_chart(data).encode(
            y=alt.Y("what:N", title=None, sort=order, axis=alt.Axis(labelLimit=320)),
            tooltip=["what:N", "measure:N", "better:Q", "low:Q", "high:Q"],
        )
        title = alt.Axis(title=f"{what}: better by (%)")
        zero = alt.Chart().mark_rule(color=GREY, strokeDash=[4, 4]).encode(x=alt.datum(0))
        charts.append(
            alt.layer(
                zero,
                base.mark_rule(color=INK, strokeWidth=2).encode(
                    x=alt.X("low:Q", axis=title), x2="high:Q"
                ),
                base.mark_point(filled=True, size=80, color=BLUE, opacity=1).encode(x="better:Q"),
            ).properties(width=WIDTH, height=alt.Step(22))
        )
    joined: alt.TopLevelMixin = alt.vconcat(*charts).properties(
        title=chart_title(
            f"By how much each is better than {worth.reference}",
            f"Point: mean over {len(worth.seeds)} seeds; line: 95 % interval. Right is better.",
        )
    )
    return joined


def distribution(worth: Worth, column: str, shares: Sequence[float]) -> alt.Chart:
    """Which share of jobs was done, or had waited, for so long at most, by variant."""
    longest = max(each[column][-1] for of in worth.found.values() for each in of)
    unit, seconds = time_unit(longest)
    reached = {}
    for name, of_seeds in worth.found.items():
        means = [
            sum(each[column][at] for each in of_seeds) / len(of_seeds) for at in range(len(shares))
        ]
        reached[worth.name_of(name)] = [
            (mean / seconds, share) for mean, share in zip(means, shares, strict=True)
        ]
    what = {"job_times": "Job times", "waits": "Waiting"}[column]
    of = {"job_times": "from arrival to end", "waits": "from arrival to start"}[column]
    return shares_by_time(
        reached,
        "variant",
        _colour(worth, list(worth.found)),
        axis=f"{what.lower()} ({unit})",
        title=f"{what}, {of}",
        subtitle="Of each share of the jobs the mean over seeds.",
    )


def held(worth: Worth) -> alt.Chart:
    """How many GPUs of a server jobs of several hold, as shares."""
    rows = []
    for name in worth.found:
        counts = worth.held(name)
        whole = sum(counts.values()) or 1
        rows += [
            {"variant": worth.name_of(name), "gpus": gpus, "share": rounded(count / whole)}
            for gpus, count in counts.items()
        ]
    chart: alt.Chart = (
        inline_chart(rows, "GPUs that a job of several holds in a server", "As Blink's histogram.")
        .mark_bar()
        .encode(
            x=alt.X("gpus:O", title="GPUs in the server", axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("variant:N", sort=[worth.name_of(name) for name in worth.found]),
            y=alt.Y("share:Q", title="share of jobs and servers", axis=alt.Axis(format=".0%")),
            color=_colour(worth, list(worth.found)),
            tooltip=["variant:N", "gpus:O", alt.Tooltip("share:Q", format=".1%")],
        )
        .properties(width=WIDTH, height=200)
    )
    return chart


def occupancies(worth: Worth) -> Mapping[str, alt.TopLevelMixin]:
    """Who held which GPU when, under the reference and under what it is compared with."""
    found: dict[str, alt.TopLevelMixin] = {}
    for day in worth.days:
        name = worth.name_of(day.result.policy)
        title = f"Who held which GPU when: {name}"
        chart = of_jobs.occupancy(day.result, day.system.gpu_names, title=title)
        found[f"Occupancy of the GPUs: {name}"] = chart
    return found


def heats(worth: Worth) -> Mapping[str, alt.TopLevelMixin]:
    """How much of each link was used, under each of the same."""
    return {
        f"Use of each link: {worth.name_of(day.result.policy)}": chart
        for day in worth.days
        if (
            chart := of_jobs.link_heat(
                day.scenario,
                day.system,
                day.jobs,
                day.result,
                title=f"How much of each link was used: {worth.name_of(day.result.policy)}",
            )
        )
        is not None
    }
