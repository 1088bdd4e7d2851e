"""The tables of steps of training, as they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from linkwright.runs.run import Best, Sheet
from linkwright.summaries.programs import busiest_links
from linkwright.texts import data, duration, percent

if TYPE_CHECKING:
    from linkwright.runs.training.run import TrainingRun

__all__ = ["layers", "links", "memory", "scaling", "steps"]

# What the memory of a GPU is for, as it is printed.
MEMORY = ("weights", "gradients", "optimizer", "activations", "workspace", "total")
# How many of the layers that take longest are printed.
PRINTED = 8

# What is told of the busiest links.
LINKS = {
    "busiest links": lambda row: f"{row['from']} to {row['to']}",
    "load": lambda row: percent(row["utilisation"]),
    "data": lambda row: data(row["data"]),
}

NOTE = (
    "Means over the GPUs. Communication is the time in which data moves; exposed is what of it no "
    "computation hides."
)


def steps(run: TrainingRun) -> Sheet:
    """Steps by each way to communicate."""
    best = run.best
    rows = []
    for step in run.steps:
        parts, time = step.parts, duration(step.time)
        rows.append(
            [
                step.communication,
                Best(time) if step is best and len(run.steps) > 1 else time,
                f"{run.rate(step):,.0f}",
                duration(parts.computing),
                duration(parts.communication),
                duration(parts.exposed),
                duration(parts.framework),
                percent(parts.idle / step.time if step.time else 0.0),
            ]
        )
    heads = ["communication", "step", f"{run.units}\na second", "computing"]
    heads += ["communication ", "exposed", "framework", "idle"]
    return Sheet(heads, rows, ["communication"], note=NOTE)


def memory(run: TrainingRun) -> Sheet:
    """A line for GPUs alike, in the order of the first."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for row in run.best.step.memory():
        alike.setdefault(tuple(row[part] for part in MEMORY), []).append(row["gpu"])
    rows = [[_listed(gpus), *(data(size) for size in sizes)] for sizes, gpus in alike.items()]
    return Sheet(["memory of GPUs", *MEMORY], rows, ["memory of GPUs"])


def scaling(run: TrainingRun) -> Sheet:
    """Speed-ups over fewer GPUs."""
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


def layers(run: TrainingRun, model: str) -> Sheet:
    """The layers that take longest on a model of GPU."""
    layers = list(run.best.step.layers(model))

    def whole(row: Mapping[str, float]) -> float:
        return row["forward"] + row["backward"] + row["update"]

    total = sum(whole(row) for row in layers)
    longest = sorted(layers, key=whole, reverse=True)[:PRINTED]
    several = f" on {model}" if len(run.best.step.models) > 1 else ""
    columns = {
        f"longest layers{several}": lambda row: row["name"],
        "kind": lambda row: row["kind"],
        "forward": lambda row: duration(row["forward"]),
        "backward": lambda row: duration(row["backward"]),
        "update": lambda row: duration(row["update"]),
        "share": lambda row: percent(whole(row) / total if total else 0.0),
    }
    return Sheet.of(longest, columns, words=2)


def links(run: TrainingRun) -> Sheet:
    """The links that the best step fills most."""
    return Sheet.of(busiest_links(run.best.run, 10), LINKS)


def _listed(gpus: Sequence[int]) -> str:
    """The ids as `0-3,6`."""
    spans: list[list[int]] = []
    for gpu in gpus:
        if spans and gpu == spans[-1][1] + 1:
            spans[-1][1] = gpu
        else:
            spans.append([gpu, gpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
