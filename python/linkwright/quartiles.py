"""The five numbers that a box plot draws."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Quartiles", "at_fraction"]


@dataclass(frozen=True)
class Quartiles:
    """The five numbers that a box plot draws, in the unit of the values."""

    minimum: float
    lower: float
    median: float
    upper: float
    maximum: float

    @staticmethod
    def of(values: Iterable[float]) -> Quartiles:
        """The quartiles of one or more finite numbers.

        Between two values they are interpolated linearly, as numpy's `percentile` does.

        Raises:
            ValueError: If there is no value, or one is not finite.
        """
        ordered = sorted(values)
        if not ordered:
            raise ValueError("quartiles need at least one value")
        if not all(math.isfinite(value) for value in ordered):
            raise ValueError("quartiles need finite values")
        quarters = (at_fraction(ordered, quarter / 4) for quarter in range(5))
        return Quartiles(*quarters)


def at_fraction(ordered: Sequence[float], fraction: float) -> float:
    """The value below which that fraction of ordered values lies, as `Quartiles` has it."""
    position = fraction * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    rest = position - below
    low, high = ordered[below], ordered[above]
    # The weighted sum neither overflows nor leaves the interval between its two values.
    return min(max(low * (1 - rest) + high * rest, low), high)
