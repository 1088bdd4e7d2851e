"""Shows the outcome of a search for the least hardware: its tables and its answer."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from linkwright import System
from linkwright.hardware import Prices
from linkwright.runs.bills import BILL_COLUMNS, Billed, Bills
from linkwright.runs.columns import Column, arrow_table
from linkwright.runs.left_out import OF_PROGRAMS
from linkwright.runs.run import Run, Section, Sheet
from linkwright.runs.sizing.search import Found
from linkwright.texts import counted, duration

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Sizing", "Tried"]

EVERY = "every job"


@dataclass(frozen=True)
class Tried:
    """Says what one value gave.

    Attributes:
        at: Is the value's place among all.
        billed: Has the parts of its system.
        times: Has each job's seconds. Of a day it has those of its jobs in the mean.
    """

    at: int
    billed: Billed
    times: Mapping[Hashable, float]


@dataclass(frozen=True)
class Sizing(Run):
    """Holds the least value of a setting with which jobs keep a share of their performance.

    Attributes:
        path: Is the scenario's file.
        system: Is what the performance is compared with.
        keys: Are the settings that were varied. They changed together.
        values: Writes every value. They go from least to most.
        keep: Is the share of performance.
        reference: Says what it is compared with.
        found: Has what the search found. Its places are those of `values`.
        is_range: Tells whether the values are ranges of numbers.
        tried: Has what each value gave. Only values that were tried are in it.
        prices: Are the user's; None without.
        manifest: Repeats the search.
    """

    path: Path
    system: System
    keys: Sequence[str]
    values: Sequence[str]
    keep: float
    reference: str
    found: Found
    is_range: bool
    tried: Sequence[Tried]
    prices: Prices | None
    manifest: Mapping[str, object] = field(repr=False)

    @property
    def title(self) -> str:
        """Says for headings what was varied."""
        return f"The least {' and '.join(self.keys)} for {self.path.name}"

    @property
    def least(self) -> str | None:
        """The least value with which every job keeps its share; None where none is enough."""
        at = self.found.least[None]
        return None if at is None else self.values[at]

    @property
    def headline(self) -> str:
        """Gives the answer, in a sentence."""
        kept = f"{self.keep:.0%} of its performance with {self.reference}"
        if self.least is None:
            return f"With none of {counted(len(self.values), 'value')} does every job keep {kept}."
        with_least = ", ".join(
            f"{key}={value}" for key, value in zip(self.keys, self.least.split(", "), strict=True)
        )
        return f"With {with_least} every job keeps {kept}."

    @property
    def context(self) -> Sequence[str]:
        """The answer, and how the values were searched."""
        tried, count = len(self.tried), len(self.values)
        if self.found.bisected:
            how = f"More never hurts: {tried} of {counted(count, 'value')} played, by bisection."
        elif self.found.is_refuted:
            how = f"More did hurt, so that all {counted(count, 'value')} were played."
        else:
            why = "more may hurt" if self.is_range else "a list says no order of performance"
            how = f"All {counted(count, 'value')} were played: {why}."
        return [self.headline, how]

    @property
    def rows(self) -> list[dict[str, object]]:
        """Gives a row for each job, with the least value and the share that it keeps there."""
        rows: list[dict[str, object]] = []
        for thing, at in self.found.least.items():
            share = None if at is None else self.found.shares[at][thing]
            rows.append(
                {
                    "job": None if thing is None else str(thing),
                    "least": None if at is None else self.values[at],
                    "share": share,
                }
            )
        return rows

    def tables(self) -> Mapping[str, pa.Table]:
        """Gives the least value for each job, and a row for each value that was tried."""
        least = [Column("job", "text"), Column("least", "text"), Column("share", "number")]
        values = [
            Column("value", "text", known=True),
            Column("share", "number", known=True),
            Column("makespan", "number", "s", known=True),
            *BILL_COLUMNS,
        ]
        return {
            "least": arrow_table(self.rows, least),
            "values": arrow_table(self._values(), values),
        }

    def _values(self) -> list[dict[str, object]]:
        return [
            {
                "value": each.billed.name,
                "share": self.found.shares[each.at][None],
                "makespan": each.billed.seconds,
                **self._bills.fields(each.billed),
            }
            for each in self._shown
        ]

    @property
    def _shown(self) -> list[Tried]:
        """The values that were tried."""
        return [each for each in self.tried if each.at in self.found.shares]

    @property
    def _bills(self) -> Bills:
        return Bills([each.billed for each in self._shown], self.prices)

    def summary(self) -> dict[str, object]:
        """Gives the document that `summary.json` holds and `--json` prints."""
        return {
            "scenario": self.path.name,
            "headline": self.headline,
            "keys": list(self.keys),
            "keep": self.keep,
            "reference": self.reference,
            "least": self.least,
            "bisected": self.found.bisected,
            "currency": None if self.prices is None else self.prices.currency,
            "jobs": self.rows,
            "values": [
                {**row, "parts": asdict(each.billed.bill)["parts"]}
                for row, each in zip(self._values(), self._shown, strict=True)
            ],
        }

    def sheets(self) -> Sequence[Sheet]:
        """Shows the least value for each job, and the values that were tried."""
        jobs = [
            (
                str(row["job"] or EVERY),
                str(row["least"] or "none"),
                "" if row["share"] is None else f"{row['share']:.1%}",
            )
            for row in self.rows
        ]
        bills = self._bills
        values = [
            (
                each.billed.name,
                f"{self.found.shares[each.at][None]:.1%}",
                duration(each.billed.seconds),
                *bills.cells(each.billed),
            )
            for each in self._shown
        ]
        heads = ["value", "least share", "last end", *bills.heads]
        return [
            Sheet(["job", "least value", "keeps"], jobs, words=["job", "least value"]),
            Sheet(heads, values, words=["value"], note=bills.note),
        ]

    def sections(self) -> Sequence[Section]:
        """Shows the tables."""
        return [
            Section("What it came to", text=self.context, sheets=self.sheets()),
            Section("What the model leaves out", points=OF_PROGRAMS),
        ]
