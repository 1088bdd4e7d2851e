"""MAPA's published numbers, read from the data file `validation/mapa.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["published"]


@cache
def published() -> dict[str, Any]:
    """The numbers by entry: value, unit, source, and remark or tolerance."""
    text = files(__package__).joinpath("published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
