"""Shows who suffered on a shared system, and from what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from linkwright.scenario import SimulationResult
from linkwright.runs.run import Section, Sheet
from linkwright.runs.server.links import of_policies
from linkwright.summaries.attribution import (
    Attributed,
    Gain,
    SlowdownParts,
    attribution_rows,
    gains,
    most_slowed,
    neighbour_costs,
    parts_told,
    slowdown_parts,
)
from linkwright.texts import duration, percent

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "attribution_sections",
    "attribution_sheets",
    "attribution_summary",
    "attribution_tables",
]

# As many jobs are told that suffered most.
WORST = 10

# As many neighbours are named of each.
NAMED = 3

NOTE = (
    "Times as long as alone on the best GPUs of the idle system: {parts} "
    "multiply to the whole. Means are geometric. Exposed: the share of run time in which jobs only "
    "communicated."
)

GAINS_NOTE = "Above 1 is faster: the parts multiply to the gain in job time, in the geometric mean."


def _told(results: Sequence[Attributed]) -> list[tuple[Attributed, SlowdownParts]]:
    each = [(result, slowdown_parts(result)) for result in results]
    return [(result, parts) for result, parts in each if parts is not None]


def attribution_tables(results: Sequence[SimulationResult]) -> dict[str, pa.Table]:
    """Gives what slowed each job, and by whom, under each policy; nothing unless it was asked."""
    told = [result for result in results if result.attribution() is not None]
    if not told:
        return {}
    return {
        "attribution": of_policies(told, SimulationResult.attribution),
        "neighbours": of_policies(told, SimulationResult.neighbours),
    }


def attribution_summary(results: Sequence[Attributed], reference: str | None) -> dict[str, object]:
    """Gives each policy's parts and its jobs, as JSON holds them; nothing unless it was asked.

    Of a comparison with a reference, it also gives what each policy gains, in the same parts.
    """
    told = [{**asdict(parts), "of_jobs": _with_costs(result)} for result, parts in _told(results)]
    if not told:
        return {}
    gained = _gains(results, reference)
    return {
        "attribution": told,
        **({"gains": [asdict(gain) for gain in gained]} if gained else {}),
    }


def _with_costs(result: Attributed) -> list[dict[str, Any]]:
    costs = neighbour_costs(result)
    return [
        {
            **row,
            "cost_by": [{"job": name, "seconds": cost} for name, cost in costs.get(row["job"], [])],
        }
        for row in attribution_rows(result)
    ]


def _gains(results: Sequence[Attributed], reference: str | None) -> list[Gain]:
    return [] if reference is None else gains([parts for _, parts in _told(results)], reference)


def attribution_sheets(results: Sequence[Attributed], reference: str | None) -> list[Sheet]:
    """Shows what slowed the jobs under each policy, and of a comparison what each policy gains."""
    told = _told(results)
    if not told:
        return []
    parts = parts_told([it for _, it in told])
    rows = [
        [
            it.policy,
            *(f"{getattr(it, head):.3f}" for head in (*parts, "slowdown")),
            _share(it.exposed),
        ]
        for _, it in told
    ]
    heads = ["policy", *parts, "slowdown", "exposed"]
    named = f"{', '.join(parts[:-1])} and {parts[-1]}"
    note = NOTE.format(parts=named)
    sheets = [Sheet(heads, rows, ["policy"], title="What slowed jobs", note=note)]
    gained = _gains(results, reference)
    if gained:
        rows = [
            [it.policy, *(f"{getattr(it, head):.3f}" for head in (*parts, "whole"))]
            for it in gained
        ]
        heads = ["policy", *parts, "whole"]
        title = f"Where the gain over {reference} comes from"
        sheets.append(Sheet(heads, rows, ["policy"], title=title, note=GAINS_NOTE))
    return sheets


def attribution_sections(results: Sequence[Attributed], reference: str | None) -> list[Section]:
    """Shows it in the report: charts by size and by cause, and the jobs that suffered most."""
    from linkwright.plots.slowdown import slowdown_by_cause, slowdown_by_size

    sheets = attribution_sheets(results, reference)
    if not sheets:
        return []
    told = _told(results)
    parts = parts_told([it for _, it in told])
    for result, _ in told:
        costs = neighbour_costs(result)
        rows = [
            [
                row["job"],
                str(row["gpu_count"]),
                *(f"{row[part]:.3f}" for part in (*parts, "slowdown")),
                _share(row["exposed"]),
                duration(row["best"]),
                _named(row, costs.get(row["job"], [])),
            ]
            for row in most_slowed(attribution_rows(result), WORST)
        ]
        heads = ["job", "GPUs", *parts, "slowdown", "exposed", "alone on\nthe best", "cost by"]
        title = f"The jobs that suffered most under {result.policy}"
        sheets.append(Sheet(heads, rows, ["job", "cost by"], title=title))
    charts = {
        "Slowdown by cause": slowdown_by_cause([it for _, it in told]),
        "Slowdown by size": slowdown_by_size([result for result, _ in told]),
    }
    note = "Those that run beside a job share its loss to neighbours, by the links that both use."
    return [Section("Who suffered, and from what", sheets=sheets, charts=charts, note=note)]


def _named(row: dict[str, Any], costs: Sequence[tuple[str, float]]) -> str:
    """Names those that cost a job most; among packets nobody knows."""
    told = ", ".join(f"{name} {duration(cost)}" for name, cost in costs[:NAMED])
    return told or ("not known" if row["neighbours"] > 1 + 1e-9 else "nobody")


def _share(value: float | None) -> str:
    return "none" if value is None else percent(value)
