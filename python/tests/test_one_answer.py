"""One question, one answer: every door gives the same time for the same collective on idle GPUs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from linkwright import System, expect, plan
from linkwright.collectives import plan_for_sizes
from linkwright.network import ClusterJob, ClusterRun, ProgramBuilder, read_system
from linkwright.scenario import Job, play_jobs
from linkwright.cli.commands import app
from linkwright.errors import InputError, SimulationError
from linkwright.runs.rank_timeline import rank_timeline
from linkwright.runs.scenarios import read_scenario_file
from linkwright.studies.blink.measure import timed as timed_by_study

if TYPE_CHECKING:
    from linkwright.names import AlgorithmName

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

CASES = [
    ("dgx1-v100", [1, 4, 5, 6], 64 << 20),
    ("dgx1-v100", list(range(8)), 256 << 10),
    ("dgx-a100", list(range(8)), 16 << 20),
    ("4x-l40s-pcie", list(range(4)), 64 << 20),
    ("mi300x-8", list(range(8)), 256 << 20),
    ("hgx-h100", list(range(8)), 64 << 20),
]

FIDELITIES: tuple[Literal["fluid", "flow"], ...] = ("fluid", "flow")
NAMES: dict[str, AlgorithmName] = {"ring": "nccl-ring", "tree": "nccl-tree", "nvls": "nvls"}


REFUSED: list[tuple[Literal["packet", "flow"], dict[str, object], str]] = [
    ("packet", {}, "network of packets"),
    ("flow", {"planner": "mpi"}, "no planner of kernels"),
    ("flow", {"protocol": "ncl"}, "unknown protocol of collectives"),
]


def told(*words: str) -> Any:
    """What a command prints as JSON."""
    result = CliRunner().invoke(app, [*words, "--json"], prog_name="linkwright")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def replay_of_one(system: System, gpus: list[int], size: int, **collectives: object) -> ClusterRun:
    """A program whose ranks call one all-reduce."""
    program = ProgramBuilder(len(gpus))
    program.collective("all-reduce", size)
    job = ClusterJob(program.build(), mapping=gpus)
    kernels: dict[str, object] = {"protocol": "nccl", **collectives}
    return system.play([job], fidelity="flow", collectives=kernels, timeline=100)


@pytest.mark.parametrize(("machine", "gpus", "size"), CASES)
def test_plan_time_compare_and_expect_agree_on_what_nccl_takes(
    machine: str, gpus: list[int], size: int
) -> None:
    system = read_system(machine)
    [row] = pa.table(expect(system, gpus, "all-reduce", [size])).to_pylist()
    name = NAMES[row["algorithm"]]
    on = ["-m", machine, "--on", ",".join(map(str, gpus))]
    of_size = ["--algorithm", name, "--size", str(size)]
    planned = told("collective", "plan", "all-reduce", *on, *of_size)["timing"]["time"]
    bounds = ["--min-bytes", str(size), "--max-bytes", str(size)]
    [timed] = told("collective", "time", "all-reduce", *on, "--algorithm", name, *bounds)["sweep"]
    [compared] = told("collective", "compare", "all-reduce", *on, *of_size)["algorithms"]
    [expected] = told("collective", "expect", "all-reduce", *on, *bounds)["sweep"]
    replayed = replay_of_one(system, gpus, size)
    schedule = plan(system, gpus, "all-reduce", algorithm=name, size=size)
    [of_sizes] = plan_for_sizes(system, gpus, "all-reduce", [size], algorithm=name)
    times = {
        "plan": planned,
        "time": timed["time"],
        "compare": compared["time"],
        "expect": expected["time"],
        "Schedule.time": schedule.time(size).time,
        "plan_for_sizes": of_sizes.time(size).time,
        "replay": replayed.makespan,
    }
    assert times == dict.fromkeys(times, row["time"])
    assert {timed["protocol"], compared["protocol"], expected["protocol"]} == {row["protocol"]}


@pytest.mark.parametrize(("machine", "gpus", "size"), CASES)
def test_plan_time_and_compare_agree_on_packing(machine: str, gpus: list[int], size: int) -> None:
    on = ["-m", machine, "--on", ",".join(map(str, gpus))]
    of_size = ["--algorithm", "packing", "--size", str(size)]
    planned = told("collective", "plan", "all-reduce", *on, *of_size)["timing"]["time"]
    bounds = ["--min-bytes", str(size), "--max-bytes", str(size)]
    [timed] = told("collective", "time", "all-reduce", *on, "--algorithm", "packing", *bounds)[
        "sweep"
    ]
    [compared] = told("collective", "compare", "all-reduce", *on, *of_size)["algorithms"]
    replayed = replay_of_one(read_system(machine), gpus, size, planner="packing")
    assert planned == timed["time"] == compared["time"] == replayed.makespan


@pytest.mark.parametrize(("machine", "gpus", "size"), CASES)
@pytest.mark.parametrize("algorithm", ["nccl-ring", "packing"])
def test_one_iteration_of_a_job_and_the_study_of_blink_agree_with_plans(
    machine: str, gpus: list[int], size: int, algorithm: Literal["nccl-ring", "packing"]
) -> None:
    # Jobs get the lowest ids, and compute a microsecond.
    system, lowest = read_system(machine), list(range(len(gpus)))
    planned = plan(system, lowest, "all-reduce", algorithm=algorithm, size=size).time(size).time
    [of_study] = timed_by_study(system, lowest, "all-reduce", algorithm, [size])
    assert of_study.seconds == planned
    job = Job(
        *("a", "vgg-16", len(gpus)),
        iterations=1,
        compute_per_iteration=1e-6,
        bytes_per_iteration=size,
    )
    for fidelity in FIDELITIES:
        played = play_jobs(
            *(system, [job], "baseline"),
            run_time="played",
            planner=algorithm,
            fidelity=fidelity,
        )
        [row] = pa.table(played.jobs()).to_pylist()
        assert round((row["finish"] - row["start"]) * 1e12) == round((planned + 1e-6) * 1e12)


def test_kernels_are_seen_by_every_observer() -> None:
    system = read_system("dgx1-v100")
    run = replay_of_one(system, [0, 1, 2, 3], 64 << 20)
    kernels = list(run.kernels())
    assert run.kernel_count == len(kernels) == 4
    assert {row["collective"] for row in kernels} == {"all-reduce"}
    assert max(row["end"] for row in kernels) == run.makespan
    # Around a ring of four each GPU sends six quarters.
    sent = sum(row["data"] for row in run.links())
    assert sent == pytest.approx(4 * 1.5 * (64 << 20), rel=1e-6)
    assert all(0 < row["utilisation"] <= 1 and row["packets"] > 0 for row in run.links())
    timeline = rank_timeline("one", "dgx1-v100", run)
    assert timeline is not None
    names = [piece.name for track in timeline.tracks for piece in track.slices]
    assert names.count(f"all-reduce of {64 << 20} B") == 4
    assert timeline.kept["kernels"] == (4, 4)


def test_kernels_are_refused_where_they_cannot_run() -> None:
    system = read_system("dgx1-v100")
    program = ProgramBuilder(2)
    program.collective("all-reduce", 8)
    job = ClusterJob(program.build(), mapping=[0, 1])
    for fidelity, settings, words in REFUSED:
        collectives: dict[str, object] = {"protocol": "nccl", **settings}
        with pytest.raises(InputError, match=words):
            system.play([job], fidelity=fidelity, collectives=collectives)


@pytest.mark.parametrize(("machine", "gpus", "size"), CASES)
def test_what_auto_tried_takes_what_a_comparison_says(
    machine: str, gpus: list[int], size: int
) -> None:
    on = ["-m", machine, "--on", ",".join(map(str, gpus)), "--size", str(size)]
    tried = told("collective", "plan", "all-reduce", *on, "--algorithm", "auto")["tried"]
    compared = told("collective", "compare", "all-reduce", *on)["algorithms"]
    times = {row["algorithm"]: row["time"] for row in tried}
    assert {row["algorithm"]: row["time"] for row in compared}.items() <= times.items()


def test_a_scenario_plays_its_jobs_as_simulate_does_with_its_choices() -> None:
    scenario = read_scenario_file(EXAMPLES / "shared-server.toml", {"jobs.generate.count": 8}).scenario
    system, jobs, _ = scenario.build()
    played = scenario.play_jobs(system, jobs, "preserve")
    by_hand = play_jobs(
        system,
        jobs,
        "preserve",
        run_time="played",
        planner="packing",
        fidelity="fluid",
        host_copies=True,
        gpu_speed="own",
        bucket="25 MB",
    )
    assert played.to_json() == by_hand.to_json()
    other = read_scenario_file(EXAMPLES / "shared-bus.toml").scenario
    with pytest.raises(SimulationError, match="runs programs, which no policy places"):
        other.play_jobs(system, jobs, "preserve")
