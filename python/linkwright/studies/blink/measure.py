"""Which algorithms the study compares, and how it times them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import geometric_mean

from linkwright import System, plan
from linkwright.collectives import Schedule, algorithm_names
from linkwright.names import AlgorithmName, CollectiveName, LinksName

__all__ = [
    "BASELINES",
    "LARGE",
    "OF_ITS_TIME",
    "ONE_HOP",
    "RECENT",
    "THREE_PHASE",
    "Progress",
    "Timed",
    "contestants",
    "maximum_and_mean",
    "named",
    "plan_for",
    "timed",
]

Progress = Callable[[str, int, int], object]

OF_ITS_TIME: AlgorithmName = "nccl-classic"
RECENT: AlgorithmName = "nccl-ring"
BASELINES = (OF_ITS_TIME, RECENT)
# Made for machines with switches and for several servers, and compared there.
ONE_HOP: AlgorithmName = "one-hop"
THREE_PHASE: AlgorithmName = "three-phase"
# Bytes at which latency no longer counts.
LARGE = 512 << 20


@dataclass(frozen=True)
class Timed:
    """What one algorithm takes on one set of GPUs.

    Attributes:
        links: `nvlink`, `pcie` or `network`.
        seconds: The time.
        bandwidth: Size over time, in GB/s.
    """

    links: str
    seconds: float
    bandwidth: float


def contestants() -> list[AlgorithmName]:
    """The algorithms that pack trees into any links."""
    apart = (ONE_HOP, THREE_PHASE, "nvls", "nvls-tree", "auto")
    others = ("nccl-", "mpi-")
    return [name for name in algorithm_names() if not name.startswith(others) and name not in apart]


def timed(
    machine: System,
    gpus: Sequence[int],
    collective: CollectiveName,
    algorithm: AlgorithmName,
    sizes: Iterable[int] = (LARGE,),
) -> list[Timed]:
    """The algorithm's plan for each size, timed; the first GPU is the root."""
    return [_timed(machine, tuple(gpus), collective, algorithm, size) for size in sizes]


# Sections ask for the same plans again.
@cache
def _timed(
    machine: System,
    gpus: tuple[int, ...],
    collective: CollectiveName,
    algorithm: AlgorithmName,
    size: int,
) -> Timed:
    schedule = plan_for(machine, gpus, collective, algorithm, size)
    timing = schedule.time(size)
    return Timed(schedule.links or "", timing.time, timing.algorithm_bandwidth)


def plan_for(
    machine: System,
    gpus: Sequence[int],
    collective: CollectiveName,
    algorithm: AlgorithmName,
    size: int,
    links: LinksName = "auto",
) -> Schedule:
    """A plan for data of that size."""
    return plan(machine, gpus, collective, algorithm=algorithm, links=links, size=size)


def maximum_and_mean(values: Sequence[float]) -> tuple[float, float]:
    """The most, and the geometric mean."""
    return max(values), geometric_mean(values)


def named(gpus: Iterable[int]) -> str:
    """GPUs as a command takes them."""
    return ",".join(map(str, gpus))
