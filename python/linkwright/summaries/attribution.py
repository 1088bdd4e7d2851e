"""Tells why jobs were slow, in parts whose product is the whole.

The parts are waiting, placement, neighbours and failure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = [
    "PARTS",
    "Attributed",
    "Gain",
    "SlowdownParts",
    "attribution_rows",
    "gains",
    "most_slowed",
    "neighbour_costs",
    "parts_told",
    "slowdown_parts",
]

# The parts of a slowdown, in the order in which they are told.
PARTS = ("waiting", "placement", "neighbours", "failure")


class Attributed(Protocol):
    """Is a result that may tell why its jobs were slow, as `SimulationResult` does."""

    @property
    def policy(self) -> str:
        """Names the policy, the variant or the run."""

    def attribution(self) -> Iterable[dict[str, Any]] | None:
        """Gives a row for each job; None unless that was asked."""

    def neighbours(self) -> Iterable[dict[str, Any]] | None:
        """Gives a row for each job and neighbour that cost it something; else as `attribution`."""


@dataclass(frozen=True)
class SlowdownParts:
    """Says why the jobs of a run were slow, in the geometric mean: the parts give the whole."""

    # The policy or the variant.
    policy: str
    jobs: int
    # Job time over run time.
    waiting: float
    # The time alone on the job's GPUs over that on the best.
    placement: float
    # Run time over the time alone on the job's GPUs.
    neighbours: float
    # Lost time, and slower ways around parts that failed; 1 where nothing fails.
    failure: float
    # Job time over the time alone on the best GPUs.
    slowdown: float
    # The time alone on the best GPUs of the idle system, in seconds.
    best: float
    # The share of run time in which jobs only communicated, in the mean; None if unknown.
    exposed: float | None


@dataclass(frozen=True)
class Gain:
    """Says how many times as soon jobs end as under a reference, in the geometric mean."""

    policy: str
    waiting: float
    placement: float
    neighbours: float
    failure: float
    # The part of a system on which jobs alone are faster; 1 on the same.
    ideal: float
    # The product of all.
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


def parts_told(told: Sequence[SlowdownParts]) -> tuple[str, ...]:
    """Lists the parts that are shown: that of failures where anything failed."""
    fails = any(it.failure != 1.0 for it in told)
    return PARTS if fails else PARTS[:-1]


def attribution_rows(result: Attributed) -> list[dict[str, Any]]:
    """Gives a dictionary for each job, with the columns of `SimulationResult.attribution` as keys.

    Empty where the run was not asked for it.
    """
    found = result.attribution()
    return [] if found is None else list(found)


def slowdown_parts(result: Attributed) -> SlowdownParts | None:
    """Sums up what slowed the jobs of a run; None where it was not asked for, or no job ran."""
    rows = attribution_rows(result)
    if not rows:
        return None
    exposed = [row["exposed"] for row in rows if row["exposed"] is not None]
    names = (*PARTS, "slowdown", "best")
    means = {name: _geometric_mean(row[name] for row in rows) for name in names}
    known = math.fsum(exposed) / len(exposed) if exposed else None
    return SlowdownParts(policy=result.policy, jobs=len(rows), exposed=known, **means)


def neighbour_costs(result: Attributed) -> dict[str, list[tuple[str, float]]]:
    """Lists by each job's name the neighbours that cost it most, with their seconds.

    Empty where the run was not asked for it.
    """
    found: dict[str, list[tuple[str, float]]] = {}
    for row in result.neighbours() or ():
        found.setdefault(row["job"], []).append((row["neighbour"], row["cost"]))
    return found


def most_slowed(rows: Sequence[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Lists the jobs that suffered most, the worst first; of equal ones the first."""
    return sorted(rows, key=lambda row: -row["slowdown"])[:count]


def _geometric_mean(values: Iterable[float]) -> float:
    # A job that takes no time is not slowed.
    logarithms = [math.log(value) for value in values if value > 0] or [0.0]
    return math.exp(math.fsum(logarithms) / len(logarithms))
