"""Writes a sample of kernels that were measured alone, and their errors over all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
    "gemm": "gemm",
    "context-attention": "attention",
    "generation-attention": "decode",
    "moe": "experts",
}
NUMBERS = {"bfloat16": "bf16", "fp8_block": "fp8-block"}


def kernels(folder: Path) -> None:
    """Writes the sample, and asks about all rows once to write the errors of groups."""
    rows = list(every_kernel(folder))
    sample = [row.line for row in rows if row.at % STRIDE == 0]
    write_table(
        SAMPLE_FILE,
        f"Kernels alone: each {STRIDE}th row of each published table. Shapes are texts of\n"
        "`train --kernel`.\n"
        f"The sources are folders of {CONFIGURATOR}.",
        sample,
    )
    write_table(
        GROUPS,
        "Errors over all published rows of kernels, as they were when these tables were restated.",
        group_rows([row.kernel for row in rows]),
    )


@dataclass(frozen=True)
class Published:
    """Holds a published row: its kernel, its line in our table, its place, and whose it was."""

    kernel: Kernel
    line: dict[str, str]
    at: int
    engine: str


def every_kernel(folder: Path) -> Iterator[Published]:
    """Reads every kernel of the published tables."""
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
                engine = f"{row['op_name']}/{row['kernel_source']}"
                yield Published(Kernel.of(line), line, at, engine)


def told(kind: str, row: dict[str, str]) -> tuple[str, str]:
    """Gives the numbers of a kernel and its shape."""
    if kind == "gemm":
        return short(row["gemm_dtype"]), f"{row['m']}x{row['n']}x{row['k']}"
    if kind == "experts":
        return short(row["moe_dtype"]), of_experts(row)
    return short(row["attn_dtype"]), of_attention(row, is_new=kind == "decode")


def of_attention(row: dict[str, str], *, is_new: bool) -> str:
    """Writes the shape of attention: within sequences, or of a token behind others."""
    tokens = int(row["isl"]) + (int(row["step"]) if is_new else 0)
    parts = {
        "batch": row["batch_size"],
        "tokens": tokens,
        "heads": row["num_heads"],
        "kv-heads": row["num_key_value_heads"],
        "head": row["head_dim"],
        "window": row.get("window_size", "0"),
        "cache": short(row["kv_cache_dtype"]),
    }
    return ",".join(f"{name}={value}" for name, value in parts.items())


def of_experts(row: dict[str, str]) -> str:
    """Writes the shape of experts."""
    parts = {
        "tokens": row["num_tokens"],
        "hidden": row["hidden_size"],
        "inner": row["inter_size"],
        "top": row["topk"],
        "experts": row["num_experts"],
        "ep": row["moe_ep_size"],
        "tp": row["moe_tp_size"],
        "draw": row["distribution"].replace("power_law_", "power-law:"),
    }
    return ",".join(f"{name}={value}" for name, value in parts.items())


def short(name: str) -> str:
    """Names numbers as Linkwright does."""
    return NUMBERS.get(name, name)
