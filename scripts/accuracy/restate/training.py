"""Writes published steps of training as our table, each with its setting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from accuracy.tables import published, write_table

FOUNDRY = "mosaicml/llm-foundry, scripts/train/benchmarking/README.md"
BRIDGE = "NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary.md"
MLPERF = "mlcommons/training_results"
SIMUMAX = "MooreThreads/SimuMax, docs/b200/b200_release_v1.2_summary.md"
TITAN = "pytorch/torchtitan, benchmarks/llama3_h100_202412_torchtitan.md"

FOUNDRY_GPUS = {
    "a100_40gb": "A100-SXM4-40GB",
    "a100_80gb": "A100-SXM4-80GB",
    "h100_80gb": "H100-SXM5-80GB",
}
BRIDGE_GPUS = {
    "DGX-H100": "H100-SXM5-80GB",
    "DGX-B200": "B200-SXM6-180GB",
    "DGX-GB200": "GB200-186GB",
}
# Rows that the authors of the tables hold to be wrong: model, GPUs, GPU, tokens a second.
FAULTY = {("1b", "32", "a100_40gb", "15555"), ("760m", "8", "h100_80gb", "63147")}
MLPERF_MODELS = {
    "llama2_70b_lora": ("llama2-70b", "LoRA", 8192),
    "llama31_8b": ("llama3-8b", "pre-training", 8192),
    "llama31_405b": ("llama3-405b", "pre-training", 8192),
    "gpt3": ("gpt3-175b", "pre-training", 2048),
}
SIMUMAX_MODELS = {"llama3": "dense", "deepseekv2": "experts", "deepseekv3": "experts"}
# torchtitan's tables of Llama 3.1 8B on 8 H100. A row has layout, precision, recomputation, tokens
# of a sequence, sequences of a GPU, and tokens a second of a GPU.
TITAN_ROWS = [
    ("fsdp 8", "bf16", "selective", 8192, 2, 5762),
    ("fsdp 8, compiled", "bf16", "selective", 8192, 2, 6667),
    ("fsdp 8, compiled", "fp8", "selective", 8192, 2, 8532),
    ("fsdp 8, compiled", "fp8", "full", 32768, 1, 3890),
    ("fsdp 4 cp 2, compiled", "fp8", "full", 65536, 1, 2540),
    ("fsdp 2 cp 4, compiled", "fp8", "full", 131072, 1, 1071),
    ("fsdp 1 cp 8, compiled", "fp8", "full", 262144, 1, 548),
]


def steps(folder: Path) -> None:
    """Writes a line for each step that was published."""
    own = folder / "training"
    makers = (foundry(own), titan(), bridge(own), mlperf(own), simumax(own))
    rows = [{name: str(value) for name, value in row.items()} for made in makers for row in made]
    write_table(
        "training-steps.csv",
        "Published steps of training: samples of all GPUs, samples that a GPU computes at once,\n"
        "and seconds of a step. Precision is empty where nobody told it.",
        rows,
    )


def foundry(folder: Path) -> Iterator[dict[str, object]]:
    """Reads MPT under FSDP, which llm-foundry's authors measured."""
    for row in published(folder / "llm-foundry.csv"):
        key = row["Model"], row["# GPUs"], row["GPU"], row["Throughput (T/s/GPU)"]
        mixed = row["MP Mode"] == "DEFAULT"
        samples, tokens = int(row["GlobalBatchSize"]), int(row["SeqLen (T)"])
        yield {
            "model": f"mpt-{row['Model']}",
            "kind": "dense",
            "stage": "pre-training",
            "gpu": FOUNDRY_GPUS[row["GPU"]],
            "gpus": row["# GPUs"],
            "layout": f"fsdp {row['# GPUs']}",
            "precision": row["Precision"].removeprefix("amp_"),
            "gradients": "fp32" if mixed else "bf16",
            "recomputation": "full" if row["Activation Checkpointing"] == "True" else "none",
            "tokens": tokens,
            "samples": samples,
            "at_once": row["MicroBatchSize"],
            "seconds": seconds(samples * tokens, float(row["Throughput (T/s)"])),
            "faulty": "yes" if key in FAULTY else "",
            "source": FOUNDRY,
        }


def titan() -> Iterator[dict[str, object]]:
    """Reads torchtitan's tables of one model on one server."""
    for layout, precision, recomputation, tokens, at_once, rate in TITAN_ROWS:
        ranks = int(layout.split()[1].rstrip(","))
        yield {
            "model": "llama3-8b",
            "kind": "dense",
            "stage": "pre-training",
            "gpu": "H100 of 96 GB, 500 W",
            "gpus": 8,
            "layout": layout,
            "precision": precision,
            "gradients": "fp32",
            "recomputation": recomputation,
            "tokens": tokens,
            "samples": at_once * ranks,
            "at_once": at_once,
            "seconds": seconds(tokens * at_once * ranks / 8, rate),
            "faulty": "",
            "source": TITAN,
        }


def bridge(folder: Path) -> Iterator[dict[str, object]]:
    """Reads Megatron-Bridge's summaries, release by release."""
    for row in published(folder / "megatron-bridge.csv"):
        model = row["model"].lower().replace(" ", "-").replace("_", "-")
        samples, tokens = int(row["GBS"]), int(row["Sequence Length"])
        rate = float(row["Tokens / sec / GPU"]) * int(row["#-GPUs"])
        fsdp = row["FSDP"] if row["FSDP"] not in ("", "0") else "1"
        parts = {name: row[name.upper()] for name in ("tp", "pp", "cp", "vp", "ep")}
        yield {
            "model": model,
            "kind": "dense" if model.startswith("llama") else "experts",
            "stage": row["stage"].replace("Pre-Training", "pre-training"),
            "gpu": BRIDGE_GPUS[row["System"]],
            "gpus": row["#-GPUs"],
            "layout": layout_of({"fsdp": fsdp, **parts}),
            "precision": row["Precision"].lower(),
            "gradients": "",
            "recomputation": "",
            "tokens": tokens,
            "samples": samples,
            "at_once": row["MBS"],
            "seconds": seconds(samples * tokens, rate),
            "faulty": "",
            "source": f"{BRIDGE}, {row['release']}",
        }


def mlperf(folder: Path) -> Iterator[dict[str, object]]:
    """Reads MLPerf Training's results that tell a step."""
    layouts = list(published(folder / "mlperf-layouts.csv"))
    for row, layout in zip(published(folder / "mlperf.csv"), layouts, strict=True):
        model, stage, tokens = MLPERF_MODELS[row["bench"]]
        samples = int(float(row["global_batch_size"]))
        rate = float(row["throughput"]) if row["throughput"] else None
        if row["step"]:
            time = f"{float(row['step']):.6g}"
        elif rate:
            # GPT-3's throughput is of tokens.
            time = seconds(samples * (tokens if row["bench"] == "gpt3" else 1), rate)
        else:
            continue
        known = layout["tp"] != ""
        parts = {name: layout[name] for name in ("tp", "pp", "cp", "vp")}
        yield {
            "model": model,
            "kind": "dense",
            "stage": stage,
            "gpu": row["gpu"],
            "gpus": row["gpus"],
            "layout": layout_of(parts) if known else "",
            "precision": "fp4"
            if layout["fp4"] == "True"
            else "fp8"
            if layout["fp8"] == "True"
            else "",
            "gradients": "",
            "recomputation": "",
            "tokens": tokens,
            "samples": samples,
            "at_once": layout["mbs"],
            "seconds": time,
            "faulty": "",
            "source": f"{MLPERF}_{row['v']}, {row['sub']}, {row['sys']}",
        }


def simumax(folder: Path) -> Iterator[dict[str, object]]:
    """Reads SimuMax's measurements of models that were cut to a few layers, on 8 B200."""
    for row in published(folder / "simumax-b200.csv"):
        parts = row["case"].split("_")
        told = dict(split(part) for part in parts if part[-1:].isdigit())
        model = "-".join([parts[0], *(part for part in parts if part.endswith("b"))])
        tokens = int(told.get("seq", "4096"))
        ranks = int(told["dp"])
        yield {
            "model": f"{model}-{told['l']}-layers",
            "kind": SIMUMAX_MODELS[parts[0]],
            "stage": "pre-training",
            "gpu": "B200-SXM6-180GB",
            "gpus": 8,
            "layout": layout_of({name: told.get(name, "1") for name in ("tp", "pp", "cp", "ep")}),
            "precision": "bf16",
            "gradients": "fp32",
            "recomputation": "none",
            "tokens": tokens,
            "samples": int(told["mbc"]) * ranks,
            "at_once": 1,
            "seconds": f"{float(row['measured_ms']) / 1e3:.6g}",
            "faulty": "",
            "source": SIMUMAX,
        }


def split(part: str) -> tuple[str, str]:
    """Takes a name and the number behind it apart."""
    name = part.rstrip("0123456789")
    return name, part[len(name) :]


def layout_of(parts: dict[str, str]) -> str:
    """Names the layout by every part that has more than one GPU."""
    own = [f"{name} {value}" for name, value in parts.items() if value.isdigit() and value != "1"]
    return " ".join(own) or "data parallel"


def seconds(tokens: float, rate: float) -> str:
    """Gives the time of a step as a text."""
    return f"{tokens / rate:.6g}"
