"""A tuner's file says for every size what was meant, read by the rules of NCCL's plugin."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TypeAlias

import pytest
from commands import linkwright

from linkwright import System
from linkwright.collectives import nccl_choices, nccl_graph_from_text
from linkwright.errors import CollectiveError
from linkwright.nccl_tuner import LARGEST, read_tuner
from linkwright.nccl_tuning import TUNED, Tuning, tune_nccl

Job: TypeAlias = "tuple[System, list[int], Tuning]"

TWO = System("hgx-h100", servers=2, network="400 Gb/s")

# Where NCCL's cells differ: NVLink alone, switches that reduce, PCIe, and GPUs alone in servers.
JOBS = {
    "dgx1-v100": (System("dgx1-v100"), [0, 1, 2, 3]),
    "hgx-h100": (System("hgx-h100"), list(range(8))),
    "two hgx-h100": (TWO, [0, 1, 2, 3, 8, 9, 10, 11]),
    "two GPUs of two hgx-h100": (TWO, [0, 8]),
    "8x-l40s": (System("8x-l40s"), [0, 1]),
}


@pytest.fixture(scope="module", params=JOBS)
def job(request: pytest.FixtureRequest) -> Job:
    system, gpus = JOBS[request.param]
    return system, gpus, tune_nccl(system, gpus)


def test_every_size_has_a_row_that_names_its_channels(job: Job) -> None:
    _, _, tuning = job
    for collective in TUNED:
        rows = [tuned.row for tuned in tuning.rows if tuned.row.collective == collective]
        last = -1
        for row in rows:
            if last == LARGEST:
                break
            assert row.first == last + 1
            assert row.channels >= 1
            last = row.last
        assert last == LARGEST


def test_the_plugin_answers_what_was_meant_for_any_size(job: Job) -> None:
    system, gpus, tuning = job
    file = TunerFile.from_text(tuning.text(system.name))
    assert file.rows == [tuned.row for tuned in tuning.rows]
    assert file.notes == []
    meant = {tuned.row: tuned for tuned in tuning.rows}
    dice = random.Random(5)
    for collective in TUNED:
        for _ in range(40):
            size = int(2 ** dice.uniform(3, 40))
            answer = file.answer(collective, size, tuning.nodes, len(gpus))
            choices = list(nccl_choices(system, gpus, collective, size))
            known = {(row["algorithm"], row["protocol"]): row["channels"] for row in choices}
            # The file never names a cell that NCCL refuses, and gives each NCCL's channels.
            assert answer.row is not None
            assert answer.channels == known[answer.row.cell]
            own = (choices[0]["algorithm"], choices[0]["protocol"])
            tuned = meant[answer.row]
            assert tuned.reason in ("own", "gain")
            assert (own if tuned.reason == "own" else tuned.instead) == (
                answer.row.cell if tuned.reason == "own" else own
            )


def test_types_and_operations_without_a_cell_run_the_best_ring_or_tree(job: Job) -> None:
    system, gpus, tuning = job
    file = TunerFile.from_text(tuning.text(system.name))
    refused = {(algorithm, "Simple") for algorithm in ("nvls", "nvls-tree", "pat")}
    for collective in TUNED:
        for size in (8, 4096, 1 << 20, 3 << 24, 1 << 33):
            answer = file.answer(collective, size, tuning.nodes, len(gpus), refused=refused)
            choices = [
                (row["algorithm"], row["protocol"])
                for row in nccl_choices(system, gpus, collective, size)
                if row["algorithm"] in ("ring", "tree")
            ]
            assert answer.row is not None
            assert answer.row.cell in choices
            only = file.answer(
                collective,
                size,
                tuning.nodes,
                len(gpus),
                refused={*refused, *choices} - {("ring", "Simple")},
            )
            assert only.row is not None
            assert only.row.cell == ("ring", "Simple")


def test_a_gain_is_larger_than_its_bar_and_stands_above_its_row(job: Job) -> None:
    system, _, tuning = job
    lines = tuning.text(system.name).splitlines()
    for tuned in tuning.rows:
        if tuned.reason != "gain":
            assert tuned.gain is None
            continue
        assert tuned.gain is not None
        assert tuned.bar is not None
        assert tuned.gain > tuned.bar
        assert tuned.instead is not None
        assert tuned.instead != tuned.row.cell
        above = lines[lines.index(tuned.row.line) - 1]
        assert above.startswith(f"# gain {tuned.gain:.0%} (bar {tuned.bar:.0%}) over")


def test_lines_are_as_the_plugin_takes_them(job: Job) -> None:
    """No line is longer than it reads at once, whatever the machine is called."""
    _, _, tuning = job
    text = tuning.text("a\nallreduce,0,1,ring,ll,9,1,8\u20ac" * 50)
    assert all(len(line) < 255 and line.isascii() for line in text.splitlines())
    assert TunerFile.from_text(text).rows == [tuned.row for tuned in tuning.rows]
    for line in text.splitlines():
        assert line.startswith("#") or (line.count(",") == 9 and " " not in line)


def test_only_plugins_that_read_a_file_are_written_for() -> None:
    gpus = [0, 3]
    for version in ("2.26.5", "2.27.3", "2.4.8"):
        with pytest.raises(CollectiveError, match=r"reads no file.*2\.27\.5"):
            tune_nccl(JOBS["dgx1-v100"][0], gpus, nccl=version)
    with pytest.raises(CollectiveError, match="RCCL"):
        tune_nccl(System("mi300x-8"), gpus)


def test_plugins_that_crash_are_named() -> None:
    system = System("dgx1-v100")
    for version, expected in (("2.27", "2.27 loads no later"), ("2.28.9", "from 2.28 on")):
        notes = tune_nccl(system, [0, 3], nccl=version).notes
        assert any("crash at the first row" in note and expected in note for note in notes)
    assert not any("crash" in note for note in tune_nccl(system, [0, 3], nccl="2.30.7").notes)


def test_the_command_writes_both_files(tmp_path: Path) -> None:
    tuner, graph = tmp_path / "tuner.csv", tmp_path / "graph.xml"
    words = ("collective", "tune", "-m", "dgx1-v100", "--on", "0,3")
    ran = linkwright(*words, "-o", tuner, "--graph", graph)
    assert ran.exit_code == 0, ran.stderr
    assert f"wrote {tuner}: " in ran.stderr
    assert f"wrote {graph}" in ran.stderr
    assert tuner.read_text() == linkwright(*words).stdout
    graphs, channels = nccl_graph_from_text(graph.read_text())
    assert [row["id"] for row in graphs] == [0, 1]
    assert {row["device"] for row in channels} == {0, 3}


def test_versions_without_a_plugin_are_an_error_of_the_command() -> None:
    ran = linkwright("collective", "tune", "-m", "dgx1-v100", "--nccl", "2.21.5")
    assert ran.exit_code == 1
    assert "the example plugin of NCCL 2.21.5 reads no file" in ran.stderr
