"""How far a sweep is, how fast it goes, and when it will be over."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Forecast", "Pace", "Told", "spoken"]

# Takes a forecast: the seconds of all, after how many parts, of how many.
Told = Callable[[float, int, int], object]


class Pace:
    """Tells a sweep's progress in the way of the package: the work, the runs done, the runs in all.

    Args:
        what: The name of the work.
        resumed: How many runs were done before, and say nothing of the speed.
        total: How many runs there are.
        report: The function that is told, if any.
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
        """Reports that `done` runs are done."""
        if self._report is None:
            return
        here = done - self._resumed
        seconds = time.monotonic() - self._begun
        words = self._what
        if here > 0 and seconds > 0:
            rate = here / seconds
            words += f", {rate:.2g}/s, {spoken((self._total - done) / rate)} left"
        self._report(words, done, self._total)


class Forecast:
    """Tells once, early, how long all will take: when some parts of about equal weight are done.

    Args:
        tell: The function that is told, if any. It is not called where nothing is left by then.
        after: How many parts to wait for.
    """

    def __init__(self, tell: Told | None, after: int) -> None:
        self._tell = tell
        self._after = after
        self._begun = time.monotonic()
        # Those that a checkpoint held say nothing of the time.
        self._before: int | None = None

    def show(self, done: int, total: int) -> None:
        """Hears that `done` parts are done; the first time how many there were at the start."""
        if self._before is None:
            self._before = done
        here = done - self._before
        if self._tell is None or here < self._after:
            return
        if done < total:
            seconds = time.monotonic() - self._begun
            self._tell(seconds * (total - self._before) / here, here, total - self._before)
        self._tell = None


def spoken(seconds: float) -> str:
    """Writes a span as people say it, in the two largest units that matter.

    Args:
        seconds: Its length.
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
