"""Holds the search for layouts to steps by given layouts, and its flags to what frameworks read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from commands import linkwright
from test_cli_json import check, schema

from linkwright import train_model
from linkwright.errors import OutOfMemoryError
from linkwright.network import read_system
from linkwright.training import LayoutSearch, ModelTraining
from linkwright.runs.models.search import SearchedLayouts

SMALL: dict[str, Any] = {"batch": 8, "tokens": 2048}


@pytest.fixture(scope="module")
def found() -> SearchedLayouts:
    run = train_model("llama-3.2-1b", layout="auto", gpus=8, **SMALL)
    assert run.searched is not None
    assert run.training.layout == run.searched.best.training.layout
    assert run.time == run.searched.best.time
    return run.searched


def test_a_layout_takes_what_it_takes_where_it_is_given(found: SearchedLayouts) -> None:
    for row in [found.first[0], found.first[-1]]:
        training = row.training
        given = train_model(
            "llama-3.2-1b",
            layout=training.layout,
            micro_batch=training.micro_batch,
            zero=training.zero,
            recompute=training.recompute,
            kernels="fused",
            sequence_parallel=training.sequence_parallel,
            **SMALL,
        )
        assert given.time == row.time
        assert given.reserved == row.reserved


def test_the_best_come_first_and_none_is_below_its_bound(found: SearchedLayouts) -> None:
    times = [row.time for row in found.first]
    assert len(times) == 10
    assert times == sorted(times)
    for row in found.first:
        assert row.least <= row.time * (1 + 1e-9)
        assert sum(part["time"] for part in row.parts) == pytest.approx(row.time)
        assert 0 < row.computing <= 1
    assert found.played <= found.looked_at <= found.fitting
    # No layout that was not played can win by more than one part of a hundred.
    assert found.within <= 0.01


def test_an_explanation_is_the_difference_of_all_parts(found: SearchedLayouts) -> None:
    first, second = found.best, found.second
    assert second is not None
    rows = found.explanation()
    assert {"forward", "backward"} <= {row["part"] for row in rows}
    assert sum(row["more"] for row in rows) == pytest.approx(second.time - first.time, abs=1e-9)


def test_what_is_given_stays() -> None:
    run = train_model(
        "llama-3.2-1b", layout="auto", gpus=4, micro_batch=1, zero=3, recompute="full", **SMALL
    )
    assert run.searched is not None
    for row in run.searched.first:
        training = row.training
        assert (training.micro_batch, training.zero, training.recompute) == (1, 3, "full")


def test_nothing_that_fits_is_said_with_what_would() -> None:
    with pytest.raises(OutOfMemoryError, match=r"none of .* fits; the least, .* are enough, as "):
        train_model("llama-3.1-405b", layout="auto", gpus=64)


def test_the_same_question_has_the_same_answer() -> None:
    system = read_system("hgx-h100")
    training = ModelTraining(
        train_model("llama-3.2-1b", layout="dp=1", batch=1).model, "dp=1", batch=8
    )
    gpus = list(range(8))
    one, other = (LayoutSearch(training, system, gpus, capacity=80 << 30) for _ in range(2))
    assert list(one.candidates()) == list(other.candidates())
    assert one.fitting == len(one.candidates()) > 100
    assert list(one.closest(5)[0]) == list(other.closest(5)[0])


def test_the_command_ranks_explains_and_prints_flags() -> None:
    words = ["llama-3.2-1b", "-m", "hgx-h100", "--gpus", "4", "--layout", "auto"]
    words += ["--batch", "8", "--tokens", "2048"]
    ran = linkwright("train", *words, "--explain")
    assert ran.exit_code == 0, ran.output
    assert "sound layouts" in ran.stdout
    assert "is slower than" in ran.stdout
    found = json.loads(
        linkwright("train", *words, "--tokens", "2048", "--explain", "--json").stdout
    )
    assert len(found["layouts"]) == 10
    check(found, "", schema("train of a language model"))
    flags = linkwright("train", *words, "--flags", "megatron")
    lines = flags.stdout.splitlines()
    assert "--global-batch-size 8" in lines
    assert all(line.startswith("--") for line in lines)


def test_flags_say_what_a_framework_cannot_do() -> None:
    words = ["llama-3.2-1b", "-m", "hgx-h100", "--layout", "dp=4,tp=2", "--zero", "1"]
    ran = linkwright("train", *words, "--sequence-parallel", "--flags", "torchtitan")
    assert "--parallelism.tensor_parallel_degree 2" in ran.stdout
    assert "left out: torchtitan divides gradients wherever it divides state" in ran.stderr
    run = train_model("llama-3.2-1b", layout="dp=4,tp=2", zero=1, sequence_parallel=True)
    flags, left_out = run.flags("megatron")
    assert ("--use-distributed-optimizer", "") in flags
    assert ("--sequence-parallel", "") in flags
    assert left_out == []
