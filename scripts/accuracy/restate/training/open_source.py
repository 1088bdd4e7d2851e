"""Reads llm-foundry's, torchtitan's and SimuMax's measured steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from accuracy.restate.training.question import MODELS, OFFLOADS, Question, asked, divided
from accuracy.tables import published

FOUNDRY = "mosaicml/llm-foundry, scripts/train/benchmarking/README.md"
SIMUMAX = "MooreThreads/SimuMax, docs/b200/b200_release_v1.2_summary.md"
TITAN = "pytorch/torchtitan, benchmarks/llama3_h100_202412_torchtitan.md"

# A preset, its GPUs, and their memory where it is not the preset's.
FOUNDRY_GPUS = {
    "a100_40gb": ("dgx-a100", "A100 of 40 GB", None),
    "a100_80gb": ("dgx-a100", "A100 of 80 GB", "80GiB"),
    "h100_80gb": ("hgx-h100", "H100", None),
}
# Rows that do not fit the others beside them: model, GPUs, GPU, tokens a second of a GPU.
FAULTY = {("1b", "32", "a100_40gb", "15555"), ("760m", "8", "h100_80gb", "63147")}
WRONG = "is faulty beside its neighbours"
# The authors say so of torchtitan's GPUs.
TITAN_GPUS = {"gpu_memory": "96GB", "gpu_power": "500W", "gpu_bandwidth": "2.4TB/s"}
# Models that SimuMax cut to a few layers, and whether they have experts.
SIMUMAX_MODELS = {
    "llama3_70b": ("llama-3-70b-12-layers", "dense"),
    "llama3_405b": ("llama-3-405b-4-layers", "dense"),
    "deepseekv2": ("deepseek-v2-4-layers", "experts"),
    "deepseekv3": ("deepseek-v3-4-layers", "experts"),
}


def foundry(folder: Path) -> Iterator[Question]:
    """Lists MPT of all sizes by FSDP."""
    for row in published(folder / "llm-foundry.csv"):
        gpus, tokens, batch = (
            int(row[name]) for name in ("# GPUs", "SeqLen (T)", "GlobalBatchSize")
        )
        machine, system, memory = FOUNDRY_GPUS[row["GPU"]]
        precision = row["Precision"].removeprefix("amp_")
        model = f"mpt-{row['Model']}"
        key = row["Model"], row["# GPUs"], row["GPU"], row["Throughput (T/s/GPU)"]
        question = asked(
            model,
            machine,
            f"fsdp={gpus}",
            batch=batch,
            micro_batch=row["MicroBatchSize"],
            tokens=tokens,
            precision=precision,
            # `PURE` keeps all in 16 bits; `DEFAULT` reduces gradients in 32.
            gradients="bf16" if row["MP Mode"] == "PURE" else None,
            recompute="full" if row["Activation Checkpointing"] == "True" else None,
            gpu_memory=memory,
        )
        yield Question(
            source="llm-foundry",
            release="",
            system=system,
            gpus=gpus,
            model=model,
            kind="dense",
            stage="pre-training",
            precision=precision,
            page=FOUNDRY,
            asked=question,
            seconds=batch * tokens / float(row["Throughput (T/s)"]),
            unasked=OFFLOADS if row["Activation CPUOffload"] == "True" else "",
            left_out=WRONG if key in FAULTY else "",
        )


def torchtitan(folder: Path) -> Iterator[Question]:
    """Lists Llama 3.1 8B on eight GPUs; the jobs of the second table are compiled, in `fp8`."""
    text = (folder / "torchtitan-llama3-8b-8-h100.md").read_text(encoding="utf-8")
    for line in re.findall(r"^\| (FSDP.*) \|$", text, re.MULTILINE):
        cells = [cell.strip() for cell in line.split("|")]
        rate, memory = float(cells[-2].replace(",", "")), float(cells[-1])
        parts = re.fullmatch(r"FSDP (\d+), CP (\d+)", cells[0])
        fsdp, cp = (int(parts[1]), int(parts[2])) if parts else (8, 1)
        precision = "fp8" if parts or "Float8" in cells[0] else "bf16"
        micro_batch, tokens = (1, int(cells[1])) if parts else (2, 8192)
        question = asked(
            "llama-3.1-8b",
            "hgx-h100",
            f"fsdp={fsdp},cp={cp}" if cp > 1 else f"fsdp={fsdp}",
            batch=micro_batch * fsdp,
            micro_batch=micro_batch,
            tokens=tokens,
            precision=precision,
            recompute="full" if parts else "selective-op",
            kernels="compiled" if parts or "compile" in cells[0] else "eager",
            # PyTorch gathers keys and values unless told otherwise.
            context="all-gather" if cp > 1 else None,
            # The groups of a sequence divide weights, too.
            zero=3,
            order="torchtitan",
            **TITAN_GPUS,
        )
        yield Question(
            source="torchtitan",
            release="",
            system="H100 of 96 GB and 500 W",
            gpus=8,
            model="llama-3.1-8b",
            kind="dense",
            stage="pre-training",
            precision=precision,
            page=TITAN,
            asked=question,
            seconds=tokens * micro_batch * fsdp / 8 / rate,
            reserved=memory,
        )


def simumax(folder: Path) -> Iterator[Question]:
    """Lists models that were cut to a few layers, with what SimuMax said of each."""
    for row in published(folder / "simumax-b200.csv"):
        case = row["case"]
        name = next(name for name in SIMUMAX_MODELS if case.startswith(name))
        model, kind = SIMUMAX_MODELS[name]
        numbers = {key: int(count) for key, count in re.findall(r"_([a-z]+)(\d+)", case)}
        parts = {part: numbers[part] for part in ("tp", "pp", "cp", "ep") if part in numbers}
        question = asked(
            f"{MODELS}/{model}.json",
            "hgx-b200",
            divided(8, **parts),
            batch=numbers["dp"] * numbers["mbc"],
            micro_batch=1,
            tokens=numbers.get("seq", 4096),
            zero=1,
            sequence_parallel=numbers["tp"] > 1,
            # Its guide to repeat the runs says so.
            context="all-to-all" if "cp" in numbers else None,
            capacity_factor=1 if kind == "experts" else None,
        )
        yield Question(
            source="SimuMax",
            release="v1.2",
            system="B200",
            gpus=8,
            model=model,
            kind=kind,
            stage="pre-training",
            precision="bf16",
            page=SIMUMAX,
            asked=question,
            seconds=float(row["measured_ms"]) * 1e-3,
            other_seconds=float(row["simumax_ms"]) * 1e-3,
            reserved=float(row["measured_GiB"]),
        )
