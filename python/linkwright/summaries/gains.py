"""By how much variants are better than one of them: of each measure, paired by seed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwright.scenario import comparison_gains, share_saved
from linkwright.summaries.intervals import Estimate
from linkwright.summaries.measures import MEASURES

__all__ = ["Found", "Gain", "gains", "saved_by"]

# Holds the measures of each variant on each seed, as `Scenario.outcome` says them.
Found = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Gain:
    """By how much a measure is better than under the reference.

    Attributes:
        what: The name of a variant, the sum of choices, or their effects on one another.
        measure: Names the measure.
        share: Is a share of the measure under the reference; below zero where it is worse.
    """

    what: str
    measure: str
    share: Estimate


def saved_by(found: Found, reference: str, variant: str, measure: str) -> list[float | None]:
    """Gives the share of the reference's measure that a variant saves on each seed."""
    less = next(it.less_is_better for it in MEASURES if it.name == measure)
    both = zip(found[reference], found[variant], strict=True)
    return [share_saved(before[measure], after[measure], bool(less)) for before, after in both]


def gains(found: Found, reference: str, choices: Sequence[str]) -> list[Gain]:
    """By how much each variant is better; of choices their sum and what is left over, too.

    Args:
        found: Holds the measures of each variant. All choices together are the first.
        reference: Is the variant that the others are compared with.
        choices: Are the variants of one choice alone.
    """
    runs = json.dumps([list(map(dict, of_seeds)) for of_seeds in found.values()])
    listed = comparison_gains(list(found), runs, reference, choices)
    return [Gain(what, measure, Estimate(*share)) for what, measure, share in listed]
