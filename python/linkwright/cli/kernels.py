"""Holds `linkwright train --kernel`: how long kernels take alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from linkwright.errors import SimulationError
from linkwright.gpu import GpuModel
from linkwright.scenario import Table, choice_names
from linkwright.training import kernel_fields, kernel_times
from linkwright.cli import output
from linkwright.cli.gpu_options import choice
from linkwright.files import read_text
from linkwright.texts import duration

__all__ = ["Kernel", "Shapes", "print_kernels"]

OF_KERNELS = "Kernels alone"

Kernel = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=OF_KERNELS,
        help="Time kernels of this kind alone on --gpu, by --shape and --precision.",
        **choice("kernel", choice_names()["kernel"]),
    ),
]
Shapes = Annotated[
    list[str] | None,
    typer.Option(
        "--shape",
        rich_help_panel=OF_KERNELS,
        metavar="SHAPE",
        help="Give its numbers, as 4096x4096x8192 (m, n, k of gemm). Each may be named, as "
        "batch=1,tokens=8192,heads=32,kv-heads=8,head=128; repeatable.",
    ),
]


def print_kernels(
    kernel: str,
    shapes: Sequence[str] | None,
    gpu: Path | None,
    precision: str | None,
    *,
    json: bool,
) -> None:
    """Prints how long kernels take.

    Raises:
        SimulationError: If no shape or no GPU is named, or the GPU does not multiply such numbers.
        MachineError: If the GPU is not known.
    """
    fields = " x ".join(kernel_fields(cast("Any", kernel)))
    if not shapes:
        raise SimulationError(f"a `{kernel}` of which shape?", f"say --shape: {fields}")
    if gpu is None:
        raise SimulationError(f"a `{kernel}` on which GPU?", "say --gpu, as --gpu h100")
    model = _model(gpu)
    precision = precision or "bf16"
    times = kernel_times(cast("Any", kernel), shapes, model, cast("Any", precision))
    rows = _rows(shapes, times)
    if json:
        output.print_json(
            {"kernel": kernel, "gpu": model.name, "precision": precision, "times": rows}
        )
        return
    has = [name for name in ("cast", "host") if any(row[name] > 0 for row in rows)]
    made = output.table(["shape", "time", *has, "TFLOP/s"], left=["shape"], whole=["shape"])
    for row in rows:
        rate = row["operations"] / row["time"] / 1e12
        parts = (duration(row[name]) for name in has)
        made.add_row(row["shape"], duration(row["time"]), *parts, f"{rate:,.1f}")
    output.say(f"{kernel} on {model.name}, {precision}; each kernel alone, for a short while.")
    output.print_table(made)


def _model(gpu: Path) -> GpuModel:
    """Gives a GPU by its name, or by its file."""
    if gpu.suffix == ".toml":
        return GpuModel.from_text(read_text(gpu), str(gpu))
    return GpuModel.find(str(gpu))


def _rows(shapes: Sequence[str], times: Table) -> list[Mapping[str, Any]]:
    import pyarrow as pa

    rows = pa.table(times).to_pylist()
    return [{"shape": shape, **row} for shape, row in zip(shapes, rows, strict=True)]
