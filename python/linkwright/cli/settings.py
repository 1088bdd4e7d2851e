"""Settings as people type them: `--set KEY=VALUE`, and what the core says of each."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import typer

from linkwright import InputError, Setting, settings

__all__ = ["describe", "of_options", "pairs", "value_of"]

# What errors of settings name as their file.
SETTINGS = "<settings>"
# Of a value, in characters and levels; a longer one is a text.
LONGEST_VALUE = 1_000
DEEPEST_VALUE = 32


@cache
def describe(path: str) -> Setting:
    """What the core says of a setting, by its path."""
    return next(setting for setting in settings() if setting.path == path)


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
    """A number, a list or a truth value where the text is one in TOML; else the text."""
    # The reader's memory grows with the square of a text's dots, and its stack with brackets.
    if len(text) > LONGEST_VALUE or len(text.split(".")) + text.count("[") > DEEPEST_VALUE:
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
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
