"""By how much variants are better than one of them: of each measure, paired by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwright.summaries.intervals import Estimate, estimate, saved
from linkwright.summaries.measures import MEASURES

__all__ = ["LEFT_OVER", "SUM", "Found", "Gain", "gains", "saved_by"]

# What each variant came to on each seed, as `measured` says.
Found = Mapping[str, Sequence[Mapping[str, Any]]]

SUM = "the sum of these"
LEFT_OVER = "left over: what choices do to one another"


@dataclass(frozen=True)
class Gain:
    """By how much a measure is better than under the reference.

    Attributes:
        what: A variant, or the sum of choices, or what is left over.
        measure: The measure's name.
        share: As a share of what it is under the reference; below zero where it is worse.
    """

    what: str
    measure: str
    share: Estimate


def saved_by(found: Found, reference: str, variant: str, measure: str) -> list[float | None]:
    """What a variant saves of a measure on each seed, as a share of the reference's."""
    less = next(it.less_is_better for it in MEASURES if it.name == measure)
    both = zip(found[reference], found[variant], strict=True)
    return [saved(before[measure], after[measure], bool(less)) for before, after in both]


def gains(found: Found, reference: str, together: str, choices: Sequence[str]) -> list[Gain]:
    """By how much each variant is better; of choices their sum and what is left over, too.

    Args:
        found: What each variant came to.
        reference: The variant that the others are compared with.
        together: The variant of all choices.
        choices: The variants of one choice alone.
    """
    listed = []
    for measure in MEASURES:
        if measure.less_is_better is None:
            continue
        shares = {
            name: saved_by(found, reference, name, measure.name)
            for name in found
            if name != reference
        }
        if choices:
            each = zip(*(shares[name] for name in choices), strict=True)
            total = [_sum(values) for values in each]
            whole = shares[together]
            left = [_sum((a, None if b is None else -b)) for a, b in zip(whole, total, strict=True)]
            rest = {name: it for name, it in shares.items() if name not in choices}
            rest.pop(together)
            alone = {name: shares[name] for name in choices}
            shares = alone | {SUM: total, LEFT_OVER: left, together: whole} | rest
        listed += [
            Gain(name, measure.name, known)
            for name, values in shares.items()
            if (known := estimate(values)) is not None
        ]
    return listed


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
