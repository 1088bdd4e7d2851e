"""JSON as Linkwright writes it: the same text for the same value, and valid whatever happens."""

from __future__ import annotations

import json
import math
from pathlib import Path

__all__ = ["json_text", "shown_json", "write_json"]


def json_text(value: object) -> str:
    """The value as JSON with a line's end; null for a number that JSON cannot hold."""
    text = json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False)
    return shown_json(text) + "\n"


def shown_json(text: str) -> str:
    """The same JSON with no character that a terminal would obey or hide: as escapes."""
    # Outside of texts there is none but the ends of lines, which JSON escapes in texts by itself.
    return "\n".join(line if line.isprintable() else _escaped(line) for line in text.split("\n"))


def _escaped(line: str) -> str:
    return "".join(it if it.isprintable() else json.dumps(it)[1:-1] for it in line)


def write_json(path: Path, value: object) -> None:
    """Writes the value as JSON.

    Raises:
        OSError: If the file cannot be written.
    """
    path.write_text(json_text(value), encoding="utf-8", newline="\n")


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
