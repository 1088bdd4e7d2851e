"""The five numbers that a box plot draws."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from linkwright.scenario import five_number_summary

__all__ = ["Quartiles"]


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
        """Gives the quartiles of one or more finite numbers.

        Between two values they are interpolated linearly, as numpy's `percentile` does.

        Raises:
            ValueError: If there is no value, or one is not finite.
        """
        known = list(values)
        if not known:
            raise ValueError("quartiles need at least one value")
        if not all(math.isfinite(value) for value in known):
            raise ValueError("quartiles need finite values")
        return Quartiles(*five_number_summary(known))
