"""Counts the model's errors over measured rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

# Digits of what is stored: a change of the last one is a change of the model.
DIGITS = 6


@dataclass(frozen=True)
class Row:
    """Holds a measured figure, and the model's beside it.

    `expected` is None where the model cannot be asked; `refusal` then says why. `bar` is the error
    that the model prints beside its figure, as a part of it, where it prints one. `basis` names its
    source. Where the model prints between what its figure lies, `low` and `high` stand in the place
    of a bar. `facets` are the groups that the row counts in, by what groups them.
    """

    measured: float
    expected: float | None
    facets: Mapping[str, str]
    bar: float | None = None
    refusal: str = ""
    basis: str = ""
    low: float | None = None
    high: float | None = None

    @property
    def error(self) -> float:
        """How far off the expected figure is, as a part of the measured one."""
        assert self.expected is not None
        return self.expected / self.measured - 1

    @property
    def width(self) -> float | None:
        """The bar, or half of what lies between `low` and `high`, as a part of the figure."""
        if self.bar is not None or self.low is None or self.high is None:
            return self.bar
        assert self.expected is not None
        return (self.high - self.low) / 2 / self.expected

    @property
    def is_inside(self) -> bool:
        """Whether what was measured lies where the model prints that it lies."""
        if self.bar is not None:
            return abs(self.error) <= self.bar
        return (
            self.low is not None
            and self.high is not None
            and (self.low <= self.measured <= self.high)
        )


@dataclass(frozen=True)
class Series:
    """Rows that are asked about together: one measurement of one thing.

    Where they cost more than a second, `ask` reads what was stored, and `repeat` plays them.
    """

    subject: str
    name: str
    ask: Callable[[], list[Row]]
    repeat: Callable[[], list[Row]] | None = None


@dataclass(frozen=True)
class Errors:
    """Sums up the errors of some rows, as parts of the measured figures."""

    rows: int
    asked: int
    median: float | None = None
    signed: float | None = None
    ninetieth: float | None = None
    largest: float | None = None
    # How many rows have a bar, and how many of these are within it.
    barred: int = 0
    inside: int = 0
    # The median bar.
    width: float | None = None

    @property
    def share_inside(self) -> float | None:
        """The share of rows within the bar that is printed; None where none is."""
        return self.inside / self.barred if self.barred else None


@dataclass(frozen=True)
class Subject:
    """A subject of the page has errors, groups, and rows that cannot be asked."""

    name: str
    errors: Errors
    # By what groups the rows: the groups, the worst first.
    facets: Mapping[str, Mapping[str, Errors]]
    # How many rows cannot be asked, by why.
    refusals: Mapping[str, int]
    # Of each series its rows, how many were asked, and the mean of their errors.
    series: Mapping[str, tuple[int, int, float | None]] = field(default_factory=dict)


def errors_of(rows: Sequence[Row]) -> Errors:
    """Sums up the errors of rows."""
    asked = [row for row in rows if row.expected is not None]
    if not asked:
        return Errors(len(rows), 0)
    sizes = sorted(abs(row.error) for row in asked)
    widths = [row.width for row in asked if row.width is not None]
    return Errors(
        rows=len(rows),
        asked=len(asked),
        median=rounded(median(sizes)),
        signed=rounded(median(row.error for row in asked)),
        ninetieth=rounded(sizes[math.ceil(0.9 * len(sizes)) - 1]),
        largest=rounded(sizes[-1]),
        barred=len(widths),
        inside=sum(row.is_inside for row in asked),
        width=rounded(median(widths)) if widths else None,
    )


def told(rows: Sequence[Row]) -> tuple[int, int, float | None]:
    """Gives the figures of a series by which a change of the model is noticed."""
    errors = [row.error for row in rows if row.expected is not None]
    return len(rows), len(errors), rounded(sum(errors) / len(errors)) if errors else None


def subject_of(name: str, asked: Mapping[str, Sequence[Row]]) -> Subject:
    """Sums up a subject by the rows of its series."""
    rows = [row for each in asked.values() for row in each]
    facets: dict[str, dict[str, list[Row]]] = {}
    refusals: dict[str, int] = {}
    for row in rows:
        for facet, group in row.facets.items():
            facets.setdefault(facet, {}).setdefault(group, []).append(row)
        if row.expected is None:
            refusals[row.refusal] = refusals.get(row.refusal, 0) + 1
    return Subject(
        name=name,
        errors=errors_of(rows),
        facets={
            facet: worst_first({group: errors_of(own) for group, own in groups.items()})
            for facet, groups in facets.items()
        },
        refusals=dict(sorted(refusals.items(), key=lambda it: (-it[1], it[0]))),
        series={each: told(own) for each, own in asked.items()},
    )


def worst_first(groups: Mapping[str, Errors]) -> dict[str, Errors]:
    """Sorts groups by their median errors, the worst first and those without one last."""

    def badness(item: tuple[str, Errors]) -> tuple[bool, float]:
        found = item[1].median
        return found is None, -(found or 0.0)

    return dict(sorted(groups.items(), key=badness))


def rounded(value: float) -> float:
    """Rounds a value as it is stored."""
    return float(f"{value:.{DIGITS}g}")
