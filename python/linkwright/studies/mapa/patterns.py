"""Plays a day of mixed patterns, policy by policy.

The paper's title promises allocation by the pattern, and its evaluation has NCCL's rings alone.
This section plays the other patterns of Section 3.1. Each is judged by the bandwidth that its edges
have on the GPUs that a policy gives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from linkwright import System
from linkwright.names import PatternName
from linkwright.quartiles import Quartiles
from linkwright.scenario import generate_jobs
from linkwright.studies.mapa.mix import POLICIES, Progress, played
from linkwright.studies.mapa.readings import JOBS, LARGEST, Reading, as_read, networks
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.summaries.policies import job_rows

__all__ = ["PATTERNS", "other_patterns"]

MACHINE = "dgx1-v100"
PATTERNS: tuple[PatternName, ...] = ("ring", "chain", "star", "all-to-all")

# The fewest GPUs on which these are four different graphs.
SMALLEST = 4

Rows = Sequence[dict[str, Any]]


def other_patterns(
    seeds: Sequence[int], chosen: Reading, progress: Progress | None = None
) -> Section:
    """Makes the section on patterns other than rings."""
    machine = System(MACHINE)
    by_policy: dict[str, list[Rows]] = {policy: [] for policy in POLICIES}
    for done, seed in enumerate(seeds, start=1):
        drawn = generate_jobs(seed, JOBS, LARGEST, workloads=networks(), patterns=PATTERNS)
        jobs = [as_read(job, chosen) for job in drawn]
        for policy in POLICIES:
            result = played(machine, jobs, policy, chosen, "sound")
            by_policy[policy].append(job_rows(result))
        if progress is not None:
            progress(f"mixed patterns on {MACHINE}", done, len(seeds))
    return Section(
        title="Patterns other than rings",
        text=[
            f"{JOBS} jobs on `{MACHINE}`, uniform over the six networks, one to {LARGEST} GPUs "
            f"and four patterns: {', '.join(PATTERNS)}. All wait from the start. A ring "
            "all-reduces, and is judged by that. In a chain, a star and all-to-all each edge "
            "carries the gradients both ways. The pattern's bandwidth is the common rate at which "
            "all edges do so at once. The paper prints no number of these patterns.",
        ],
        tables=[_bandwidth_table(by_policy), _run_time_table(by_policy)],
    )


def _sensitive(days: Sequence[Rows], pattern: str) -> list[dict[str, Any]]:
    """The sensitive jobs of a pattern that are large enough to have it."""
    rows = [row for day in days for row in day]
    return [
        row
        for row in rows
        if row["sensitive"] and row["pattern"] == pattern and row["gpu_count"] >= SMALLEST
    ]


def _bandwidth_table(by_policy: dict[str, list[Rows]]) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for pattern in PATTERNS:
        for policy, days in by_policy.items():
            felt = [row["sound_bandwidth"] for row in _sensitive(days, pattern)]
            five = Quartiles.of(felt)
            rows.append((pattern, policy, len(felt), five.lower, five.median, five.upper))
    return StudyTable(
        title="Bandwidth of the pattern, sensitive jobs of four and five GPUs (GB/s)",
        columns=("pattern", "policy", "jobs", "25 %", "median", "75 %"),
        rows=tuple(rows),
        formats=("", "", "d", ".2f", ".2f", ".2f"),
        note=(
            "A ring has the bus bandwidth of an all-reduce, another pattern the bandwidth of each "
            "edge. Preserve ranks by it."
        ),
    )


def _run_time_table(by_policy: dict[str, list[Rows]]) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for pattern in PATTERNS:
        cells: list[Cell] = [pattern]
        baseline = _sensitive(by_policy["baseline"], pattern)
        for days in by_policy.values():
            ours = _sensitive(days, pattern)
            gains = zip(_run_times(baseline), _run_times(ours), strict=True)
            cells += [before / after for before, after in gains]
        rows.append(tuple(cells))
    throughput: list[Cell] = ["all jobs, throughput"]
    spans = {policy: [_span(day) for day in days] for policy, days in by_policy.items()}
    for taken in spans.values():
        pairs = zip(spans["baseline"], taken, strict=True)
        throughput += [median(before / after for before, after in pairs), None]
    rows.append(tuple(throughput))
    heads = [f"{policy}, {which}" for policy in POLICIES for which in ("median", "75 %")]
    return StudyTable(
        title="Speed-up over the baseline by pattern, sensitive jobs of four and five GPUs",
        columns=("pattern", *heads),
        rows=tuple(rows),
        formats=("", *(".3f",) * len(heads)),
        note="The numbers are quartiles of run times, baseline by policy. Throughput is the "
        "median of the seeds.",
    )


def _run_times(rows: Rows) -> tuple[float, float]:
    five = Quartiles.of([row["run_time"] for row in rows])
    return five.median, five.upper


def _span(rows: Rows) -> float:
    """Seconds until the last job of a day has ended."""
    return max(float(row["finish"]) for row in rows)
