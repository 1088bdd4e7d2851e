"""The study of training: which rows it calibrates on, and what its page says."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from linkwright import training_terms
from linkwright.studies.training import epochs, shared, statements
from linkwright.studies.training.constants import constants
from linkwright.studies.training.halves import is_calibrated
from linkwright.studies.training.predicted import play
from linkwright.studies.training.published import epochs as published_epochs
from linkwright.studies.training.terms import changed, values
from linkwright.studies.training.workloads import gpus_of, machine

ROOT = Path(__file__).resolve().parents[2]
SMALL = [row for row in published_epochs() if row.table == "2.4" and row.network != "LSTM"]


def page() -> str:
    return (ROOT / "docs" / "studies" / "training.md").read_text(encoding="utf-8")


def test_half_of_the_blocks_are_calibrated_on_and_a_block_is_never_cut() -> None:
    for table, blocks in (("2.4", 15), ("2.5", 15), ("2.6", 6)):
        of = {row.block: is_calibrated(row) for row in published_epochs() if row.table == table}
        assert len(of) == blocks
        assert sum(of.values()) == (blocks + 1) // 2
        assert list(of.values()) == [at % 2 == 0 for at in range(blocks)]


def test_what_was_fitted_is_named_and_stands_in_the_terms() -> None:
    terms = tomllib.loads(training_terms())
    assert len(terms["fitted"]) == 9
    for name in terms["fitted"]:
        section, _, key = name.rpartition(".")
        assert key in values(training_terms(), section)
    # What is predicted with the libraries of today has nothing of the calibrated.
    assert not [name for name in terms["fitted"] if "current" in name or "pytorch" in name]


def test_values_of_terms_change_and_comments_stay() -> None:
    text = "fitted = []\n# One.\n[a.b]\n# Two.\nx = 1.0\n[a.c]\nx = 2.0\n"
    new = changed(text, {"a.c": {"x": 3.5}, "": {"fitted": ["a.c.x"]}})
    assert new == text.replace("2.0", "3.5").replace("[]", '["a.c.x"]')
    with pytest.raises(KeyError):
        changed(text, {"a.c": {"y": 3.5}})


def test_the_mean_of_every_other_row_is_what_nccl_costs() -> None:
    from linkwright.studies.training.published import rows

    every = [row["overhead"] for row in rows("table_2_8")][::2]
    assert constants().nccl == pytest.approx(sum(every) / len(every) / 100, abs=5e-4)


def test_one_gpu_copies_nothing_to_another_and_two_copy_each_weight_twice() -> None:
    terms = training_terms()
    for gpus in (1, 2):
        played = play(("MNIST", "LeNet"), 64, "dgx1-p100", gpus, "p2p", "mxnet-0-11", terms)
        peer = [row["size"] for row in played.run.copies() if row["direction"] == "peer"]
        assert sum(peer) == (gpus - 1) * 2 * 4 * 431_080


def test_the_texts_first_gpus_are_joined_as_it_says() -> None:
    system = machine("dgx1-v100")
    pairs = {
        frozenset((row["a"], row["b"])): row["count"]
        for row in system.links()
        if row["kind"].startswith("nvlink")
    }
    first = [f"GPU{gpu}" for gpu in gpus_of("dgx1-v100", 4)]
    joined = [pairs[frozenset((first[0], other))] for other in first[1:]]
    assert joined == [2, 2, 1]


def test_synthetic_workloads_have_the_published_weights() -> None:
    from linkwright import NeuralNetwork
    from linkwright.studies.training.published import published

    said = published()["section_2_3_1"]
    for dataset, kilobyte in (("MNIST", 1024), ("CIFAR-10", 1024), ("ImageNet", 1000)):
        size, channels = shared.DATASETS[dataset]
        network = NeuralNetwork.find("mlp:thousand-classes")
        network = network.with_input(size=size, channels=channels)
        biases = sum(said["layers"])
        weights = 4 * (network.parameters - biases) / kilobyte
        assert weights == pytest.approx(said[dataset], rel=2e-3)


def test_the_page_is_what_the_study_says() -> None:
    text = page()
    found = epochs.find(SMALL)
    rows = epochs.breakdown(found).tables[0].to_markdown().splitlines()[4:]
    assert len(rows) == len(SMALL)
    for row in rows:
        assert row in text
    for section in (shared.mechanisms(), statements.weights(), statements.against_itself()):
        assert f"## {section.title}" in text
        assert section.tables[0].to_markdown() in text
