"""One question, one answer: every door gives the same time for the same collective on idle GPUs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from linkwright import expect, load_system, plan, plan_for_sizes
from linkwright.cli.commands import app

if TYPE_CHECKING:
    from linkwright.names import AlgorithmName

CASES = [
    ("dgx1-v100", [1, 4, 5, 6], 64 << 20),
    ("dgx1-v100", list(range(8)), 256 << 10),
    ("dgx-a100", list(range(8)), 16 << 20),
    ("4x-l40s-pcie", list(range(4)), 64 << 20),
    ("mi300x-8", list(range(8)), 256 << 20),
    ("hgx-h100", list(range(8)), 64 << 20),
]

NAMES: dict[str, AlgorithmName] = {"ring": "nccl-ring", "tree": "nccl-tree", "nvls": "nvls"}


def told(*words: str) -> Any:
    """What a command prints as JSON."""
    result = CliRunner().invoke(app, [*words, "--json"], prog_name="linkwright")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize(("machine", "gpus", "size"), CASES)
def test_plan_time_compare_and_expect_agree_on_what_nccl_takes(
    machine: str, gpus: list[int], size: int
) -> None:
    system = load_system(machine)
    [row] = pa.table(expect(system, gpus, "all-reduce", [size])).to_pylist()
    name = NAMES[row["algorithm"]]
    on = ["-m", machine, "--on", ",".join(map(str, gpus))]
    of_size = ["--algorithm", name, "--size", str(size)]
    planned = told("collective", "plan", "all-reduce", *on, *of_size)["timing"]["time"]
    bounds = ["--min-bytes", str(size), "--max-bytes", str(size)]
    [timed] = told("collective", "time", "all-reduce", *on, "--algorithm", name, *bounds)["sweep"]
    [compared] = told("collective", "compare", "all-reduce", *on, *of_size)["algorithms"]
    [expected] = told("collective", "expect", "all-reduce", *on, *bounds)["sweep"]
    schedule = plan(system, gpus, "all-reduce", algorithm=name, size=size)
    [of_sizes] = plan_for_sizes(system, gpus, "all-reduce", [size], algorithm=name)
    times = {
        "plan": planned,
        "time": timed["time"],
        "compare": compared["time"],
        "expect": expected["time"],
        "Schedule.time": schedule.time(size).time,
        "plan_for_sizes": of_sizes.time(size).time,
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
    assert planned == timed["time"] == compared["time"]


@pytest.mark.parametrize(("machine", "gpus", "size"), CASES)
def test_what_auto_tried_takes_what_a_comparison_says(
    machine: str, gpus: list[int], size: int
) -> None:
    on = ["-m", machine, "--on", ",".join(map(str, gpus)), "--size", str(size)]
    tried = told("collective", "plan", "all-reduce", *on, "--algorithm", "auto")["tried"]
    compared = told("collective", "compare", "all-reduce", *on)["algorithms"]
    times = {row["algorithm"]: row["time"] for row in tried}
    assert {row["algorithm"]: row["time"] for row in compared}.items() <= times.items()
