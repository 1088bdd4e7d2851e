"""Counts which measured jobs get an answer: a sound layout, and memory that fits where they ran.

    python scripts/askable.py FOLDER [--refused]

The folder holds tables that people published (`docs/guide/training.md` names them). A row counts
where it states its model, layout, precision and recomputation. The rest is as recipes have it:

- Megatron's distributed optimizer divides the optimizer's state (`zero` 1).
- Sequence parallelism goes with tensor parallelism.
- Products of eight bits take weights of eight bits (`fp8_param_gather`).
- Recipes of Megatron-Bridge and MLPerf reduce gradients in 16 bits.
- LoRA on NVIDIA's GPUs keeps what a perceptron's function reads in eight bits. AMD's recipes
  recompute blocks instead.
"""

from __future__ import annotations

import argparse
import ast
import csv
import functools
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linkwright import Model, ModelTraining, SimulationError, System

# Reasons for which a row is no question: it does not state what it ran.
NO_LAYOUT = "states no layout"
NO_PRECISION = "states no precision"
# Reasons for which a question gets no answer.
OFFLOAD = "refused by name: activations that are moved to the host"
# Asks for that as for a recomputation, whose error names it.
MOVED = "offload"
MAMBA = "Mamba-2 layers, which are not built"
NO_GPU = "its GPU is not known"

MACHINES = {
    "a100_40gb": "dgx-a100",
    # The same machine with GPUs of twice the memory.
    "a100_80gb": "dgx-a100",
    "h100": "hgx-h100",
    "h200": "hgx-h200",
    "b200": "hgx-b200",
    "b300": "hgx-b300",
    "gb200": "gb200-nvl72",
    "gb300": "gb300-nvl72",
    "mi300x": "mi300x-8",
    "mi325x": "mi325x-8",
    "mi355x": "mi355x-8",
}
PRECISIONS = {"fp8": "fp8", "fp8cs": "fp8", "fp8mx": "mxfp8", "mxfp8": "mxfp8"}
BRIDGE = {
    "gpt oss 120b": "gpt-oss-120b",
    "gpt_oss_120b": "gpt-oss-120b",
    "qwen3_30b_a3b": "qwen3-30b-a3b",
    "llama3_70b": "llama-3.1-70b",
}
LLAMA = {
    "model_type": "llama",
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
DEEPSEEK = {
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "num_attention_heads": 128,
    "q_lora_rank": 1536,
    "num_hidden_layers": 4,
    "first_k_dense_replace": 1,
    "tie_word_embeddings": False,
}
# Models that SimuMax cut to a few layers, by the fields that were published; and GPT-3's.
CONFIGURATIONS: dict[str, dict[str, object]] = {
    "llama3_70b": LLAMA
    | {"hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64},
    "llama3_405b": LLAMA
    | {
        "hidden_size": 16384,
        "intermediate_size": 53248,
        "num_attention_heads": 128,
        "num_key_value_heads": 16,
    },
    "deepseekv2": DEEPSEEK
    | {
        "model_type": "deepseek_v2",
        "hidden_size": 5120,
        "intermediate_size": 12288,
        "moe_intermediate_size": 1536,
        "n_routed_experts": 160,
        "n_shared_experts": 2,
        "num_experts_per_tok": 6,
        "vocab_size": 102400,
    },
    "deepseekv3": DEEPSEEK
    | {
        "model_type": "deepseek_v3",
        "hidden_size": 7168,
        "intermediate_size": 18432,
        "moe_intermediate_size": 2048,
        "n_routed_experts": 256,
        "n_shared_experts": 1,
        "num_experts_per_tok": 8,
        "vocab_size": 129280,
        "topk_method": "noaux_tc",
    },
    "gpt3": {
        "model_type": "mpt",
        "d_model": 12288,
        "n_heads": 96,
        "n_layers": 96,
        "expansion_ratio": 4,
        "max_seq_len": 2048,
        "vocab_size": 51200,
        "no_bias": False,
    },
}


@dataclass
class Row:
    """Holds a measured job as a question, or why it is none."""

    label: str
    machine: str = ""
    model: Model | None = None
    layout: str = ""
    why: str = ""
    stated: bool = True
    capacity: int | None = None
    options: dict[str, Any] = field(default_factory=dict)


def table(path: Path) -> list[dict[str, str]]:
    """Reads the rows of a table."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@functools.cache
def capacity_of(machine: str) -> int:
    """Gives the bytes of the memory of a machine's GPU."""
    return min(int(row["memory"]) for row in System(machine).devices() if row["is_gpu"])


def configured(name: str, **fields: object) -> Model:
    """Gives a model by its published fields, with others in their place."""
    return Model.from_json(json.dumps(CONFIGURATIONS[name] | fields), name)


def divided(gpus: int, **parts: str | int) -> str:
    """Writes a layout whose other GPUs are replicas."""
    own = {name: int(count) for name, count in parts.items() if str(count).isdigit()}
    others = own.get("tp", 1) * own.get("pp", 1) * own.get("cp", 1)
    return ",".join(f"{name}={count}" for name, count in ({"dp": gpus // others} | own).items())


def llm_foundry(folder: Path) -> Iterator[Row]:
    """Lists MPT of all sizes by FSDP."""
    for row in table(folder / "llm-foundry.csv"):
        gpus, micro = int(row["# GPUs"]), int(row["MicroBatchSize"])
        label = f"{row['Model']} on {gpus} {row['GPU']}, {row['SeqLen (T)']} tokens"
        is_pure = row["MP Mode"] == "PURE"
        model = Model.find(f"mpt-{row['Model']}").with_tokens(int(row["SeqLen (T)"]))
        options = {
            "batch": int(row["GlobalBatchSize"]),
            "micro_batch": micro,
            "precision": "fp8" if "fp8" in row["Precision"] else "bf16",
            "gradients": "bf16" if is_pure else "fp32",
            "recompute": "full" if row["Activation Checkpointing"] == "True" else "none",
        }
        if row["Activation CPUOffload"] == "True":
            options["recompute"] = MOVED
        machine = MACHINES[row["GPU"].replace("h100_80gb", "h100")]
        capacity = 80 * 2**30 if row["GPU"] == "a100_80gb" else None
        yield Row(label, machine, model, f"fsdp={gpus}", capacity=capacity, options=options)


def torchtitan(folder: Path) -> Iterator[Row]:
    """Lists Llama 3.1 8B on GPUs with 96 GB."""
    text = (folder / "torchtitan-llama3-8b-8-h100.md").read_text()
    for line in re.findall(r"^\| (FSDP.*) \|$", text, re.MULTILINE):
        cells = [cell.strip() for cell in line.split("|")]
        parts = re.fullmatch(r"FSDP (\d+), CP (\d+)", cells[0])
        fsdp, cp = (int(parts[1]), int(parts[2])) if parts else (8, 1)
        # The second table's jobs are compiled, with products of eight bits.
        is_narrow = parts is not None or "Float8" in cells[0]
        is_compiled = parts is not None or "compile" in cells[0]
        model = Model.find("llama-3.1-8b").with_tokens(int(cells[1]) if parts else 8192)
        options = {
            "batch": fsdp if parts else 16,
            "micro_batch": 1 if parts else 2,
            "zero": 3,
            "precision": "fp8" if is_narrow else "bf16",
            "kernels": "compiled" if is_compiled else "eager",
            "recompute": "full" if parts else "selective-op",
        }
        layout = f"fsdp={fsdp},cp={cp}"
        yield Row(cells[0], "hgx-h100", model, layout, capacity=96 * 10**9, options=options)


def simumax(folder: Path) -> Iterator[Row]:
    """Lists models that were cut to a few layers, on eight B200s."""
    for row in table(folder / "simumax-b200.csv"):
        case = row["case"]
        name = next(name for name in CONFIGURATIONS if case.startswith(name))
        numbers = {key: int(count) for key, count in re.findall(r"_([a-z]+)(\d+)", case)}
        model = configured(name, num_hidden_layers=numbers["l"])
        parts = {part: numbers[part] for part in ("tp", "pp", "cp", "ep") if part in numbers}
        options = {
            "recompute": "none",
            "batch": numbers["dp"] * numbers["mbc"],
            "zero": 1,
            "kernels": "fused",
            "sequence_parallel": numbers["tp"] > 1,
        }
        model = model.with_tokens(numbers.get("seq", 4096))
        yield Row(case, "hgx-b200", model, divided(8, **parts), options=options)


def recomputation(recipe: dict[str, str]) -> str:
    """Names the recomputation of a recipe."""
    if recipe["cpu_offloading"] == "True":
        return MOVED
    if recipe["recompute_granularity"] == "'full'":
        return f"full:{recipe['recompute_num_layers']}"
    modules = ast.literal_eval(recipe["recompute_modules"] or "None")
    if recipe["recompute_granularity"] == "'selective'" and modules is None:
        return "selective"
    return "+".join(modules or []) or "none"


def of_bridge(
    label: str, name: str, system: str, layout: str, recipe: dict[str, str], options: dict[str, Any]
) -> Row:
    """Gives a job of Megatron-Bridge."""
    if "nemotron" in name.lower():
        return Row(label, why=MAMBA)
    if system not in MACHINES:
        return Row(label, why=NO_GPU)
    precision = PRECISIONS.get(options["precision"], options["precision"])
    is_narrow = precision != "bf16"
    shared = {
        "zero": 3 if "fsdp" in layout else 1,
        "kernels": "fused",
        "gradients": "bf16",
        "precision": precision,
        "fp8_weights": is_narrow,
        "recompute": recomputation(recipe),
        "sequence_parallel": "tp=" in layout and "tp=1," not in f"{layout},",
    }
    if options.pop("stage").lower() in ("lora", "peft"):
        shared |= {"lora": 32, "lora_target": "all", "fp8_weights": False}
    model = Model.find(BRIDGE[name.lower()]).with_tokens(options.pop("tokens"))
    return Row(label, MACHINES[system], model, layout, options=options | shared)


def recipes(folder: Path) -> Iterator[Row]:
    """Lists the settings of Megatron-Bridge's public recipes."""
    for row in table(folder / "megatron-bridge-recipes.csv"):
        label, gpus = row["recipe"], int(row["gpus"])
        tp = row["tensor_model_parallel_size"]
        if not tp or not row["global_batch_size"]:
            yield Row(label, why=NO_LAYOUT, stated=False)
            continue
        is_sharded = "optim_grads_params" in row["data_parallel_sharding_strategy"]
        parts = {
            "tp": tp,
            "pp": row["pipeline_model_parallel_size"] or "1",
            "vp": row["virtual_pipeline_model_parallel_size"],
            "cp": row["context_parallel_size"] or "1",
            "ep": row["expert_model_parallel_size"],
        }
        layout = divided(gpus, **parts)
        if is_sharded:
            layout = layout.replace("dp=", "fsdp=", 1)
        options = {
            "batch": int(row["global_batch_size"]),
            "micro_batch": int(row["micro_batch_size"]),
            "precision": row["precision"].split("_")[0].replace("fp8sc", "fp8cs"),
            "stage": row["stage"],
            # Pre-training of Llama 3 takes 8,192 tokens, all else half.
            "tokens": int(
                row["seq_length"] or (8192 if row["model"].startswith("llama") else 4096)
            ),
        }
        yield of_bridge(label, row["model"], row["system"], layout, row, options)


def bridge(folder: Path) -> Iterator[Row]:
    """Lists measured jobs of Megatron-Bridge; the recipes say what they compute again."""
    known = table(folder / "megatron-bridge-recipes.csv")
    stages = {"Pre-Training": "pretrain", "SFT": "sft", "LoRA": "peft"}
    for row in table(folder / "megatron-bridge.csv"):
        system = row["System"].removeprefix("DGX-").lower()
        gpus, precision = int(row["#-GPUs"]), row["Precision"].lower()
        label = f"{row['release']} {row['model']} {row['System']} {row['Precision']}"
        wanted = {
            "model": row["model"].lower().replace(" ", "_"),
            "stage": stages[row["stage"]],
            "gpus": str(gpus),
            "system": system,
            "precision": {"fp8": "fp8cs", "mxfp8": "fp8mx"}.get(precision, precision),
        }
        own = [recipe for recipe in known if wanted.items() <= recipe.items()]
        if not own:
            yield Row(label, why="states no recomputation", stated=False)
            continue
        layout = divided(
            gpus, **{part: row[part.upper()] for part in ("tp", "pp", "vp", "cp", "ep")}
        )
        if row["FSDP"] not in ("", "0"):
            layout = layout.replace("dp=", "fsdp=", 1)
        options = {
            "batch": int(row["GBS"]),
            "micro_batch": int(row["MBS"]),
            "precision": precision,
            "stage": row["stage"],
            "tokens": int(row["Sequence Length"]),
        }
        yield of_bridge(label, row["model"], system, layout, own[0], options)


def mlperf(folder: Path) -> Iterator[Row]:
    """Lists MLPerf Training's smaller systems."""
    layouts = table(folder / "mlperf-layouts.csv")
    for row, own in zip(table(folder / "mlperf.csv"), layouts, strict=True):
        label = f"{row['v']} {row['sub']} {row['sys']} {row['bench']}"
        if not own["tp"]:
            yield Row(label, why=NO_LAYOUT, stated=False)
            continue
        is_gpt3 = row["bench"] == "gpt3"
        precision = "nvfp4" if own["fp4"] == "True" else "fp8" if own["fp8"] == "True" else ""
        if not precision:
            yield Row(label, why=NO_PRECISION, stated=False)
            continue
        found = re.search(r"GB\d00|B\d00|H\d00|MI\d+X", row["gpu"])
        name = found[0].lower() if found else ""
        if name not in MACHINES:
            yield Row(label, why=NO_GPU)
            continue
        models = {
            "llama2_70b_lora": "llama-2-70b",
            "llama31_405b": "llama-3.1-405b",
            "llama31_8b": "llama-3.1-8b",
        }
        model = configured("gpt3") if is_gpt3 else Model.find(models[row["bench"]])
        gpus = int(row["gpus"])
        layout = divided(gpus, **{part: own[part] for part in ("tp", "pp", "vp", "cp")})
        is_lora, is_nvidia = "lora" in row["bench"], not name.startswith("mi")
        options = {
            "batch": int(row["global_batch_size"]),
            "micro_batch": int(own["mbs"]),
            "zero": 1,
            "kernels": "fused",
            "gradients": "bf16",
            "precision": precision,
            "fp8_weights": not is_lora,
            "fp8_activations": is_lora and is_nvidia,
            "recompute": f"full:{own['act_layers']}" if own["act_layers"] else "none",
            "sequence_parallel": own["sp"] in ("1", "True") or int(own["tp"]) > 1,
            "lora": 16 if is_lora else None,
        }
        yield Row(
            label,
            MACHINES[name],
            model if is_gpt3 else model.with_tokens(8192),
            layout,
            options=options,
        )


SOURCES = {
    "llm-foundry": llm_foundry,
    "torchtitan": torchtitan,
    "SimuMax": simumax,
    "Megatron-Bridge, measured": bridge,
    "Megatron-Bridge, recipes": recipes,
    "MLPerf": mlperf,
}


def answer(row: Row) -> str:
    """Asks a row; nothing where it is answered, else why it is not."""
    if row.model is None:
        return row.why
    try:
        training = ModelTraining(row.model, row.layout, **row.options)
        training.memory(row.capacity or capacity_of(row.machine))
    except SimulationError as error:
        is_moved = row.options["recompute"] == MOVED and MOVED in error.problem
        return OFFLOAD if is_moved else f"{type(error).__name__}: {error.problem}"
    return ""


def main() -> None:
    """Prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--refused", action="store_true", help="lists rows without an answer")
    wanted = parser.parse_args()
    reasons: Counter[tuple[str, str]] = Counter()
    print("| rows | all | that state all | of these answered |\n| --- | --- | --- | --- |")
    sums = [0, 0, 0]
    for source, rows_of in SOURCES.items():
        rows = list(rows_of(wanted.folder))
        found = [(row, answer(row)) for row in rows]
        stated = [why for row, why in found if row.stated]
        counts = [len(rows), len(stated), stated.count("")]
        sums = [before + own for before, own in zip(sums, counts, strict=True)]
        print(f"| {source} | {counts[0]} | {counts[1]} | {counts[2]} |")
        for row, why in found:
            if why:
                kind = "does not fit" if why.startswith("OutOfMemory") else why
                reasons[(kind, source)] += 1
                if wanted.refused and row.stated:
                    print("   ", row.label, row.layout, why)
    print(f"| all | {sums[0]} | {sums[1]} | {sums[2]}: {sums[2] / sums[1]:.0%} |")
    print("\n| no answer | rows | of |\n| --- | --- | --- |")
    for (why, source), count in sorted(reasons.items()):
        print(f"| {why} | {count} | {source} |")


if __name__ == "__main__":
    main()
