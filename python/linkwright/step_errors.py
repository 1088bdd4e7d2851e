"""How far off the times of steps by layouts are, for the interval beside them."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot

__all__ = ["NINETIETH", "interval_of"]

# Nine of ten measured steps lie at most this part of their time off the predicted one.
# It is 19 % of dense models and 32 % of those with experts (docs/accuracy.md).
NINETIETH = 0.2
# An interval leaves out this part of the seeds at each end.
TAIL = 0.05


def interval_of(time: float, times: Sequence[float]) -> tuple[float, float]:
    """Gives the seconds between which nine of ten measured steps lie.

    The model's error and what GPUs and steps vary by are independent, so that their squares add
    up.

    Args:
        time: The mean of all seeds, in seconds.
        times: The step by each seed, in seconds.
    """
    known = sorted(times) or [time]
    last = len(known) - 1
    spread = known[round(last * (1 - TAIL))] - known[round(last * TAIL)]
    width = hypot(NINETIETH, spread / 2 / time) if time else NINETIETH
    return time * max(0.0, 1 - width), time * (1 + width)
