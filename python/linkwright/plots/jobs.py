"""Draws charts of jobs of GPUs, after the figures of MAPA (SC'21), with a unit on every axis.

All policies keep their colour from chart to chart: each has one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import altair as alt

from linkwright.drawing import machine_drawing
from linkwright.plot import BLUE, GREY, ORANGE, SKY_BLUE, boxes, inline_chart, rounded
from linkwright.plots.shapes import WIDTH, among, shares_by_time
from linkwright.scenario import SimulationResult, workload_names
from linkwright.summaries.links import Day, Direction, link_use
from linkwright.summaries.policies import held_rows, job_rows, time_unit

__all__ = [
    "allocation_quality",
    "bandwidth_by_workload",
    "heats",
    "link_heat",
    "occupancies",
    "occupancy",
    "run_time_by_workload",
    "times",
]

POLICY_COLOURS = {
    "baseline": GREY,
    "topology-aware": SKY_BLUE,
    "greedy": ORANGE,
    "preserve": BLUE,
}

Model = Literal["effective", "sound"]
OCCUPANCY = "Who held which GPU when"
WHISKERS = "Box: quartiles; whiskers: minimum and maximum"

# This is the space of the longest name of a workload below an axis, in pixels.
LABEL_WIDTH = 80


def bandwidth_by_workload(
    results: Sequence[SimulationResult], *, model: Model = "effective", title: str | None = None
) -> alt.LayerChart:
    """Draws box plots of effective bandwidth by workload and policy (Figs. 13 and 18), in GB/s.

    Args:
        results: Runs of the same jobs, one per policy.
        model: The model that the policies ranked by, or the sound model.
        title: Instead of the default, which says what is seen.
    """
    axis = {
        "effective": "effective bandwidth, by the policies' model (GB/s)",
        "sound": "effective bandwidth, by the sound model (GB/s)",
    }[model]
    default = "Effective bandwidth of jobs of two or more GPUs, by workload and policy"
    return _boxes_by_workload(results, f"{model}_bandwidth", axis, title or default, from_zero=True)


def run_time_by_workload(
    results: Sequence[SimulationResult], *, title: str | None = None
) -> alt.LayerChart:
    """Draws box plots of run time by workload and policy (Fig. 13), in seconds."""
    default = "Run time of jobs of two or more GPUs, by workload and policy"
    return _boxes_by_workload(
        results, "run_time", "run time (s)", title or default, from_zero=False
    )


def _boxes_by_workload(
    results: Sequence[SimulationResult], column: str, axis: str, title: str, *, from_zero: bool
) -> alt.LayerChart:
    groups: dict[tuple[str, str], list[float]] = {}
    for result in results:
        for row in job_rows(result):
            if row["gpu_count"] > 1 and row[column] is not None:
                groups.setdefault((row["workload"], result.policy), []).append(row[column])
    policies = [result.policy for result in results]
    workloads = [name for name in workload_names() if any(name == group for group, _ in groups)]
    count = sum(map(len, groups.values()))
    # As wide as a workload's name, however few the policies.
    step = max(17, LABEL_WIDTH // (len(policies) + 1))
    return boxes(
        groups,
        across=alt.X("group:N", sort=workloads, title=None, axis=alt.Axis(labelAngle=0)),
        offset=alt.XOffset("policy:N", sort=policies, scale=alt.Scale(paddingOuter=0.6)),
        colour=_policy_colour(policies),
        axis=axis,
        scale=alt.Scale(zero=from_zero),
        title=title,
        subtitle=f"{WHISKERS}; {count} job runs.",
    ).properties(width=alt.Step(step, **{"for": "offset"}), height=260)


def allocation_quality(
    results: Sequence[SimulationResult], *, title: str | None = None
) -> alt.LayerChart:
    """Draws box plots of allocation quality by job size and policy (Fig. 4).

    The quality is the bandwidth of the pairs that the job's pattern uses. It is a share of the most
    that the job could have had on the idle machine.
    """
    groups: dict[tuple[str, str], list[float]] = {}
    for result in results:
        for row in job_rows(result):
            if row["gpu_count"] > 1 and row["ideal_aggregated_bandwidth"] > 0:
                quality = row["aggregated_bandwidth"] / row["ideal_aggregated_bandwidth"]
                groups.setdefault((str(row["gpu_count"]), result.policy), []).append(quality)
    policies = [result.policy for result in results]
    sizes = sorted({size for size, _ in groups}, key=int, reverse=True)
    return boxes(
        groups,
        across=alt.Y("group:N", title="GPUs of the job", sort=sizes),
        offset=alt.YOffset("policy:N", sort=policies, scale=alt.Scale(paddingOuter=0.6)),
        colour=_policy_colour(policies),
        axis="aggregated bandwidth, share of the ideal",
        scale=alt.Scale(domain=[0, 1]),
        format=".0%",
        size=12,
        title=title or "How much of the best possible bandwidth the jobs got, by size and policy",
        subtitle=f"{WHISKERS}.",
    ).properties(width=520, height=alt.Step(16, **{"for": "offset"}))


def occupancy(
    result: SimulationResult, gpu_names: Sequence[str] = (), *, title: str | None = None
) -> alt.Chart:
    """Shows which job held which GPU when: a bar per job and GPU over simulated time.

    Args:
        result: The run.
        gpu_names: The machine's GPU names by id; idle GPUs are only shown where named here.
        title: Instead of the default.
    """
    unit, seconds = time_unit(result.makespan)
    rows = [
        {
            "gpu": _gpu_name(gpu, gpu_names),
            "job": row["job"],
            "workload": row["workload"],
            "gpus": row["gpu_count"],
            "start": rounded(row["start"] / seconds),
            "finish": rounded(row["finish"] / seconds),
        }
        for row in held_rows(result)
        for gpu in row["gpus"]
    ]
    used = max((gpu for row in job_rows(result) for gpu in row["gpus"]), default=-1) + 1
    names = [_gpu_name(gpu, gpu_names) for gpu in range(max(used, len(gpu_names)))]
    default = f"{OCCUPANCY}: {result.policy}"
    busy = sum(row["finish"] - row["start"] for row in rows)
    whole = result.makespan / seconds * len(names)
    share = f"{busy / whole:.0%} of the GPUs' time was given out." if whole else ""
    chart: alt.Chart = (
        inline_chart(rows, title or default, share)
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            y=alt.Y("gpu:N", title="GPU", sort=names, scale=alt.Scale(domain=names)),
            x=alt.X("start:Q", title=f"simulated time ({unit})"),
            x2="finish:Q",
            color=alt.Color(
                "gpus:O",
                title="GPUs of the job",
                legend=alt.Legend(orient="top"),
                # From light to dark, so that the order is there in print without colour, and
                # through several hues, so that neighbours part.
                scale=alt.Scale(scheme=alt.SchemeParams("yellowgreenblue", extent=[0.15, 1])),
            ),
            tooltip=["job:N", "workload:N", "gpus:Q", "start:Q", "finish:Q"],
        )
        .properties(width=WIDTH, height=alt.Step(16))
    )
    return chart


def times(results: Sequence[SimulationResult], column: str, *, title: str) -> alt.Chart:
    """Shows which share of the jobs took, or waited, for a given time at most, by policy.

    Args:
        results: Runs of the same jobs, one per policy.
        column: `wait`, or `job_time`, from arrival to end.
        title: The heading of the chart.
    """
    of = {
        result.policy: sorted(
            row["wait"] if column == "wait" else row["finish"] - row["arrival"]
            for row in job_rows(result)
        )
        for result in results
    }
    return shares_by_time(
        {
            policy: [(time, at / len(times)) for at, time in enumerate(times, start=1)]
            for policy, times in of.items()
        },
        "policy",
        _policy_colour(list(of)),
        title=title,
        subtitle="Of each share of the jobs, how long at most.",
        interpolate="step-after",
    )


def occupancies(days: Mapping[str, Day]) -> dict[str, alt.TopLevelMixin]:
    """The chart of `occupancy` for each of some days, by what it shows."""
    return {
        f"Occupancy of the GPUs: {name}": occupancy(
            day.result, day.system.gpu_names, title=f"{OCCUPANCY}: {name}"
        )
        for name, day in days.items()
    }


def heats(days: Mapping[str, Day]) -> dict[str, alt.TopLevelMixin]:
    """The chart of `link_heat` for each of some days where there is one, by what it shows."""
    drawn = {
        name: link_heat(day, title=f"How much of each link was used: {name}")
        for name, day in days.items()
    }
    return {f"Use of each link: {name}": it for name, it in drawn.items() if it is not None}


def link_heat(day: Day, *, title: str) -> alt.TopLevelMixin | None:
    """The server with how much of each of its links was used; of several servers their mean.

    None where nobody knows: run times by the formula, and collectives by MPI's algorithms.
    """
    use = link_use(day)
    system = day.system
    listed = system.servers()
    if not use or not listed:
        return None
    server, count = listed[0]
    beside = "" if system.fabric is None else f", mean of {count} servers"
    names = [""] if system.fabric is None else [f"node{at}/" for at in range(count)]
    mean: dict[tuple[str, str], float] = {}
    for row in server.links():
        a, b, kind = row["a"], row["b"], row["kind"]
        # A link is as hot as its busier direction.
        each = [
            max(
                use.get(Direction(f"{at}{a}", f"{at}{b}", kind), 0),
                use.get(Direction(f"{at}{b}", f"{at}{a}", kind), 0),
            )
            for at in names
        ]
        mean[a, b] = sum(each) / len(each)
    return machine_drawing(server, title=f"{title}{beside}", use=mean)


def _gpu_name(gpu: int, names: Sequence[str]) -> str:
    return names[gpu] if gpu < len(names) else f"gpu{gpu}"


def _policy_colour(policies: Sequence[str]) -> alt.Color:
    return among("policy", policies, POLICY_COLOURS)
