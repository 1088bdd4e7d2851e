"""How much of each link the gradients of a server's jobs took."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from linkwright import Job, Scenario, SimulationResult, System, plan
from linkwright.names import AlgorithmName
from linkwright.summaries.policies import job_rows

__all__ = ["Day", "could_carry", "gpus_by_server", "link_use"]


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


# A link's ends and kind, in the direction from the first to the second.
Direction = tuple[str, str, str]


def link_use(day: Day) -> dict[Direction, float]:
    """What share of what a link could have carried until the last job ended the gradients took.

    Each direction of a link is by itself. Devices of several servers have their server's name
    before theirs. Empty where the run has no plans: run times by the formula, and MPI's algorithms.

    The bytes are those of the plan for each job's GPUs at its gradients' size.
    """
    scenario, system, result = day.scenario, day.system, day.result
    if scenario.run_time != "played" or scenario.planner == "mpi" or not result.makespan:
        return {}
    of_server = gpus_by_server(system)
    listed = [server for server, count in system.servers() for _ in range(count)]
    data: defaultdict[Direction, float] = defaultdict(float)
    for job, row in zip(day.jobs, job_rows(result), strict=True):
        gpus = tuple(sorted(row["gpus"]))
        if len(gpus) < 2:
            continue
        servers = {of_server[gpu] for gpu in gpus}
        if len(servers) > 1 or len(listed) == 1:
            before, on = "", _carried(_Known(system), gpus, scenario.planner)
        else:
            (server,) = servers
            first = of_server.index(server)
            local = tuple(gpu - first for gpu in gpus)
            before = f"node{server}/"
            on = _carried(_Known(listed[server]), local, scenario.planner)
        moved = job.reduced_per_iteration * job.iterations
        for (start, end, kind), share in on.items():
            data[f"{before}{start}", f"{before}{end}", kind] += share * moved
    could = could_carry(system)
    return {of: data[of] / (could[of] * result.makespan) for of in sorted(could)}


class _Known:
    """A system as a key: equal systems are one."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._text = repr(system)

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.system == other.system


# At which size plans are asked what they move; what they move grows with it.
SIZE = 1 << 26


@cache
def _carried(
    known: _Known, gpus: tuple[int, ...], planner: AlgorithmName
) -> Mapping[Direction, float]:
    """What each direction of a link carries of an all-reduce, per byte of its size."""
    schedule = plan(known.system, gpus, "all-reduce", algorithm=planner, size=SIZE)
    unit = 4 * schedule.shards
    size = SIZE // unit * unit
    carried = schedule.time(size, chunk=1 << 20).links()
    return {(row["from"], row["to"], row["kind"]): row["bytes"] / size for row in carried}


def could_carry(system: System) -> dict[Direction, float]:
    """The bandwidth of each direction of a system's links, in bytes per second."""
    could: Counter[Direction] = Counter()
    for row in system.links():
        most = row["count"] * row["bandwidth"]
        for ends in ((row["a"], row["b"]), (row["b"], row["a"])):
            could[*ends, row["kind"]] += most
    return dict(could)
