"""Settings as people type them: `--set KEY=VALUE`, and options as the core describes each."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time
from functools import cache
from typing import Any

import typer

from linkwright.cli.keys import Key, Keys
from linkwright.errors import InputError, did_you_mean
from linkwright.scenario import Setting, settings

__all__ = [
    "among",
    "default_of",
    "describe",
    "keys_of",
    "of_options",
    "of_setting",
    "pairs",
    "value_of",
]

# Errors of settings name this as their file.
SETTINGS = "<settings>"
# Of a value, in characters and levels; a longer one is a text.
LONGEST_VALUE = 1_000
DEEPEST_VALUE = 32

# From here on a range is said by its least alone.
MANY = 2**32 - 1
# The name of an option's value, by its setting's kind.
METAVARS = {
    "file": "FILE",
    "whole": "N",
    "number": "NUMBER",
    "factor": "FACTOR",
    "time": "TIME",
    "size": "SIZE",
    "bandwidth": "BANDWIDTH",
    "name": "NAME",
    "names": "NAME",
    "name-or-other": "NAME",
}
# Where `replay` and `traffic` call a setting otherwise than a scenario does.
NAMES = {
    "system.server.gpus": "gpus_per_node",
    "system.server.nics": "nics_per_node",
    "system.server.bandwidth": "gpu_bandwidth",
    "system.server.latency": "gpu_latency",
}
# Of these `replay` and `traffic` have options.
OF_OPTIONS = (
    "system.network.kind",
    "system.network.preset",
    "system.network.file",
    "system.network.routing",
)
# Choices that may be classes of one's own.
PLUG_INS = ("policy", "routing")


@cache
def describe(path: str) -> Setting:
    """Gives the core's description of a setting, by its path."""
    return next(setting for setting in settings() if setting.path == path)


def among(what: str, known: Sequence[str]) -> Callable[[object], object]:
    """A check that a value, or each of several, is one of the names."""

    def check(value: object) -> object:
        for name in value if isinstance(value, list) else [value]:
            # A class of one's own is loaded by its name, which says what is wrong with it.
            is_class = what in PLUG_INS and ":" in str(name)
            if name is not None and name not in known and not is_class:
                advice = did_you_mean(str(name), known)
                listed = f"use one of {', '.join(known)}"
                raise typer.BadParameter(f"there is no {what} `{name}`; {advice}{listed}")
        return value

    return check


def default_of(path: str) -> Any:
    """Gives the value of a setting that is absent: a number where its text is one."""
    return value_of(describe(path).absent)


def of_setting(
    path: str,
    *,
    metavar: str | None = None,
    defaults: bool = False,
    most: int | None = None,
    heading: str | None = None,
) -> Any:
    """An option of a command: help, names, range and default are the setting's.

    Args:
        path: The setting.
        metavar: The name of its value; by default, of the setting's kind.
        defaults: Whether the parameter has the setting's default, which is shown by itself.
        most: Where the command takes less than a scenario does.
        heading: The heading that it stands below in the help.
    """
    setting = describe(path)
    known, (least, greatest) = setting.names, setting.range or (None, None)
    if most is None and greatest is not None and greatest < MANY:
        most = greatest
    text = setting.help.replace("`", "")
    text = f"{text[0].upper()}{text[1:]}"
    if known:
        text += f" ({', '.join(known)})" if ":" in text else f": {', '.join(known)}"
    default = ""
    if setting.absent and not defaults:
        # The text behind a semicolon is of another kind of scenario.
        default = f"  [default: {setting.absent.partition(';')[0].replace('`', '')}]"
    is_closed = setting.kind in ("name", "names")
    return typer.Option(
        metavar=metavar or METAVARS.get(setting.kind, "TEXT"),
        help=f"{text}.{default}",
        rich_help_panel=heading,
        min=0 if setting.kind == "number" else least,
        max=most,
        callback=among(setting.key.replace("_", " "), known) if is_closed else None,
        autocompletion=(lambda: known) if known else None,
    )


def keys_of(*tables: str) -> Keys:
    """Gives the settings of some tables of a scenario, as `replay` and `traffic` take them."""
    keys = []
    for table in tables:
        for setting in settings():
            if setting.path.startswith(f"{table}.") and setting.path not in OF_OPTIONS:
                keys.append(_key(setting))
    return Keys(*keys)


def _key(setting: Setting) -> Key:
    table, _, key = setting.path.rpartition(".")
    inside = table.removeprefix("system.")
    name = NAMES.get(setting.path)
    if name is None:
        name = key if inside in ("network", "server", "job") else f"{inside}.{key}"
    said = setting.help.replace("`", "")
    default = setting.absent.partition(";")[0].replace("`", "")
    return Key(
        name,
        METAVARS.get(setting.kind, "true|false" if setting.kind == "truth" else "VALUE"),
        f"{said[0].upper()}{said[1:]}",
        value_of,
        default,
        setting.names,
        f"Settings of {inside}",
    )


def pairs(texts: list[str] | None) -> dict[str, object]:
    """The settings in texts such as `key=value`; a key may have dots.

    Raises:
        typer.BadParameter: If a text has no key or no value, or a key is set twice.
    """
    found: dict[str, object] = {}
    for text in texts or []:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise typer.BadParameter(f"`{text}` is no setting; write key=value.")
        if key in found:
            raise typer.BadParameter(f"`{key}` is set twice; leave out `--set {text}`.")
        found[key] = value_of(value)
    return found


def value_of(text: str) -> object:
    """A number, a list or a truth value where the text is one in TOML; else text, as of a date."""
    # The reader's memory grows with the square of a text's dots, and its stack with brackets.
    if len(text) > LONGEST_VALUE or len(text.split(".")) + text.count("[") > DEEPEST_VALUE:
        return text
    try:
        value = tomllib.loads(f"value = {text}")["value"]
        return text if isinstance(value, date | time) else value
    except tomllib.TOMLDecodeError:
        return text


@contextmanager
def of_options() -> Iterator[None]:
    """Where it lasts, an error of what was typed has no place in a file.

    Raises:
        typer.BadParameter: In place of such an error.
    """
    try:
        yield
    except InputError as error:
        if error.file != SETTINGS:
            raise
        # A file has quotes around a text that the command line has not.
        given = (error.value or "").strip('"')
        # Some problems quote the value themselves.
        value = "" if not given or given in error.problem else f": `{given}`"
        raise typer.BadParameter(f"{error.problem}{value}; {error.remedy}") from error
