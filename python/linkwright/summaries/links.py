"""Tells how much of each link jobs took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwright import System
from linkwright.network import ClusterRun
from linkwright.scenario import Job, Scenario, SimulationResult

__all__ = ["Day", "Direction", "LinkLoads", "could_carry", "gpus_by_server", "link_use"]


@dataclass(frozen=True)
class Day:
    """Holds played jobs, for this file and charts, which tell the load of links.

    Attributes:
        scenario: How they were played.
        system: The system that they were played on.
        jobs: The jobs.
        result: The results of the jobs.
    """

    scenario: Scenario
    system: System
    jobs: Sequence[Job]
    result: SimulationResult


def gpus_by_server(system: System) -> list[int]:
    """Returns the server of each GPU of a system, by its id."""
    return [server for server, gpus in enumerate(system.gpus_per_server) for _ in range(gpus)]


class Direction(NamedTuple):
    """One direction of a link: where it begins, where it ends, and its kind."""

    begin: str
    end: str
    kind: str


@dataclass(frozen=True)
class LinkLoads:
    """Holds the loads of links, as charts and tables show them.

    Attributes:
        links: Has a row for each direction of a link.
        levels: Has a row for each level of links.
        makespan: Is in seconds.
    """

    links: Sequence[Mapping[str, Any]]
    levels: Sequence[Mapping[str, Any]]
    makespan: float

    @classmethod
    def of_programs(cls, run: ClusterRun) -> LinkLoads:
        """Gives those of programs."""
        return cls(list(run.links()), list(run.levels()), run.makespan)

    @classmethod
    def of_day(cls, result: SimulationResult, system: System) -> LinkLoads:
        """Gives those of jobs of GPUs; no rows where a formula said how long they ran."""
        return cls(list(result.links(system)), list(result.levels(system)), result.makespan)


def link_use(day: Day) -> dict[Direction, float]:
    """Returns the load of each link, as a share of its capacity until the last job ended.

    Each direction of a link is by itself. Devices of several servers have their server's name
    before theirs. Empty where a formula said how long jobs ran; links that are not counted are
    left out.
    """
    system, result = day.system, day.result
    rows = list(result.links(system))
    if not rows or not result.makespan:
        return {}
    data: dict[Direction, float | None] = {}
    for row in rows:
        of = Direction(row["from"], row["to"], row["link_kind"])
        known = data.get(of, 0.0)
        unknown = known is None or row["data"] is None
        data[of] = None if unknown else known + row["data"]
    could = could_carry(system)
    return {
        of: carried / (could[of] * result.makespan)
        for of in sorted(could)
        if (carried := data.get(of, 0.0)) is not None
    }


def could_carry(system: System) -> dict[Direction, float]:
    """Returns the bandwidth of each direction of a system's links, in bytes per second."""
    could: Counter[Direction] = Counter()
    for row in system.links():
        most = row["count"] * row["bandwidth"]
        for begin, end in ((row["a"], row["b"]), (row["b"], row["a"])):
            could[Direction(begin, end, row["kind"])] += most
    return dict(could)
