"""Holds `linkwright train --kernel`: how long kernels take alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from linkwright.cli import output
from linkwright.cli.panels import JOB, Rare
from linkwright.cli.settings import among
from linkwright.errors import SimulationError
from linkwright.files import read_text
from linkwright.gpu import GpuModel
from linkwright.scenario import Table, choice_names
from linkwright.texts import duration
from linkwright.training import kernel_fields, kernel_times

__all__ = ["Kernels", "kernel_of", "print_kernels"]

KINDS = choice_names()["kernel"]

Kernels = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel",
        rich_help_panel=Rare(JOB),
        metavar="KIND:SHAPE",
        help=f"Time a kernel alone on --gpu, such as gemm:4096x4096x8192 ({', '.join(KINDS)}). "
        "Repeatable.",
        autocompletion=lambda: [f"{kind}:" for kind in KINDS],
    ),
]


def kernel_of(texts: Sequence[str]) -> tuple[str, list[str]]:
    """Gives the kind of some kernels, and the shape of each.

    Raises:
        typer.BadParameter: If there is no such kind, or they are of several.
    """
    kinds, shapes = [], []
    for text in texts:
        kind, _, shape = text.partition(":")
        among("kernel", KINDS)(kind)
        kinds.append(kind)
        shapes += [shape] if shape else []
    if len(set(kinds)) > 1:
        raise typer.BadParameter(f"--kernel names {kinds[0]} and {kinds[-1]}; time one kind alone.")
    return kinds[0], shapes


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
        raise SimulationError(
            f"a `{kernel}` of which shape?",
            f"give it, as --kernel {kernel}:SHAPE, which is {fields}",
        )
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
