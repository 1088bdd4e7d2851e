"""Says which optional packages stand behind which of Linkwright's extras.

The program that gives out GPUs needs none of them. `arrow` brings tables to other programs and
runs collectives on arrays, `plot` draws charts and reports.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType

__all__ = ["advice", "name_missing"]

EXTRAS = {
    "altair": "plot",
    "distributed": "dask",
    "jinja2": "plot",
    "markdown_it": "plot",
    "markupsafe": "plot",
    "numpy": "arrow",
    "otf2": "otf2",
    "pyarrow": "arrow",
    "tree_sitter": "source",
    "tree_sitter_c": "source",
    "tree_sitter_cpp": "source",
    "tree_sitter_cuda": "source",
    "tree_sitter_python": "source",
    "vl_convert": "plot",
}


def advice(error: ModuleNotFoundError) -> str | None:
    """Says which extra has a missing package; returns None where none has it."""
    package = (error.name or "").partition(".")[0]
    return _told(package) if package in EXTRAS else None


def name_missing() -> None:
    """Has errors of Linkwright's own imports name the extra; those of other packages stay."""
    if _LastFinder not in sys.meta_path:
        sys.meta_path.append(_LastFinder)


class _LastFinder:
    """Is asked for what no other finder has found."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        """Refuses a package of an extra; knows of no other."""
        del path, target
        if name in EXTRAS and _is_ours(sys._getframe(1)):
            raise ModuleNotFoundError(_told(name), name=name)


def _is_ours(frame: FrameType | None) -> bool:
    """Whether a module of Linkwright asks, behind the machinery of imports."""
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    module = "" if frame is None else str(frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] == "linkwright"


def _told(package: str) -> str:
    return f"this needs the package `{package}`; pip install 'linkwright[{EXTRAS[package]}]'"
