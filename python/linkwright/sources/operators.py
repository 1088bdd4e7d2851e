"""Applies the operators of sources to values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from linkwright.sources.statements import UNKNOWN
from linkwright.sources.values import MOST_ITEMS, items_of, plain

__all__ = ["applied"]

# The largest shift or power, and the largest number that is followed.
MOST_SHIFTED = 64
LARGEST = 1 << 64

EQUALITIES = {"==": True, "is": True, "!=": False, "is not": False}


def applied(operator: str, operands: Sequence[object]) -> object:
    """Gives the value of an operator; unknown where an operand is, or nothing says it."""
    found = [plain(operand) for operand in operands]
    if operator == "," or not found or UNKNOWN in found[:1]:
        return UNKNOWN
    if operator in ("in", "not in") and len(found) == 2:
        return _contained(found[0], found[1], operator == "in")
    if any(value is UNKNOWN for value in found):
        return UNKNOWN
    if operator in EQUALITIES and len(found) == 2:
        if any(_has_unknown(value) for value in found):
            return UNKNOWN
        return (found[0] == found[1]) == EQUALITIES[operator]
    if any(isinstance(value, list) for value in found):
        return _joined(operator, found)
    numbers = [int(value) for value in found if isinstance(value, int)]
    if len(numbers) == len(found):
        return _arithmetic(operator, numbers)
    return not found[0] if operator == "!" else UNKNOWN


def _has_unknown(value: object) -> bool:
    return isinstance(value, list | tuple) and any(item is UNKNOWN for item in value)


def _contained(value: object, listed: object, expected: bool) -> object:
    items = listed if isinstance(listed, range) else items_of(listed)
    if items is None or _has_unknown(items):
        return UNKNOWN
    return (value in items) == expected


def _joined(operator: str, found: Sequence[object]) -> object:
    """Lists one after the other, or one many times."""
    lists = [value for value in found if isinstance(value, list)]
    if operator == "+" and len(lists) == len(found):
        return UNKNOWN if sum(map(len, lists)) > MOST_ITEMS else list(chain(*lists))
    times = [value for value in found if isinstance(value, int)]
    if operator == "*" and len(lists) == len(times) == 1:
        is_short = 0 <= times[0] * len(lists[0]) <= MOST_ITEMS
        return lists[0] * times[0] if is_short else UNKNOWN
    return UNKNOWN


def _arithmetic(operator: str, numbers: Sequence[int]) -> object:
    """The value of an operator on whole numbers; unknown where there is none."""
    if len(numbers) == 1:
        (a,) = numbers
        of_one: dict[str, object] = {"-": -a, "+": a, "!": not a, "~": ~a}
        return of_one.get(operator, UNKNOWN)
    a, b = numbers[:2]
    if max(abs(a), abs(b)) > LARGEST:
        return UNKNOWN
    if operator in ("/", "%", "floor", "modulo"):
        if b == 0:
            return UNKNOWN
        if operator in ("floor", "modulo"):
            return a // b if operator == "floor" else a % b
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if operator == "/" else a - quotient * b
    if operator in ("<<", ">>", "**"):
        if not 0 <= b < MOST_SHIFTED or (operator == "**" and abs(a) > MOST_SHIFTED):
            return UNKNOWN
        return a**b if operator == "**" else a << b if operator == "<<" else a >> b
    of_two: dict[str, object] = {
        "+": a + b,
        "-": a - b,
        "*": a * b,
        "<": a < b,
        "<=": a <= b,
        ">": a > b,
        ">=": a >= b,
        "^": a ^ b,
        "&": a & b,
        "|": a | b,
    }
    return of_two.get(operator, UNKNOWN)
