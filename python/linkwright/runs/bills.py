"""The columns of a bill of materials and of its cost, which several kinds of runs show."""

from __future__ import annotations

from linkwright.hardware import PARTS, Bill, Cost, Prices
from linkwright.runs.columns import Column

__all__ = ["BILL_COLUMNS", "bill_cells", "bill_fields", "bill_heads", "prices_note"]

HEADS = ("servers", "GPUs", "switches", "interfaces", "cables")
BILL_COLUMNS = [
    *(Column(f"{part}s" if part != "switch" else "switches", "count", known=True) for part in PARTS),
    Column("price", "number"),
    Column("power", "number", "W"),
    Column("cost_of_a_job", "number"),
    Column("energy_of_a_job", "number", "kWh"),
]


def bill_fields(bill: Bill, cost: Cost | None) -> dict[str, object]:
    """The values of these columns."""
    counts = {
        column.name: bill.count(part) for column, part in zip(BILL_COLUMNS, PARTS, strict=False)
    }
    if cost is None:
        return {**counts, **dict.fromkeys((it.name for it in BILL_COLUMNS[len(PARTS) :]))}
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
    """The cells below these heads."""
    counts = [f"{bill.count(part):,}" for part in PARTS]
    if cost is None:
        return counts
    of_job = "none" if cost.cost_of_a_job is None else f"{cost.cost_of_a_job:.4g}"
    energy = f"{cost.energy_of_a_job:.4g}"
    return [*counts, f"{cost.price:,.0f}", f"{cost.watts / 1000:,.1f}", of_job, energy]


def prices_note(prices: Prices | None) -> str:
    """What a reader of the columns of money must know."""
    if prices is None:
        return ""
    return (
        f"Prices and watts are those of {prices.file}. Every part draws its watts until the last "
        "job ends, and all jobs share price and energy evenly."
    )
