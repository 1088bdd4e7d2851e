"""Holds the measurements for Fig. 3: the time of every job, in its mix and alone."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Any

from linkwright.studies.network.published import published

__all__ = ["Kind", "QuartzMeasured", "QuartzTime", "quartz_csv", "read_quartz"]

# An application and its processes.
Kind = tuple[str, int]


@dataclass(frozen=True)
class QuartzTime:
    """Says how long a job of a mix took.

    Attributes:
        tree: On which tree, by a name of `TREES`.
        placement: `linear`, or `scattered` by chance.
        mix: Its mix, by the number in the seed's twenty.
        job: Its place in the mix.
        application: Its application.
        ranks: How many processes it has, each on a node of its own.
        iterations: How often its main loop ran.
        together: Seconds that it took in the mix.
        alone: Seconds that it took on the same nodes, with nothing else on the tree.
    """

    tree: str
    placement: str
    mix: int
    job: int
    application: str
    ranks: int
    iterations: int
    together: float
    alone: float

    @property
    def kind(self) -> Kind:
        """Returns the kind of the job."""
        return self.application, self.ranks


class QuartzMeasured:
    """The times, by tree and placement, as means over the occurrences of a kind of job.

    Args:
        times: The times, of the same mixes at every place.
    """

    def __init__(self, times: Sequence[QuartzTime]) -> None:
        self.times = times

    @property
    def kinds(self) -> list[Kind]:
        """All kinds of jobs: applications as the text has them, from the smallest."""
        order = published()["validation"]["applications"]
        return sorted(
            {each.kind for each in self.times}, key=lambda it: (order.index(it[0]), it[1])
        )

    def found(
        self, kind: Kind, tree: str = "quartz", placement: str = "linear"
    ) -> list[QuartzTime]:
        """Returns all such jobs."""
        place = tree, placement
        return [it for it in self.times if (it.kind, it.tree, it.placement) == (kind, *place)]

    def together(self, kind: Kind, tree: str = "quartz", placement: str = "linear") -> float:
        """Returns the milliseconds in the mixes."""
        return fmean(each.together for each in self.found(kind, tree, placement)) * 1e3

    def alone(self, kind: Kind, tree: str = "quartz", placement: str = "linear") -> float:
        """Returns the milliseconds alone."""
        return fmean(each.alone for each in self.found(kind, tree, placement)) * 1e3

    def cost(self, kind: Kind, tree: str = "quartz", placement: str = "linear") -> float:
        """Returns the time that sharing adds, as a share of the time alone."""
        found = self.found(kind, tree, placement)
        return fmean(each.together / each.alone for each in found) - 1

    def over_quartz(self, kind: Kind, tree: str) -> float:
        """Returns the time that a tree adds in the mixes, as a share of the time on Quartz."""
        pairs = zip(self.found(kind, tree), self.found(kind), strict=True)
        return fmean(each.together / other.together for each, other in pairs) - 1


def quartz_csv(times: Sequence[QuartzTime]) -> str:
    """Writes the times as CSV, a row for each job."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(QuartzTime))
    writer.writerows(astuple(each) for each in times)
    return text.getvalue()


def read_quartz(file: Path) -> list[QuartzTime]:
    """Reads the times of a file that `quartz_csv` made."""
    kinds: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "float": float}
    read = {field.name: kinds[str(field.type)] for field in fields(QuartzTime)}
    with file.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines)
        return [QuartzTime(**{key: read[key](cell) for key, cell in row.items()}) for row in rows]
