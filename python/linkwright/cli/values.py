"""Reads typed words as the values that a command takes.

Typer leaves this to Pydantic. Its import takes as long as all the rest of a quick command, and
its messages do not say the value that was typed. A type that is not read here is still Typer's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer

__all__ = ["HELP", "read_values"]

# Where Typer keeps what reads a parameter once it is made; one that keeps it elsewhere makes its
# own.
SLOT = "_runtime_param"

HELP = ["--help", "-h"]

# More digits than any setting has; the interpreter refuses to read thousands.
MOST_DIGITS = 40


@dataclass(frozen=True)
class _Reader:
    """Reads a parameter, in the form in which Typer calls it."""

    read: Callable[[Any], object]

    def coerce(self, value: Any, param: Any, ctx: Any) -> object:
        """The value of one parameter, as its command takes it."""
        del ctx
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        return self.read(value)


def read_values(command: Any) -> None:
    """Lets a command's own parameters be read by this module."""
    # The option for help is made on demand, and then kept.
    context = typer.Context(command, help_option_names=HELP)
    for parameter in command.get_params(context):
        descriptor = getattr(parameter, "type_descriptor", None)
        read = None if descriptor is None else _reader(descriptor.annotation, parameter)
        if read is not None:
            setattr(parameter, SLOT, _Reader(read))


def _reader(annotation: Any, parameter: Any) -> Callable[[Any], object] | None:
    """Gives a reader of the annotated type; None for a type that is left to Typer."""
    own: Callable[[Any], object] | None = parameter.type_descriptor.parameter_info.parser
    if own is not None:
        return own
    kind, inner = get_origin(annotation), get_args(annotation)
    if kind is list:
        read = _reader(inner[0], parameter)
        return read and (lambda values: [read(value) for value in values])
    if kind is tuple:
        parts = [_reader(part, parameter) for part in inner]
        readers = [part for part in parts if part is not None]
        if len(readers) < len(parts):
            return None
        return lambda values: tuple(
            read(value) for read, value in zip(readers, values, strict=True)
        )
    if kind is Literal:
        # A check of its own says more of a wrong name.
        checked = parameter.type_descriptor.parameter_info.callback is not None
        return str if checked else lambda value: _one_of(value, inner)
    if annotation in (int, float):
        return lambda value: _number(value, annotation, parameter.min, parameter.max)
    return annotation if annotation in (bool, str, Path) else None


def _one_of(value: object, choices: tuple[str, ...]) -> object:
    if value not in choices:
        raise typer.BadParameter(f"`{value}` is not one of {', '.join(choices)}.")
    return value


def _number(
    value: Any, kind: type[int] | type[float], least: float | None, most: float | None
) -> float:
    """The number in a text, within its bounds; other values are numbers already."""
    try:
        if isinstance(value, str) and len(value) > MOST_DIGITS:
            raise ValueError
        number = kind(value)
    except ValueError:
        what = "whole number" if kind is int else "number"
        raise typer.BadParameter(f"`{value}` is no {what}.") from None
    # Not a number is within no bounds.
    if (least is None or number >= least) and (most is None or number <= most):
        return number
    if least is not None and most is not None:
        raise typer.BadParameter(f"{value} is not from {least:,} to {most:,}.")
    bound = f"{least:,} or more" if least is not None else f"{most:,} or less"
    raise typer.BadParameter(f"{value} is out of range; give {bound}.")
