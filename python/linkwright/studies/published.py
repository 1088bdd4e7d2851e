"""Published numbers: each study has its own in `published.toml`, a file of `validation/`."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

__all__ = ["read_published"]


def read_published(package: str | None) -> dict[str, Any]:
    """Reads a study's numbers by entry: value, unit, source, and remark or tolerance.

    Args:
        package: The study's package, whose data the file is.
    """
    return tomllib.loads(files(package or "").joinpath("published.toml").read_text("utf-8"))
