"""Shows who suffered on a shared system, and from what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from linkwright import SimulationResult
from linkwright.runs.run import Section, Sheet
from linkwright.summaries.attribution import (
    PARTS,
    attribution_rows,
    most_slowed,
    slowdown_parts,
)
from linkwright.texts import duration, percent

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["attribution_sections", "attribution_sheets", "attribution_summary", "attribution_table"]

# As many jobs are told that suffered most.
WORST = 10

NOTE = (
    "Times as long as alone on the best GPUs of the idle system: waiting, placement and neighbours "
    "multiply to the whole. Means are geometric. Exposed: the share of run time that was communication "
    "which no computing hid."
)


def attribution_table(results: Sequence[SimulationResult]) -> dict[str, pa.Table]:
    """Gives a row for each policy and job; nothing where it was not asked for."""
    import pyarrow as pa

    tables = []
    for result in results:
        found = result.attribution()
        if found is None:
            return {}
        table = pa.table(found)
        policy = pa.array([result.policy] * table.num_rows, pa.string())
        named = pa.field("policy", pa.string(), nullable=False, metadata={"unit": ""})
        tables.append(table.add_column(0, named, policy))
    return {"attribution": pa.concat_tables(tables)} if tables else {}


def attribution_summary(results: Sequence[SimulationResult]) -> dict[str, object]:
    """Gives each policy's parts and its jobs, as JSON holds them; nothing where it was not asked for."""
    told = [
        {**asdict(parts), "of_jobs": attribution_rows(result)}
        for result in results
        if (parts := slowdown_parts(result)) is not None
    ]
    return {"attribution": told} if told else {}


def attribution_sheets(results: Sequence[SimulationResult]) -> list[Sheet]:
    """Shows what slowed the jobs under each policy."""
    told = [parts for result in results if (parts := slowdown_parts(result)) is not None]
    if not told:
        return []
    heads = [*PARTS, "slowdown"]
    rows = [
        [it.policy, *(f"{getattr(it, head):.3f}" for head in heads), _share(it.exposed)]
        for it in told
    ]
    heads = ["policy", *heads, "exposed"]
    return [Sheet(heads, rows, ["policy"], title="What slowed jobs", note=NOTE)]


def attribution_sections(results: Sequence[SimulationResult]) -> list[Section]:
    """Shows it in the report, with the jobs that suffered most."""
    sheets = attribution_sheets(results)
    if not sheets:
        return []
    for result in results:
        worst = most_slowed(attribution_rows(result), WORST)
        rows = [
            [
                row["job"],
                str(row["gpu_count"]),
                *(f"{row[part]:.3f}" for part in (*PARTS, "slowdown")),
                _share(row["exposed"]),
                duration(row["best"]),
            ]
            for row in worst
        ]
        heads = ["job", "GPUs", *PARTS, "slowdown", "exposed", "alone on\nthe best"]
        title = f"The jobs that suffered most under {result.policy}"
        sheets.append(Sheet(heads, rows, ["job"], title=title))
    return [Section("Who suffered, and from what", sheets=sheets)]


def _share(value: float | None) -> str:
    return "none" if value is None else percent(value)
