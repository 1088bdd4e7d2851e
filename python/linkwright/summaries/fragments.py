"""Counts how many GPUs jobs hold in a server, as Blink's histogram of a cloud's jobs does.

Wang et al. (MLSys 2020) show it of 40,000 jobs of several GPUs at Microsoft, on servers of eight
GPUs. A job that has GPUs of several servers leaves a part in each.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.scenario import SimulationResult

__all__ = ["Fragments", "fragments"]


@dataclass(frozen=True)
class Fragments:
    """Counts the jobs, and the parts of jobs, that held a number of GPUs in a server.

    Attributes:
        gpu_count: That number.
        whole: Jobs with all of theirs there.
        parts: Parts of other jobs.
        share: Both, of all.
    """

    gpu_count: int
    whole: int
    parts: int
    share: float


def fragments(result: SimulationResult) -> list[Fragments]:
    """Lists the counts of a run; jobs of one GPU do not count."""
    return [Fragments(**row) for row in result.fragments()]
