"""What slowed jobs: waiting, placement and neighbours, whose product is the whole."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwright import SimulationResult

__all__ = [
    "PARTS",
    "Gain",
    "SlowdownParts",
    "attribution_rows",
    "gains",
    "most_slowed",
    "neighbour_costs",
    "slowdown_parts",
]

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
        best: Is the time alone on the best GPUs, in seconds.
        exposed: Is the share of the jobs' run time that was communication which no computing hid, in the mean;
            None where nobody knows.
    """

    policy: str
    jobs: int
    waiting: float
    placement: float
    neighbours: float
    slowdown: float
    best: float
    exposed: float | None


@dataclass(frozen=True)
class Gain:
    """Says by how much jobs end sooner under a policy than under a reference, in the geometric mean: above 1 is faster.

    Attributes:
        policy: Names the policy or the variant.
        waiting: Is the part of waiting.
        placement: Is that of better GPUs.
        neighbours: Is that of jobs that cost one another less.
        ideal: Is that of a system on which jobs alone are faster; 1 on the same system.
        whole: Is the product of all.
    """

    policy: str
    waiting: float
    placement: float
    neighbours: float
    ideal: float
    whole: float


def gains(parts: Sequence[SlowdownParts], reference: str) -> list[Gain]:
    """Splits what each policy gains over the reference, in the order of the policies.

    Raises:
        KeyError: If the reference is not among them.
    """
    of = {it.policy: it for it in parts}[reference]
    found = []
    for it in parts:
        each = {part: getattr(of, part) / getattr(it, part) for part in PARTS}
        ideal = of.best / it.best
        found.append(Gain(it.policy, **each, ideal=ideal, whole=math.prod(each.values()) * ideal))
    return found


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
        best=_geometric_mean(row["best"] for row in rows),
        exposed=math.fsum(exposed) / len(exposed) if exposed else None,
    )


def neighbour_costs(result: SimulationResult) -> dict[str, list[tuple[str, float]]]:
    """The neighbours that cost each job most, by the job's name, each with its seconds; the dearest first.

    Empty where the run was not asked for it.
    """
    found: dict[str, list[tuple[str, float]]] = {}
    for row in result.neighbours() or ():
        found.setdefault(row["job"], []).append((row["neighbour"], row["cost"]))
    return found


def most_slowed(rows: Sequence[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The jobs that suffered most, the worst first; of equal ones the first."""
    return sorted(rows, key=lambda row: -row["slowdown"])[:count]


def _geometric_mean(values: Iterable[float]) -> float:
    # A job that takes no time is not slowed.
    logarithms = [math.log(value) for value in values if value > 0] or [0.0]
    return math.exp(math.fsum(logarithms) / len(logarithms))
