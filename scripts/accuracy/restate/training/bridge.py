"""Reads Megatron-Bridge's measured steps, and the recipes that say what these compute again."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from accuracy.restate.training.question import (
    MAMBA,
    NO_LAYOUT,
    NO_RECOMPUTATION,
    OFFLOADS,
    PRECISIONS,
    Question,
    asked,
    divided,
)
from accuracy.tables import published

MEASURED = "NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary.md"
RECIPES = "NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/recipes"

MODELS = {
    "gpt_oss_120b": ("gpt-oss-120b", "experts"),
    "qwen3_30b_a3b": ("qwen3-30b-a3b", "experts"),
    "llama3_70b": ("llama-3.1-70b", "dense"),
}
MACHINES = {
    "h100": "hgx-h100",
    "b200": "hgx-b200",
    "b300": "hgx-b300",
    "gb200": "gb200-nvl72",
    "gb300": "gb300-nvl72",
}
STAGES = {"pretrain": "pre-training", "sft": "SFT", "peft": "LoRA"}
# GPT-OSS at 18,304 tokens a second, which the authors call a regression.
REGRESSION = "gpt-oss-note"


def measured(folder: Path) -> Iterator[Question]:
    """Lists the measured steps, release by release."""
    known = list(published(folder / "megatron-bridge-recipes.csv"))
    for row in published(folder / "megatron-bridge.csv"):
        gpus, rate = int(row["#-GPUs"]), float(row["Tokens / sec / GPU"])
        job = {
            "model": row["model"].lower().replace(" ", "_"),
            "stage": {"Pre-Training": "pretrain", "SFT": "sft", "LoRA": "peft"}[row["stage"]],
            "gpus": row["#-GPUs"],
            "system": row["System"].removeprefix("DGX-").lower(),
            "precision": {"fp8": "fp8cs", "mxfp8": "fp8mx"}.get(
                row["Precision"].lower(), row["Precision"].lower()
            ),
        }
        parts = {part: row[part.upper()] for part in ("tp", "pp", "vp", "cp", "ep")}
        if row["FSDP"] not in ("", "0"):
            parts["fsdp"] = row["FSDP"]
        own = [recipe for recipe in known if job.items() <= recipe.items()]
        batch, tokens = int(row["GBS"]), int(row["Sequence Length"])
        yield question(
            job,
            parts,
            own[0] if own else None,
            (batch, int(row["MBS"]), tokens),
            release=row["release"].removesuffix(" NeMo Container"),
            seconds=batch * tokens / (rate * gpus),
            left_out="is a regression, as its authors say"
            if REGRESSION in row["Model TFLOP / sec / GPU"]
            else "",
        )


def recipes(folder: Path) -> Iterator[Question]:
    """Lists the recipes that nobody measured."""
    for row in published(folder / "megatron-bridge-recipes.csv"):
        parts = {
            "tp": row["tensor_model_parallel_size"],
            "pp": row["pipeline_model_parallel_size"],
            "vp": row["virtual_pipeline_model_parallel_size"],
            "cp": row["context_parallel_size"],
            "ep": row["expert_model_parallel_size"],
        }
        if "optim_grads_params" in row["data_parallel_sharding_strategy"]:
            parts["fsdp"] = row["gpus"]
        # Pre-training of Llama 3 takes 8,192 tokens, all else half.
        tokens = row["seq_length"] or (8192 if row["model"].startswith("llama") else 4096)
        states_all = row["tensor_model_parallel_size"] and row["global_batch_size"]
        sizes = [row["global_batch_size"] or 0, row["micro_batch_size"] or 0, tokens]
        job = {**row, "precision": row["precision"].split("_")[0].replace("fp8sc", "fp8cs")}
        yield question(
            job,
            parts,
            row,
            (int(sizes[0]), int(sizes[1]), int(sizes[2])),
            unasked="" if states_all else NO_LAYOUT,
        )


def question(
    job: Mapping[str, str],
    parts: Mapping[str, str],
    recipe: Mapping[str, str] | None,
    sizes: tuple[int, int, int],
    *,
    release: str = "recipes",
    seconds: float | None = None,
    left_out: str = "",
    unasked: str = "",
) -> Question:
    """Gives a step; `sizes` are its batch, its micro-batch and the tokens of a sequence."""
    gpus = int(job["gpus"])
    is_mamba = "nemotron" in job["model"]
    model, kind = MODELS.get(job["model"], (job["model"].replace("_", "-"), "experts"))
    precision = PRECISIONS.get(job["precision"], job["precision"])
    is_lora = job["stage"] == "peft"
    batch, micro_batch, tokens = sizes
    unasked = unasked or first_reason(job, is_mamba, recipe)
    text = ""
    if not unasked and recipe is not None:
        layout = divided(gpus, **{name: count for name, count in parts.items() if name != "fsdp"})
        text = asked(
            model,
            MACHINES[job["system"]],
            layout.replace("dp=", "fsdp=", 1) if "fsdp" in parts else layout,
            batch=batch,
            micro_batch=micro_batch,
            tokens=tokens,
            precision=precision,
            gradients="bf16",
            zero=3 if "fsdp" in parts else 1,
            recompute=recomputation(recipe),
            kernels="fused",
            sequence_parallel="tp=" in layout,
            # Pre-training overlaps these collectives with products, except in NVFP4.
            async_tensor="tp=" in layout and job["stage"] == "pretrain" and precision != "nvfp4",
            fp8_weights=precision != "bf16" and not is_lora,
            # The recipes of Llama 3 70B say so.
            lora=16 if is_lora else None,
            lora_target="linear_qkv" if is_lora else None,
        )
    return Question(
        source="Megatron-Bridge",
        release=release,
        system=job["system"].upper(),
        gpus=gpus,
        model=model,
        kind=kind,
        stage=STAGES[job["stage"]],
        precision=precision,
        page=RECIPES if seconds is None else MEASURED,
        asked=text,
        seconds=seconds,
        unasked=unasked,
        left_out=left_out,
    )


def first_reason(job: Mapping[str, str], is_mamba: bool, recipe: Mapping[str, str] | None) -> str:
    """Says why a step cannot be asked; nothing where it can."""
    if is_mamba:
        return MAMBA
    if job["system"] not in MACHINES:
        return f"its GPU, {job['system'].upper()}, is not known"
    if recipe is None:
        return NO_RECOMPUTATION
    return OFFLOADS if recipe["cpu_offloading"] == "True" else ""


def recomputation(recipe: Mapping[str, str]) -> str | None:
    """Names the recomputation of a recipe; None where it has none."""
    if recipe["recompute_granularity"] == "'full'":
        return f"full:{recipe['recompute_num_layers']}"
    modules = ast.literal_eval(recipe["recompute_modules"] or "None")
    if recipe["recompute_granularity"] == "'selective'" and modules is None:
        return "selective"
    return "+".join(modules or []) or None
