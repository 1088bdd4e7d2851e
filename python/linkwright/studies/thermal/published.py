"""The thermal check's published numbers, read from the data file `validation/thermal.toml`."""

from __future__ import annotations

from functools import cache
from typing import Any

from linkwright.studies.published import read_published

__all__ = ["published"]


@cache
def published() -> dict[str, Any]:
    """The numbers by entry: value, unit, source, and remark."""
    return read_published(__package__)
