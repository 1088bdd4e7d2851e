"""How far a sweep is, how fast it goes, and when it will be over."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Pace"]


class Pace:
    """Tells a sweep's progress in the way of the package: what, how many are done, how many in all.

    Args:
        what: What is done.
        resumed: How many runs were done before, and say nothing of the speed.
        total: How many runs there are.
        report: What is told, if anything.
    """

    def __init__(
        self,
        what: str,
        resumed: int,
        total: int,
        report: Callable[[str, int, int], object] | None,
    ) -> None:
        self._what = what
        self._resumed = resumed
        self._total = total
        self._report = report
        self._begun = time.monotonic()

    def show(self, done: int) -> None:
        """Reports that so many runs are done."""
        if self._report is None:
            return
        here = done - self._resumed
        seconds = time.monotonic() - self._begun
        words = self._what
        if here > 0 and seconds > 0:
            rate = here / seconds
            words += f", {rate:.2g}/s, {spoken((self._total - done) / rate)} left"
        self._report(words, done, self._total)


def spoken(seconds: float) -> str:
    """A span as people say it, in the two largest units that matter.

    Args:
        seconds: Its length.
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
