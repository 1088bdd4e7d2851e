"""The columns of a bill of materials and of its cost, which several kinds of runs show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from linkwright.hardware import PARTS, Bill, Cost, Prices
from linkwright.runs.columns import Column, arrow_table
from linkwright.runs.run import Section, Sheet

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "BILL_COLUMNS",
    "Billed",
    "Bills",
    "bill_cells",
    "bill_fields",
    "bill_heads",
    "prices_note",
]

HEADS = ("servers", "GPUs", "switches", "interfaces", "cables")
BILL_COLUMNS = [
    *(
        Column(f"{part}s" if part != "switch" else "switches", "count", known=True)
        for part in PARTS
    ),
    Column("price", "number"),
    Column("power", "number", "W"),
    Column("cost_of_a_job", "number"),
    Column("energy_of_a_job", "number", "kWh"),
]


def bill_fields(bill: Bill, cost: Cost | None) -> dict[str, object]:
    """Gives the values of these columns."""
    counts = {
        column.name: bill.count(part) for column, part in zip(BILL_COLUMNS, PARTS, strict=False)
    }
    if cost is None:
        return {**counts, **dict.fromkeys(it.name for it in BILL_COLUMNS[len(PARTS) :])}
    return {
        **counts,
        "price": cost.price,
        "power": cost.watts,
        "cost_of_a_job": cost.cost_of_a_job,
        "energy_of_a_job": cost.energy_of_a_job,
    }


def bill_heads(prices: Prices | None) -> list[str]:
    """The heads of these columns as people read them, those of money where there are prices."""
    if prices is None:
        return list(HEADS)
    unit = f"\n{prices.currency}" if prices.currency else ""
    return [*HEADS, f"price{unit}", "power\nkW", f"a job{unit}", "a job\nkWh"]


def bill_cells(bill: Bill, cost: Cost | None) -> list[str]:
    """Writes the cells below these heads."""
    counts = [f"{bill.count(part):,}" for part in PARTS]
    if cost is None:
        return counts
    of_job = "none" if cost.cost_of_a_job is None else f"{cost.cost_of_a_job:.4g}"
    energy = f"{cost.energy_of_a_job:.4g}"
    return [*counts, f"{cost.price:,.0f}", f"{cost.watts / 1000:,.1f}", of_job, energy]


def prices_note(prices: Prices | None) -> str:
    """Tells a reader of the columns of money where they are from."""
    if prices is None:
        return ""
    return (
        f"Prices and watts are those of {prices.file}. Every part draws its watts until the last "
        "job ends, and all jobs share price and energy evenly."
    )


@dataclass(frozen=True)
class Billed:
    """Holds a variant's system, and how long its jobs keep it.

    Attributes:
        name: Names the variant.
        bill: Counts the parts of its system.
        seconds: Pass until the last job ends.
        jobs: Are as many.
    """

    name: str
    bill: Bill
    seconds: float
    jobs: int


@dataclass(frozen=True)
class Bills:
    """Puts the bills of a run's variants side by side.

    Attributes:
        rows: Has one for each variant.
        prices: Are the user's; None without.
        first: Heads the column of names.

    Raises:
        InputError: If a system has a part that the prices do not have.
    """

    rows: Sequence[Billed]
    prices: Prices | None
    first: str = "variant"

    def __post_init__(self) -> None:
        """Refuses prices that do not fit before anything is shown."""
        if self.prices is not None:
            self.prices.check([row.bill for row in self.rows])

    def _cost(self, row: Billed) -> Cost | None:
        return None if self.prices is None else self.prices.cost(row.bill, row.seconds, row.jobs)

    def sheet(self) -> Sheet:
        """Shows the parts, and with prices the cost and the energy of a job."""
        return Sheet(
            [self.first, *bill_heads(self.prices)],
            [[row.name, *bill_cells(row.bill, self._cost(row))] for row in self.rows],
            [self.first],
            title="The parts of each system",
            note=prices_note(self.prices),
        )

    def table(self) -> pa.Table:
        """Gives the same as columns."""
        rows = [
            {self.first: row.name, **bill_fields(row.bill, self._cost(row))} for row in self.rows
        ]
        return arrow_table(rows, [Column(self.first, "text", known=True), *BILL_COLUMNS])

    def summary(self) -> dict[str, object]:
        """Gives the same as JSON holds it, with the models of the parts."""
        return {
            "currency": None if self.prices is None else self.prices.currency,
            "systems": [
                {
                    self.first: row.name,
                    **bill_fields(row.bill, self._cost(row)),
                    "parts": asdict(row.bill)["parts"],
                }
                for row in self.rows
            ],
        }

    def section(self) -> Section:
        """Shows the sheet in a report."""
        return Section("The parts of each system", sheets=[self.sheet()])
