"""Writes the sections of the study."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linkwright.errors import SimulationError
from linkwright.gpu import Floorplan, ThermalMap
from linkwright.runs.thermal.charts import temperature_map
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.studies.thermal.packages import BESIDE, HOTSPOT, Changes, changed
from linkwright.studies.thermal.published import published

__all__ = ["Progress", "finer", "package", "readings", "statements", "worth"]

# Called with the stage, the packages solved, and those in all.
Progress = Callable[[str, int, int], object]

AS_TAP = "TAP-2.5D's spreader and sink"
READINGS: dict[str, Changes] = {
    "HotSpot's own sink": HOTSPOT,
    AS_TAP: {},
    "the same, GPUs beside the CPU": BESIDE,
}
WORTH: dict[str, Changes] = {
    "as it is": {},
    "air of 35 °C": {"ambient": 35},
    "air of 25 °C": {"ambient": 25},
    "half of the sink's resistance": {"sink.resistance": 0.0045},
    "no resistance of the sink": {"sink.resistance": 1e-6},
    "thermal interface of 8 W/(m K)": {"interface": {"conductivity": 8.0}},
    "silicon of 130 W/(m K)": {
        name: {"conductivity": 130}
        for name in ("CPU", "GPU0", "GPU1", "GPU2", "GPU3", "HBM0", "HBM1", "HBM2", "HBM3")
    },
    "spreader of 3 mm": {"spreader": {"thickness": 3.0}},
    "1 K/W through the board": {"board.resistance": 1.0},
}


def package() -> Section:
    """Writes Table 3.4, and the part of it that the floorplan has."""
    said = published()
    blocks = list(changed({}).blocks())
    rows: list[tuple[Cell, ...]] = []
    for kind, name in (("gpu", "GPU"), ("cpu", "CPU"), ("memory", "HBM")):
        ours = [row for row in blocks if row["name"].startswith(name)]
        entry = said[kind]
        areas = {round(row["width"] * row["height"], 1) for row in ours}
        rows.append(
            (
                name,
                entry["count"],
                len(ours),
                entry["area"],
                max(areas),
                entry["power"],
                ours[0]["power"],
            )
        )
    total = sum(said[kind]["count"] * said[kind]["power"] for kind in ("gpu", "cpu", "memory"))
    rows.append(("all", None, len(blocks), None, None, total, sum(row["power"] for row in blocks)))
    return Section(
        title="The package (Table 3.4)",
        text=[
            "Nine parts lie on an interposer of 50 x 50 mm, at their highest power. We assume "
            "their places: the CPU in the middle, GPUs in the corners around it, a stack of "
            "memory between each two."
        ],
        tables=[
            StudyTable(
                title="Parts, published and as described",
                columns=(
                    "",
                    "count, published",
                    "count",
                    "mm², published",
                    "mm²",
                    "W each, published",
                    "W each",
                ),
                rows=tuple(rows),
                formats=("", "", "", ".1f", ".1f", ".1f", ".1f"),
            )
        ],
    )


def _sink_for(plan: Floorplan, cells: int) -> float | None:
    """The sink's resistance that makes the published maximum; None where no sink does."""
    try:
        return plan.sink_for(published()["maximum"]["value"], cells).floorplan.sink
    except SimulationError:
        return None


def readings(cells: int, progress: Progress | None = None) -> Section:
    """The published maximum beside that of each reading of what HotSpot was given."""
    said, spot = published()["maximum"]["value"], published()["hotspot"]
    power = changed({}).power
    lumped = spot["ambient"] + power * spot["resistance"]
    needed = (said - spot["ambient"]) / power
    rows: list[tuple[Cell, ...]] = [
        ("one temperature, HotSpot's own sink", said, lumped, None, spot["resistance"], needed)
    ]
    for done, (name, changes) in enumerate(READINGS.items()):
        if progress is not None:
            progress("readings", done, len(READINGS))
        plan = changed(changes)
        found = plan.solve(cells)
        sink = _sink_for(plan, cells)
        hottest = [row["name"] for row in found.blocks() if row["maximum"] > found.maximum - 1e-3]
        rows.append((name, said, found.maximum, hottest[0], plan.sink, sink))
    found = changed({}).solve(cells)
    return Section(
        title="How hot it becomes (Figure 3-4)",
        text=[
            "The dissertation finds 88.6 °C with HotSpot. It does not say which layers, sink and "
            "air HotSpot was given. HotSpot's default sink has 0.1 K/W, and its air 45 °C. A "
            "package of one temperature would have 136 °C by these alone. So the assumptions were "
            "others. The same group's [TAP-2.5D](https://github.com/bu-icsg/TAP-2.5D), which the "
            "dissertation cites, sets HotSpot up for interposers. It has its own layers, a "
            "spreader of twice and a sink of four times the interposer's edge. The default sink's "
            "resistance goes by area, and is 0.009 K/W for 200 x 200 mm. This package assumes the "
            "same. Nothing is fitted. The last column has the sink that would give 88.6 °C under "
            "each reading.",
        ],
        tables=[
            StudyTable(
                title="The hottest place, and the sink that makes 88.6 °C",
                columns=(
                    "reading",
                    "published (°C)",
                    "maximum (°C)",
                    "in",
                    "sink (K/W)",
                    "sink for 88.6 °C (K/W)",
                ),
                rows=tuple(rows),
                formats=("", ".1f", ".1f", "", ".4f", ".4f"),
                note="A reading without a sink in the last column is hotter under any sink.",
            )
        ],
        figures={"thermal-map": temperature_map(found, "chips")},
    )


def statements(found: ThermalMap) -> Section:
    """Checks the statements of section 3.4 in words."""
    limit, ambient = published()["limit"]["value"], found.floorplan.ambient
    blocks = {row["name"]: row for row in found.blocks()}
    gpus = [row for name, row in blocks.items() if name.startswith("GPU")]
    hottest = max(row["mean"] for row in gpus)
    cpu = blocks["CPU"]

    def verdict(holds: bool) -> str:
        return "yes" if holds else "no"

    rows: list[tuple[Cell, ...]] = [
        (
            f"below the {limit} °C that systems tolerate",
            verdict(found.maximum < limit),
            f"{found.maximum:.1f} °C at most",
        ),
        (
            "the middle of the interposer is the hottest part, by the parts' means",
            verdict(cpu["mean"] > hottest),
            f"CPU {cpu['mean']:.1f} °C, the hottest GPU {hottest:.1f} °C",
        ),
        (
            "the same, by the hottest cells",
            verdict(cpu["maximum"] > max(row["maximum"] for row in gpus)),
            f"CPU {cpu['maximum']:.1f} °C, the hottest GPU "
            f"{max(row['maximum'] for row in gpus):.1f} °C",
        ),
        (
            "all heat leaves by the sink (balance of energy)",
            verdict(abs(found.sink_heat / found.floorplan.power - 1) < 1e-6),
            f"{found.sink_heat:.4f} of {found.floorplan.power:.4f} W, air of {ambient:g} °C",
        ),
    ]
    return Section(
        title="What the text says",
        text=[
            "The CPU makes less heat on its area than a GPU, and has GPUs on all sides. Its mean "
            "is above theirs, and its hottest cell is below. HotSpot reports a part's mean."
        ],
        tables=[StudyTable("Statements of section 3.4", ("", "holds", "found"), tuple(rows))],
    )


def worth(cells: int, progress: Progress | None = None) -> Section:
    """Shows the worth of each assumption, changed alone."""
    rows: list[tuple[Cell, ...]] = []
    first: float | None = None
    for done, (name, changes) in enumerate(WORTH.items()):
        if progress is not None:
            progress("assumptions", done, len(WORTH))
        plan = changed(changes)
        found = plan.solve(cells)
        first = found.maximum if first is None else first
        rows.append((name, found.maximum, found.maximum - first, _sink_for(plan, cells)))
    return Section(
        title="What each assumption is worth",
        text=[
            "Each row changes one assumption and keeps all others. The sink's resistance counts "
            "most, then the air, whose temperature is added to all."
        ],
        tables=[
            StudyTable(
                title="One assumption changed",
                columns=("", "maximum (°C)", "difference (K)", "sink for 88.6 °C (K/W)"),
                rows=tuple(rows),
                formats=("", ".1f", "+.1f", ".4f"),
            )
        ],
    )


def finer(counts: Sequence[int]) -> Section:
    """Shows how the maximum changes with the cells."""
    plan = changed({})
    rows: list[tuple[Cell, ...]] = []
    for cells in counts:
        found = plan.solve(cells)
        rows.append((cells, found.cell_count, found.maximum, found.rounds))
    return Section(
        title="Finer cells",
        text=[
            "Each row cuts the interposer into another number of cells each way. All else is the "
            "package's own."
        ],
        tables=[
            StudyTable(
                title="The maximum by cells",
                columns=("cells each way", "cells in all", "maximum (°C)", "rounds"),
                rows=tuple(rows),
                formats=("", ",", ".3f", ""),
            )
        ],
    )
