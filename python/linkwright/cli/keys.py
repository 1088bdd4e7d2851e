"""Settings of `--set KEY=VALUE`: one table says what each key takes, and reads and describes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from linkwright.cli.durations import LONGEST, parse_duration
from linkwright.cli.sizes import parse_size
from linkwright.errors import did_you_mean

__all__ = ["Key", "Keys", "below", "file", "flag", "named", "number", "size", "text", "time"]

# More digits than any setting has; the interpreter refuses to read thousands.
MOST_DIGITS = 40
TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True)
class Key:
    """Describes one setting.

    Attributes:
        name: Its key, which Python's keyword is called like.
        value: How the help writes its value.
        help: The change that it makes, in one sentence.
        read: Makes the value of a text, or raises ValueError with what is wrong.
        default: The value where it is not set, as the help says it.
        names: The names that it takes; none where it takes others.
        group: The heading that it stands below.
    """

    name: str
    value: str
    help: str
    read: Callable[[str], object]
    default: str = ""
    names: Sequence[str] = ()
    group: str = "Settings"

    @property
    def row(self) -> tuple[str, str]:
        """Gives its line of the help."""
        listed = f" ({', '.join(self.names)})" if self.names else ""
        default = f"  [default: {self.default}]" if self.default else ""
        return f"{self.name}={self.value}", f"{self.help.removesuffix('.')}{listed}.{default}"


class Keys:
    """The settings that a command takes."""

    def __init__(self, *keys: Key) -> None:
        self._keys = {key.name: key for key in keys}

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys.values())

    def rows(self) -> dict[str, list[tuple[str, str]]]:
        """Gives the lines of the help, by their headings."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for key in self:
            groups.setdefault(key.group, []).append(key.row)
        return groups

    def option(self) -> Any:
        """The option of a command that takes these settings, with completion of their keys."""
        return typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help=f"Change a setting; --help-all lists {len(self)}. Repeatable."
            if len(self) > 1
            else "Change the setting that --help-all shows.",
            autocompletion=self.completed,
        )

    def completed(self, incomplete: str) -> list[str]:
        """The keys, or a key's values, that go on as a text begins."""
        name, equals, _ = incomplete.partition("=")
        if not equals:
            return [f"{key}=" for key in self._keys if key.startswith(name)]
        key = self._keys.get(name)
        values = [] if key is None else key.names or (TRUTHS if key.value == FLAG else ())
        return [it for it in (f"{name}={value}" for value in values) if it.startswith(incomplete)]

    def read(self, texts: Sequence[str] | None) -> dict[str, Any]:
        """Gives the settings in texts such as `gpu_clock=1.5GHz`, by their keys.

        Raises:
            typer.BadParameter: If a text is no setting, a key is unknown or set twice, or its
                value is not what it takes.
        """
        found: dict[str, Any] = {}
        for typed in texts or []:
            name, equals, value = (part.strip() for part in typed.partition("="))
            if not (name and equals and value):
                raise typer.BadParameter(f"`{typed}` is no setting; write key=value.")
            key = self._keys.get(name)
            if key is None:
                near = did_you_mean(name, list(self._keys))
                raise typer.BadParameter(
                    f"there is no setting `{name}`; {near}--help-all lists all."
                    if near
                    else f"there is no setting `{name}`; the keys are {', '.join(self._keys)}."
                )
            if name in found:
                raise typer.BadParameter(f"`{name}` is set twice; leave out `--set {typed}`.")
            try:
                found[name] = key.read(value)
            except typer.BadParameter as error:
                raise typer.BadParameter(f"{name}: {error.message}") from None
        return found


FLAG = "true|false"


def below(group: str, *keys: Key) -> list[Key]:
    """Gives the keys below a heading of their own."""
    return [replace(key, group=group) for key in keys]


def flag(name: str, said: str, default: str = "false") -> Key:
    """A setting that is on or off."""

    def read(given: str) -> bool:
        if given.lower() not in TRUTHS:
            raise typer.BadParameter(f"`{given}` is neither true nor false.")
        return TRUTHS[given.lower()]

    return Key(name, FLAG, said, read, default)


def number(
    name: str,
    value: str,
    said: str,
    default: str = "",
    *,
    kind: type[int] | type[float] = int,
    least: float | None = None,
    most: float | None = None,
) -> Key:
    """A number within bounds; a whole one where `kind` is `int`."""

    def read(given: str) -> float:
        what = "whole number" if kind is int else "number"
        try:
            if len(given) > MOST_DIGITS:
                raise ValueError
            found = kind(given)
        except ValueError:
            raise typer.BadParameter(f"`{given}` is no {what}.") from None
        # Not a number is within no bounds.
        if (least is None or found >= least) and (most is None or found <= most):
            return found
        if least is not None and most is not None:
            raise typer.BadParameter(f"{given} is not from {least:,} to {most:,}.")
        bound = f"{least:,} or more" if least is not None else f"{most:,} or less"
        raise typer.BadParameter(f"{given} is out of range; give {bound}.")

    return Key(name, value, said, read, default)


def named(name: str, said: str, names: Sequence[str], default: str = "") -> Key:
    """One of some names."""

    def read(given: str) -> str:
        if given not in names:
            near = did_you_mean(given, names)
            raise typer.BadParameter(f"there is no `{given}`; {near}use one of {', '.join(names)}.")
        return given

    return Key(name, "NAME", said, read, default, names)


def text(name: str, value: str, said: str, default: str = "") -> Key:
    """A text that the core reads."""
    return Key(name, value, said, str, default)


def file(name: str, said: str, default: str = "") -> Key:
    """Gives a file's name."""
    return Key(name, "FILE", said, Path, default)


def time(name: str, said: str, default: str = "") -> Key:
    """A length of time such as 30s or 3h, in seconds; so is a plain number."""

    def read(given: str) -> float | None:
        try:
            seconds = float(given) if len(given) < MOST_DIGITS else -1.0
        except ValueError:
            return parse_duration(given)
        if not 0 <= seconds <= LONGEST:
            raise typer.BadParameter(f"`{given}` is no span of time; write one like 90s or 2h.")
        return seconds

    return Key(name, "TIME", said, read, default)


def size(name: str, said: str, default: str = "", *, zero: bool = False) -> Key:
    """An amount of data such as 25MiB, in bytes; 0 where `zero` allows it."""

    def read(given: str) -> int:
        return 0 if zero and given == "0" else parse_size(given)

    return Key(name, "SIZE", said, read, default)
