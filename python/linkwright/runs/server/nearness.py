"""Shows how near to one another the GPUs of a day's jobs were, where these train models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from linkwright import System
from linkwright.scenario import SimulationResult
from linkwright.runs.columns import Column, arrow_table
from linkwright.runs.run import Sheet
from linkwright.texts import percent

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["nearness_sheets", "nearness_tables"]

COLUMNS = [
    Column("policy", "text", known=True),
    Column("job", "text", known=True),
    Column("workload", "text", known=True),
    Column("gpu_count", "count", known=True),
    Column("servers", "count", known=True),
    Column("leaves", "count", known=True),
    Column("tensor_groups", "count", known=True),
    Column("tensor_within", "count", known=True),
]
NOTE = (
    "Means over jobs. Leaves are the switches, or racks, of their servers. Tensor groups: ranks "
    "that have parts of the same layers, in the share of groups whose ranks are in one server."
)


def _rows(
    results: Sequence[SimulationResult], systems: Sequence[System]
) -> list[tuple[SimulationResult, list[Mapping[str, Any]]]]:
    """Gives the jobs of each policy; nothing where no job trains a model by parts of its layers."""
    of_each = zip(results, systems, strict=True)
    found: list[tuple[SimulationResult, list[Mapping[str, Any]]]] = []
    for result, system in of_each:
        rows = list(result.nearness(system))
        if any(row["tensor_groups"] for row in rows):
            found.append((result, [*rows]))
    return found


def nearness_tables(
    results: Sequence[SimulationResult], systems: Sequence[System]
) -> dict[str, pa.Table]:
    """Gives the jobs of each policy, with their servers, leaves and tensor groups."""
    found = _rows(results, systems)
    rows = [{"policy": result.policy, **row} for result, each in found for row in each]
    return {"nearness": arrow_table(rows, COLUMNS)} if rows else {}


def nearness_sheets(results: Sequence[SimulationResult], systems: Sequence[System]) -> list[Sheet]:
    """Tells of each policy and kind of jobs how near they were, and how long they ran."""
    lines = []
    for result, each in _rows(results, systems):
        times = {row["job"]: row["run_time"] for row in result.jobs()}
        for workload in sorted({row["workload"] for row in each}):
            own = [row for row in each if row["workload"] == workload]
            groups = sum(row["tensor_groups"] for row in own)
            within = sum(row["tensor_within"] for row in own)
            lines.append(
                [
                    result.policy,
                    workload,
                    str(len(own)),
                    f"{fmean(row['servers'] for row in own):.2f}",
                    f"{fmean(row['leaves'] for row in own):.2f}",
                    percent(within / groups) if groups else "",
                    f"{median(times[row['job']] for row in own):,.0f}",
                ]
            )
    heads = ["policy", "jobs of", "jobs", "servers", "leaves", "tensor groups\nin a server"]
    title = "How near jobs' GPUs were"
    return (
        [Sheet([*heads, "median run\ns"], lines, ["policy", "jobs of"], title, NOTE)]
        if lines
        else []
    )
