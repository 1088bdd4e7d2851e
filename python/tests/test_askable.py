"""Holds the count of published jobs to a few rows that are made up."""

from __future__ import annotations

import csv
from pathlib import Path

import askable

RECIPE = {
    "recipe": "llama3_70b_pretrain",
    "model": "llama3_70b",
    "stage": "pretrain",
    "gpus": "64",
    "system": "h100",
    "precision": "fp8cs",
    "seq_length": "",
    "data_parallel_sharding_strategy": "",
    "cpu_offloading": "",
    "context_parallel_size": "1",
    "expert_model_parallel_size": "",
    "pipeline_model_parallel_size": "8",
    "virtual_pipeline_model_parallel_size": "5",
    "tensor_model_parallel_size": "4",
    "recompute_granularity": "'selective'",
    "recompute_modules": "['layernorm', 'mlp']",
    "recompute_num_layers": "",
    "global_batch_size": "256",
    "micro_batch_size": "1",
}
FOUNDRY = {
    "# GPUs": "8",
    "GPU": "h100_80gb",
    "Model": "125m",
    "SeqLen (T)": "512",
    "MicroBatchSize": "2",
    "GlobalBatchSize": "16",
    "MP Mode": "DEFAULT",
    "Precision": "amp_bf16",
    "Activation Checkpointing": "False",
    "Activation CPUOffload": "False",
}


def written(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_rows_are_asked_as_they_are_stated(tmp_path: Path) -> None:
    recipes = [
        RECIPE,
        RECIPE | {"cpu_offloading": "True"},
        RECIPE | {"model": "nemotron_3_nano"},
        RECIPE | {"tensor_model_parallel_size": ""},
        RECIPE | {"system": "vr200"},
        RECIPE | {"tensor_model_parallel_size": "1", "pipeline_model_parallel_size": "1"},
    ]
    written(tmp_path / "megatron-bridge-recipes.csv", recipes)
    rows = list(askable.recipes(tmp_path))
    assert rows[0].layout == "dp=2,tp=4,pp=8,vp=5,cp=1"
    assert rows[0].options["recompute"] == "layernorm+mlp"
    answers = [askable.answer(row) for row in rows]
    expected = ["", askable.OFFLOAD, askable.MAMBA, askable.NO_LAYOUT, askable.NO_GPU]
    assert answers[:5] == expected
    assert "need a pipeline" in answers[5]
    assert [row.stated for row in rows] == [True, True, True, False, True, True]


def test_what_does_not_fit_is_no_answer(tmp_path: Path) -> None:
    written(tmp_path / "llm-foundry.csv", [FOUNDRY, FOUNDRY | {"SeqLen (T)": "1048576"}])
    small, large = (askable.answer(row) for row in askable.llm_foundry(tmp_path))
    assert small == ""
    assert large.startswith("OutOfMemoryError")
