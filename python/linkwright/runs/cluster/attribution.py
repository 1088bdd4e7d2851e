"""Plays programs alone, to tell why each took longer beside the others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from linkwright import System
from linkwright.network import ClusterJob, ClusterRun
from linkwright.runs.columns import Column, arrow_table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ProgramsAttribution", "attribute_programs"]

# As many neighbours are told of each job.
TOLD = 10

COLUMNS = [
    Column("job", "text", known=True),
    Column("gpu_count", "count", known=True),
    Column("alone", "number", "s", known=True),
    Column("best", "number", "s", known=True),
    Column("waiting", "number", known=True),
    Column("placement", "number", known=True),
    Column("neighbours", "number", known=True),
    Column("failure", "number", known=True),
    Column("slowdown", "number", known=True),
    Column("exposed", "number"),
]

COSTS = [
    Column("job", "text", known=True),
    Column("neighbour", "text", known=True),
    Column("cost", "number", "s", known=True),
]

# The share that a job takes of each link, by the link's number.
Shares = Mapping[int, float]


@dataclass(frozen=True)
class ProgramsAttribution:
    """Holds the slowdown of each job of a run of programs, as `SimulationResult` has that of a day.

    Attributes:
        policy: Names the run.
        rows: Has a row for each job.
        costs: Has a row for each job and neighbour that cost it something.
    """

    policy: str
    rows: Sequence[dict[str, Any]]
    costs: Sequence[dict[str, Any]]

    def attribution(self) -> Sequence[dict[str, Any]]:
        """Gives a row for each job."""
        return self.rows

    def neighbours(self) -> Sequence[dict[str, Any]]:
        """Gives a row for each job and neighbour that cost it something."""
        return self.costs

    def tables(self) -> dict[str, pa.Table]:
        """Gives both as columns."""
        return {
            "attribution": arrow_table(self.rows, COLUMNS),
            "neighbours": arrow_table(self.costs, COSTS),
        }


def attribute_programs(
    name: str, system: System, jobs: Sequence[ClusterJob], run: ClusterRun, play: Mapping[str, Any]
) -> ProgramsAttribution:
    """Plays each job alone, on its GPUs and on the first of the system, and compares.

    Raises:
        SimulationError: If a job does not come to an end alone.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    rows: list[dict[str, Any]] = []
    shares: list[Shares] = []
    ends = list(run.jobs())
    for job, gpus, row in zip(jobs, run.mapping, ends, strict=True):
        alone = system.play([_alone(job, gpus)], **play)
        best = min(alone.makespan, system.play([_alone(job, "linear")], **play).makespan)
        shares.append(_shares(alone))
        rows.append(
            {
                "job": row["name"],
                "gpu_count": len(set(gpus)),
                "alone": alone.makespan,
                "best": best,
                "waiting": _ratio(row["end"] - row["arrival"], row["time"]),
                "placement": _ratio(alone.makespan, best),
                "neighbours": _ratio(row["time"], alone.makespan),
                # Parts that are absent all day are absent alone, too.
                "failure": 1.0,
                "slowdown": _ratio(row["end"] - row["arrival"], best),
                "exposed": row["exposed_communication"] / row["time"] if row["time"] else None,
            }
        )
    return ProgramsAttribution(name, rows, _costs(ends, rows, shares))


def _alone(job: ClusterJob, mapping: str | Sequence[int]) -> ClusterJob:
    return ClusterJob(
        job.program,
        name=job.name,
        iterations=job.iterations,
        computation_scale=job.computation_scale,
        priority=job.priority,
        mapping=mapping,
        deadline=job.deadline,
    )


def _ratio(time: float, of: float) -> float:
    return 1.0 if time == of or of <= 0 else time / of


def _shares(alone: ClusterRun) -> Shares:
    return {row["link"]: row["utilisation"] for row in alone.links() if row["data"]}


def _costs(
    ends: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], shares: Sequence[Shares]
) -> list[dict[str, Any]]:
    """Divides the time that each job lost among those beside it, by the links that both use."""
    met: list[dict[int, float]] = [{} for _ in rows]
    for one, other in combinations(range(len(rows)), 2):
        both = min(ends[one]["end"], ends[other]["end"])
        both -= max(ends[one]["start"], ends[other]["start"])
        common = shares[one].keys() & shares[other].keys()
        shared = math.fsum(shares[one][link] * shares[other][link] for link in sorted(common))
        if both > 0 and shared > 0:
            met[one][other] = met[other][one] = both * shared
    costs = []
    for row, end, of in zip(rows, ends, met, strict=True):
        lost, whole = end["time"] - row["alone"], math.fsum(of.values())
        if lost <= 0 or whole <= 0:
            continue
        dearest = sorted(of.items(), key=lambda it: (-it[1], it[0]))[:TOLD]
        costs += [
            {"job": row["job"], "neighbour": rows[other]["job"], "cost": lost * part / whole}
            for other, part in dearest
        ]
    return costs
