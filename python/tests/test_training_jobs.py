"""Published steps of language models are asked as they were run, and scored as the page says."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from accuracy import jobs as program
from accuracy.job_tables import of_guide, of_page, of_subject
from accuracy.jobs import BLOCKS, DENSE, EXPERTS, LEFT_OUT, Answer, Job
from accuracy.ladders import ladders, order, share_within
from accuracy.restate.training import bridge, mlperf, open_source
from accuracy.restate.training.question import MAMBA, NO_LAYOUT, OFFLOADS, Question
from accuracy.restate.training.steps import without_twins
from accuracy.rows import Row, errors_of
from accuracy.scores import answered, quantile, scores, share_inside
from accuracy.tables import ROOT
from linkwright.training import Model

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
    "GPU": "a100_80gb",
    "Model": "125m",
    "SeqLen (T)": "512",
    "MicroBatchSize": "2",
    "GlobalBatchSize": "16",
    "MP Mode": "PURE",
    "Precision": "amp_bf16",
    "Activation Checkpointing": "True",
    "Activation CPUOffload": "False",
    "Throughput (T/s)": "8192",
    "Throughput (T/s/GPU)": "1024",
}
JOB = Job(
    name="some 1",
    source="some",
    release="",
    system="H100",
    gpus=8,
    model="mpt-125m",
    kind="dense",
    stage="pre-training",
    precision="bf16",
    asked="mpt-125m --machine hgx-h100 --layout fsdp=8 --batch 16 --micro-batch 2 --tokens 512",
    seconds=1.0,
    other_seconds=None,
    reserved=None,
    unasked="",
    left_out="",
    fitted="",
    page="",
)


def written(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_recipes_are_asked_as_they_are_stated(tmp_path: Path) -> None:
    made = [
        RECIPE,
        RECIPE | {"cpu_offloading": "True"},
        RECIPE | {"model": "nemotron_3_nano"},
        RECIPE | {"tensor_model_parallel_size": ""},
        RECIPE | {"system": "vr200"},
        RECIPE | {"stage": "peft", "precision": "nvfp4"},
    ]
    written(tmp_path / "megatron-bridge-recipes.csv", made)
    rows = list(bridge.recipes(tmp_path))
    assert rows[0].asked.startswith(
        "llama-3.1-70b --machine hgx-h100 --layout dp=2,tp=4,pp=8,vp=5 "
    )
    for words in (
        "--batch 256 --micro-batch 1 --tokens 8192 --precision fp8 --gradients bf16 --zero 1",
        "--recompute layernorm+mlp --kernels fused",
        "--sequence-parallel --async-tensor --fp8-weights",
    ):
        assert words in rows[0].asked
    reasons = [row.unasked for row in rows]
    assert reasons == ["", OFFLOADS, MAMBA, NO_LAYOUT, "its GPU, VR200, is not known", ""]
    assert "--lora 16 --lora-target linear_qkv" in rows[5].asked
    assert "--async-tensor" not in rows[5].asked


def test_a_step_of_llm_foundry_has_the_time_that_its_tokens_took(tmp_path: Path) -> None:
    written(tmp_path / "llm-foundry.csv", [FOUNDRY, FOUNDRY | {"Activation CPUOffload": "True"}])
    first, moved = open_source.foundry(tmp_path)
    assert first.seconds == 1.0
    assert first.asked.endswith("--gradients bf16 --recompute full --gpu-memory 80GiB")
    assert moved.unasked == OFFLOADS


def test_a_result_of_mlperf_that_several_configurations_fit_is_not_asked() -> None:
    own = {"fitting": "2", "tp": ""}
    assert mlperf.reason(own, "fp8", 1.0) == "is fit by 2 configurations"
    assert mlperf.reason({"fitting": "1", "tp": "4"}, "", 1.0) == "states no precision"
    assert mlperf.reason({"fitting": "1", "tp": "4"}, "fp8", 1.0) == ""
    row = {"step": "", "throughput": "4096", "global_batch_size": "8", "bench": "gpt3"}
    assert mlperf.step_of(row, 2048) == 4.0


def test_a_configuration_counts_in_the_release_with_most_rows_and_twins_apart_nowhere() -> None:
    def made(release: str, asked: str, seconds: float) -> Question:
        return Question(
            "a", release, "H100", 8, "m", "dense", "", "bf16", "", asked=asked, seconds=seconds
        )

    rows = [
        made("1", "same", 1.0),
        made("2", "same", 1.1),
        made("2", "other", 1.0),
        made("1", "apart", 1.0),
        made("3", "apart", 1.2),
        replace(made("2", "faulty", 9.0), left_out="is wrong"),
        made("2", "faulty", 1.0),
    ]
    assert [each.left_out for each in without_twins(rows)] == [
        "counts in release 2",
        "",
        "",
        "its twins differ by 20%",
        "its twins differ by 20%",
        "is wrong",
        "",
    ]


def test_every_row_of_the_table_is_a_question_or_says_why_it_is_none() -> None:
    rows = program.jobs()
    assert len({job.name for job in rows}) == len(rows)
    assert len(rows) > 350
    options: set[str] = set()
    for job in rows:
        assert bool(job.asked) != bool(job.unasked)
        assert job.seconds is None or job.seconds > 0
        assert not job.left_out or (job.seconds is not None and not job.unasked)
        assert job.kind in ("dense", "experts")
        if job.asked:
            options |= job.options.keys()
            parts = [part.split("=") for part in job.options["layout"].split(",")]
            count = 1
            for name, size in parts:
                count *= int(size) if name in ("dp", "fsdp", "tp", "pp", "cp") else 1
            assert count == job.gpus, job.name
            model = job.options["model"]
            assert not model.endswith(".json") or (ROOT / model).is_file()
    assert {"lora", "sequence_parallel", "async_tensor", "gpu_power"} <= options


def test_published_models_have_the_published_parameters() -> None:
    published = {"mpt-125m": 125311488, "mpt-1b": 1315950592, "mpt-30b": 29975214080}
    found = {name: Model.find(name).with_tokens(2048).parameters for name in published}
    assert found == published


def test_answers_are_those_of_the_command() -> None:
    for name in ("torchtitan 9", "our own runs 1", "Megatron-Bridge recipe 9"):
        [job] = [job for job in program.jobs() if job.name == name]
        assert program.answer_to(job) == program.stored()[name]
    full = replace(JOB, asked=f"{JOB.asked} --gpu-memory 1GiB")
    assert program.answer_to(full) == Answer(refusal=program.DOES_NOT_FIT)
    unsound = replace(JOB, asked=JOB.asked.replace("fsdp=8", "fsdp=8,ep=3"))
    assert program.answer_to(unsound).refusal
    assert program.answer_to(replace(JOB, unasked="why")) == Answer(refusal="why")


def test_jobs_count_by_their_numbers_and_experts_or_nowhere() -> None:
    assert JOB.subject == DENSE
    assert replace(JOB, kind="experts").subject == EXPERTS
    assert replace(JOB, kind="experts", precision="nvfp4").subject == BLOCKS
    assert replace(JOB, left_out="wrong").subject == LEFT_OUT


def rung(name: str, gpus: int, seconds: float, batch: int, micro: int = 2) -> Job:
    asked = f"m --layout fsdp={gpus} --batch {batch} --micro-batch {micro} --tokens 512"
    return replace(JOB, name=name, gpus=gpus, seconds=seconds, asked=asked)


def test_ladders_lose_what_each_gpu_gets_done_less() -> None:
    rows = [
        rung("a", 8, 1.0, 16),
        rung("b", 16, 1.05, 32),
        rung("c", 32, 1.25, 64),
        rung("d", 8, 1.0, 8, 1),
        rung("e", 16, 1.0, 16, 1),
        rung("f", 16, 1.0, 8),
    ]
    answers = {job.name: Answer(1.0) for job in rows} | {"c": Answer(1.10)}
    found = ladders(rows, answers)
    assert [(each.small.name, each.large.name) for each in found] == [("a", "c"), ("d", "e")]
    assert found[0].measured == pytest.approx(20.0)
    assert found[0].predicted == pytest.approx(9.0909, rel=1e-4)
    assert (share_within(found), share_within(found, 3.0)) == (0.5, 0.5)
    assert order(found) == (1, 1)


def test_sources_weigh_alike_in_scores() -> None:
    by_source = {"many": [0.1] * 10, "few": [0.4]}
    assert quantile(by_source, 0.5) == 0.1
    assert quantile(by_source, 0.51) == 0.4
    experts = replace(JOB, name="e", kind="experts")
    rows = [JOB, replace(JOB, name="refused"), experts, replace(JOB, name="no", unasked="why")]
    rows += [rung("a", 16, 1.0, 8), rung("b", 32, 1.25, 16)]
    answers = {job.name: Answer(1.1, 1.0, 1.2) for job in rows} | {"refused": Answer(refusal="x")}
    assert answered(rows, answers) == (5, 4)
    assert share_inside(rows, answers) == 0.8
    rows += [rung("c", 8, 1.0, 8), rung("d", 64, 1.0, 64)]
    answers |= {"c": Answer(1.0), "d": Answer(1.01)}
    told = {each.name: each for each in scores(rows, answers, ladders(rows, answers))}
    assert told["questions with an answer"].figure == pytest.approx(6 / 7)
    assert not told["questions with an answer"].holds
    assert told["experts, median"].figure == pytest.approx(0.1)
    assert told["dense, median of each source: some"].held_to == "18%"
    assert told["rows inside what is printed"].holds


def test_rows_lie_inside_what_is_printed() -> None:
    row = Row(measured=1.0, expected=1.1, facets={}, low=0.9, high=1.2)
    found = errors_of([row, replace(row, measured=2.0)])
    assert (found.barred, found.inside) == (2, 1)
    assert found.width == pytest.approx(0.15 / 1.1, rel=1e-4)


def test_tables_show_every_row_that_is_asked() -> None:
    shown = "".join(
        "".join(of_subject(name).values()) for name in (DENSE, EXPERTS, BLOCKS, LEFT_OUT)
    )
    for job in program.measured_jobs():
        assert (f"| {job.name} |" in shown) != bool(job.unasked), job.name
    assert "| SimuMax |" in of_page()["steps: others"]
    assert "slower than on 8" in of_guide()["measured jobs"]
    several = of_page()["steps: several"]
    assert several.count("mlcommons") == 13
