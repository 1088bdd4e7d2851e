"""Changes of values in the text of the terms of training, whose comments stay."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping

__all__ = ["Values", "changed", "values"]

# Values by section, such as `framework.mxnet-0-11`, and key.
Values = Mapping[str, Mapping[str, object]]

SECTION = re.compile(r"\[([^\]]+)\]")


def values(text: str, section: str) -> dict[str, float]:
    """Returns the numbers of a section."""
    table = tomllib.loads(text)
    for part in section.split("."):
        table = table[part]
    return {
        key: float(value)
        for key, value in table.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def changed(text: str, new: Values) -> str:
    """Returns the text with other values.

    Args:
        text: That of `training_terms`.
        new: The values, by section and key; `""` is what stands above all sections.

    Raises:
        KeyError: If the text has no such key.
    """
    left = {(section, key) for section, keys in new.items() for key in keys}
    lines, section = [], ""
    for line in text.splitlines():
        if found := SECTION.match(line):
            section = found[1]
        key = line.split("=")[0].strip()
        if "=" in line and (section, key) in left:
            line = f"{key} = {_written(new[section][key])}"
            left.remove((section, key))
        lines.append(line)
    if left:
        raise KeyError(*sorted(left))
    return "\n".join(lines) + "\n"


def _written(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(f'"{item}"' for item in value) + "]"
    return f"{value}"
