"""Arguments of the package's functions in Python, each refused by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from operator import index
from typing import Any

from linkwright.errors import ArgumentError, given
from linkwright.texts import size_in

__all__ = [
    "bytes_of",
    "several",
    "texts",
    "truth",
    "whole",
]


def whole(argument: str, value: object) -> int:
    """The whole number that an argument is, of Python's or of numpy's.

    Raises:
        ArgumentError: If it is none; True and False are none.
    """
    if type(value).__name__ not in {"bool", "bool_"}:
        try:
            return index(value)  # type: ignore[arg-type]
        except TypeError:
            pass
        if isinstance(value, float) and value.is_integer():
            return int(value)
    raise ArgumentError(given(value), "give a whole number", argument)


def bytes_of(argument: str, value: object) -> int:
    """The bytes that an argument is: a whole number, or a text such as `25MiB`.

    Raises:
        ArgumentError: If it is neither.
    """
    if not isinstance(value, str):
        return whole(argument, value)
    try:
        return size_in(value)
    except ValueError:
        raise ArgumentError(given(value), "give bytes, such as 8, 64MiB or 1G", argument) from None


def truth(argument: str, value: object) -> bool:
    """The truth that an argument is.

    Raises:
        ArgumentError: If it is neither True nor False.
    """
    if type(value).__name__ in {"bool", "bool_"}:
        return bool(value)
    raise ArgumentError(given(value), "give True or False", argument)


def texts(argument: str, value: object) -> list[str]:
    """The texts that an argument lists.

    Raises:
        ArgumentError: If it lists none, or is one text alone.
    """
    found = several(argument, value, "texts")
    for at, item in enumerate(found):
        if not isinstance(item, str):
            raise ArgumentError(given(item), "give a text", f"{argument}[{at}]")
    return found


def several(argument: str, value: object, what: str) -> list[Any]:
    """What an argument lists: a list, an array, or anything else that has an order.

    Raises:
        ArgumentError: If it lists nothing, or is one text.
    """
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | Set):
        return list(value)
    raise ArgumentError(given(value), f"give a list of {what}", argument)
