"""The heat of the package that a scenario observes: who draws what, and how hot it becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linkwright import System, Table, ThermalMap, observed_heat
from linkwright.runs.run import Section, Sheet
from linkwright.runs.scenarios import ScenarioFile
from linkwright.summaries.energy import Span, Watts

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PackageHeat", "heat_of", "heat_section", "heat_sheets", "heat_summary", "heat_table"]

MEANS = (
    "Steady state of mean powers until the last job ended, without transients. A GPU that works "
    "for seconds at a time becomes warmer, and cools again."
)
NO_REST = (
    "The power of GPUs at rest is unknown and counts as 0 W: powers and temperatures are the "
    "least that they may be."
)


@dataclass(frozen=True)
class PackageHeat:
    """Holds the heat of a package over a day.

    Attributes:
        gpus: Has a row for each GPU. Its columns are those that `observed_heat` tells.
        map: Has the temperatures of the whole package. Each GPU draws its mean power there.
        energy: Is of all its blocks until the last job ended. It is in kWh.
        heat: Left it by the sink and the board. It is in kWh.
    """

    gpus: Table
    map: ThermalMap
    energy: float
    heat: float

    @property
    def notes(self) -> list[str]:
        """Sentences that tell how powers and temperatures are meant."""
        rows = list(self.gpus)
        named = {row["block"] for row in rows}
        others = [row["name"] for row in self.map.floorplan.blocks() if row["name"] not in named]
        told = [MEANS]
        if any(row["rest_power"] is None and row["busy_share"] < 1 for row in rows):
            told.append(NO_REST)
        if others:
            draw = "draws" if len(others) == 1 else "draw"
            told.append(f"{', '.join(others)} {draw} all the time as much as in the floorplan.")
        return told

    @property
    def facts(self) -> dict[str, object]:
        """The same as JSON holds it."""
        return {
            "package": self.map.floorplan.name,
            "maximum": self.map.maximum,
            "hottest_block": self.map.hottest_block,
            "ambient": self.map.floorplan.ambient,
            "energy": self.energy,
            "heat": self.heat,
            "gpus": list(self.gpus),
            "notes": self.notes,
        }


def heat_of(
    loaded: ScenarioFile, system: System, spans: Sequence[Span], watts: Watts | None = None
) -> PackageHeat | None:
    """Gives the heat of the package that a scenario observes; None where it observes none.

    Args:
        loaded: Observes the package.
        system: Ran the jobs.
        spans: Tell which GPUs each job held.
        watts: Stand in place of data sheets.

    Raises:
        InputError: If the package is not as it should be.
        SimulationError: If its temperatures cannot be told.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    found = observed_heat(loaded.scenario, system, spans, dict(loaded.files), dict(watts or {}))
    return None if found is None else PackageHeat(**found)


def heat_sheets(heats: Mapping[str, PackageHeat], first: str = "policy") -> list[Sheet]:
    """Shows each GPU's mean power and temperatures, under each name where there are several."""
    if not heats:
        return []
    several = [first] if len(heats) > 1 else []
    rows = []
    for name, heat in heats.items():
        for row in heat.gpus:
            block = f" ({row['block']})" if row["block"] != row["name"] else ""
            cells = [
                f"{row['name']}{block}",
                f"{100 * row['busy_share']:.1f}",
                f"{row['busy_power']:g}",
                "unknown" if row["rest_power"] is None else f"{row['rest_power']:g}",
                f"{row['mean_power']:.1f}",
                f"{row['gpu_energy']:.4g}",
                f"{row['maximum']:.1f}",
                f"{row['mean']:.1f}",
            ]
            rows.append([name, *cells] if several else cells)
    heads = ["GPU", "busy\n%", "busy\nW", "at rest\nW", "mean\nW", "GPU\nkWh", "hottest\n°C"]
    notes = list(dict.fromkeys(note for heat in heats.values() for note in heat.notes))
    plan = next(iter(heats.values())).map.floorplan
    hottest = max(heats.values(), key=lambda heat: heat.map.maximum).map
    title = (
        f"Heat of {plan.name}: at most {hottest.maximum:.1f} °C, in {hottest.hottest_block}, in "
        f"air of {plan.ambient:g} °C"
    )
    heads = [*several, *heads, "mean\n°C"]
    return [Sheet(heads, rows, [*several, "GPU"], title, " ".join(notes))]


def heat_table(heats: Mapping[str, PackageHeat], first: str = "policy") -> dict[str, pa.Table]:
    """Gives the table of the GPUs' powers and temperatures, under each name."""
    import pyarrow as pa

    tables = []
    for name, heat in heats.items():
        table = pa.table(heat.gpus)
        field = pa.field(first, pa.string(), nullable=False, metadata={"unit": ""})
        names = pa.array([name] * table.num_rows, pa.string())
        tables.append(table.add_column(0, field, names))
    return {"heat": pa.concat_tables(tables)} if tables else {}


def heat_summary(heats: Mapping[str, PackageHeat], first: str = "policy") -> dict[str, Any]:
    """Gives the same as JSON holds it; nothing where no package is observed."""
    told = [{first: name, **heat.facts} for name, heat in heats.items()]
    return {"heat": told} if told else {}


def heat_section(heats: Mapping[str, PackageHeat], first: str = "policy") -> list[Section]:
    """Shows the sheet in a report, with a map of the layer of the GPUs."""
    from linkwright.runs.thermal.charts import temperature_map

    if not heats:
        return []
    charts = {}
    for name, heat in heats.items():
        block = next(iter(heat.gpus))["block"]
        layer = next(row["layer"] for row in heat.map.floorplan.blocks() if row["name"] == block)
        charts[f"Temperatures of {layer}, {name}"] = temperature_map(heat.map, layer)
    return [Section("How hot the package became", sheets=heat_sheets(heats, first), charts=charts)]
