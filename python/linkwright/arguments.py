"""Reads the arguments of the package's functions in Python, and refuses each by name.

`taking` is what functions state: it reads each argument by one of the functions below it, which
give the value or raise `ArgumentError`. The extension reads its own in the same way.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Set
from functools import wraps
from numbers import Number
from operator import index
from typing import Any, ParamSpec, TypeVar

from linkwright.errors import ArgumentError, given
from linkwright.texts import size_in

__all__ = [
    "bytes_of",
    "callback",
    "gpus_of",
    "mapping_of",
    "path_or_name",
    "policies_of",
    "quantity",
    "real",
    "several",
    "taking",
    "text",
    "texts",
    "truth",
    "whole",
]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# Python and numpy call the types of their truths so; elsewhere these pass for numbers.
TRUTHS = {"bool", "bool_"}


def taking(
    **kinds: Callable[[str, object], object],
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Lets a function read its arguments by what is named for each; None stays where it may be."""

    def of(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        signature = inspect.signature(function)
        defaults = {name: signature.parameters[name].default for name in kinds}

        @wraps(function)
        def reading(*given: Parameters.args, **named: Parameters.kwargs) -> Result:
            bound = signature.bind(*given, **named)
            for name, kind in kinds.items():
                if name in bound.arguments:
                    value = bound.arguments[name]
                    if value is not None or defaults[name] is not None:
                        bound.arguments[name] = kind(name, value)
            return function(*bound.args, **bound.kwargs)

        return reading

    return of


def whole(argument: str, value: object) -> int:
    """Reads a whole number of Python's or numpy's, or a float without a fraction."""
    if type(value).__name__ not in TRUTHS:
        try:
            return index(value)  # type: ignore[arg-type]
        except TypeError:
            pass
        if isinstance(value, float) and value.is_integer():
            return int(value)
    raise ArgumentError(given(value), "give a whole number", argument)


def real(argument: str, value: object) -> float:
    """Reads a number of Python's or numpy's."""
    if isinstance(value, Number) and type(value).__name__ not in TRUTHS:
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, OverflowError):
            pass
    raise ArgumentError(given(value), "give a number", argument)


def quantity(argument: str, value: object) -> float | str:
    """Reads a number, or a text with a number and its unit."""
    if isinstance(value, str):
        return value
    try:
        return real(argument, value)
    except ArgumentError:
        wanted = "give a number, or a text with its unit"
        raise ArgumentError(given(value), wanted, argument) from None


def bytes_of(argument: str, value: object) -> int:
    """Reads bytes: a whole number, or a text such as `25MiB`."""
    if not isinstance(value, str):
        return whole(argument, value)
    try:
        return size_in(value)
    except ValueError:
        raise ArgumentError(given(value), "give bytes, such as 8, 64MiB or 1G", argument) from None


def path_or_name(argument: str, value: object) -> str | os.PathLike[str]:
    """Reads a name, or the path of a file."""
    if isinstance(value, str | os.PathLike):
        return value
    raise ArgumentError(given(value), "give a name, or a path", argument)


def truth(argument: str, value: object) -> bool:
    """Reads True or False, of Python's or numpy's."""
    if type(value).__name__ in TRUTHS:
        return bool(value)
    raise ArgumentError(given(value), "give True or False", argument)


def text(argument: str, value: object) -> str:
    """Reads a text."""
    if isinstance(value, str):
        return value
    raise ArgumentError(given(value), "give a text", argument)


def texts(argument: str, value: object) -> list[str]:
    """Reads a list of texts, which is no text itself."""
    found = several(argument, value, "texts")
    return [text(f"{argument}[{at}]", item) for at, item in enumerate(found)]


def policies_of(argument: str, value: object) -> list[str]:
    """Reads a list of policies: names, and classes of one's own, which go by theirs."""
    found = several(argument, value, "policies")
    return [text(f"{argument}[{at}]", _named(item)) for at, item in enumerate(found)]


def _named(value: object) -> Any:
    """Gives a setting's value, in which a class of one's own is its name."""
    from linkwright.plug_ins import named

    return named(value)


def gpus_of(argument: str, value: object) -> int | list[int]:
    """Reads how many GPUs are wanted, or which."""
    if isinstance(value, Number):
        return whole(argument, value)
    found = several(argument, value, "GPUs, or how many")
    return [whole(f"{argument}[{at}]", gpu) for at, gpu in enumerate(found)]


def several(argument: str, value: object, what: str) -> list[Any]:
    """Reads a list, an array, or anything else that has an order."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | Set):
        return list(value)
    raise ArgumentError(given(value), f"give a list of {what}", argument)


def mapping_of(argument: str, value: object) -> dict[str, Any]:
    """Reads a dictionary, or anything else that maps texts to values."""
    if not isinstance(value, Mapping):
        raise ArgumentError(given(value), "give a dictionary", argument)
    return {text(f"a key of {argument}", key): _named(item) for key, item in value.items()}


def callback(argument: str, value: object) -> Callable[..., Any]:
    """Reads a function that is called while something runs."""
    if callable(value):
        return value
    raise ArgumentError(given(value), "give a function", argument)
