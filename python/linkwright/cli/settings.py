"""Settings as people type them: `--set KEY=VALUE`, and options as the core describes each."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time
from functools import cache, wraps
from typing import Annotated, Any

import typer

from linkwright.errors import InputError
from linkwright.scenario import Setting, settings
from linkwright.errors import did_you_mean

__all__ = [
    "among",
    "default_of",
    "describe",
    "of_options",
    "of_setting",
    "pairs",
    "taking",
    "value_of",
]

# What errors of settings name as their file.
SETTINGS = "<settings>"
# Of a value, in characters and levels; a longer one is a text.
LONGEST_VALUE = 1_000
DEEPEST_VALUE = 32

# From here on a range is said by its least alone.
MANY = 2**32 - 1
# What the value of an option is called, by its setting's kind.
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
# Where an option is not called as its setting is.
NAMES = {"system.server.gpus": "gpus_per_node", "system.server.nics": "nics_per_node"}


@cache
def describe(path: str) -> Setting:
    """What the core says of a setting, by its path."""
    return next(setting for setting in settings() if setting.path == path)


def among(what: str, known: Sequence[str]) -> Callable[[object], object]:
    """A check that a value, or each of several, is one of the names."""

    def check(value: object) -> object:
        for name in value if isinstance(value, list) else [value]:
            if name is not None and name not in known:
                advice = did_you_mean(str(name), known)
                listed = f"{'There' if advice else 'there'} are: {', '.join(known)}."
                raise typer.BadParameter(f"there is no {what} `{name}`; {advice}{listed}")
        return value

    return check


def default_of(path: str) -> Any:
    """What stands for a setting where it is absent: a number where its text is one."""
    return value_of(describe(path).absent)


def of_setting(
    path: str, *, metavar: str | None = None, defaults: bool = False, most: int | None = None
) -> Any:
    """An option of a command: help, names, range and default are the setting's.

    Args:
        path: The setting.
        metavar: What its value is called; by the setting's kind where absent.
        defaults: Whether the parameter has the setting's default, which is shown by itself.
        most: Where the command takes less than a scenario does.
    """
    setting = describe(path)
    known, (least, greatest) = setting.names, setting.range or (None, None)
    if most is None and greatest is not None and greatest < MANY:
        most = greatest
    text = setting.help.replace("`", "")
    text = f"{text[0].upper()}{text[1:]}"
    if known:
        text += f" ({', '.join(known)})" if ":" in text else f": {', '.join(known)}"
    if setting.absent and not defaults:
        # What holds for another kind of scenario is said behind a semicolon.
        text += f"; {setting.absent.partition(';')[0].replace('`', '')} if absent"
    is_closed = setting.kind in ("name", "names")
    return typer.Option(
        metavar=metavar or METAVARS.get(setting.kind, "TEXT"),
        help=f"{text}.",
        min=0 if setting.kind == "number" else least,
        max=most,
        callback=among(setting.key.replace("_", " "), known) if is_closed else None,
        autocompletion=(lambda: known) if known else None,
    )


def taking(*paths: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command's parameter `typed` becomes an option for each of these settings.

    The command gets what was typed, by the options' names; what was not is not there.
    """
    names = {NAMES.get(path, describe(path).key): path for path in paths}

    def wrap(command: Callable[..., None]) -> Callable[..., None]:
        made = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for each in made.parameters.values():
            if each.name == "typed":
                parameters += [_option(name, path) for name, path in names.items()]
            else:
                parameters.append(each.replace(kind=inspect.Parameter.KEYWORD_ONLY))

        @wraps(command)
        def called(**given: Any) -> None:
            typed = {name: given.pop(name) for name in names}
            given["typed"] = {name: value for name, value in typed.items() if value is not None}
            command(**given)

        called.__dict__["__signature__"] = made.replace(parameters=parameters)
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        return called

    return wrap


def _option(name: str, path: str) -> inspect.Parameter:
    kind: Any = int if describe(path).range else str
    annotation = Annotated[kind | None, of_setting(path)]
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=None, annotation=annotation)


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
        # Some problems quote the value themselves.
        is_told = not error.value or error.value.strip('"') in error.problem
        value = "" if is_told else f": `{error.value}`"
        raise typer.BadParameter(f"{error.problem}{value}; {error.remedy}") from error
