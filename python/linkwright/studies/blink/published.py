"""Reads Blink's published numbers and others' measurements from `validation/`."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from linkwright.studies.published import read_published

__all__ = ["Benchmark", "benchmarks", "measured_pcie", "published"]


@dataclass(frozen=True)
class Benchmark:
    """A network that was trained on one GPU.

    Attributes:
        machine: Holds the GPU.
        network: Is trained.
        samples: Counts the pictures of a step.
        rate: Counts the pictures of a second, as measured.
    """

    machine: str
    network: str
    samples: int
    rate: float


@cache
def published() -> dict[str, Any]:
    """Returns the numbers by entry: value, unit, source and remark."""
    return read_published(__package__)


@cache
def measured_pcie() -> tuple[float, str]:
    """The bus bandwidth that NCCL reached over a DGX-1V's PCIe, in GB/s, and who says so.

    It is that of an all-reduce on four GPUs that no ring of NVLinks joins.
    """
    text = files(__package__).joinpath("nccl-tests.csv").read_text(encoding="utf-8")
    [row] = [row for row in csv.DictReader(text.splitlines()) if "no ring" in row["system"]]
    return float(row["busbw_GBps"]), row["source"]


@cache
def benchmarks() -> tuple[Benchmark, ...]:
    """Lists networks as TensorFlow's benchmarks of 2017 trained them on one GPU of a DGX-1."""
    text = files(__package__).joinpath("benchmarks.csv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return tuple(
        Benchmark(
            machine=row["machine"],
            network=row["network"],
            samples=int(row["samples"]),
            rate=float(row["pictures_per_second"]),
        )
        for row in csv.DictReader(lines)
    )
