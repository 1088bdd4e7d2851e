"""What an iteration of a played job is made of: host copies, own speed, buckets."""

from __future__ import annotations

import pytest

from linkwright import (
    InputError,
    Job,
    Scenario,
    SimulationError,
    System,
    read_scenario,
    simulate,
)
from linkwright.names import FidelityName, GpuSpeedName

SCENARIO = """fidelity = "fluid"
[system]
server = "dgx1-v100"
[jobs]
generate = {{ count = 2, max_gpus = 4, seed = 3 }}
run_time = "played"
{settings}
"""


def seconds(
    machine: str,
    gpus: int,
    fidelity: FidelityName = "fluid",
    *,
    host_copies: bool = False,
    gpu_speed: GpuSpeedName = "reference",
    bucket: int | None = None,
) -> float:
    """How long ten iterations of AlexNet take alone."""
    result = simulate(
        System(machine),
        [Job("a", "alexnet", gpus, iterations=10)],
        run_time="played",
        planner="nccl-ring",
        fidelity=fidelity,
        host_copies=host_copies,
        gpu_speed=gpu_speed,
        bucket=bucket,
    )
    return result.makespan


@pytest.mark.parametrize("fidelity", ["fluid", "flow"])
def test_images_of_every_iteration_cross_the_host_link(fidelity: FidelityName) -> None:
    copied = 57 * 227 * 227 * 12  # images of a GPU, points of an image, three numbers of four bytes
    more = seconds("dgx1-v100", 1, fidelity, host_copies=True) - seconds("dgx1-v100", 1, fidelity)
    assert 9e9 < 10 * copied / more < 15.8e9


def test_own_speed_is_the_peak_of_the_gpu() -> None:
    reference, own = seconds("dgx-a100", 1), seconds("dgx-a100", 1, gpu_speed="own")
    assert reference / own == pytest.approx(19.5 / 15.7, rel=0.01)
    assert seconds("dgx1-v100", 1, gpu_speed="own") == seconds("dgx1-v100", 1)


@pytest.mark.parametrize("fidelity", ["fluid", "flow"])
def test_buckets_hide_reducing_behind_computing(fidelity: FidelityName) -> None:
    whole = seconds("dgx1-v100", 4, fidelity)
    parts = seconds("dgx1-v100", 4, fidelity, bucket=64_000_000)
    computing = seconds("dgx1-v100", 1, fidelity)
    assert computing < parts < whole
    assert seconds("dgx1-v100", 4, fidelity, bucket=10**12) == whole


def test_a_scenario_says_the_same_as_the_function() -> None:
    settings = 'host_copies = true\ngpu_speed = "own"\nbucket = "25 MB"'
    scenario = read_scenario(SCENARIO.format(settings=settings), "day.toml")
    assert isinstance(scenario, Scenario)
    assert (scenario.host_copies, scenario.gpu_speed, scenario.bucket) == (True, "own", 25_000_000)
    plain = read_scenario(SCENARIO.format(settings=""), "day.toml")
    assert (plain.host_copies, plain.gpu_speed, plain.bucket) == (False, "reference", None)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ('bucket = "1 kB"', "day.toml:7"),
        ('gpu_speed = "owm"', "`own`"),
        ("host_copies = 1", "day.toml:7"),
    ],
)
def test_what_a_scenario_may_not_say_is_refused_with_its_line(settings: str, told: str) -> None:
    with pytest.raises(InputError) as refused:
        read_scenario(SCENARIO.format(settings=settings), "day.toml")
    assert told in str(refused.value)


def test_what_no_iteration_has_is_refused() -> None:
    with pytest.raises(SimulationError, match="is not known; name a GPU model"):
        seconds("pcie-tree-4", 1, gpu_speed="own")
    with pytest.raises(SimulationError, match="ask for 1 MB or more"):
        seconds("dgx1-v100", 2, bucket=1_000)
