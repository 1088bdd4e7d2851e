"""Which optional packages stand behind which of Linkwright's extras.

The program that gives out GPUs needs none of them. `arrow` brings tables to other programs and
runs collectives on arrays, `plot` draws charts and reports.
"""

from __future__ import annotations

__all__ = ["advice"]

EXTRAS = {
    "altair": "plot",
    "distributed": "dask",
    "jinja2": "plot",
    "markdown_it": "plot",
    "markupsafe": "plot",
    "numpy": "arrow",
    "otf2": "otf2",
    "pyarrow": "arrow",
    "vl_convert": "plot",
}


def advice(error: ModuleNotFoundError) -> str | None:
    """What to install where a package is missing; None where no extra has it."""
    package = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(package)
    if extra is None:
        return None
    return f"this needs the package `{package}`; pip install 'linkwright[{extra}]'"
