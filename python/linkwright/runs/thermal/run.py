"""Turns the temperatures of a package into a run, which has an answer, tables and a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linkwright import __version__
from linkwright.arguments import real, taking, text, whole
from linkwright.files import (
    LARGEST_TEXT,
    PathOrName,
    portable_name,
    read_bytes,
    reading_once,
    sha256,
)
from linkwright.gpu import Floorplan, ThermalMap
from linkwright.runs.run import Best, Run, Section, Sheet
from linkwright.scenario import Table

__all__ = ["LIMIT", "Heat", "steady_heat"]

# Systems bear this temperature at most, in degrees Celsius (section 3.4 of the MGPU-TSM
# dissertation).
LIMIT = 100.0
# Temperatures that differ by less are alike, in K.
ALIKE = 1e-3

NOTE = (
    "Steady state, by conduction in layers and one resistance from the sink to the air. Left out: "
    "leakage that grows with temperature, fins and the flow of air, air beside smaller layers."
)


@dataclass(frozen=True)
class Heat(Run):
    """Holds the temperatures of a package.

    Attributes:
        path: The floorplan's file.
        map: The temperatures.
        limit: The most that the hottest place may reach, in degrees Celsius.
        layer: The layer that is drawn.
        target: The temperature that the sink was sought for, in degrees Celsius; None where the
            sink was given.
        manifest: The facts that repeat it.
    """

    path: Path
    map: ThermalMap
    limit: float
    layer: str
    target: float | None = None
    manifest: Mapping[str, object] = field(default_factory=dict, repr=False)

    @property
    def title(self) -> str:
        """Names the package."""
        plan = self.map.floorplan
        size = f"{plan.width:g} x {plan.height:g} mm"
        return f"{plan.name}: {plan.power:.1f} W on {size} ({self.path.name})"

    @property
    def hottest_block(self) -> str | None:
        """Names the first of the hottest blocks; mirrored blocks differ by last digits alone."""
        blocks = list(self.map.blocks())
        most = max((row["maximum"] for row in blocks), default=0.0)
        return next((row["name"] for row in blocks if row["maximum"] > most - ALIKE), None)

    @property
    def headline(self) -> str:
        """How hot the hottest place is, and whether that is borne."""
        plan, hottest = self.map.floorplan, self.map.maximum
        block = f", in {self.hottest_block}" if self.hottest_block else ""
        room = self.limit - hottest
        borne = (
            f"{room:.1f} below the {self.limit:g} °C that are borne"
            if room >= 0
            else f"{-room:.1f} above the {self.limit:g} °C that are borne"
        )
        told = f"At most {hottest:.1f} °C{block}: {borne}."
        if self.target is not None:
            told = f"A sink of {plan.sink:.4g} K/W makes {self.target:g} °C{block}: {borne}."
        return told

    @property
    def context(self) -> Sequence[str]:
        """Gives the answer, and says under which sink and air."""
        plan, heat = self.map.floorplan, self.map
        board = f", {heat.board_heat:.1f} W through the board" if plan.board is not None else ""
        return [
            self.headline,
            f"Sink of {plan.sink:.4g} K/W ({plan.sink_coefficient:,.0f} W/(m² K) over the topmost "
            f"layer), air of {plan.ambient:g} °C; {heat.sink_heat:.1f} W by the sink{board}.",
        ]

    @property
    def notes(self) -> Sequence[str]:
        """Lists the points that the floorplan's source leaves open."""
        return self.map.floorplan.assumptions

    def tables(self) -> Mapping[str, Table]:
        """Blocks, layers, and every cell of the layer that is drawn."""
        return {
            "blocks": self.map.blocks(),
            "layers": self.map.layers(),
            "temperatures": self.map.temperatures(self.layer),
        }

    def summary(self) -> dict[str, object]:
        """Returns the content of `summary.json`, which `--json` prints."""
        plan, found = self.map.floorplan, self.map
        board: dict[str, float] | None = None
        if plan.board is not None:
            board = {"resistance": plan.board, "heat": found.board_heat}
        return {
            "floorplan": self.path.name,
            "name": plan.name,
            "headline": self.headline,
            "maximum": found.maximum,
            "hottest_block": self.hottest_block,
            "limit": self.limit,
            "within_limit": found.maximum <= self.limit,
            "target": self.target,
            "ambient": plan.ambient,
            "power": plan.power,
            "sink": {
                "resistance": plan.sink,
                "coefficient": plan.sink_coefficient,
                "heat": found.sink_heat,
            },
            "board": board,
            "blocks": list(found.blocks()),
            "layers": list(found.layers()),
            "cells": found.cells,
            "cell_count": found.cell_count,
            "rounds": found.rounds,
            "unaccounted": found.unaccounted,
            "assumptions": plan.assumptions,
        }

    def sheets(self) -> Sequence[Sheet]:
        """Blocks, the hottest first, and layers from the top."""
        blocks = sorted(self.map.blocks(), key=lambda row: (-round(row["maximum"], 3), row["name"]))
        heads = ["block", "layer", "power\n(W)", "W/mm²", "maximum\n(°C)", "mean", "minimum"]
        rows = [
            [
                row["name"],
                row["layer"],
                f"{row['power']:.1f}",
                f"{row['power_density']:.2f}",
                *_temperatures(row, is_hottest=at == 0),
            ]
            for at, row in enumerate(blocks)
        ]
        layers = [[row["name"], *_temperatures(row)] for row in reversed(list(self.map.layers()))]
        sheets = [
            Sheet(
                ["layer, from the top", "maximum\n(°C)", "mean", "minimum"],
                layers,
                ["layer, from the top"],
                note=NOTE,
            )
        ]
        if rows:
            sheets.insert(0, Sheet(heads, rows, ["block", "layer"]))
        return sheets

    def sections(self) -> Sequence[Section]:
        """Returns the map, the tables, and the assumptions."""
        from linkwright.runs.thermal.charts import temperature_map

        plan = self.map.floorplan
        name = f"The temperatures of {self.layer}"
        return [
            Section("The map", charts={name: temperature_map(self.map, self.layer)}),
            Section("Temperatures", sheets=self.sheets()),
            Section(
                "The package",
                text=[plan.source] if plan.source else [],
                points=plan.assumptions,
                points_are="Assumed, since the source does not say it",
            ),
        ]


def _temperatures(row: Mapping[str, Any], *, is_hottest: bool = False) -> list[str]:
    maximum = f"{row['maximum']:.1f}"
    return [Best(maximum) if is_hottest else maximum, f"{row['mean']:.1f}", f"{row['minimum']:.1f}"]


@taking(cells=whole, sink=real, ambient=real, target=real, limit=real, layer=text)
@reading_once()
def steady_heat(
    path: PathOrName,
    *,
    cells: int = 256,
    sink: float | None = None,
    ambient: float | None = None,
    target: float | None = None,
    limit: float = LIMIT,
    layer: str | None = None,
) -> Heat:
    """Finds the steady-state temperatures of a package.

    Args:
        path: The floorplan's file (TOML).
        cells: Of the interposer, each way.
        sink: Its resistance in K/W; that of the floorplan where absent.
        ambient: The air in degrees Celsius; that of the floorplan where absent.
        target: The degrees Celsius of the hottest place for which to seek the sink.
        limit: The most that the hottest place may reach, in degrees Celsius.
        layer: Which is drawn; where absent, that of the hottest block.

    Raises:
        FileError: If there is no such file.
        InputError: If it is no floorplan, with the place.
        SimulationError: If a number is out of range, there is no such layer, or no sink does.
    """
    from linkwright.systems import read_floorplan

    plan: Floorplan = read_floorplan(path)
    content = read_bytes(Path(path), LARGEST_TEXT)
    if sink is not None:
        plan = plan.with_sink(sink)
    if ambient is not None:
        plan = plan.with_ambient(ambient)
    found = plan.solve(cells) if target is None else plan.sink_for(target, cells)
    if layer is None:
        of = {row["name"]: row["layer"] for row in plan.blocks()}
        names = [row["name"] for row in plan.layers()]
        layer = of.get(found.hottest_block or "", names[-1])
    else:
        found.temperatures(layer)
    manifest = {
        "version": __version__,
        "floorplan": portable_name(str(path)),
        "sha256": sha256(content),
        "cells": cells,
        "sink": found.floorplan.sink,
        "ambient": found.floorplan.ambient,
        "target": target,
        "limit": limit,
        "layer": layer,
    }
    return Heat(Path(path), found, limit, layer, target, manifest)
