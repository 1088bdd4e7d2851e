"""The tables of a model's training, as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from linkwright.runs.run import Sheet
from linkwright.texts import data, ranges

if TYPE_CHECKING:
    from linkwright.runs.models.run import ModelRun

__all__ = ["groups", "memory"]

# What a GPU's memory is for, in the order in which it is summed.
PARTS = ("weights", "gradients", "optimizer", "activations", "passing", "collectives")
SUMS = ("total", "reserve", "reserved")
# How many ranks of a group are printed.
PRINTED = 8

NOTE = (
    "Total is what tensors take (PyTorch's max_memory_allocated), reserved what the allocator "
    "holds (max_memory_reserved). Passing is what a block's backward pass or the loss needs for "
    "a while."
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


def memory(run: ModelRun) -> Sheet:
    """A line for each stage."""
    heads = ["stage", "layers", "in flight", *PARTS, *SUMS]
    rows = [
        [
            str(row["stage"]),
            str(row["layers"]),
            str(row["in_flight"]),
            *(data(row[part]) for part in (*PARTS, *SUMS)),
        ]
        for row in run.memory
    ]
    return Sheet(heads, rows, ["stage"], note=NOTE)


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
