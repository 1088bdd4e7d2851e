"""`linkwright collective time` of more GPUs than a plan can have."""

from __future__ import annotations

import pytest
from commands import fails, parsed

from linkwright import names, plan
from linkwright.errors import CollectiveError
from linkwright.cli.library_times import MOST_PLANNED, library_rows
from linkwright.systems import read_system

MANY = ("all-reduce", "--machine", "hgx-h100", "--servers", "129", "--network", "400Gb/s")


@pytest.mark.parametrize("algorithm", ["nccl-ring", "nccl-tree", "nvls-tree"])
def test_rows_are_those_of_the_plans(algorithm: names.AlgorithmName) -> None:
    system = read_system("hgx-h100", 4, network="400Gb/s")
    sizes = [1 << 20, 64 << 20]
    rows = library_rows(system, list(range(32)), "all-reduce", algorithm, None, sizes, None, None)
    wanted = ("--machine", "hgx-h100", "--servers", "4", "--network", "400Gb/s")
    swept = ("--min-bytes", "1MiB", "--max-bytes", "64MiB", "--factor", "64")
    data = parsed("collective", "time", "all-reduce", *wanted, *swept, "--algorithm", algorithm)
    for row, planned in zip(rows, data["sweep"], strict=True):
        assert row["size"] == planned["size"]
        assert row["protocol"] == planned["protocol"]
        assert row["time"] == pytest.approx(planned["time"], rel=1e-6)


def test_a_thousand_gpus_and_more_are_timed_without_a_plan() -> None:
    data = parsed(
        *("collective", "time", *MANY, "--algorithm", "nccl-ring"),
        *("--min-bytes", "64MiB", "--max-bytes", "64MiB"),
    )
    assert (len(data["gpus"]), data["algorithm"]) == (1032, "nccl-ring")
    expected = parsed(
        *("collective", "expect", *MANY, "--algorithm", "ring"),
        *("--min-bytes", "64MiB", "--max-bytes", "64MiB"),
    )
    [row], [of_expect] = data["sweep"], expected["sweep"]
    assert row["time"] == of_expect["time"]
    assert row["error"] == of_expect["error"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((), "1032 GPUs are more than a plan can have, and packing is one"),
        (("--algorithm", "nccl-tree", "--chunk", "4KiB"), "--chunk is for plans that are written"),
        (("--algorithm", "nccl-tree", "--links", "pcie"), "--links is for plans that are written"),
        (("--algorithm", "nvls"), "between servers NVLS takes CollNet"),
    ],
)
def test_what_only_plans_have_is_refused(given: tuple[str, ...], said: str) -> None:
    code = 2 if "plan" in said or "--" in said else 1
    assert said in fails(code, "collective", "time", *MANY, *given)


def test_as_many_as_a_plan_can_have_are_left_to_plans() -> None:
    system = read_system("hgx-h100", 129, network="400Gb/s")
    with pytest.raises(CollectiveError, match=f"name {MOST_PLANNED} at most"):
        plan(system, range(MOST_PLANNED + 1), "all-reduce", algorithm="nccl-ring")
