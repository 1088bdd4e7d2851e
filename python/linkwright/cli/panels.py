"""Shows the help of a command: common options by heading, and everything with `--help-all`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from linkwright.cli.keys import Keys

__all__ = [
    "JOB",
    "OUTPUT",
    "SYSTEM",
    "Grouped",
    "Panelled",
    "Rare",
    "described_by",
    "first_sentence",
    "has_more",
    "is_whole",
    "print_help_all",
]

Command = TypeVar("Command", bound=Callable[..., None])

# The headings that all commands share, in the order in which a help shows them.
SYSTEM = "System"
JOB = "Job"
OUTPUT = "Output"
FIRST, LAST = "Arguments", "Options"
ORDER = (FIRST, LAST, SYSTEM, JOB, OUTPUT)

# Typer shows bounds as `1<=x<=16`; the error for a wrong value says them in words.
BOUNDS = re.compile(r"(?:[\d.e+-]+<=?)?x(?:[<>]=?[\d.e+-]+)?")
# It shows types where an option names no value of its own.
TYPES = re.compile(r" <(?:str|int|float|int range|float range)>")
REMARKS = re.compile(r"  \[([^\]]*)\]$")


class Rare(str):
    """Is a heading whose options only `--help-all` shows."""

    __slots__ = ()


def described_by(
    keys: Keys | None = None, lists: Mapping[str, Sequence[str]] | None = None
) -> Callable[[Command], Command]:
    """Adds to a command what its `--help-all` says of `--set` and of long lists of names."""

    def add(command: Command) -> Command:
        vars(command).update(keys=keys, lists=lists or {})
        return command

    return add


class _Summed:
    """Tells a command by its first sentence, however long it is: a shell's completion, too."""

    def get_short_help_str(self, *_: object, **__: object) -> str:
        """Gives the first sentence; nothing is cut."""
        return first_sentence(self)


class Panelled(_Summed, TyperCommand):
    """Shows options below headings: those of the command first, those of its output last."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes arguments and options by heading, and counts the rare ones."""
        whole = is_whole(ctx)
        rare = 0
        more = has_more(self)
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in ORDER}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            heading = FIRST if parameter.param_type_name == "argument" else _heading(parameter)
            if more and not whole and parameter.name in OF_ALL:
                continue
            if isinstance(heading, Rare) and not whole:
                rare += 1
            else:
                groups.setdefault(str(heading), []).append(_plain(record))
        last = groups.pop(OUTPUT)
        _write(formatter, {**groups, OUTPUT: last})
        keys, lists = _described(self)
        if whole:
            if keys is not None:
                _write(formatter, {f"{name} (--set)": rows for name, rows in keys.rows().items()})
            for title, names in lists.items():
                with formatter.section(title):
                    formatter.write_text(", ".join(names))
            return
        told = [f"{rare} rare options"] if rare > 1 else ["1 rare option"] if rare else []
        told += [f"{len(keys)} settings"] if keys else []
        told += ["all names"] if lists else []
        if told:
            formatter.write_paragraph()
            formatter.write_text(f"--help-all shows {_joined(told)}, too.")


class Grouped(_Summed, TyperGroup):
    """Lists the commands of a group with their first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes a line or more for each command."""
        rows = [
            (name, first_sentence(self.get_command(ctx, name))) for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the commands and then the options."""
        self.format_commands(ctx, formatter)
        records = [parameter.get_help_record(ctx) for parameter in self.get_params(ctx)]
        _write(formatter, {LAST: [_plain(each) for each in records if each is not None]})


# Every command has these, so that a long help leaves them to `--help-all`.
OF_ALL = ("quiet", "wide", "help_all")
# Where a context keeps that all of the help is wanted.
WHOLE = "linkwright.whole_help"


def print_help_all(context: typer.Context, wanted: bool) -> None:
    """Prints all of a command's help, and ends."""
    if wanted and not context.resilient_parsing:
        context.meta[WHOLE] = True
        typer.echo(context.get_help())
        raise typer.Exit


def is_whole(context: typer.Context) -> bool:
    """Whether all of the help is wanted."""
    return bool(context.meta.get(WHOLE))


def has_more(command: Any) -> bool:
    """Whether `--help` leaves out something of a command."""
    keys, lists = _described(command)
    return bool(keys or lists) or any(isinstance(_heading(it), Rare) for it in command.params)


def _described(command: Any) -> tuple[Keys | None, Mapping[str, Sequence[str]]]:
    callback = command.callback
    return getattr(callback, "keys", None), getattr(callback, "lists", {})


def _heading(parameter: Any) -> str:
    if parameter.name in ("help", "help_all"):
        return OUTPUT
    return getattr(parameter, "rich_help_panel", None) or LAST


def _plain(record: tuple[str, str]) -> tuple[str, str]:
    """Gives a line of the help without bounds and types, which say little to people."""
    name, text = record
    remarks = REMARKS.search(text)
    if remarks is not None:
        kept = [it for it in remarks[1].split("; ") if not BOUNDS.fullmatch(it)]
        text = text[: remarks.start()] + (f"  [{'; '.join(kept)}]" if kept else "")
    return TYPES.sub("", name), text


def _write(formatter: Any, groups: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    for name, records in groups.items():
        if records:
            with formatter.section(name):
                formatter.write_dl(records, col_max=28)


def first_sentence(command: Any) -> str:
    """Gives the first sentence of a command's help."""
    paragraph = " ".join((command.help or "").split("\n\n")[0].split())
    return re.split(r"(?<=[.?!]) (?=[A-Z])", paragraph)[0]


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
