"""How much of each link the jobs of servers took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from linkwright import Job, Scenario, SimulationResult, System

__all__ = ["Day", "Direction", "could_carry", "gpus_by_server", "link_use"]


@dataclass(frozen=True)
class Day:
    """Jobs that were played, of which this file and charts tell what links carried.

    Attributes:
        scenario: How they were played.
        system: What on.
        jobs: The jobs.
        result: What became of them.
    """

    scenario: Scenario
    system: System
    jobs: Sequence[Job]
    result: SimulationResult


def gpus_by_server(system: System) -> list[int]:
    """The server of each GPU of a system, by its id."""
    return [server for server, gpus in enumerate(system.gpus_per_server) for _ in range(gpus)]


class Direction(NamedTuple):
    """One direction of a link: where it begins, where it ends, and its kind."""

    begin: str
    end: str
    kind: str


def link_use(day: Day) -> dict[Direction, float]:
    """What share of what a link could have carried until the last job ended the jobs took.

    Each direction of a link is by itself. Devices of several servers have their server's name
    before theirs. Empty where the run has no plans: run times by the formula, and MPI's algorithms.
    """
    scenario, system, result = day.scenario, day.system, day.result
    if scenario.run_time != "played" or scenario.planner == "mpi" or not result.makespan:
        return {}
    carried = result.links(
        system,
        planner=scenario.planner,
        host_copies=scenario.host_copies,
        bucket=scenario.bucket,
    )
    data = {Direction(row["from"], row["to"], row["kind"]): row["bytes"] for row in carried}
    could = could_carry(system)
    return {of: data.get(of, 0.0) / (could[of] * result.makespan) for of in sorted(could)}


def could_carry(system: System) -> dict[Direction, float]:
    """The bandwidth of each direction of a system's links, in bytes per second."""
    could: Counter[Direction] = Counter()
    for row in system.links():
        most = row["count"] * row["bandwidth"]
        for begin, end in ((row["a"], row["b"]), (row["b"], row["a"])):
            could[Direction(begin, end, row["kind"])] += most
    return dict(could)
