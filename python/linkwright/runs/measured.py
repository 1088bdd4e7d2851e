"""The tables of a trace's kernels, as they are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from linkwright.kernel_traces import BYTES, MeasuredKernels
from linkwright.runs.run import Sheet
from linkwright.texts import data, duration, percent

__all__ = ["measured_sheets"]

PARTS_NOTE = (
    "Of the GPU, a step on average. Exposed collectives are those that nothing is computed beside. "
    "The GPU waits for the host until that has launched the next kernel."
)
KERNELS_NOTE = "Sums of a step, by the stream on which they ran. Overlapping ones count twice."
RATIOS_NOTE = (
    "Of a step. The model's times are multiplied with the ratios. Kernels that stand for none of "
    "the model's take {rest} a step more."
)
COLLECTIVES_NOTE = (
    "They stay the model's. Measured times hold what ranks wait for one another; the model's are "
    "NCCL's alone on the machine's first GPUs."
)
# As many characters of a collective's name are printed.
LONGEST_NAME = 40


def measured_sheets(measured: MeasuredKernels) -> list[Sheet]:
    """Gives a step's parts, its kernels, their ratios to the model's, and its collectives."""
    found = [_parts(measured), _kernels(measured)]
    if measured.ratios is not None:
        found.append(_ratios(measured, measured.ratios.rest))
    collectives = measured.collectives()
    return [*found, _collectives(collectives)] if collectives else found


def _parts(measured: MeasuredKernels) -> Sheet:
    trace = measured.trace
    rows = [
        [row["part"], duration(row["time"]), percent(row["time"] / trace.time)]
        for row in trace.parts()
        if row["time"] > 0.0
    ]
    heads = ["a measured step", "takes", "share"]
    notes = ("Notes on the trace", measured.notes())
    title = f"{measured.headline}."
    return Sheet(heads, rows, heads[:1], title=title, note=PARTS_NOTE, remarks=notes)


def _kernels(measured: MeasuredKernels) -> Sheet:
    times: dict[tuple[str, int], dict[str, float]] = {}
    for row in measured.trace.kernels():
        passes = times.setdefault((row["kind"], row["stream"]), {})
        passes[row["pass"]] = passes.get(row["pass"], 0.0) + row["time"]
    whole = sum(sum(passes.values()) for passes in times.values())
    rows = [
        [
            kind,
            str(stream),
            *(duration(passes.get(name, 0.0)) for name in ("forward", "backward")),
            percent(sum(passes.values()) / whole if whole else 0.0),
        ]
        for (kind, stream), passes in times.items()
    ]
    heads = ["measured kernels", "stream", "forward", "backward", "share"]
    return Sheet(heads, rows, heads[:1], note=KERNELS_NOTE)


def _ratios(measured: MeasuredKernels, rest: float) -> Sheet:
    rows = [
        [
            row["name"],
            row["pass"],
            duration(row["measured"]),
            duration(row["modelled"]),
            f"{row['ratio']:.3f}" if row["modelled"] > 0.0 else "none",
        ]
        for row in measured.comparison()
    ]
    heads = ["kernels", "pass", "measured", "modelled", "ratio"]
    return Sheet(heads, rows, heads[:2], note=RATIOS_NOTE.format(rest=duration(rest)))


def _collectives(collectives: list[dict[str, Any]]) -> Sheet:
    has_model = any(row["modelled"] is not None for row in collectives)
    rows = [
        [
            _short(row["collective"]),
            row["group"],
            str(row["ranks"] or ""),
            data(row["elements"] * BYTES[row["number"]]) if row["number"] in BYTES else "",
            str(row["stream"]),
            f"{row['count']:,}",
            duration(row["time"]),
            *([_modelled(row)] if has_model else []),
        ]
        for row in collectives
    ]
    heads = [
        "measured collective",
        "group",
        "ranks",
        "a rank gives",
        "stream",
        "calls",
        "one takes",
        *(["modelled"] if has_model else []),
    ]
    note = COLLECTIVES_NOTE if has_model else ""
    return Sheet(heads, rows, heads[:2], note=note)


def _short(name: str) -> str:
    """Gives a kernel's name without its type, its nameless namespace and its parameters."""
    plain = name.removeprefix("void ").replace("(anonymous namespace)::", "")
    return re.split(r"[(<]", plain)[0][:LONGEST_NAME]


def _modelled(row: Mapping[str, Any]) -> str:
    return "" if row["modelled"] is None else duration(row["modelled"])
