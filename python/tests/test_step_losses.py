"""Holds what steps lose to their sum, and checkpoints to a simulation of failures."""

from __future__ import annotations

import json
from math import sqrt
from random import Random
from typing import Any

import pytest
from commands import linkwright
from test_cli_json import check, schema

from linkwright import train_model
from linkwright.errors import SimulationError
from linkwright.network import read_system
from linkwright.runs.models.checkpoints import Checkpoints, best_interval, checkpoints_of
from linkwright.step_errors import NINETIETH, interval_of

STEP: dict[str, Any] = {"layout": "fsdp=8", "recompute": "full", "tokens": 2048}


def parts(**changes: Any) -> dict[str, float]:
    run = train_model("llama-3.2-1b", **STEP | changes)
    assert run.timed is not None
    found = {row["part"]: row["time"] for row in run.timed.parts}
    assert sum(found.values()) == pytest.approx(run.time)
    return found


def test_each_loss_is_a_row_and_all_sum_to_the_step() -> None:
    even, varied = parts(seeds=0), parts()
    assert "variation" not in even
    lost = varied.pop("variation")
    assert varied == even
    # The slowest of eight is 1.42 deviations of 1.5 % above the mean, of what computes.
    computed = sum(even[part] for part in ("forward", "backward", "recomputation"))
    assert 0.3 < lost / (1.42 * 0.0148 * computed) < 1.3
    assert 0 < even["collectives beside kernels"] < 0.2 * computed


def test_seeds_repeat_and_more_of_them_begin_alike() -> None:
    few, many = (train_model("llama-3.2-1b", **STEP, seeds=seeds).timed for seeds in (4, 8))
    assert few is not None
    assert many is not None
    assert many.times[:4] == few.times
    assert len(set(many.times)) > 4
    with pytest.raises(SimulationError, match="seeds"):
        train_model("llama-3.2-1b", **STEP, seeds=-1)


def test_groups_that_share_interfaces_lose_by_the_network() -> None:
    system = read_system("dgx1-v100", 2)
    shared = parts(machine=system, layout="dp=2,tp=8", batch=8, precision="fp16", gpu_memory="1TB")
    assert shared["shared network"] > 0
    alone = parts(machine=system, layout="dp=16", batch=16, precision="fp16", gpu_memory="1TB")
    assert "shared network" not in alone


def test_what_no_part_explains_is_told_and_spread_over_none() -> None:
    run = train_model("llama-3.2-1b", **STEP, measured_step=0.5)
    assert run.time is not None
    assert run.unexplained == pytest.approx(0.5 - run.time)
    assert parts() == parts(measured_step=0.5)
    with pytest.raises(SimulationError, match="no span of time"):
        train_model("llama-3.2-1b", **STEP, measured_step=0)


def test_an_interval_joins_the_error_and_the_seeds() -> None:
    assert interval_of(2.0, []) == pytest.approx((2 * (1 - NINETIETH), 2 * (1 + NINETIETH)))
    low, high = interval_of(1.0, [1.0 - NINETIETH, 1.0, 1.0 + NINETIETH])
    assert high - 1.0 == pytest.approx(1.0 - low) == pytest.approx(sqrt(2) * NINETIETH)
    run = train_model("llama-3.2-1b", **STEP)
    assert run.interval is not None
    assert run.time is not None
    assert run.interval[0] < run.time < run.interval[1]


def simulated(kept: Checkpoints, segments: int) -> float:
    """Plays failures one by one; gives the share of time that is no new work."""
    random, spent = Random(5), 0.0
    for _ in range(segments):
        restart = 0.0
        while True:
            wanted = restart + kept.every + kept.time
            failure = random.expovariate(1 / kept.failures_every)
            if failure >= wanted:
                spent += wanted
                break
            spent += failure
            restart = kept.restart
    return 1 - kept.every * segments / spent


@pytest.mark.parametrize(
    ("mean", "every", "time", "restart"),
    [(10_800, 1800, 30, 600), (3600, 3600, 300, 0), (86_400, 600, 60, 1200)],
)
def test_checkpoints_lose_what_simulated_failures_do(
    mean: float, every: float, time: float, restart: float
) -> None:
    kept = Checkpoints(mean, every, time, restart)
    assert kept.lost == pytest.approx(simulated(kept, 40_000), rel=0.03)
    best = Checkpoints(mean, kept.best, time, restart)
    around = [Checkpoints(mean, kept.best * times, time, restart).lost for times in (0.8, 1.25)]
    assert best.lost < min(around)


def test_checkpoints_are_asked_for_whole() -> None:
    assert checkpoints_of(None, None, None, None) is None
    kept = checkpoints_of(10_800, None, 30, None)
    assert kept is not None
    assert kept.every == kept.best == best_interval(10_800, 30)
    assert Checkpoints(1.0, 1e6, 1.0, 0.0).lost == 1.0
    for wrong in ((10_800, None, None, None), (None, 60, None, None), (10_800, None, -1, None)):
        with pytest.raises(SimulationError):
            checkpoints_of(*wrong)


def test_the_command_tells_losses() -> None:
    words = ["llama-3.2-1b", "-m", "hgx-h100", "--layout", "fsdp=8", "--recompute", "full"]
    words += ["--measured-step", "0.3", "--failures-every", "3h", "--checkpoint-time", "30s"]
    ran = linkwright("train", *words, "--restart-time", "10min")
    assert ran.exit_code == 0, ran.output
    for told in ("variation", "unexplained", "measured", "checkpoints and restarts", "every 3h"):
        assert told in ran.stdout
    found = json.loads(linkwright("train", *words, "--seeds", "2", "--json").stdout)
    check(found, "", schema("train of a language model"))
    assert found["seeds"] == len(found["times"]) == 2
    assert found["low"] < found["time"] < found["high"]
    assert found["unexplained"] == pytest.approx(0.3 - found["time"])
    refused = linkwright("train", "lenet", "--seeds", "3")
    assert "--seeds changes nothing here" in refused.output
