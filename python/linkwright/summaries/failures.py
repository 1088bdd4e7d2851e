"""Sums up what parts that failed for a time cost the jobs of a day."""

from __future__ import annotations

import math
from dataclasses import dataclass

from linkwright.scenario import SimulationResult

__all__ = ["FailureCosts", "failure_costs"]


@dataclass(frozen=True)
class FailureCosts:
    """Tells what failures cost under a policy.

    The jobs are those that lost their GPUs at least once.
    """

    policy: str
    jobs: int
    # How often jobs began anew, or went on from a checkpoint.
    restarts: int
    # Seconds that jobs waited anew, and those of iterations that were done in vain.
    lost: float
    # The seconds from arrival to end, in the mean.
    job_time: float


def failure_costs(result: SimulationResult) -> FailureCosts | None:
    """Sums a run up; None where nothing failed for a time."""
    rows = list(result.jobs())
    if not rows or "restarts" not in rows[0]:
        return None
    return FailureCosts(
        policy=result.policy,
        jobs=sum(row["restarts"] > 0 for row in rows),
        restarts=sum(row["restarts"] for row in rows),
        lost=math.fsum(row["lost"] for row in rows),
        job_time=math.fsum(row["finish"] - row["arrival"] for row in rows) / len(rows),
    )
