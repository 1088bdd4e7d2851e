"""Charts of runs, after the figures of MAPA (SC'21), with a unit on every axis.

Every function returns an Altair chart, to be changed, shown in a notebook or saved. Policies
keep their colour from chart to chart; the colours are Okabe and Ito's, which people with any
common kind of colour blindness can tell apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from linkwright import SimulationResult, workload_names
from linkwright.page import chart_page
from linkwright.specification import chart_specification
from linkwright.summary import job_rows
from linkwright.writing import replace_file

__all__ = [
    "DecisionTime",
    "ModelPoint",
    "allocation_quality",
    "bandwidth_by_workload",
    "decision_times",
    "occupancy",
    "predicted_against_model",
    "run_time_by_workload",
    "save_chart",
]

INK = "#1C2430"
GREY = "#8C8C8C"
SKY_BLUE = "#56B4E9"
ORANGE = "#E69F00"
BLUE = "#0072B2"
SPARE_COLOURS = ("#009E73", "#CC79A7", "#D55E00", "#F0E442", "#000000")
POLICY_COLOURS = {
    "baseline": GREY,
    "topology-aware": SKY_BLUE,
    "greedy": ORANGE,
    "preserve": BLUE,
}
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")

Model = Literal["effective", "sound"]


@dataclass(frozen=True)
class ModelPoint:
    """A mix of links, and the effective bandwidth that two models give it, in GB/s."""

    gpus: int
    double: int
    single: int
    pcie: int
    published: float
    sound: float


@dataclass(frozen=True)
class DecisionTime:
    """How long one decision took for a job of so many GPUs on an idle machine."""

    machine: str
    gpus: int
    seconds: float


def bandwidth_by_workload(
    results: Sequence[SimulationResult], *, model: Model = "effective", title: str | None = None
) -> alt.Chart:
    """Box plots of effective bandwidth by workload and policy (Figs. 13 and 18), in GB/s.

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
) -> alt.Chart:
    """Box plots of run time by workload and policy (Fig. 13), in seconds."""
    default = "Run time of jobs of two or more GPUs, by workload and policy"
    return _boxes_by_workload(
        results, "run_time", "run time (s)", title or default, from_zero=False
    )


def _boxes_by_workload(
    results: Sequence[SimulationResult], column: str, axis: str, title: str, *, from_zero: bool
) -> alt.Chart:
    rows = [
        {"workload": row["workload"], "policy": result.policy, column: _rounded(row[column])}
        for result in results
        for row in job_rows(result)
        if row["gpu_count"] > 1 and row[column] is not None
    ]
    policies = [result.policy for result in results]
    present = {row["workload"] for row in rows}
    workloads = [workload for workload in workload_names() if workload in present]
    chart: alt.Chart = (
        inline_chart(
            rows, title, f"Box: quartiles; whiskers: minimum and maximum; {len(rows)} job runs."
        )
        .mark_boxplot(extent="min-max", size=13, median={"color": INK, "thickness": 2})
        .encode(
            x=alt.X("workload:N", sort=workloads, title=None, axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("policy:N", sort=policies, scale=alt.Scale(paddingOuter=0.6)),
            y=alt.Y(f"{column}:Q", title=axis, scale=alt.Scale(zero=from_zero)),
            color=_policy_colour(policies),
        )
        .properties(width=alt.Step(17, **{"for": "offset"}), height=260)
    )
    return chart


def allocation_quality(
    results: Sequence[SimulationResult], *, title: str | None = None
) -> alt.Chart:
    """Box plots of allocation quality by job size and policy (Fig. 4).

    The quality is the bandwidth of the pairs that the job's pattern uses, as a share of the
    most that it could have had on the idle machine.
    """
    rows = [
        {
            "gpus": row["gpu_count"],
            "policy": result.policy,
            "quality": _rounded(row["aggregated_bandwidth"] / row["ideal_aggregated_bandwidth"]),
        }
        for result in results
        for row in job_rows(result)
        if row["gpu_count"] > 1 and row["ideal_aggregated_bandwidth"] > 0
    ]
    policies = [result.policy for result in results]
    default = "How much of the best possible bandwidth the jobs got, by size and policy"
    chart: alt.Chart = (
        inline_chart(rows, title or default, "Box: quartiles; whiskers: minimum and maximum.")
        .mark_boxplot(extent="min-max", size=12, median={"color": INK, "thickness": 2})
        .encode(
            y=alt.Y("gpus:O", title="GPUs of the job", sort="descending"),
            yOffset=alt.YOffset("policy:N", sort=policies, scale=alt.Scale(paddingOuter=0.6)),
            x=alt.X(
                "quality:Q",
                title="aggregated bandwidth, share of the ideal",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            color=_policy_colour(policies),
        )
        .properties(width=520, height=alt.Step(16, **{"for": "offset"}))
    )
    return chart


def predicted_against_model(
    points: Sequence[ModelPoint], *, title: str | None = None
) -> alt.TopLevelMixin:
    """Scatter of the published regression against the sound model (after Fig. 12), in GB/s."""
    rows = [asdict(point) for point in points]
    for row in rows:
        row["published"] = _rounded(row["published"])
        row["sound"] = _rounded(row["sound"])
    most = max((max(row["published"], row["sound"]) for row in rows), default=1.0)
    diagonal = inline_chart([{"at": 0.0}, {"at": _rounded(most)}]).mark_line(
        color=GREY, strokeDash=[4, 4]
    )
    dots = (
        inline_chart(rows)
        .mark_point(filled=True, size=70, opacity=0.85)
        .encode(
            x=alt.X("sound:Q", title="sound model (GB/s)"),
            y=alt.Y("published:Q", title="published regression, Eq. 2 (GB/s)"),
            color=alt.Color(
                "gpus:O",
                title="GPUs",
                scale=alt.Scale(range=[SKY_BLUE, ORANGE, BLUE, *SPARE_COLOURS]),
            ),
            shape=alt.Shape("gpus:O", title="GPUs", scale=alt.Scale(range=list(SHAPES))),
            tooltip=["gpus:Q", "double:Q", "single:Q", "pcie:Q", "published:Q", "sound:Q"],
        )
    )
    default = "Two models of effective bandwidth, by mix of links"
    lines = diagonal.encode(x="at:Q", y="at:Q")
    layers = alt.layer(lines, dots).properties(width=380, height=300)
    return layers.properties(
        title=chart_title(
            title or default, "On the dashed line both agree; one dot per mix of links."
        )
    )


def decision_times(points: Sequence[DecisionTime], *, title: str | None = None) -> alt.Chart:
    """Time of one decision by job size, a line per machine (Fig. 19), in milliseconds."""
    rows = [
        {
            "machine": point.machine,
            "gpus": point.gpus,
            "milliseconds": float(f"{point.seconds * 1e3:.3g}"),
        }
        for point in points
        if point.seconds > 0
    ]
    machines = list(dict.fromkeys(point.machine for point in points))
    colours = [BLUE, ORANGE, SKY_BLUE, *SPARE_COLOURS]
    default = "Time to decide where a job goes, on an idle machine"
    chart: alt.Chart = (
        inline_chart(rows, title or default, "Logarithmic scale; the minimum of several runs.")
        .mark_line(point={"filled": True, "size": 45})
        .encode(
            x=alt.X("gpus:O", title="GPUs of the job", axis=alt.Axis(labelAngle=0)),
            y=alt.Y(
                "milliseconds:Q",
                title="time of one decision (ms)",
                axis=alt.Axis(tickCount=4),
                scale=alt.Scale(type="log"),
            ),
            color=alt.Color(
                "machine:N",
                title="machine",
                sort=machines,
                scale=alt.Scale(domain=machines, range=colours[: len(machines)]),
            ),
            shape=alt.Shape(
                "machine:N",
                title="machine",
                sort=machines,
                scale=alt.Scale(domain=machines, range=list(SHAPES[: len(machines)])),
            ),
            tooltip=["machine:N", "gpus:Q", "milliseconds:Q"],
        )
        .properties(width=460, height=260)
    )
    return chart


def occupancy(
    result: SimulationResult, gpu_names: Sequence[str] = (), *, title: str | None = None
) -> alt.Chart:
    """Which job held which GPU when: a bar per job and GPU over simulated time, in hours.

    Args:
        result: The run.
        gpu_names: The machine's GPU names by id; idle GPUs are only shown where named here.
        title: Instead of the default.
    """
    rows = [
        {
            "gpu": _gpu_name(gpu, gpu_names),
            "job": row["job"],
            "workload": row["workload"],
            "gpus": row["gpu_count"],
            "start": _rounded(row["start"] / 3600),
            "finish": _rounded(row["finish"] / 3600),
        }
        for row in job_rows(result)
        for gpu in row["gpus"]
    ]
    used = max((gpu for row in job_rows(result) for gpu in row["gpus"]), default=-1) + 1
    names = [_gpu_name(gpu, gpu_names) for gpu in range(max(used, len(gpu_names)))]
    default = f"Who held which GPU when, under {result.policy}"
    busy = sum(row["finish"] - row["start"] for row in rows)
    whole = result.makespan / 3600 * len(names)
    share = f"{busy / whole:.0%} of the GPUs' time was given out." if whole else ""
    chart: alt.Chart = (
        inline_chart(rows, title or default, share)
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            y=alt.Y("gpu:N", title="GPU", sort=names, scale=alt.Scale(domain=names)),
            x=alt.X("start:Q", title="simulated time (h)"),
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
        .properties(width=620, height=alt.Step(16))
    )
    return chart


def _gpu_name(gpu: int, names: Sequence[str]) -> str:
    return names[gpu] if gpu < len(names) else f"gpu{gpu}"


def inline_chart(
    rows: Sequence[Mapping[str, Any]], title: str = "", subtitle: str = ""
) -> alt.Chart:
    # Inline data, since Altair refuses more than 5,000 rows of any other kind; not held against
    # Vega-Lite's schema row by row, which takes longer than what is drawn took to simulate.
    with debug_mode(False):
        data = alt.InlineData(values=[dict(row) for row in rows])
    return alt.Chart(data, title=chart_title(title, subtitle)) if title else alt.Chart(data)


def chart_title(title: str, subtitle: str) -> alt.TitleParams:
    return alt.TitleParams(
        text=title, subtitle=subtitle, anchor="start", subtitleColor="#555555", offset=10
    )


def _policy_colour(policies: Sequence[str]) -> alt.Color:
    spare = iter(SPARE_COLOURS * len(policies))
    colours = [POLICY_COLOURS.get(policy) or next(spare) for policy in policies]
    scale = alt.Scale(domain=list(policies), range=colours)
    return alt.Color(
        "policy:N", title=None, scale=scale, sort=list(policies), legend=alt.Legend(orient="top")
    )


def _rounded(value: float) -> float:
    """Six digits: more than a screen shows, and a file of half the size."""
    return float(f"{value:.6g}")


def save_chart(chart: alt.TopLevelMixin, path: Path) -> None:
    """Writes a chart in the format that the path's suffix names: .html, .png, .svg or .json.

    The HTML needs no network: the scripts that draw the chart are in it. The file appears
    whole or not at all.

    Raises:
        ValueError: If the suffix is none of these.
        OSError: If the file cannot be written.
    """
    specification = chart_specification(chart)
    match path.suffix.lower():
        case ".html":
            content = chart_page(chart)
        case ".png":
            content = vl_convert.vegalite_to_png(specification, scale=2)
        case ".svg":
            content = vl_convert.vegalite_to_svg(specification).encode()
        case ".json":
            content = json.dumps(specification, indent=2, sort_keys=True).encode() + b"\n"
        case suffix:
            raise ValueError(f"no chart format `{suffix}`; choose .html, .png, .svg or .json")
    replace_file(path, content)
