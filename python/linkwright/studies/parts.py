"""The sections of a study by name: each is made when it is asked for, and its cost is known."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TypeVar

from linkwright.errors import LinkwrightError, brief, did_you_mean
from linkwright.studies.tables import Section

__all__ = ["STUDIES", "Cost", "Parts", "checkpoint_name", "chosen", "costs", "made"]

Of = TypeVar("Of")
Parts = Mapping[str, Callable[[], Section | Sequence[Section] | None]]
"""How the sections of each name are made, in the order of the page."""

STUDIES = ("mapa", "blink", "network", "pcie", "memory", "thermal", "training")
# Seconds by study, size and section. `scripts/measure_studies.py` measures and writes them.
TIMES = "times.toml"


@dataclass(frozen=True)
class Cost:
    """Says how long a section of a study takes if it is made alone.

    `quick` is seconds of a processor with `--quick`, and `full` without. None was not measured.
    """

    study: str
    section: str
    quick: float | None
    full: float | None


@cache
def costs(study: str) -> tuple[Cost, ...]:
    """Reads the measured times of a study's sections, in the order of the page.

    Args:
        study: One of `STUDIES`.
    """
    text = files("linkwright.studies").joinpath(TIMES).read_text("utf-8")
    rows = tomllib.loads(text)[study]
    return tuple(Cost(study, name, row.get("quick"), row.get("full")) for name, row in rows.items())


def chosen(study: str, parts: Mapping[str, Of], only: str | None) -> Mapping[str, Of]:
    """Picks the section that is asked for; all where none is.

    Args:
        study: Its name.
        parts: Its sections, by name.
        only: One of the names.

    Raises:
        LinkwrightError: If there is no such section.
    """
    if only is None:
        return parts
    if only not in parts:
        nearest = did_you_mean(only, list(parts))
        raise LinkwrightError(
            f"the study {study} has no section `{brief(only)}`",
            f"{nearest}use one of {', '.join(parts)}",
        )
    return {only: parts[only]}


def checkpoint_name(name: str, only: str | None) -> str:
    """Names the file with the finished runs of one section, which are fewer than the study's.

    Args:
        name: The file of the whole study.
        only: The section.
    """
    return name if only is None else f"{only}-{name}"


def made(parts: Parts) -> list[Section]:
    """Makes sections, in their order."""
    found: list[Section] = []
    for make in parts.values():
        one = make()
        if isinstance(one, Section):
            found.append(one)
        elif one is not None:
            found += one
    return found
