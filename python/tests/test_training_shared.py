"""This sets training on memory that all GPUs share beside kernels on it."""

from __future__ import annotations

from typing import Any

import pytest

from linkwright import SimulationError, train
from linkwright.errors import LinkwrightError
from linkwright.studies.training.kernels import KERNELS, compared


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
        ({"shared_memory": "rdma"}, "take tsm-wb-nc-rc, tsm-wt-nc-rc, tsm-wt-c-rc"),
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
