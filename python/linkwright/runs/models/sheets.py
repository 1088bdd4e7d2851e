"""The tables of a model's training, as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from linkwright.runs.run import Sheet
from linkwright.texts import data, duration, energy, percent, ranges

if TYPE_CHECKING:
    from linkwright.runs.models.run import ModelRun

__all__ = ["exchanges", "groups", "memory", "step", "tensors"]

# Says what a GPU's memory is for, by the heads of columns, in the order in which it is summed.
PARTS = {
    "weights": "weights",
    "gradients": "gradients",
    "state": "optimizer",
    "activations": "activations",
    "passing": "passing",
    "buffers": "collectives",
    "total": "total",
    "gaps": "reserve",
    "reserved": "reserved",
}
# How many ranks of a group are printed.
PRINTED = 8

NOTE = (
    "GiB of each GPU. State is the optimizer's, with master copies. A block's backward pass or the "
    "loss needs passing memory. Buffers are those of collectives, with gathered weights. Total is "
    "what tensors take (PyTorch's max_memory_allocated), reserved what the "
    "allocator holds, gaps and all (max_memory_reserved)."
)

STEP_NOTE = (
    "Of the stage that computes longest. An exchange's part is what the step would save if it took "
    "no time, one after another in this order: what computing hides is in none."
)


def groups(run: ModelRun) -> list[Sheet]:
    """Who exchanges data with whom; nothing where every GPU is alone."""
    rows = [
        [
            row["group"],
            row["moves"],
            f"{row['groups']:,} of {row['size']:,}",
            _some(row["first"]),
            _where(row),
        ]
        for row in run.groups
    ]
    heads = ["groups", "exchange", "how many", "first ranks", "lie"]
    return [Sheet(heads, rows, heads)] if rows else []


def memory(run: ModelRun, title: str = "") -> Sheet:
    """Gives a line for each stage."""
    is_staged = len(run.memory) > 1
    heads = ["stage (layers)", *(["in flight"] if is_staged else []), *PARTS]
    rows = [
        [
            f"{row['stage']} ({row['layers']})",
            *([str(row["in_flight"])] if is_staged else []),
            *(f"{row[part] / 2**30:.2f}" for part in PARTS.values()),
        ]
        for row in run.memory
    ]
    return Sheet(heads, rows, heads[:1], title=title, note=NOTE)


def tensors(run: ModelRun) -> Sheet:
    """Gives a line for each tensor that a block makes for its backward pass."""
    heads = ["tensor", "of blocks", "kept", "size"]
    rows = [
        [
            row["tensor"],
            f"{row['blocks']} {row['kind']}",
            "yes" if row["kept"] else "computed again",
            data(row["bytes"]),
        ]
        for row in run.training.tensors()
    ]
    note = "On one GPU, of one micro-batch."
    return Sheet(heads, rows, heads[:3], note=note)


def step(run: ModelRun) -> list[Sheet]:
    """What a step's time goes into; nothing where it is not timed."""
    timed = run.timed
    if timed is None:
        return []
    rows = [
        [row["part"], duration(row["time"]), percent(row["time"] / timed.time)]
        for row in timed.parts
    ]
    heads = ["a step's time", "takes", "share"]
    note, whole = STEP_NOTE, timed.energy.whole
    if whole is not None:
        tokens = run.training.batch * run.model.tokens
        note += f" The GPUs take {energy(whole)} a step, {energy(whole / tokens)} a token."
    return [Sheet(heads, rows, heads[:1], note=note)]


def exchanges(run: ModelRun) -> list[Sheet]:
    """Gives a line for each kind of exchange of a stage; nothing where none is timed."""
    if run.timed is None:
        return []
    heads = ["exchange", "stage", "collective", "a rank gives", "calls", "one takes"]
    rows = [
        [
            row["group"],
            str(row["stage"]),
            row["collective"],
            data(row["size"]),
            f"{row['calls']:,}",
            duration(row["time"]),
        ]
        for row in run.timed.step.exchanges()
    ]
    return [Sheet(heads, rows, [*heads[:1], heads[2]])] if rows else []


def _some(ranks: list[int]) -> str:
    """The first ranks, with their distance where they are many."""
    if len(ranks) <= PRINTED:
        return ranges(ranks)
    return f"{ranges(ranks[: PRINTED // 2])}, ..., {ranks[-1]}"


def _where(row: Mapping[str, Any]) -> str:
    least, most = row["servers_least"], row["servers_most"]
    if most == 1:
        return "within a server"
    return f"across {most:,} servers" if least == most else f"across {least:,} to {most:,} servers"
