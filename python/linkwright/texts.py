"""Numbers as people read them, each with the unit that keeps it short."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["counted", "data", "duration", "large", "percent", "ranges"]


def counted(count: int, what: str, several: str | None = None) -> str:
    """The count with its noun: `1 GPU`, `2 GPUs`; `several` is a plural of another form."""
    return f"{count:,} {what if count == 1 else several or what + 's'}"


def duration(seconds: float) -> str:
    """A time such as `1.500 ms`."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= factor:
            return f"{seconds / factor:.3f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def large(number: float) -> str:
    """A large number by its millions or billions; a smaller one in full."""
    for factor, word in ((1e9, " billion"), (1e6, " million")):
        if number >= factor:
            return f"{number / factor:.1f}{word}"
    return f"{number:,.0f}"


def data(number: float) -> str:
    """Bytes such as `64 KiB`."""
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while number >= 1024 and len(units) > 1:
        number /= 1024
        units.pop(0)
    return f"{number:.4g} {units[0]}"


def percent(share: float) -> str:
    """A share such as `12.5%`."""
    return f"{share:.1%}"


def ranges(numbers: Iterable[int]) -> str:
    """Numbers such as `0-3,6`: those that follow one another by their ends."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
