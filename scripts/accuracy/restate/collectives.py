"""Writes public logs of nccl-tests as our tables."""

from __future__ import annotations

from pathlib import Path

from accuracy.tables import published, write_table

CONFIGURATOR = "ai-dynamo/aiconfigurator, src/aiconfigurator/systems/data"

# Names of GPUs there, and the preset that has them.
THREADS = {
    "a100_sxm": ("A100", "dgx-a100"),
    "h100_sxm": ("H100", "hgx-h100"),
    "b200_sxm": ("B200", "hgx-b200"),
    "gb200": ("GB200", "gb200-nvl72"),
    "l40s": ("L40S", "8x-l40s"),
}

# Names of systems there: ours, and the preset; none where no preset is such a server.
LOGS = {
    "B200 x8 x2": ("16 B200, 2 servers", "hgx-b200"),
    "A100 x8 x2, 16x100G RoCE": ("16 A100, 2 servers, 1,600 Gb/s each", "dgx-a100"),
    "A100 x8": ("8 A100, one process", "dgx-a100"),
    "GB200 x4 ring (one tray)": ("4 GB200, one process, ring only", "gb200-nvl72"),
    "MI300X x8": ("8 MI300X", "mi300x-8"),
    "A100 x8 x3, 4 HDR (800 Gb/s a server)": (
        "24 A100, 3 servers, 800 Gb/s each, set-up partly guessed",
        "dgx-a100",
    ),
    "A100 PCIe 4 GPUs, NV12 pairs, 4 NUMA": ("4 A100 on PCIe, bridges in pairs", ""),
}


# Sources there, with the path where a reader finds them.
SOURCES = {
    "microsoft/superbenchmark test of nccl-bw, 2021, -g 8": "microsoft/superbenchmark, "
    "tests/benchmarks/micro_benchmarks/test_cuda_nccl_bw_performance.py",
    "Azure/AI-benchmarking-guide ND_GB200_v6 (in-place busbw, Ring)": "Azure/AI-benchmarking-guide,"
    " Azure_Results/ND_GB200_v6_results.md, in place",
    "oracle-quickstart/oci-hpc-oke README, BM.GPU4.8": "oracle-quickstart/oci-hpc-oke, README.md",
    "dstack GCP A4 example, 8 CX-7 RoCE": "dstackai/dstack, its example of clusters on GCP A4",
}


def threads(folder: Path) -> None:
    """Writes a line for each series of one process with a thread for each GPU."""
    names = ("label", "machine", "gpus", "collective", "numbers", "nccl", "source")
    found: dict[tuple[str, ...], dict[int, str]] = {}
    for row in published(folder / "nccl" / "one-server.csv"):
        gpu, machine = THREADS[row["gpu"]]
        # 342 rows record no release; the folder says which it was filed under.
        nccl = row["nccl"] or row["folder"]
        source = f"{CONFIGURATOR}/{row['gpu']}/nccl/{row['folder']}/nccl_perf.txt"
        label = f"{row['ngpus']} {gpu}"
        what = (label, machine, row["ngpus"], row["collective"], row["dtype"], nccl, source)
        found.setdefault(what, {})[int(row["size_bytes"])] = f"{float(row['time_us']):g}"
    sizes = sorted({size for times in found.values() for size in times})
    write_table(
        "nccl-threads.csv",
        "nccl-tests with one process, a thread for each GPU: microseconds of each size in bytes,\n"
        "medians where a size was measured more than once.",
        [
            dict(zip(names, what, strict=True)) | {str(size): times.get(size, "") for size in sizes}
            for what, times in found.items()
        ],
    )


def logs(folder: Path) -> None:
    """Writes the lines that nccl-tests printed on whole systems, in public logs."""
    rows = []
    for row in published(folder / "nccl" / "public-logs.csv"):
        label, machine = LOGS[row["system"]]
        rows.append(
            {
                "label": label,
                "machine": machine,
                "servers": row["servers"],
                "network": row["network"],
                "gpus": row["ngpus"],
                "collective": row["collective"],
                "nccl": row["nccl"],
                "processes": row["processes"],
                "algorithm": row["extra"],
                "bytes": row["size_bytes"],
                "microseconds": row["time_us"],
                "source": SOURCES.get(row["source"], row["source"]),
            }
        )
    write_table(
        "nccl-logs.csv",
        "Public logs of nccl-tests, where each rank is a process or one process has all GPUs.",
        rows,
    )
