"""Tests the study of training: which rows it calibrates on, and the sentences of its page."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pytest

from linkwright.gpu import GpuModel
from linkwright.studies.tables import Cell
from linkwright.studies.training import epochs, remote, shared, statements, today, volta
from linkwright.studies.training.constants import constants
from linkwright.studies.training.halves import CALIBRATED, HELD_BACK, is_calibrated
from linkwright.studies.training.predicted import play
from linkwright.studies.training.published import epochs as published_epochs
from linkwright.studies.training.terms import changed, values
from linkwright.studies.training.workloads import gpus_of, machine
from linkwright.training import training_terms

ROOT = Path(__file__).resolve().parents[2]
# This describes a family without known terms.
EVERY = "{ kernels = [1, 1], times = [1, 1] }"
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
    assert len(terms["fitted"]) == len(set(terms["fitted"])) == 21
    for name in terms["fitted"]:
        table = terms
        for part in name.split("."):
            table = table[part]
    # Today's costs of the host were measured on no row that is anybody's.
    assert not [name for name in terms["fitted"] if "pytorch" in name]


def test_the_memory_s_share_and_the_least_time_are_those_of_the_measured_copies() -> None:
    text = (ROOT / "validation" / "training-kernels.csv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    copies = [row for row in csv.DictReader(lines) if row["kind"] == "copy"]
    times = {int(row["rows"]): float(row["microseconds"]) for row in copies}
    terms = values(training_terms(), "kernels.current")
    assert terms["least"] == pytest.approx(min(times.values()), rel=0.1)
    most = max(times)
    reached = 2 * 4 * most / (times[most] * 1e-6)
    peak = GpuModel.find(today.CALIBRATED_GPU).memory_bandwidth * 1e9
    assert terms["memory"] == pytest.approx(reached / peak, rel=0.01)


def test_measured_steps_are_near_on_networks_and_a_gpu_that_were_held_back() -> None:
    found = today.compared()
    assert len(found) > 0.9 * len(today.measured())
    off = today.errors(found)
    assert {half: len(each) > 10 for half, each in off.items()} == dict.fromkeys(off, True)
    # Bands around what the model gives.
    assert median(off[CALIBRATED]) < 0.06
    assert median(off[HELD_BACK]) < 0.13
    assert median(off[today.OTHER_GPU]) < 0.15


def test_without_what_families_take_steps_are_far_too_short() -> None:
    every = {
        f"kernels.current.layers.{family}": {"short": EVERY, "long": EVERY}
        for family in tomllib.loads(training_terms())["kernels"]["current"]["layers"]
    }
    plain = changed(training_terms(), every)
    off = today.errors(today.compared(plain))
    assert median(off[HELD_BACK]) > 0.3


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
    from linkwright.studies.training.published import published
    from linkwright.training import NeuralNetwork

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
    for section in (
        *(shared.mechanisms(), statements.weights(), statements.against_itself()),
        *(volta.overheads(), volta.synchronized()),
    ):
        assert f"## {section.title}" in text
        assert section.tables[0].to_markdown() in text


def test_faults_of_pages_come_nearest_as_the_page_says() -> None:
    section = shared.mechanisms()
    for paragraph in section.text:
        assert paragraph in page()
    alone = section.tables[1]
    assert alone.to_markdown() in page()
    published = alone.columns.index("published")
    asked = range(published + 2, len(alone.columns))

    def miss(row: Sequence[Cell], at: int) -> float:
        return abs(float(str(row[at])) / float(str(row[published])) - 1)

    misses = {alone.columns[at]: [miss(row, at) for row in alone.rows] for at in asked}
    faults = misses[shared.FAULTS]
    assert sum(each <= 0.1 for each in faults) == 3
    assert min(map(sum, misses.values())) == sum(faults)
    farthest = [row[:2] for row in alone.rows].index(shared.FARTHEST)
    assert min(each[farthest] for each in misses.values()) == faults[farthest]


def test_remote_matrices_take_as_long_as_the_page_says_and_the_more_the_longer() -> None:
    table, *_ = remote.remote_matrices((256,)).tables
    ours = [row for row in table.rows if row[0] == 256]
    ratios = [float(str(row[4])) for row in ours]
    assert ratios[0] == 1
    assert ratios == sorted(set(ratios))
    printed = [line.split("|")[1:-1] for line in page().splitlines() if line.startswith("| 256 |")]
    assert [[cell.strip() for cell in line[1:3]] for line in printed] == [
        [str(row[1]), f"{row[2]:.0%}"] for row in ours
    ]
    assert [float(line[4]) for line in printed] == pytest.approx(ratios, rel=0.05)
    lines = 256 * 256 * 4 // 64
    assert [row[-1] for row in ours[:2]] == [0, lines]


def test_a_run_s_start_makes_weak_scaling_better_and_less_so_where_epochs_are_long() -> None:
    steps, gpus = volta.epoch("LeNet", 64, 4), 4
    alone = volta.epoch("LeNet", 64, 1) + volta.start()
    strong = alone / (steps + volta.start())
    weak = gpus * alone / (gpus * steps + volta.start())
    assert volta.weak_beyond_strong("LeNet", 64, gpus) == pytest.approx(weak / strong - 1)
    halves = [half for row, half in volta.waiting() if row["gpus"] > 1]
    assert halves == [CALIBRATED, HELD_BACK] * 4 + [CALIBRATED]
    assert all(half == HELD_BACK for row, half in volta.waiting() if row["gpus"] == 1)
