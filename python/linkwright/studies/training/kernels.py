"""Kernels on truly shared memory, access by access, beside what training takes for their bytes."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

from linkwright import GpuSystem
from linkwright.names import BenchmarkName
from linkwright.recipes import SHARED_MEMORY
from linkwright.studies.tables import Cell, StudyTable

__all__ = ["KERNELS", "Agreement", "agreement", "compared"]

GPUS = 4
LINE = 64
# Benchmark, size, GB/s of a GPU. The first three are bound by their links.
KERNELS: tuple[tuple[BenchmarkName, int, float], ...] = (
    ("relu", 1 << 20, 8.0),
    ("conv", 1024, 8.0),
    ("mm", 512, 4.0),
    ("relu", 1 << 20, 32.0),
    ("conv", 1024, 32.0),
    ("mm", 512, 32.0),
)


@dataclass(frozen=True)
class Agreement:
    """Holds a kernel's seconds, and those of the same bytes in training."""

    kernel: float
    training: float
    read: int
    written: int

    @property
    def ratio(self) -> float:
        """Gives the kernel's time over training's."""
        return self.kernel / self.training


@cache
def compared(benchmark: BenchmarkName, size: int, bandwidth: float) -> Agreement:
    """Runs a kernel on all GPUs of a package."""
    system = GpuSystem(gpus=GPUS, memory=SHARED_MEMORY, shared_bandwidth=bandwidth, code=False)
    run = system.play(benchmark, size, data=False)
    channels = list(run.channels())
    read, written = (sum(row[what] for row in channels) * LINE for what in ("reads", "writes"))
    training = system.shared_time(read // GPUS, written // GPUS)
    # Training counts the driver's launch apart.
    driver = tomllib.loads(system.model.to_toml())["hierarchy"]["driver"]
    alone = run.kernel_time - driver["launch"] * system.cycle
    return Agreement(alone, training, read, written)


def agreement() -> StudyTable:
    """Makes the table of both."""
    table: list[tuple[Cell, ...]] = []
    for benchmark, size, bandwidth in KERNELS:
        found = compared(benchmark, size, bandwidth)
        moved = (found.read / 1e6, found.written / 1e6)
        times = (found.kernel * 1e6, found.training * 1e6, found.ratio)
        table.append((f"{benchmark} {size:,}", bandwidth, *moved, *times))
    return StudyTable(
        title=f"Kernels on four R9 Nanos ({SHARED_MEMORY}), and training's time for the same bytes",
        columns=(
            "kernel", "GB/s", "MB read", "MB written", "gpu run (µs)", "training (µs)", "ratio"
        ),
        rows=tuple(table),
        formats=("", ".0f", ".2f", ".2f", ",.1f", ",.1f", ".2f"),
    )  # fmt: skip
