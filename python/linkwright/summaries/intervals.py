"""Means over seeds and how sure they are, in words: the core finds their bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwright.scenario import mean_over_seeds

__all__ = ["Estimate", "estimate", "in_percent"]


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds.

    Attributes:
        mean: The mean.
        low: The lower end of its interval; None of one seed, which has none.
        high: Its upper end.
    """

    mean: float
    low: float | None
    high: float | None

    @property
    def interval(self) -> str:
        """Both ends in percent; empty where there are none."""
        if self.low is None or self.high is None:
            return ""
        return f"{in_percent(self.low)} to {in_percent(self.high)}"

    def told(self, better: str, worse: str) -> str:
        """The mean as so many percent better, or worse, with its interval."""
        known = self
        if self.mean < 0:
            low, high = (None if end is None else -end for end in (self.high, self.low))
            known = Estimate(-self.mean, low, high)
        interval = f" ({known.interval} %)" if known.interval else ""
        return f"{in_percent(known.mean)} %{interval} {better if self.mean >= 0 else worse}"


def in_percent(share: float) -> str:
    """A share in percent, without the sign."""
    # Minus zero is no less than zero.
    return f"{round(100 * share, 1) + 0.0:.1f}"


def estimate(values: Sequence[float | None]) -> Estimate | None:
    """The mean of a value for each seed, with its interval; None where a seed has no value."""
    known = mean_over_seeds(values)
    return None if known is None else Estimate(*known)
