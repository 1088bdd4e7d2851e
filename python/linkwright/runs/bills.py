"""The columns of a bill of materials and of its cost, which several kinds of runs show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from linkwright.hardware import GPU, PARTS, Bill, Cost, Prices, busy_power
from linkwright.runs.columns import Column, arrow_table
from linkwright.runs.run import Section, Sheet
from linkwright.summaries.energy import energy_note

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "BILL_COLUMNS",
    "Billed",
    "Bills",
    "prices_note",
    "watts_source",
]

# Only of machines that are compared: GPUs draw this at work, by data sheets.
GPU_POWER = Column("gpu_power", "number", "W")
# Heads the names of machines.
OF_MACHINES = "machine"
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
    Column("gpu_energy_of_a_job", "number", "kWh"),
    Column("other_energy_of_a_job", "number", "kWh"),
]


def prices_note(prices: Prices | None) -> str:
    """Tells a reader of the columns of money where they are from."""
    if prices is None:
        return ""
    return (
        f"Prices and watts are those of {prices.file}. Every part but GPUs draws its watts until "
        "the last job ends, and all jobs share price and energy evenly."
    )


def watts_source(prices: Prices | None) -> str:
    """Says whose power a busy GPU draws."""
    if prices is None or not any(busy is not None for busy, _ in prices.gpu_watts.values()):
        return "their data sheets' power"
    return f"the watts of {prices.file}"


@dataclass(frozen=True)
class Billed:
    """Holds a variant's system, and how long its jobs keep it.

    Attributes:
        name: Names the variant.
        bill: Counts the parts of its system.
        seconds: Pass until the last job ends.
        jobs: Are as many. They share all evenly.
        gpu_energy: Is of all GPUs. It is in kWh; None where it is unknown.
        has_rest: Tells whether all that GPUs draw at rest is in it.
    """

    name: str
    bill: Bill
    seconds: float
    jobs: int
    gpu_energy: float | None
    has_rest: bool

    @property
    def gpu_power(self) -> float | None:
        """Gives the watts of all GPUs at work by their data sheets; None where one has none."""
        watts = [(count, busy_power(name)) for name, count in self.bill.parts[GPU].items()]
        known = [count * each for count, each in watts if each is not None]
        return sum(known) if len(known) == len(watts) else None

    @property
    def gpu_energy_of_a_job(self) -> float | None:
        """Gives each job an even share."""
        return None if self.gpu_energy is None else self.gpu_energy / self.jobs


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
        if self.prices is None or row.gpu_energy is None:
            return None
        return self.prices.cost(row.bill, row.seconds, row.jobs, row.gpu_energy)

    def fields(self, row: Billed) -> dict[str, object]:
        """Gives the values of the columns of a bill; of money None without prices."""
        cost = self._cost(row)
        money = {"price": None, "power": None} if cost is None else asdict(cost)
        counts = {
            f"{part}s" if part != "switch" else "switches": row.bill.count(part) for part in PARTS
        }
        own = {"gpu_power": row.gpu_power, "gpu_energy_of_a_job": row.gpu_energy_of_a_job}
        found = {**counts, **money, **own}
        return {column.name: found.get(column.name) for column in self._columns}

    @property
    def _columns(self) -> list[Column]:
        return [*BILL_COLUMNS, *([GPU_POWER] if self.first == OF_MACHINES else [])]

    @property
    def _has_watts(self) -> bool:
        return self.prices is None and self.first == OF_MACHINES

    @property
    def _has_energy(self) -> bool:
        return any(row.gpu_energy is not None for row in self.rows)

    @property
    def heads(self) -> list[str]:
        """Gives the heads of these columns as people read them.

        Those of money are there where there are prices, that of GPUs where their energy is known.
        """
        energy = ["GPUs\nkWh"] if self._has_energy else []
        if self.prices is None:
            return [*HEADS, *(["GPUs\nkW"] if self._has_watts else []), *energy]
        unit = f"\n{self.prices.currency}" if self.prices.currency else ""
        money = [f"price{unit}", "power\nkW", f"a job{unit}"]
        return [*HEADS, *money, *energy, "others\nkWh"]

    def cells(self, row: Billed) -> list[str]:
        """Writes the cells below these heads."""
        cells = [f"{row.bill.count(part):,}" for part in PARTS]
        cost, known = self._cost(row), row.gpu_energy_of_a_job
        if cost is not None:
            of_job = "none" if cost.cost_of_a_job is None else f"{cost.cost_of_a_job:.4g}"
            cells += [f"{cost.price:,.0f}", f"{cost.power / 1000:,.1f}", of_job]
        if self._has_watts:
            watts = row.gpu_power
            cells.append("unknown" if watts is None else f"{watts / 1000:,.1f}")
        if self._has_energy:
            cells.append("unknown" if known is None else f"{known:.4g}")
        return [*cells, *([] if cost is None else [f"{cost.other_energy_of_a_job:.4g}"])]

    @property
    def note(self) -> str:
        """Tells a reader where money and the energy of GPUs are from."""
        known = [row.has_rest for row in self.rows if row.gpu_energy is not None]
        energy = energy_note(known, watts_source(self.prices)) if known else ""
        of_job = "kWh are those of a job." if known else ""
        sheets = "kW are those of GPUs at work by data sheets." if self._has_watts else ""
        return " ".join(filter(None, [prices_note(self.prices), sheets, of_job, energy]))

    def sheet(self) -> Sheet:
        """Shows the parts, the energy of GPUs, and with prices the cost of a job."""
        return Sheet(
            [self.first, *self.heads],
            [[row.name, *self.cells(row)] for row in self.rows],
            [self.first],
            title="The parts of each system",
            note=self.note,
        )

    def table(self) -> pa.Table:
        """Gives the same as columns."""
        rows = [{self.first: row.name, **self.fields(row)} for row in self.rows]
        return arrow_table(rows, [Column(self.first, "text", known=True), *self._columns])

    def summary(self) -> dict[str, object]:
        """Gives the same as JSON holds it, with the models of the parts."""
        return {
            "currency": None if self.prices is None else self.prices.currency,
            "systems": [
                {
                    self.first: row.name,
                    **self.fields(row),
                    "parts": asdict(row.bill)["parts"],
                }
                for row in self.rows
            ],
        }

    def section(self) -> Section:
        """Shows the sheet in a report."""
        return Section("The parts of each system", sheets=[self.sheet()])
