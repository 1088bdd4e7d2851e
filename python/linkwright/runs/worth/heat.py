"""The heat of the package that a comparison over seeds observes: means, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linkwright.runs.columns import Column, arrow_table
from linkwright.runs.heat import COLUMNS, PackageHeat, heat_notes, power_cells, told_heat
from linkwright.runs.run import Sheet
from linkwright.summaries.intervals import Estimate, estimate
from linkwright.summaries.over_seeds import mean_and_ends
from linkwright.texts import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from linkwright.runs.worth.run import Worth

__all__ = ["MeanHeat", "mean_heats", "mean_sheets", "mean_summary", "runs_table"]

# Each has a mean over the seeds.
_NUMBERS = ("busy_share", "mean_power", "gpu_energy", "maximum", "mean")


@dataclass(frozen=True)
class MeanHeat:
    """Holds the heat of a variant's package, in the mean over the seeds.

    Attributes:
        first: Is that of the first seed.
        maximum: Is the temperature of the hottest place. It is in degrees Celsius.
        energy: Is of all its blocks until the last job ended. It is in kWh.
        heat: Left it in that time. It is in kWh.
        gpus: Has a row for each GPU. Its numbers are means.
        hottest: Has the highest temperature of each GPU's block. It is in degrees Celsius.
        notes: Tell how powers and temperatures are meant.
    """

    first: PackageHeat
    maximum: Estimate
    energy: float
    heat: float
    gpus: Sequence[Mapping[str, Any]]
    hottest: Sequence[Estimate]
    notes: Sequence[str]


def mean_heats(worth: Worth) -> dict[str, MeanHeat]:
    """Gives the heat of each variant that observes a package, by its name."""
    found = {}
    for name, outcomes in worth.found.items():
        days = [heat for heat in map(told_heat, outcomes) if heat is not None]
        if days:
            found[name] = _mean(days)
    return found


def _mean(days: Sequence[PackageHeat]) -> MeanHeat:
    gpus, hottest = [], []
    for at, row in enumerate(days[0].gpus):
        each = [day.gpus[at] for day in days]
        means = {name: _known([of[name] for of in each]) for name in _NUMBERS}
        gpus.append({**row, **{name: it.mean for name, it in means.items()}})
        hottest.append(means["maximum"])
    return MeanHeat(
        days[0],
        _known([day.maximum for day in days]),
        _known([day.energy for day in days]).mean,
        _known([day.heat for day in days]).mean,
        gpus,
        hottest,
        heat_notes(days),
    )


def _known(values: Sequence[float]) -> Estimate:
    found = estimate(values)
    assert found is not None
    return found


def mean_sheets(worth: Worth) -> list[Sheet]:
    """Shows each GPU's powers and temperatures, and those of the whole package."""
    heats = mean_heats(worth)
    if not heats:
        return []
    rows = []
    for variant, heat in heats.items():
        name = worth.name_of(variant)
        for row, hottest in zip(heat.gpus, heat.hottest, strict=True):
            rows.append(
                [
                    name,
                    *power_cells(row),
                    *_degrees(hottest),
                    f"{row['mean']:.1f}",
                ]
            )
        whole = [name, "the package", "", "", "", "", f"{heat.energy:.4g}"]
        rows.append([*whole, *_degrees(heat.maximum), ""])
    packages = ", ".join(dict.fromkeys(heat.first.package for heat in heats.values()))
    heads = ["variant", "GPU", "busy\n%", "busy\nW", "at rest\nW", "mean\nW", "GPU\nkWh"]
    return [
        Sheet(
            [*heads, "hottest\n°C", "95 % interval\n°C", "mean\n°C"],
            rows,
            ["variant", "GPU"],
            title=f"Heat of {packages}: means over {counted(len(worth.seeds), 'seed')}",
            note=" ".join(dict.fromkeys(note for heat in heats.values() for note in heat.notes)),
        )
    ]


def _degrees(of: Estimate) -> list[str]:
    interval = "" if of.low is None or of.high is None else f"{of.low:.1f} to {of.high:.1f}"
    return [f"{of.mean:.1f}", interval]


def mean_summary(worth: Worth) -> dict[str, Any]:
    """Gives the same as JSON holds it; nothing where no package is observed."""
    told = [
        {
            "variant": variant,
            "package": heat.first.package,
            "maximum": mean_and_ends(heat.maximum),
            "ambient": heat.first.ambient,
            "energy": heat.energy,
            "heat": heat.heat,
            "gpus": [dict(row) for row in heat.gpus],
            "notes": list(heat.notes),
        }
        for variant, heat in mean_heats(worth).items()
    ]
    return {"heat": told} if told else {}


def runs_table(worth: Worth) -> dict[str, pa.Table]:
    """Gives the table of the GPUs' powers and temperatures of each variant on each seed."""
    rows = [
        {"variant": variant, "seed": seed, **row}
        for variant, outcomes in worth.found.items()
        for seed, outcome in zip(worth.seeds, outcomes, strict=True)
        if (heat := told_heat(outcome)) is not None
        for row in heat.gpus
    ]
    columns = [Column("variant", "text", known=True), Column("seed", "count", known=True)]
    return {"heat": arrow_table(rows, [*columns, *COLUMNS])} if rows else {}
