"""Whether another algorithm is faster than a plan at its size, by the time model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwright import System, names, plan
from linkwright.collectives import Schedule, Timing
from linkwright.errors import CollectiveError
from linkwright.cli.schedules import planner_names
from linkwright.cli.sizes import size_text

__all__ = ["Faster", "faster_than"]

# What is tried on any number of GPUs, since it plans in seconds.
QUICK: Sequence[names.AlgorithmName] = ("three-phase", "nccl-ring", "nccl-tree", "nvls")

# How many GPUs all algorithms are tried on.
FEW = 8

# How many GPUs the quick ones are tried on: timing them takes seconds, too.
MOST = 256

# By how much another must be faster to be worth a word.
LEAST_GAIN = 0.01


@dataclass(frozen=True)
class Faster:
    """Another algorithm and what it takes."""

    algorithm: str
    time: float

    def fields(self) -> dict[str, object]:
        """The same as data; the time in seconds."""
        return {"algorithm": self.algorithm, "time": self.time}

    def text(self, planned: Timing) -> str:
        """One line that names it, its time, and the option to get it."""
        return (
            f"{self.algorithm} is faster at {size_text(planned.size)}: {self.time * 1e6:,.1f} us, "
            f"not {planned.time * 1e6:,.1f}; --algorithm {self.algorithm}"
        )


def faster_than(
    timing: Timing,
    schedule: Schedule,
    machine: System,
    links: names.LinksName,
    processes: names.ProcessesName | None,
    *,
    stream_reuse: bool,
) -> Faster | None:
    """The fastest other algorithm at the size of a timing that it beats.

    Only what plans quickly is tried on more than a few GPUs, and nothing on more than a few
    hundred.
    """
    gpus = schedule.gpus
    if len(gpus) > MOST:
        return None
    tried = planner_names() if len(gpus) <= FEW else QUICK
    best: Faster | None = None
    limit = timing.time * (1 - LEAST_GAIN)
    for name in tried:
        if name == schedule.algorithm:
            continue
        try:
            other = plan(
                machine,
                gpus,
                schedule.collective,
                algorithm=name,
                links=links,
                root=schedule.root,
                size=timing.size,
                stream_reuse=stream_reuse,
            )
            taken = other.time(timing.size, processes=processes).time
        except CollectiveError:
            continue
        if taken < (limit if best is None else best.time):
            best = Faster(name, taken)
    return best
