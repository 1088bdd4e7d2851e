"""Reads MAPA's published numbers from the data file `validation/mapa.toml`."""

from __future__ import annotations

from functools import cache
from typing import Any

from linkwright.studies.published import read_published

__all__ = ["published"]


@cache
def published() -> dict[str, Any]:
    """Returns the numbers by entry: value, unit, source, and remark or tolerance."""
    return read_published(__package__)
