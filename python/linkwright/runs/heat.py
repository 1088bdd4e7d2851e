"""The heat of the package that a scenario observes: who draws what, and how hot it becomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linkwright import System
from linkwright.gpu import ThermalMap
from linkwright.scenario import observed_heat
from linkwright.runs.columns import Column, arrow_table
from linkwright.runs.run import Section, Sheet
from linkwright.runs.scenarios import ScenarioFile
from linkwright.summaries.energy import Span, Watts

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "COLUMNS",
    "PackageHeat",
    "heat_notes",
    "heat_of",
    "heat_section",
    "heat_sheets",
    "heat_summary",
    "heat_table",
    "maps_of",
    "power_cells",
    "told_heat",
]

MEANS = (
    "Steady state of mean powers until the last job ended, without transients. A GPU that works "
    "for seconds at a time becomes warmer, and cools again."
)
NO_REST = (
    "The power of GPUs at rest is unknown and counts as 0 W: powers and temperatures are the "
    "least that they may be."
)
# A table of GPUs has these.
COLUMNS = [
    Column("gpu", "count", known=True),
    *(Column(name, "text", known=True) for name in ("name", "block")),
    Column("busy_share", "number", known=True),
    *(Column(name, "number", "W") for name in ("busy_power", "rest_power")),
    Column("mean_power", "number", "W", known=True),
    Column("gpu_energy", "number", "kWh", known=True),
    *(Column(name, "number", "°C", known=True) for name in ("maximum", "mean")),
]


@dataclass(frozen=True)
class PackageHeat:
    """Holds the heat of a package over a day, or until the last program ended.

    Attributes:
        package: Is the floorplan's name.
        ambient: Is the temperature of the air. Temperatures are in degrees Celsius.
        maximum: Is that of the hottest place.
        hottest_block: Names its block. None stands where it lies in none.
        energy: Is of all its blocks until the last job ended. It is in kWh.
        heat: Left it by the sink and the board. It is in kWh.
        gpus: Has a row for each GPU. Its columns are those that `observed_heat` tells.
        others: Names the blocks that are no GPU.
        map: Has the temperatures of the whole package. Each GPU draws its mean power there. None
            where a run was summed up.
    """

    package: str
    ambient: float
    maximum: float
    hottest_block: str | None
    energy: float
    heat: float
    gpus: Sequence[Mapping[str, Any]]
    others: Sequence[str]
    map: ThermalMap | None = None

    @property
    def notes(self) -> list[str]:
        """Sentences that tell how powers and temperatures are meant."""
        return heat_notes([self])

    @property
    def facts(self) -> dict[str, object]:
        """The same as JSON holds it."""
        return {
            "package": self.package,
            "maximum": self.maximum,
            "hottest_block": self.hottest_block,
            "ambient": self.ambient,
            "energy": self.energy,
            "heat": self.heat,
            "gpus": [dict(row) for row in self.gpus],
            "notes": self.notes,
        }


def heat_notes(heats: Iterable[PackageHeat]) -> list[str]:
    """Lists sentences that tell how powers and temperatures are meant, each once."""
    told: list[str] = []
    for heat in heats:
        told.append(MEANS)
        if any(row["rest_power"] is None and row["busy_share"] < 1 for row in heat.gpus):
            told.append(NO_REST)
        if heat.others:
            draw = "draws" if len(heat.others) == 1 else "draw"
            others = ", ".join(heat.others)
            told.append(f"{others} {draw} all the time as much as in the floorplan.")
    return list(dict.fromkeys(told))


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
    if found is None:
        return None
    plan, gpus = found["map"].floorplan, list(found["gpus"])
    named = {row["block"] for row in gpus}
    return PackageHeat(
        plan.name,
        plan.ambient,
        found["map"].maximum,
        found["map"].hottest_block,
        found["energy"],
        found["heat"],
        gpus,
        [row["name"] for row in plan.blocks() if row["name"] not in named],
        found["map"],
    )


def told_heat(outcome: Mapping[str, Any]) -> PackageHeat | None:
    """Gives the heat in what `Scenario.outcome` says; None where no package was observed."""
    told = outcome.get("heat")
    return None if told is None else PackageHeat(**told)


def place_of(row: Mapping[str, Any]) -> str:
    """Names a GPU, and its block where that has another name."""
    block = f" ({row['block']})" if row["block"] != row["name"] else ""
    return f"{row['name']}{block}"


def watts_told(watts: float | None) -> str:
    """Tells a power that may be unknown."""
    return "unknown" if watts is None else f"{watts:g}"


def power_cells(row: Mapping[str, Any]) -> list[str]:
    """Tells a GPU, its share of time busy in percent, its powers in watts and its energy in kWh."""
    return [
        place_of(row),
        f"{100 * row['busy_share']:.1f}",
        watts_told(row["busy_power"]),
        watts_told(row["rest_power"]),
        f"{row['mean_power']:.1f}",
        f"{row['gpu_energy']:.4g}",
    ]


def heat_sheets(heats: Mapping[str, PackageHeat], first: str = "policy") -> list[Sheet]:
    """Shows each GPU's mean power and temperatures, under each name where there are several."""
    if not heats:
        return []
    several = [first] if len(heats) > 1 else []
    rows = []
    for name, heat in heats.items():
        for row in heat.gpus:
            cells = [*power_cells(row), f"{row['maximum']:.1f}", f"{row['mean']:.1f}"]
            rows.append([name, *cells] if several else cells)
    heads = ["GPU", "busy\n%", "busy\nW", "at rest\nW", "mean\nW", "GPU\nkWh", "hottest\n°C"]
    hottest = max(heats.values(), key=lambda heat: heat.maximum)
    title = (
        f"Heat of {hottest.package}: at most {hottest.maximum:.1f} °C, in {hottest.hottest_block}, "
        f"in air of {hottest.ambient:g} °C"
    )
    heads = [*several, *heads, "mean\n°C"]
    return [Sheet(heads, rows, [*several, "GPU"], title, " ".join(heat_notes(heats.values())))]


def heat_table(heats: Mapping[str, PackageHeat], first: str = "policy") -> dict[str, pa.Table]:
    """Gives the table of the GPUs' powers and temperatures, under each name."""
    rows = [{first: name, **row} for name, heat in heats.items() for row in heat.gpus]
    columns = [Column(first, "text", known=True), *COLUMNS]
    return {"heat": arrow_table(rows, columns)} if rows else {}


def heat_summary(heats: Mapping[str, PackageHeat], first: str = "policy") -> dict[str, Any]:
    """Gives the same as JSON holds it; nothing where no package is observed."""
    told = [{first: name, **heat.facts} for name, heat in heats.items()]
    return {"heat": told} if told else {}


def maps_of(heats: Mapping[str, PackageHeat]) -> dict[str, Any]:
    """Draws the layer of the GPUs of each package whose map is there."""
    from linkwright.runs.thermal.charts import temperature_map

    charts = {}
    for name, heat in heats.items():
        if heat.map is None:
            continue
        block = heat.gpus[0]["block"]
        layer = next(row["layer"] for row in heat.map.floorplan.blocks() if row["name"] == block)
        charts[f"Temperatures of {layer}, {name}"] = temperature_map(heat.map, layer)
    return charts


def heat_section(heats: Mapping[str, PackageHeat], first: str = "policy") -> list[Section]:
    """Shows the sheet in a report, with a map of the layer of the GPUs."""
    if not heats:
        return []
    sheets = heat_sheets(heats, first)
    return [Section("How hot the package became", sheets=sheets, charts=maps_of(heats))]
