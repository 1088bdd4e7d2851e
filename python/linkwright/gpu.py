"""Runs kernels inside GPUs, and tells how hot a package becomes.

Examples:
    >>> from linkwright.gpu import GpuModel
    >>> GpuModel.find("h100-sxm5-80gb").memory_kind
    'hbm3'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright._core import (
    Floorplan,
    GpuKernel,
    GpuModel,
    GpuRun,
    GpuSystem,
    ThermalMap,
    gpu_benchmarks,
    gpu_litmus,
    gpu_litmus_tests,
    gpu_models,
)
from linkwright.lazily import lazily

if TYPE_CHECKING:
    from linkwright.runs.thermal.run import Heat, steady_heat
    from linkwright.systems import read_floorplan

__all__ = [
    "Floorplan",
    "GpuKernel",
    "GpuModel",
    "GpuRun",
    "GpuSystem",
    "Heat",
    "ThermalMap",
    "gpu_benchmarks",
    "gpu_litmus",
    "gpu_litmus_tests",
    "gpu_models",
    "read_floorplan",
    "steady_heat",
]

__getattr__, __dir__ = lazily(
    __name__,
    __all__,
    {
        "linkwright.runs.thermal.run": ["Heat", "steady_heat"],
        "linkwright.systems": ["read_floorplan"],
    },
)
