"""Shows what the links of a system carried of jobs of GPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linkwright import System
from linkwright.scenario import SimulationResult, Table
from linkwright.runs.busiest import busiest_sheet, levels_sheet
from linkwright.runs.run import Section, Sheet
from linkwright.summaries.links import LinkLoads
from linkwright.summaries.programs import busiest_links

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

__all__ = ["link_sections", "link_summary", "link_tables", "of_policies"]

# As many of the busiest links are told.
REPORTED = 12

NOTE = (
    "Load: the share of the whole time in which a link would carry its data at its full bandwidth. "
    "Flows do not count the links between the switches of a dragonfly."
)


def of_policies(
    results: Sequence[SimulationResult], table: Callable[[SimulationResult], Table | None]
) -> pa.Table:
    """Joins the tables of the results that have them; at least one has."""
    import pyarrow as pa

    tables = []
    for result in results:
        found = table(result)
        if found is None:
            continue
        own = pa.table(found)
        policy = pa.array([result.policy] * own.num_rows, pa.string())
        named = pa.field("policy", pa.string(), nullable=False, metadata={"unit": ""})
        tables.append(own.add_column(0, named, policy))
    return pa.concat_tables(tables, promote_options="permissive")


def link_tables(
    results: Sequence[SimulationResult], systems: Sequence[System]
) -> dict[str, pa.Table]:
    """Gives every link, all devices, and links over time; nothing where nothing was sent."""
    of = {result.policy: system for result, system in zip(results, systems, strict=True)}
    tables = {
        "links": of_policies(results, lambda result: result.links(of[result.policy])),
        "devices": of_policies(results, lambda result: result.device_loads(of[result.policy])),
        "link_times": of_policies(results, lambda result: result.link_times(of[result.policy])),
    }
    return tables if tables["links"].num_rows else {}


def link_summary(
    results: Sequence[SimulationResult], systems: Sequence[System]
) -> dict[str, object]:
    """Gives the busiest links under each policy; nothing where nothing was sent."""
    found = []
    for loads, result in _each(results, systems):
        rows: list[Mapping[str, Any]] = busiest_links(loads.links, REPORTED)
        names = ("from", "to", "level", "utilisation", "data")
        told = [{name: row[name] for name in names} for row in rows]
        found.append({"policy": result.policy, "levels": list(loads.levels), "busiest_links": told})
    return {"links": found} if found else {}


def link_sections(results: Sequence[SimulationResult], systems: Sequence[System]) -> list[Section]:
    """Shows levels, the busiest links, and maps in the report."""
    from linkwright.plots.fabric import fabric_map
    from linkwright.plots.network import link_heat_map

    sheets: list[Sheet] = []
    charts: dict[str, alt.TopLevelMixin] = {}
    for loads, result in _each(results, systems):
        under = f" under {result.policy}" if len(results) > 1 else ""
        sheets += [
            levels_sheet(loads.levels, f"Levels of links{under}"),
            busiest_sheet(loads.links, REPORTED, f"Busiest links{under}"),
        ]
        found = fabric_map(loads, title=f"The network, by the load of its links{under}")
        if found is not None:
            charts[f"Map of the network{under}"] = found
        if any(row["data"] for row in loads.links):
            title = f"How busy every link was{under}"
            charts[title] = link_heat_map(loads, title=title)
    if not sheets:
        return []
    shown = [sheet for sheet in sheets if sheet.rows]
    return [Section("Links", sheets=shown, note=NOTE, charts=charts)]


def _each(
    results: Sequence[SimulationResult], systems: Sequence[System]
) -> list[tuple[LinkLoads, SimulationResult]]:
    each = zip(results, systems, strict=True)
    found = [(LinkLoads.of_day(result, system), result) for result, system in each]
    return [(loads, result) for loads, result in found if loads.links]
