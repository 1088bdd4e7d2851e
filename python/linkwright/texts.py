"""Numbers as people read and write them, each with the unit that keeps it short."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = [
    "SIZE_UNITS",
    "counted",
    "data",
    "duration",
    "energy",
    "large",
    "percent",
    "ranges",
    "size_in",
    "span",
]

# A letter alone is binary, as it is for nccl-tests.
SIZE_UNITS: dict[str, int] = {
    "": 1,
    "B": 1,
    **{letter: 1 << 10 * power for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}iB": 1 << 10 * power for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}B": 10 ** (3 * power) for power, letter in enumerate("kMGT", 1)},
}
# Seconds of the units of a span, the longest first.
SPAN_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]*)")
BY_NAME = {unit.upper(): unit for unit in SIZE_UNITS}


def counted(count: int, what: str, several: str | None = None) -> str:
    """The count with its noun: `1 GPU`, `2 GPUs`; `several` is a plural of another form."""
    return f"{count:,} {what if count == 1 else several or what + 's'}"


def duration(seconds: float) -> str:
    """Writes a time such as `1.500 ms`."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= factor:
            return f"{seconds / factor:.3f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def span(seconds: float) -> str:
    """A span as people write one, such as `1h30m`; zero is `0s`."""
    left, parts = round(seconds), []
    for unit, length in SPAN_UNITS.items():
        count, left = divmod(left, length)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def energy(kilowatt_hours: float | None) -> str:
    """An energy such as `240.0 J`, `1.500 kWh`; None is unknown."""
    if kilowatt_hours is None:
        return "unknown"
    joules = kilowatt_hours * 3.6e6
    for factor, unit in ((3.6e6, "kWh"), (1e3, "kJ"), (1.0, "J"), (1e-3, "mJ")):
        if joules >= factor:
            return f"{joules / factor:.4g} {unit}"
    return f"{joules * 1e6:.4g} µJ"


def large(number: float) -> str:
    """Writes a large number by its millions or billions; a smaller one in full."""
    for factor, word in ((1e9, " billion"), (1e6, " million")):
        if number >= factor:
            return f"{number / factor:.1f}{word}"
    return f"{number:,.0f}"


def data(number: float) -> str:
    """Writes bytes such as `64 KiB`."""
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while number >= 1024 and len(units) > 1:
        number /= 1024
        units.pop(0)
    return f"{number:.4g} {units[0]}"


def percent(share: float) -> str:
    """Writes a share such as `12.5%`."""
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


def size_in(text: str) -> int:
    """Reads the bytes in `64MiB`, `64M` (the same, as for nccl-tests), `64MB` (10^6 each) or `8`.

    Raises:
        ValueError: If the text is no such amount, or no whole number of bytes.
    """
    found = SIZE.fullmatch(text.strip())
    unit = BY_NAME.get(found[2].upper()) if found else None
    if found is None or unit is None:
        raise ValueError(f"`{text}` is not a size; write bytes like 8, 64MiB or 1G")
    whole, _, part = found[1].partition(".")
    scale: int = 10 ** len(part)
    size, rest = divmod(int(whole + part) * SIZE_UNITS[unit], scale)
    if rest:
        raise ValueError(f"`{text}` is not a whole number of bytes")
    return size
