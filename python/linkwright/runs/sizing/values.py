"""Reads the settings that are varied, each with its values from the least to the most."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from linkwright.scenario import settings
from linkwright.errors import SimulationError, did_you_mean

__all__ = ["Varied", "in_step", "more_never_hurts", "varied"]

NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:/\d+)?)\s*([A-Za-z/]*)")
# Beside bandwidths, these only add to them.
NEVER_HURT = {
    "system.server.nics",
    "system.network.bandwidth_scale",
    "system.server.bandwidth_scale",
}
MOST_VALUES = 64


@dataclass(frozen=True)
class Varied:
    """Holds a setting and its values.

    Attributes:
        key: The setting's path, as `system.network.bandwidth`.
        values: Its values, from the least to the most.
        is_range: Whether they are a range of numbers. It doubles from the least on.
    """

    key: str
    values: Sequence[object]
    is_range: bool


def varied(text: str) -> Varied:
    """Reads `KEY=LOW..HIGH`, each value twice the one before, or `KEY=A,B,C`, from the least.

    Raises:
        SimulationError: If it is neither, no setting has this path, or a range has no values.
    """
    key, equals, written = (part.strip() for part in text.partition("="))
    if not (key and equals and written):
        remedy = "write KEY=LOW..HIGH, or KEY=A,B,C from the least to the most"
        raise SimulationError(f"`{text}` says not what to vary", remedy)
    paths = [setting.path for setting in settings() if setting.kind not in ("table", "tables")]
    if key not in paths and not key.startswith("job."):
        remedy = f"{did_you_mean(key, paths)}write a path as system.network.bandwidth"
        raise SimulationError(f"no setting has the path `{key}`", remedy)
    low, dots, high = written.partition("..")
    if not dots:
        values = [_value(value.strip()) for value in written.split(",")]
        if len(values) < 2:
            remedy = "write two values or more, from the least to the most"
            raise SimulationError(f"`{text}` varies nothing", remedy)
        return Varied(key, values, is_range=False)
    return Varied(key, _doubled(text, low.strip(), high.strip()), is_range=True)


def _value(text: str) -> object:
    """A number or a truth value where the text is one, else the text."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _doubled(text: str, low: str, high: str) -> list[object]:
    first, last = NUMBER.fullmatch(low), NUMBER.fullmatch(high)
    if first is None or last is None:
        remedy = "write numbers as 1..8, 1/16..16 or 10 GB/s..80 GB/s"
        raise SimulationError(f"`{text}` is no range of numbers", remedy)
    unit = last[2]
    value, end = Fraction(0), Fraction(0)
    if first[1].partition("/")[2] != "0" and last[1].partition("/")[2] != "0":
        value, end = _fraction(first[1]), _fraction(last[1])
    if first[2] not in ("", unit) or not 0 < value < end:
        remedy = "write two numbers above zero in one unit, the least first"
        raise SimulationError(f"`{text}` has no values", remedy)
    found: list[object] = []
    while value < end:
        found.append(_written(value, unit))
        value *= 2
        if len(found) > MOST_VALUES:
            raise SimulationError(f"`{text}` has too many values", "write a narrower range")
    return [*found, _written(end, unit)]


def _fraction(text: str) -> Fraction:
    top, _, bottom = text.partition("/")
    return Fraction(top) / Fraction(bottom or 1)


def _written(value: Fraction, unit: str) -> object:
    number = int(value) if value.denominator == 1 else float(value)
    return number if unit in ("", "x") else f"{number} {unit}"


def in_step(all_varied: Sequence[Varied]) -> list[dict[str, object]]:
    """Gives the settings to put over a scenario for each value; several change together.

    Raises:
        SimulationError: If they have not equally many values, or one is varied twice.
    """
    counts = {len(each.values) for each in all_varied}
    if len(counts) != 1:
        said = ", ".join(f"`{each.key}` {len(each.values)}" for each in all_varied)
        remedy = "give each as many values as the others: they change together"
        raise SimulationError(f"the settings have not equally many values: {said}", remedy)
    if len({each.key for each in all_varied}) < len(all_varied):
        raise SimulationError("a setting is varied twice", "vary each once")
    rows = zip(*(each.values for each in all_varied), strict=True)
    return [dict(zip((each.key for each in all_varied), row, strict=True)) for row in rows]


def more_never_hurts(all_varied: Sequence[Varied]) -> bool:
    """Whether a larger value can slow nothing down: of bandwidths and interfaces alone."""
    kinds = {setting.path: setting.kind for setting in settings()}
    return all(
        each.is_range and (kinds.get(each.key) == "bandwidth" or each.key in NEVER_HURT)
        for each in all_varied
    )
