"""Finds the least value that is enough: by bisection where more never hurts, else by trying all."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Found", "least_enough"]


@dataclass(frozen=True)
class Found:
    """Holds the outcome of a search.

    Attributes:
        least: Has the place of the least value that is enough for each thing. None stands where
            none is.
        shares: Has the share of each thing. It is by the place of every value that was tried.
        bisected: Tells whether values were left out. They are where more never hurts.
        is_refuted: Tells whether more did hurt, so that a bisection tried all values in the end.
    """

    least: Mapping[Hashable, int | None]
    shares: Mapping[int, Mapping[Any, float]]
    bisected: bool
    is_refuted: bool = False


def least_enough(
    count: int,
    shares_of: Callable[[int], Mapping[Any, float]],
    enough: float,
    *,
    more_never_hurts: bool,
    ahead_of_all: Callable[[Sequence[int]], None] = lambda _: None,
) -> Found:
    """Finds the first of some values, from the least on, that gives each thing its share.

    Args:
        count: Counts the values.
        shares_of: Gives the share of each thing for the value at a place. It is asked once.
        enough: Is the share that is kept.
        more_never_hurts: Tells whether a larger value gives no thing less. Where the values that
            were tried say otherwise, all are tried.
        ahead_of_all: Is told the places of all values before each is asked for.
    """
    known: dict[int, Mapping[Any, float]] = {}

    def shares(at: int) -> Mapping[Any, float]:
        if at not in known:
            known[at] = shares_of(at)
        return known[at]

    def first(thing: Hashable) -> int | None:
        return next((at for at in sorted(known) if known[at][thing] >= enough), None)

    things = list(shares(count - 1))
    if not more_never_hurts:
        for at in range(count):
            shares(at)
        return Found({thing: first(thing) for thing in things}, known, bisected=False)
    for thing in things:
        if shares(count - 1)[thing] < enough:
            continue
        # Other things asked for some values already.
        low = max((at for at in known if known[at][thing] < enough), default=-1)
        high = first(thing)
        while high is not None and high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if shares(middle)[thing] >= enough else (middle, high)
    if any(_falls(known, thing, enough) for thing in things):
        ahead_of_all(range(count))
        for at in range(count):
            shares(at)
        least = {thing: first(thing) for thing in things}
        return Found(least, known, bisected=False, is_refuted=True)
    return Found({thing: first(thing) for thing in things}, known, bisected=True)


def _falls(known: Mapping[int, Mapping[Any, float]], thing: Hashable, enough: float) -> bool:
    """Whether a value is enough and a larger one is not."""
    are_enough = [known[at][thing] >= enough for at in sorted(known)]
    return are_enough != sorted(are_enough)
