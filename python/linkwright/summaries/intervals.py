"""Means over seeds and how sure they are: bootstrap intervals.

The seeds of a comparison are a sample of the mixes that could come. All variants are played on the
same seeds, so that what one saves is a number for each seed, and the mean of these numbers is the
answer. Its interval is the percentile bootstrap's (B. Efron, "Bootstrap Methods: Another Look at
the Jackknife", Annals of Statistics 7, 1979): the seeds are drawn again, as many with replacement,
and 95 of 100 means of such draws lie in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from linkwright.quartiles import at_fraction

__all__ = ["LEVEL", "Estimate", "estimate", "in_percent", "saved"]

LEVEL = 0.95
DRAWS = 4_000


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
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return None
    mean = sum(known) / len(known)
    if len(known) < 2:
        return Estimate(mean, None, None)
    means = sorted(sum(known[at] for at in draw) / len(known) for draw in _draws(len(known)))
    beyond = (1 - LEVEL) / 2
    return Estimate(mean, at_fraction(means, beyond), at_fraction(means, 1 - beyond))


@cache
def _draws(count: int) -> Sequence[Sequence[int]]:
    # The same for all measures, so that they can be compared, and for every run of the program.
    random = Random(count)
    return [random.choices(range(count), k=count) for _ in range(DRAWS)]


def saved(before: float | None, after: float | None, less_is_better: bool) -> float | None:
    """By how much something is better, as a share of what it was; below zero where it is worse.

    None where that cannot be said: of nothing that has become something.
    """
    if before is None or after is None:
        return None
    if before == after:
        return 0.0
    if not before:
        return None
    return (1 - after / before) if less_is_better else (after / before - 1)
