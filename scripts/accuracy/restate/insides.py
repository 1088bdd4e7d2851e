"""Writes kernels that ran on whole GPUs, and microbenchmarks, as our tables."""

from __future__ import annotations

from pathlib import Path

from accuracy.tables import published, write_table

MGPUSIM = "sarchlab/mgpusim v4.2.0, gpu_perf_scripts"
GPUS = {
    "A100-SXM-80GB": "a100-sxm4-80gb",
    "A100-SXM-40GB": "a100-sxm4-40gb",
    "A100-PCIe-40GB": "a100-pcie-40gb",
    "H100-PCIe": "h100-pcie-80gb",
    "H100-SXM-80GB": "h100-sxm5-80gb",
    "H100-NVL": "h100-nvl",
    "MI300A": "mi300a",
}


def kernels(folder: Path) -> None:
    """Writes a line for each kernel on an MI300A: the mean of its runs in the first session."""
    rows = [
        {
            "gpu": "mi300a",
            "kernel": row["kernel_name"],
            "size": row["problem_size"],
            "setting": row["setting"],
            "launches": row["launches"],
            "microseconds": f"{float(row['avg_ms']) * 1e3:g}",
            "again_microseconds": f"{float(row['again_avg_ms']) * 1e3:g}"
            if row["again_avg_ms"]
            else "",
            "source": MGPUSIM,
        }
        for row in published(folder / "gpu" / "mi300a-kernels.csv")
    ]
    about = "Kernels on one MI300A, means of their runs in one session and in another."
    write_table("gpu-kernels.csv", about, rows)


def microbenchmarks(folder: Path) -> None:
    """Writes a line for each figure of a microbenchmark."""
    rows = [
        {
            "gpu": GPUS[row["gpu"]],
            "quantity": row["quantity"],
            "value": row["value"],
            "unit": row["unit"],
            "source": row["source"],
        }
        for row in published(folder / "gpu" / "microbenchmarks.csv")
    ]
    about = "Figures of microbenchmarks; their methods differ, and so do the figures of one thing."
    write_table("gpu-microbenchmarks.csv", about, rows)
