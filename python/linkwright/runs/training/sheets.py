"""The tables of steps of training, as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from statistics import mean
from typing import TYPE_CHECKING, Any

from linkwright.runs.bills import watts_source
from linkwright.runs.run import Best, Sheet
from linkwright.summaries.energy import energy_note
from linkwright.texts import data, duration, energy, percent, ranges

if TYPE_CHECKING:
    from linkwright.runs.training.play import Played
    from linkwright.runs.training.run import TrainingRun

__all__ = ["energies", "layers", "levels", "memory", "scaling", "steps"]

# These are the uses of a GPU's memory, as they are printed.
MEMORY = ("weights", "gradients", "optimizer", "activations", "workspace", "total")
# These are the passes of a layer in a step.
PASSES = ("forward", "backward", "update")
# How many of the layers that take longest are printed.
PRINTED = 8

NOTE = (
    "Means over the GPUs. Communication is the time in which data moves; exposed is what of it no "
    "computation hides."
)


def steps(run: TrainingRun) -> Sheet:
    """Steps by each way to communicate."""

    def time(step: Played) -> str:
        is_best = step is run.best and len(run.steps) > 1
        return Best(duration(step.time)) if is_best else duration(step.time)

    columns: Mapping[str, Callable[[Played], str]] = {
        "communication": lambda step: step.communication,
        "step": time,
        f"{run.units}\na second": lambda step: f"{run.rate(step):,.0f}",
        "computing": lambda step: duration(step.parts.computing),
        "communication ": lambda step: duration(step.parts.communication),
        "exposed": lambda step: duration(step.parts.exposed),
        "framework": lambda step: duration(step.parts.framework),
        "idle": lambda step: percent(step.parts.idle / step.time if step.time else 0.0),
    }
    return Sheet.of(run.steps, columns, note=NOTE)


def energies(run: TrainingRun) -> list[Sheet]:
    """The energy that a step takes of GPUs by each way, where their power is known."""
    known = [it.has_rest for it in run.energies if it.whole is not None]
    if not known:
        return []
    prices = None if run.bills is None else run.bills.prices
    counted, several = run.units.removesuffix("s"), []
    for step, taken in zip(run.steps, run.energies, strict=True):
        samples = step.batch * (run.recipe.network.tokens or 1)
        each = None if taken.whole is None else taken.whole / samples
        several.append([step.communication, energy(taken.whole), energy(each)])
    heads = ["GPU energy", "a step", f"{'an' if counted[0] in 'aeiou' else 'a'} {counted}"]
    note = energy_note(known, watts_source(prices))
    return [Sheet(heads, several, ["GPU energy"], note=note)]


def memory(run: TrainingRun) -> Sheet:
    """Prints a line for GPUs alike, in the order of the first."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for row in run.best.step.memory():
        alike.setdefault(tuple(row[part] for part in MEMORY), []).append(row["gpu"])
    rows = [[ranges(gpus), *(data(size) for size in sizes)] for sizes, gpus in alike.items()]
    return Sheet(["memory of GPUs", *MEMORY], rows, ["memory of GPUs"])


def scaling(run: TrainingRun) -> Sheet:
    """Gives speed-ups over fewer GPUs."""
    columns = {
        "scaling": lambda row: row.kind,
        "communication": lambda row: row.communication,
        "GPUs": lambda row: str(row.gpus),
        "batch": lambda row: f"{row.batch:,}",
        "step": lambda row: duration(row.time),
        "speed-up": lambda row: f"{row.speed_up:.2f}",
        "efficiency": lambda row: percent(row.efficiency),
    }
    return Sheet.of(run.scaling, columns, words=2)


def levels(links: Iterable[Mapping[str, Any]]) -> Sheet:
    """Counts the links that carried something, by where they are in the system."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in links:
        if row["data"]:
            found.setdefault(row["level"], []).append(row)

    def load(level: str, of: Callable[[list[float]], float]) -> str:
        return percent(of([row["utilisation"] for row in found[level]]))

    columns: Mapping[str, Callable[[str], str]] = {
        "level": lambda level: level,
        "links": lambda level: f"{len(found[level]):,}",
        "load\nin the mean": lambda level: load(level, mean),
        "load\nat most": lambda level: load(level, max),
        "data": lambda level: data(sum(row["data"] for row in found[level])),
    }
    return Sheet.of(found, columns)


def layers(run: TrainingRun) -> list[Sheet]:
    """Lists the layers that take longest, on each model of GPU."""
    models = run.best.step.models
    found = []
    for model in models:
        rows = [(row, sum(row[part] for part in PASSES)) for row in run.best.step.layers(model)]
        total = sum(time for _, time in rows) or 1.0
        cells = [
            [row["name"], row["kind"], *(duration(row[of]) for of in PASSES), percent(time / total)]
            for row, time in sorted(rows, key=lambda it: it[1], reverse=True)[:PRINTED]
        ]
        several = f" on {model}" if len(models) > 1 else ""
        heads = [f"longest layers{several}", "kind", *PASSES, "share"]
        found.append(Sheet(heads, cells, heads[:2]))
    return found
