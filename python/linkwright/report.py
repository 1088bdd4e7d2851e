"""A run as one HTML file: what was run, how the policies compare, and what that leaves out.

The file holds everything it shows, the scripts that draw its charts included, so that it can be
sent by mail and opened without a network. The same inputs give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

import altair as alt

from linkwright import SimulationResult, System
from linkwright.drawing import machine_drawing
from linkwright.errors import SimulationError
from linkwright.page import embed, render
from linkwright.plot import (
    allocation_quality,
    bandwidth_by_workload,
    occupancy,
    run_time_by_workload,
)
from linkwright.summary import (
    PolicySummary,
    Quartiles,
    Speedup,
    job_rows,
    speedups,
    summarise,
)
from linkwright.writing import replace_file

__all__ = ["write_report"]

LEFT_OUT = (
    "Tenants do not disturb one another: jobs that share wires of the host, or NVLinks through "
    "another job's GPUs, run as if alone.",
    "Communication does not overlap with computation, and a collective call costs no start-up.",
    "Run times follow the sound model of effective bandwidth, whichever model the policies rank "
    "by; it holds for large messages.",
    "No job is preempted, moved or stopped early, and a decision takes no simulated time.",
    "Workloads are iterations of equal length; batch sizes are calibrated to published run "
    "times, so that ratios between policies mean more than seconds.",
)

DRAWING = "The machine: its devices and links"

# Light to dark blue, for links from the slowest to the fastest of a machine.
FILLS = ("#eff3fb", "#d3e0f2", "#9ec4e6", "#4d95cc", "#0b5394")


def write_report(
    path: Path,
    *,
    title: str,
    system: System,
    results: Sequence[SimulationResult],
    facts: Mapping[str, str],
    compared_with: str | None = None,
) -> None:
    """Writes a report on runs of the same jobs under one or more policies.

    Args:
        path: The HTML file; it appears whole or not at all.
        title: The page's heading.
        system: The system that the jobs ran on.
        results: One run per policy.
        facts: What the reader must know to repeat the runs, by name, in this order.
        compared_with: One of the policies: then the page opens with what the others gain over
            it; else it says what each came to and compares none.

    Raises:
        SimulationError: If there is no result, one without jobs, or none of that policy.
        OSError: If the file cannot be written.
    """
    if not results:
        raise SimulationError("a report needs at least one run; give one result per policy")
    summaries = [summarise(result) for result in results]
    compared = [] if compared_with is None else speedups(summaries, compared_with)
    # Where the policies ranked by the sound model, its two columns would be one and the same.
    sound = all(summary.effective_bandwidth == summary.sound_bandwidth for summary in summaries)
    content = render(
        "report.html.j2",
        embed(_charts(results, system, sound)),
        drawing=DRAWING,
        sound=sound,
        title=title,
        facts=list(facts.items()),
        jobs=summaries[0].jobs,
        one_gpu_jobs=summaries[0].one_gpu_jobs,
        summaries=_summary_rows(summaries, sound),
        baseline=compared_with,
        answer=compared_with and _answer(compared, compared_with),
        speedups=_speedup_rows(compared),
        quartiles=_quartile_rows(summaries),
        one_gpu=_one_gpu_rows(results),
        machine=_machine_view(system),
        left_out=LEFT_OUT,
    )
    replace_file(path, content)


def _charts(
    results: Sequence[SimulationResult], system: System, sound: bool
) -> dict[str, alt.TopLevelMixin]:
    shared = any(row["gpu_count"] > 1 for row in job_rows(results[0]))
    charts: dict[str, alt.TopLevelMixin] = {}
    if shared:
        charts["Effective bandwidth by workload and policy"] = bandwidth_by_workload(
            results, model="sound" if sound else "effective"
        )
        charts["Run time by workload and policy"] = run_time_by_workload(results)
        charts["Allocation quality by job size and policy"] = allocation_quality(results)
    for result in results:
        charts[f"Occupancy of the GPUs under {result.policy}"] = occupancy(result, system.gpu_names)
    charts[DRAWING] = machine_drawing(system)
    return charts


Cell = Mapping[str, object]


def _marked(
    columns: Sequence[Sequence[float | None]],
    best: Sequence[Callable[..., float] | None],
    formats: Sequence[str],
) -> list[list[Cell]]:
    """Cells row by row, the best of each column marked where the rows differ."""
    marked: list[list[Cell]] = []
    for values, choose, form in zip(columns, best, formats, strict=True):
        texts = ["none" if value is None else format(value, form) for value in values]
        known = [value for value in values if value is not None]
        winner = format(choose(known), form) if choose and known else None
        differ = len(set(texts)) > 1
        marked.append([{"text": text, "best": differ and text == winner} for text in texts])
    return [list(row) for row in zip(*marked, strict=True)]


def _summary_rows(summaries: Sequence[PolicySummary], sound: bool) -> list[dict[str, object]]:
    def part(quartiles: Quartiles | None, name: str) -> float | None:
        return None if quartiles is None else getattr(quartiles, name)

    columns: list[list[float | None]] = [
        [summary.jobs for summary in summaries],
        [summary.makespan / 3600 for summary in summaries],
        [summary.throughput for summary in summaries],
        [summary.wait.median / 3600 for summary in summaries],
        [part(summary.run_time, "median") for summary in summaries],
        [part(summary.run_time, "upper") for summary in summaries],
        [part(summary.effective_bandwidth, "median") for summary in summaries],
        [part(summary.sound_bandwidth, "median") for summary in summaries],
    ]
    best = [None, min, max, min, min, min, max, max]
    formats = ["d", ".2f", ".1f", ".2f", ".0f", ".0f", ".1f", ".1f"]
    if sound:
        for cells in (columns, best, formats):
            del cells[-2]
    rows = _marked(columns, best, formats)
    return [
        {"policy": summary.policy, "cells": cells}
        for summary, cells in zip(summaries, rows, strict=True)
    ]


def _answer(compared: Sequence[Speedup], baseline: str) -> str:
    """What a comparison found, in a sentence or two."""
    if not compared:
        return "No job is sensitive and has two or more GPUs: no policy gains anything."
    others = [speedup for speedup in compared if speedup.policy != baseline]
    if not others:
        return f"Only {baseline} was played: there is nothing to compare it with."
    best = max(others, key=lambda speedup: (speedup.throughput, speedup.median, speedup.maximum))
    found = (
        f"{best.policy} has {best.throughput:.3f} times the throughput of {baseline}; the median "
        f"sensitive job runs {best.median:.3f} times as fast, the slowest {best.maximum:.3f} times."
    )
    return found if len(others) == 1 else f"The best by throughput: {found}"


def _speedup_rows(compared: Sequence[Speedup]) -> list[dict[str, object]]:
    if len(compared) < 2:
        return []
    columns = list(zip(*(astuple(speedup)[1:] for speedup in compared), strict=True))
    rows = _marked(columns, [max] * len(columns), [".3f"] * len(columns))
    return [
        {"policy": speedup.policy, "cells": cells}
        for speedup, cells in zip(compared, rows, strict=True)
    ]


def _quartile_rows(summaries: Sequence[PolicySummary]) -> list[dict[str, object]]:
    return [
        {
            "policy": summary.policy,
            "cells": [f"{value:.2f}" for value in astuple(summary.effective_bandwidth)],
        }
        for summary in summaries
        if summary.effective_bandwidth is not None
    ]


def _one_gpu_rows(results: Sequence[SimulationResult]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for result in results:
        alone = [row for row in job_rows(result) if row["gpu_count"] == 1]
        if not alone:
            return []
        run_time = Quartiles.of(row["run_time"] for row in alone)
        wait = Quartiles.of(row["wait"] / 3600 for row in alone)
        cells = [len(alone), f"{run_time.median:.0f}", f"{wait.median:.2f}", f"{wait.maximum:.2f}"]
        rows.append({"policy": result.policy, "cells": cells})
    return rows


def _machine_view(system: System) -> dict[str, object]:
    matrix = system.gpu_matrix()
    links = {cell: None for index, row in enumerate(matrix) for cell in row[:index]}
    ordered = sorted(links, key=lambda link: (link[1], link[0]))
    levels = sorted({bandwidth for _, bandwidth in ordered})

    def shade(bandwidth: float) -> int:
        position = levels.index(bandwidth) if bandwidth in levels else 0
        return round(position * (len(FILLS) - 1) / max(1, len(levels) - 1))

    def cell(label: str, bandwidth: float, on_diagonal: bool) -> Cell:
        at = shade(bandwidth)
        return {
            "label": "" if on_diagonal else label,
            "self": on_diagonal,
            "bandwidth": f"{bandwidth:g}",
            "fill": FILLS[at],
            "ink": "#ffffff" if at >= len(FILLS) - 2 else "#1c2430",
        }

    return {
        "name": system.name,
        "source": system.source,
        "assumptions": system.assumptions,
        "gpu_count": system.gpu_count,
        "gpu_names": system.gpu_names,
        "matrix": [
            [cell(*link, row == column) for column, link in enumerate(links_of)]
            for row, links_of in enumerate(matrix)
        ],
        "legend": "; ".join(f"{label} {bandwidth:g} GB/s" for label, bandwidth in ordered),
    }
