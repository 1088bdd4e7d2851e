"""Tests the parts of a played job's iteration: host copies, own speed, buckets."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from linkwright import System
from linkwright.errors import InputError, SimulationError
from linkwright.names import FidelityName, GpuSpeedName
from linkwright.network import ClusterJob
from linkwright.runs.server.play import simulated
from linkwright.scenario import Job, Scenario, play_jobs
from linkwright.summaries.policies import job_rows

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
    """Says how long ten iterations of AlexNet take alone."""
    result = play_jobs(
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
    scenario = Scenario.from_text(SCENARIO.format(settings=settings), "day.toml")
    assert isinstance(scenario, Scenario)
    assert (scenario.host_copies, scenario.gpu_speed, scenario.bucket) == (True, "own", 25_000_000)
    plain = Scenario.from_text(SCENARIO.format(settings=""), "day.toml")
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
        Scenario.from_text(SCENARIO.format(settings=settings), "day.toml")
    assert told in str(refused.value)


def test_what_no_iteration_has_is_refused() -> None:
    with pytest.raises(SimulationError, match="is not known; name a known GPU model, or write"):
        seconds("pcie-tree-4", 1, gpu_speed="own")
    with pytest.raises(SimulationError, match="give 1 MB or more"):
        seconds("dgx1-v100", 2, bucket=1_000)


ONE_JOB = """[system]
server = "{server}"
[[job]]
{keys}
"""
COPIED = 57 * 227 * 227 * 12
GRADIENTS = 243_860_896


def job_of(keys: str, server: str = "dgx1-v100") -> tuple[System, ClusterJob]:
    """Returns the one job of a scenario, and the system that it runs on."""
    system, [job], _ = Scenario.from_text(
        ONE_JOB.format(server=server, keys=keys), "day.toml"
    ).build()
    return system, job


def operations(keys: str, server: str = "dgx1-v100") -> list[dict[str, Any]]:
    """Returns the operations of its second rank."""
    return pa.table(job_of(keys, server)[1].program.operations_of(1)).to_pylist()


def test_a_job_of_ranks_runs_a_workload_with_keys_of_its_own() -> None:
    keys = 'workload = "alexnet"\nranks = 2\n'
    compute, reduce = operations(keys)
    assert (compute["kind"], reduce["collective"], reduce["size"]) == (
        "compute",
        "all-reduce",
        GRADIENTS,
    )
    copy, *_ = operations(f"{keys}host_copies = true")
    assert (copy["direction"], copy["size"]) == ("host-to-device", COPIED)
    sizes = [it["size"] for it in operations(f'{keys}bucket = "100 MB"') if it["collective"]]
    assert sizes == [100_000_000, 100_000_000, GRADIENTS - 200_000_000]
    own, _ = operations(f'{keys}gpu_speed = "own"', "dgx-a100")
    assert compute["duration"] / own["duration"] == pytest.approx(19.5 / 15.7, rel=0.01)
    assert operations(f'{keys}gpu_speed = "own"') == [compute, reduce]


def test_such_a_job_takes_what_one_that_a_policy_places_takes() -> None:
    system, job = job_of('workload = "alexnet"\nranks = 1\niterations = 10\nhost_copies = true')
    assert (job.name, job.iterations) == ("alexnet", 10)
    alone = system.play([job]).makespan
    assert alone == pytest.approx(seconds("dgx1-v100", 1, "packet", host_copies=True), rel=1e-9)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ('workload = "alexnett"\nranks = 2', "day.toml:4:12: there is no workload `alexnett`"),
        ('workload = "alexnet"', "day.toml:4:12: a workload without `ranks`"),
        ('workload = "alexnet"\nranks = 9', "day.toml:5:9: the jobs have 9 ranks in all"),
        ('workload = "alexnet"\nranks = 2\nbucket = "1 kB"', "day.toml:6:10: a bucket smaller"),
        ('workload = "alexnet"\nranks = 2\ngpu_speed = "owm"', "did you mean `own`?"),
        ('workload = "alexnet"\nranks = 2\nhost_copies = 1', "day.toml:6:15"),
        (
            'workload = "alexnet"\nranks = 2\ntrain = "vgg-16"',
            "day.toml:6:9: `train` beside a workload",
        ),
        (
            'program = "copy-execute"\nranks = 2\nhost_copies = true',
            "day.toml:6:15: `host_copies` of a job that runs no workload",
        ),
    ],
)
def test_what_a_job_of_ranks_may_not_say_is_refused_with_its_place(keys: str, told: str) -> None:
    with pytest.raises(InputError) as refused:
        job_of(keys)
    assert told in str(refused.value)


def test_a_workload_on_gpus_of_unknown_speed_is_refused_at_its_name() -> None:
    with pytest.raises(InputError, match=r"day.toml:4:12: .* is not known"):
        job_of('workload = "alexnet"\nranks = 1\ngpu_speed = "own"', "pcie-tree-4")


@pytest.mark.parametrize("fidelity", ["fluid", "flow"])
def test_whose_copies_go_first_counts_in_a_day(fidelity: FidelityName) -> None:
    day = SCENARIO.format(settings="host_copies = true").replace("fluid", fidelity)
    day = day.replace("dgx1-v100", "pcie-tree-4")
    jobs = [Job(name, "alexnet", 1, iterations=5) for name in ("a", "b", "c")]

    def ends(bus: str) -> list[float]:
        scenario = Scenario.from_text(day + f"[pcie]\n{bus}\n")
        system, _, notes = scenario.build()
        assert not notes
        result = simulated(scenario, system, jobs, scenario.policies[0])
        return [row["finish"] for row in job_rows(result)]

    turns = ends('arbitration = "round-robin"')
    assert ends('arbitration = "throughput"') != turns
    # Headers take a part of each link.
    assert sum(ends('arbitration = "round-robin"\nheader = "256 B"')) > sum(turns)
