"""Counts how many GPUs jobs hold in a server, as Blink's histogram of a cloud's jobs does.

Wang et al. (MLSys 2020) show it of 40,000 jobs of several GPUs at Microsoft, on servers of eight
GPUs. A job that has GPUs of several servers leaves a part in each.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from linkwright import SimulationResult, System
from linkwright.summaries.policies import job_rows

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


def fragments(result: SimulationResult, system: System) -> list[Fragments]:
    """Counts for each number of GPUs, up to the most that was held; jobs of one GPU do not count.

    Args:
        result: The jobs.
        system: The servers that they ran on.
    """
    whole, parts = Counter[int](), Counter[int]()
    for row in job_rows(result):
        if row["gpu_count"] > 1:
            held = Counter(map(system.server_of, row["gpus"]))
            (whole if len(held) == 1 else parts).update(held.values())
    total = max(whole.total() + parts.total(), 1)
    return [
        Fragments(gpus, whole[gpus], parts[gpus], (whole[gpus] + parts[gpus]) / total)
        for gpus in range(1, max([0, *whole, *parts]) + 1)
    ]
