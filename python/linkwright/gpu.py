"""Kernels inside GPUs: of one's own, and what runs them.

>>> from linkwright import gpu
>>> kernel = gpu.Kernel("copy")
>>> kernel.buffer("a", 256, data=range(64))
>>> kernel.load(0, "a", record="x")
>>> run = gpu.System(gpus=2, memory="tsm-wt-c-rc").run(kernel)
>>> [row["value"] for row in run.loads()][:4]
[0, 1, 2, 3]
"""

from __future__ import annotations

from linkwright import GpuKernel as Kernel
from linkwright import GpuRun as Run
from linkwright import GpuSystem as System
from linkwright import gpu_benchmarks as benchmarks
from linkwright import gpu_litmus as litmus
from linkwright import gpu_litmus_tests as litmus_tests

__all__ = ["Kernel", "Run", "System", "benchmarks", "litmus", "litmus_tests"]
