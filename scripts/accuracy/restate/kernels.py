"""Writes a sample of kernels that were measured alone, and their errors over all rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from accuracy.kernels import GROUPS, SAMPLE_FILE, Kernel, group_rows
from accuracy.restate.collectives import CONFIGURATOR
from accuracy.tables import published, write_table

# One row of the sample stands for as many of the file.
STRIDE = 24
GPUS = {
    "a100_sxm": ("A100-SXM4-80GB", "vllm/0.14.0"),
    "h100_sxm": ("H100-SXM5-80GB", "vllm/0.24.0"),
    "b200_sxm": ("B200-SXM6-180GB", "vllm/0.24.0"),
}
FILES = {
    "gemm": "product",
    "context-attention": "attention",
    "generation-attention": "attention of a new token",
    "moe": "experts",
}


def kernels(folder: Path) -> None:
    """Writes the sample, and asks about all rows once to write the errors of groups."""
    rows = list(every_kernel(folder))
    sample = [row for _, row, at in rows if at % STRIDE == 0]
    write_table(
        SAMPLE_FILE,
        f"Kernels alone: each {STRIDE}th row of each published table. A shape is rows x columns x\n"
        "depth of a product; samples x tokens x heads x heads of keys x head width of attention.\n"
        f"The sources are folders of {CONFIGURATOR}.",
        sample,
    )
    write_table(
        GROUPS,
        "Errors over all published rows of kernels, as they were when these tables were restated.",
        group_rows([kernel for kernel, _, _ in rows]),
    )


def every_kernel(folder: Path) -> Iterator[tuple[Kernel, dict[str, str], int]]:
    """Reads every kernel, with its line of our table and its place in the file."""
    for system, (gpu, release) in GPUS.items():
        for name, kind in FILES.items():
            path = folder / "kernels" / f"{system}-{name}.csv"
            for at, row in enumerate(published(path)):
                numbers, shape = told(kind, row)
                line = {
                    "kind": kind,
                    "gpu": gpu,
                    "numbers": numbers,
                    "shape": shape,
                    "microseconds": f"{float(row['latency']) * 1e3:.5g}",
                    "source": f"{system}/{release}",
                }
                yield Kernel.of(line), line, at


def told(kind: str, row: dict[str, str]) -> tuple[str, str]:
    """Gives the numbers of a kernel and its shape."""
    if kind == "product":
        return short(row["gemm_dtype"]), f"{row['m']}x{row['n']}x{row['k']}"
    if kind == "experts":
        names = ("num_tokens", "hidden_size", "inter_size", "topk", "num_experts")
        return short(row["moe_dtype"]), "x".join(row[name] for name in names)
    names = ("batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim")
    numbers = short(row["attn_dtype"])
    if row["kv_cache_dtype"] != row["attn_dtype"]:
        numbers += f", keys in {short(row['kv_cache_dtype'])}"
    if row.get("window_size", "0") != "0":
        numbers += ", a window"
    shape = "x".join(row[name] for name in names)
    return numbers, f"{shape} after {row['step']}" if row["step"] != "0" else shape


def short(name: str) -> str:
    """Names numbers as Linkwright does."""
    return name.replace("bfloat16", "bf16").replace("_", " ")
