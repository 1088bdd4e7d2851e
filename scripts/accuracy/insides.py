"""Holds what is known of GPUs' insides against kernels and microbenchmarks."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from functools import cache, partial

from accuracy.rows import Row, Series
from accuracy.tables import STORED, table
from linkwright import GpuSystem
from linkwright.gpu import GpuModel
from linkwright.network_training import training_terms
from linkwright.errors import MachineError

INSIDE = "kernels inside GPUs"
MICROBENCHMARKS = "memory and launches of GPUs"
NO_BENCHMARK = "no benchmark of `linkwright gpu` is that kernel"
# Copies to and from the host are no kernels.
HOST_COPIES = ("memcopy_h2d", "memcopy_d2h")
NO_NUMBER = "the model has no such number"

# Measured with fewer blocks than fill the GPU.
PARTLY_FILLED = ("132 blocks", "32 blocks", "1 block of 1024")


def series() -> Iterator[Series]:
    """Lists kernels and microbenchmarks, a GPU at a time."""
    for name, rows in grouped("gpu-kernels.csv", "kernel").items():
        if name in HOST_COPIES:
            continue
        yield Series(INSIDE, name, partial(map_all, kernel, rows))
    for gpu, rows in grouped("gpu-microbenchmarks.csv", "gpu").items():
        yield Series(MICROBENCHMARKS, gpu, partial(map_all, figure, rows))


def grouped(name: str, column: str) -> dict[str, list[dict[str, str]]]:
    """Reads a table by the values of a column."""
    found: dict[str, list[dict[str, str]]] = {}
    for row in table(STORED / name):
        found.setdefault(row[column], []).append(row)
    return found


def map_all(ask: Callable[[dict[str, str]], Row], rows: list[dict[str, str]]) -> list[Row]:
    """Asks about one row after another."""
    return [ask(row) for row in rows]


def kernel(row: dict[str, str]) -> Row:
    """Asks about a kernel that was run on a whole GPU."""
    facets = {"kernel": row["kernel"]}
    refusal = without_insides(row["gpu"]) or NO_BENCHMARK
    return Row(float(row["microseconds"]) * 1e-6, None, facets, refusal=refusal)


def figure(row: dict[str, str]) -> Row:
    """Asks about a microbenchmark's figure."""
    what = kind_of(row["quantity"], row["unit"])
    expected, refusal = None, without_insides(row["gpu"]) or NO_NUMBER
    if what in NUMBERS:
        try:
            expected, refusal = NUMBERS[what](GpuModel.find(row["gpu"])), ""
        except MachineError as error:
            refusal = error.problem.split(": ")[0]
    facets = {"figure": what, "GPU": row["gpu"]}
    return Row(float(row["value"]), expected, facets, refusal=refusal)


def kind_of(quantity: str, unit: str) -> str:
    """Names the kind of a quantity."""
    if quantity in ("launch of a small kernel after another", "size found of L2"):
        return quantity
    of_memory = "DRAM" in quantity or quantity == "copy inside the GPU"
    if unit == "GB/s" and of_memory and not quantity.endswith(PARTLY_FILLED):
        return "bandwidth of memory"
    kinds = ("latency", "bandwidth", "launch", "size", "granularity", "line", "threads")
    return next(f"{kind} inside the GPU" for kind in kinds if kind in quantity)


@cache
def kernels_reach() -> dict[str, float]:
    """Gives what kernels of today reach, by the terms of training."""
    found: dict[str, float] = tomllib.loads(training_terms())["kernels"]["current"]
    return found


# The model has a number of these kinds.
NUMBERS: dict[str, Callable[[GpuModel], float]] = {
    "launch of a small kernel after another": lambda _: kernels_reach()["least"],
    "size found of L2": lambda gpu: gpu.l2_cache,
    "bandwidth of memory": lambda gpu: gpu.memory_bandwidth * kernels_reach()["memory"],
}


@cache
def without_insides(gpu: str) -> str:
    """Says why no kernel can run inside a GPU; nothing where one can."""
    try:
        GpuSystem(gpu, gpus=1)
    except MachineError as error:
        return error.problem.split(": ")[0]
    return ""
