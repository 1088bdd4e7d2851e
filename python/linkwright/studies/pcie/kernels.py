"""How long the kernels take: preset times, and those that the model inside GPUs gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from linkwright import GpuSystem
from linkwright.names import BenchmarkName
from linkwright.studies.pcie.published import published

__all__ = ["SIMULATED", "Kernels", "Simulated", "launch_time", "preset", "simulated", "size_of"]

# Microseconds by Table 1's abbreviations.
Kernels = Mapping[str, float]

# Of a channel's table: copies count lines.
LINE = 64


@dataclass(frozen=True)
class Simulated:
    """Stands for a workload inside a GPU.

    Attributes:
        benchmark: Its name.
        sizes: The size that copies what Table 1 says; or, if none does, that below and that above.
        unit: The unit of a size.
    """

    benchmark: BenchmarkName
    sizes: tuple[int, ...]
    unit: str


# Of sizes there are but multiples, so that some copy up to 2.4 % more than Table 1 says.
SIMULATED = {
    "RL": Simulated("relu", (8_000,), "elements"),
    "MP": Simulated("max-pooling", (128,), "rows"),
    "AES": Simulated("aes", (65_536,), "bytes"),
    "MM": Simulated("mm", (128,), "rows"),
    "KS": Simulated("k-means", (1_024,), "points"),
    "FIR": Simulated("fir", (64_000,), "elements"),
    "SC": Simulated("conv", (256, 320), "rows"),
    "MT": Simulated("mt", (512,), "rows"),
}


def size_of(name: str) -> int:
    """Bytes that an iteration copies, of Table 1."""
    kilobytes: float = published()["workloads"][name]
    return round(kilobytes * 1000)


def preset() -> dict[str, float]:
    """Gives the times of MGPUSim v4.2.0, which the study plays unless it says otherwise."""
    entry = published()["kernels"]
    return {name: float(entry[name]) for name in SIMULATED}


def launch_time() -> float:
    """Microseconds of the smallest kernel that there is: of a launch, for the most part."""
    return _run("relu", 64)[1]


@cache
def simulated() -> dict[str, float]:
    """Returns the times of the same kernels inside a GPU of Linkwright's own model."""
    return {name: _time(size_of(name), each) for name, each in SIMULATED.items()}


def _time(size: int, kernel: Simulated) -> float:
    """Of a kernel at a size between two, by the bytes that are copied for these."""
    ends = [_run(kernel.benchmark, each) for each in kernel.sizes]
    if len(ends) == 1:
        return ends[0][1]
    (less, sooner), (more, later) = ends
    # As precise as a simulation of picoseconds.
    return round(sooner + (later - sooner) * (size - less) / (more - less), 6)


def _run(benchmark: BenchmarkName, size: int) -> tuple[int, float]:
    """Bytes copied in, and microseconds of kernels: without copies, and without writing back."""
    # The time is the same with data, and is found sooner without. Code that is known is in the
    # caches of instructions, as in the many launches of an application that runs on and on.
    run = GpuSystem("r9-nano", gpus=1, code=False).play(benchmark, size, data=False)
    copied = sum(row["copied_in"] for row in run.channels()) * LINE
    seconds = sum(row["time"] for row in run.steps() if row["step"] == "kernel")
    return copied, round(seconds * 1e6, 6)
