"""This sets training on memory that all GPUs share beside kernels on it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from linkwright import train
from linkwright.errors import InputError, LinkwrightError, OutOfMemoryError, SimulationError
from linkwright.scenario import play_mix, play_programs
from linkwright.studies.training.kernels import KERNELS, compared

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("benchmark", "size", "bandwidth"), KERNELS[:5])
def test_kernels_on_shared_memory_take_what_training_takes_for_their_bytes(
    benchmark: str, size: int, bandwidth: float
) -> None:
    found = compared(benchmark, size, bandwidth)
    assert abs(found.ratio - 1) < 0.15


def test_a_product_at_more_bandwidth_is_bound_by_its_compute_units() -> None:
    benchmark, size, bandwidth = KERNELS[5]
    own = compared(benchmark, size, bandwidth)
    faster = compared(benchmark, size, 16 * bandwidth)
    assert own.ratio > 1.15
    assert faster.kernel > 0.8 * own.kernel


def _step(way: str = "tsm", **options: object) -> float:
    found = train(
        "alexnet",
        gpus=4,
        batch=64,
        communication=way,
        scaling=False,
        **options,  # type: ignore[arg-type]
    )
    return found.best.time


def test_more_bandwidth_to_shared_memory_never_slows_a_step() -> None:
    times = [_step(shared_bandwidth=bandwidth) for bandwidth in (8, 32, 128, "512 GB/s")]
    assert times == sorted(times, reverse=True)
    assert times[0] > 2 * times[1]


def test_coherence_costs_what_its_bytes_take() -> None:
    bare, leased = (
        _step(shared_memory=memory, shared_bandwidth=8)
        for memory in ("tsm-wb-nc-rc", "tsm-wt-c-rc")
    )
    # 73 bytes for 68 and 79 for 76, in whole cycles.
    assert 1.0 < leased / bare < 73 / 68 * 1.06


def test_one_copy_serves_all_gpus() -> None:
    run = train(
        "vgg-16", gpus=4, batch=64, communication=["nccl", "tsm"], scaling=False,
        shared_bandwidth=100,
    )  # fmt: skip
    copies, shared = run.steps
    own = sum(row["weights"] for row in copies.step.memory())
    one = sum(row["weights"] for row in shared.step.memory())
    assert one == pytest.approx(own / 4, abs=8)
    assert copies.shared == 0
    assert shared.shared == pytest.approx(3 * one, rel=1e-3)
    assert shared.parts.exposed == 0
    assert "saves" in run.headline


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shared_memory": "rdma"}, "use tsm-wb-nc-rc, tsm-wt-nc-rc, tsm-wt-c-rc"),
        ({"shared_memory": "tsm-wt-c-sc"}, "sequentially consistent"),
        ({"shared_bandwidth": 0}, "0 GB/s"),
        ({"shared_bandwidth": 1e9}, "up to 1000000 GB/s"),
        ({"way": "nccl", "shared_bandwidth": 64}, "leave it out, or take `tsm`"),
        ({"overlap": False}, "kernels read and write shared memory"),
    ],
)
def test_shared_memory_that_is_not_possible_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(LinkwrightError) as caught:
        _step(**options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_shared_memory_joins_the_gpus_of_one_server() -> None:
    with pytest.raises(SimulationError, match="one server"):
        train("lenet", servers=2, gpus=16, batch=64, communication="tsm", scaling=False)


JOB = """
fidelity = "flow"
[system]
server = "dgx1-v100"

[collectives]
protocol = "nccl"

[[job]]
name = "first"
train = "alexnet"
ranks = 4
mapping = [0, 1, 2, 3]
parameters = {{ batch = 64, communication = "tsm"{more} }}
"""
BESIDE = """
[[job]]
train = "vgg-16"
ranks = 4
mapping = [4, 5, 6, 7]
parameters = { batch = 64, communication = "tsm" }
"""


def _scenario(folder: Path, text: str) -> Path:
    path = folder / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _seconds(folder: Path, text: str) -> float:
    jobs = play_programs(_scenario(folder, text)).run.jobs()
    [row] = [row for row in jobs if row["name"] == "first"]
    return float(row["time"])


def _run_time(folder: Path, text: str) -> float:
    jobs = play_mix(_scenario(folder, text)).results[0].jobs()
    [row] = list(jobs)
    return float(row["run_time"])


def test_a_job_of_a_scenario_takes_what_a_step_alone_takes(tmp_path: Path) -> None:
    assert _seconds(tmp_path, JOB.format(more="")) == _step()
    bare = ', shared_memory = "tsm-wb-nc-rc", shared_bandwidth = "8 GB/s"'
    expected = _step(shared_memory="tsm-wb-nc-rc", shared_bandwidth=8)
    assert _seconds(tmp_path, JOB.format(more=bare)) == expected
    packets = JOB.format(more="").replace('"flow"', '"packet"')
    packets = packets.replace('[collectives]\nprotocol = "nccl"\n', "")
    assert _seconds(tmp_path, packets) == _step()


def test_jobs_on_shared_memory_do_not_slow_each_other(tmp_path: Path) -> None:
    assert _seconds(tmp_path, JOB.format(more="") + BESIDE) == _step()


def test_a_job_that_a_policy_places_takes_as_long(tmp_path: Path) -> None:
    day = JOB.format(more="").replace("ranks = 4\nmapping = [0, 1, 2, 3]", "gpus = 4")
    day += '[allocation]\npolicies = ["preserve"]\n'
    assert _run_time(tmp_path, day) == _step()


def test_a_day_trains_on_shared_memory(tmp_path: Path) -> None:
    text = """
[system]
server = "dgx1-v100"
[jobs]
communication = "tsm"
host_copies = true
generate = { count = 1, max_gpus = 1, train = ["alexnet"], samples_per_gpu = 16, iterations = 1 }
[allocation]
policies = ["preserve"]
"""
    alone = train("alexnet", gpus=1, batch=16, communication="tsm", scaling=False)
    assert _run_time(tmp_path, text) == alone.best.time


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ('shared_memory = "tsm-wb-nc-rc"', 'write `communication = "tsm"`'),
        ('communication = "tsm", shared_memory = "rdma"', "use tsm-wb-nc-rc"),
        ('communication = "tsm", shared_memory = "tsm-wt-c-sc"', "sequentially consistent"),
        ('communication = "tsm", shared_bandwidth = "0 GB/s"', "up to"),
        ('communication = "tsm", shared_bandwith = "1 GB/s"', "did you mean `shared_bandwidth`"),
    ],
)
def test_parameters_that_are_not_possible_are_refused_where_they_stand(
    tmp_path: Path, parameters: str, words: str
) -> None:
    text = JOB.format(more="").replace('communication = "tsm"', parameters)
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        play_programs(_scenario(tmp_path, text))
    assert caught.value.line == 14


def test_a_step_that_memory_does_not_hold_is_an_error_of_its_own() -> None:
    with pytest.raises(OutOfMemoryError, match="more than it has"):
        train("vgg-16", gpus=1, batch=4096, scaling=False)
