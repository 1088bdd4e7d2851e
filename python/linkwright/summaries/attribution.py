"""What slowed jobs: waiting, placement and neighbours, whose product is the whole."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwright import SimulationResult

__all__ = ["PARTS", "SlowdownParts", "attribution_rows", "most_slowed", "slowdown_parts"]

# The parts of a slowdown, in the order in which they are told.
PARTS = ("waiting", "placement", "neighbours")


@dataclass(frozen=True)
class SlowdownParts:
    """Says what slowed the jobs of a run, in the geometric mean: then the parts multiply to the whole.

    Attributes:
        policy: Names the policy or the variant.
        jobs: Counts the jobs.
        waiting: Is the time from arrival to end over the run time.
        placement: Is the time alone on the job's GPUs over that on the best of the idle system.
        neighbours: Is the run time over the time alone on the job's GPUs.
        slowdown: Is the time from arrival to end over the time alone on the best GPUs.
        exposed: Is the share of the jobs' run time that was communication which no computing hid, in the mean;
            None where nobody knows.
    """

    policy: str
    jobs: int
    waiting: float
    placement: float
    neighbours: float
    slowdown: float
    exposed: float | None


def attribution_rows(result: SimulationResult) -> list[dict[str, Any]]:
    """Gives a dictionary for each job, with the columns of `SimulationResult.attribution` as keys.

    Empty where the run was not asked for it.
    """
    found = result.attribution()
    return [] if found is None else list(found)


def slowdown_parts(result: SimulationResult) -> SlowdownParts | None:
    """Sums up what slowed the jobs of a run; None where it was not asked for, or no job ran."""
    rows = attribution_rows(result)
    if not rows:
        return None
    exposed = [row["exposed"] for row in rows if row["exposed"] is not None]
    return SlowdownParts(
        result.policy,
        len(rows),
        *(_geometric_mean(row[part] for row in rows) for part in PARTS),
        slowdown=_geometric_mean(row["slowdown"] for row in rows),
        exposed=math.fsum(exposed) / len(exposed) if exposed else None,
    )


def most_slowed(rows: Sequence[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The jobs that suffered most, the worst first; of equal ones the first."""
    return sorted(rows, key=lambda row: -row["slowdown"])[:count]


def _geometric_mean(values: Iterable[float]) -> float:
    logarithms = [math.log(value) for value in values]
    return math.exp(math.fsum(logarithms) / len(logarithms))
