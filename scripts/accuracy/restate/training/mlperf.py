"""Reads MLPerf Training's results, with the layouts of their configurations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from accuracy.restate.training.question import (
    FIT_BY,
    MODELS,
    NO_LAYOUT,
    NO_PRECISION,
    Question,
    asked,
    divided,
)
from accuracy.tables import published

RESULTS = "mlcommons/training_results"

# Models, how they are trained, and the tokens of a sequence.
BENCHMARKS = {
    "llama2_70b_lora": ("llama-2-70b", "LoRA", 8192),
    "llama31_405b": ("llama-3.1-405b", "pre-training", 8192),
    "llama31_8b": ("llama-3.1-8b", "pre-training", 8192),
    "gpt3": ("gpt-3-175b", "pre-training", 2048),
}
# A preset, and how much power its GPUs draw where that is not the preset's.
MACHINES = {
    "H100": ("hgx-h100", None),
    "H200": ("hgx-h200", None),
    # Four of these on bridges have the links of an SXM, and less power.
    "H200 NVL": ("hgx-h200", "600W"),
    "B200": ("hgx-b200", None),
    "B300": ("hgx-b300", None),
    "GB200": ("gb200-nvl72", None),
    "GB300": ("gb300-nvl72", None),
    "MI300X": ("mi300x-8", None),
    "MI325X": ("mi325x-8", None),
    "MI355X": ("mi355x-8", None),
}


def mlperf(folder: Path) -> Iterator[Question]:
    """Lists the results that tell how long a step takes."""
    layouts = published(folder / "mlperf-layouts.csv")
    for row, own in zip(published(folder / "mlperf.csv"), layouts, strict=True):
        model, stage, tokens = BENCHMARKS[row["bench"]]
        found = re.search(r"GB\d00|B\d00|H\d00(-NVL)?|MI\d+X", row["gpu"])
        system = found[0].replace("-", " ") if found else row["gpu"]
        precision = "nvfp4" if own["fp4"] == "True" else "fp8" if own["fp8"] == "True" else ""
        seconds = step_of(row, tokens)
        unasked = reason(own, precision, seconds)
        yield Question(
            source="MLPerf",
            release=row["v"],
            system=system,
            gpus=int(row["gpus"]),
            model=model,
            kind="dense",
            stage=stage,
            precision=precision,
            page=f"{RESULTS}_{row['v']}, {row['sub']}, {row['sys']}",
            asked="" if unasked else told(row, own, system, precision),
            seconds=seconds,
            unasked=unasked,
        )


def step_of(row: Mapping[str, str], tokens: int) -> float | None:
    """Gives the seconds of a step; GPT-3's throughput counts tokens, and all others samples."""
    if row["step"]:
        return float(row["step"])
    if not row["throughput"]:
        return None
    each = tokens if row["bench"] == "gpt3" else 1
    return float(row["global_batch_size"]) * each / float(row["throughput"])


def reason(own: Mapping[str, str], precision: str, seconds: float | None) -> str:
    """Says why a result cannot be asked; nothing where it can."""
    if seconds is None:
        return "states no time of a step"
    if int(own["fitting"]) > 1:
        return f"{FIT_BY} {own['fitting']} configurations"
    if own["fitting"] == "0":
        return f"{FIT_BY} no configuration"
    if not own["tp"]:
        return NO_LAYOUT
    return "" if precision else NO_PRECISION


def told(row: Mapping[str, str], own: Mapping[str, str], system: str, precision: str) -> str:
    """Writes the question of a result."""
    model, stage, tokens = BENCHMARKS[row["bench"]]
    machine, power = MACHINES[system]
    is_lora = stage == "LoRA"
    return asked(
        f"{MODELS}/{model}.json" if row["bench"] == "gpt3" else model,
        machine,
        divided(int(row["gpus"]), **{part: own[part] for part in ("tp", "pp", "vp", "cp")}),
        batch=int(row["global_batch_size"]),
        micro_batch=int(own["mbs"]),
        tokens=tokens,
        precision=precision,
        gradients="bf16",
        # Megatron's distributed optimizer.
        zero=1,
        recompute=f"full:{own['act_layers']}" if own["act_layers"] else None,
        kernels="fused",
        sequence_parallel=int(own["tp"]) > 1,
        # `TP_COMM_OVERLAP` stands in all configurations with parts of layers.
        async_tensor=int(own["tp"]) > 1,
        # Weights that are trained are kept in eight bits alone; frozen ones keep both. LoRA keeps
        # what perceptrons read in eight bits on NVIDIA's GPUs, and AMD's compute blocks again.
        fp8_weights=not is_lora,
        fp8_activations=is_lora and not system.startswith("MI"),
        lora=16 if is_lora else None,
        gpu_power=power,
    )
