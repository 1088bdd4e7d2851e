"""Tests which network interfaces the channels of a collective take."""

import json
from typing import Any

import pytest
from commands import linkwright

from linkwright import System, expect
from linkwright.collectives import nccl_interfaces
from linkwright.errors import CollectiveError
from linkwright.names import CollectiveName

TWO = System("hgx-h100", servers=2, network="400 Gb/s")
GPUS = list(range(16))


def time_of(system: System, collective: CollectiveName, size: int, **options: Any) -> float:
    gpus = list(range(system.gpu_count))
    (row,) = expect(system, gpus, collective, [size], **options)
    return float(row["time"])


def test_every_channel_tells_who_sends_and_receives_by_what() -> None:
    ends = list(nccl_interfaces(TWO, GPUS, "all-reduce", 1 << 30, algorithm="ring"))
    assert len(ends) == 2 * 2 * 16
    for row in ends:
        assert row["server"] == row["gpu"] // 8
        assert row["interface"] == f"mlx5_{row['rail']}"
        near = row["gpu"] if row["through"] is None else row["through"]
        assert near % 8 == row["rail"]
    assert nccl_interfaces(System("hgx-h100"), list(range(8)), "all-reduce", 1).num_rows == 0


@pytest.mark.parametrize(("cross_nic", "stays"), [(0, True), (1, False), (2, True)])
def test_a_ring_stays_on_its_rail_as_asked(cross_nic: int, stays: bool) -> None:
    options: dict[str, Any] = {"algorithm": "ring", "cross_nic": cross_nic}
    rails: dict[tuple[int, int], set[int]] = {}
    for row in nccl_interfaces(TWO, GPUS, "all-reduce", 1 << 30, **options):
        rails.setdefault((row["channel"], row["server"]), set()).add(row["rail"])
    assert all(len(used) == 1 for used in rails.values()) == stays


def test_the_explained_channels_are_those_of_what_is_chosen() -> None:
    words = ("all-reduce", "-m", "hgx-h100", "--servers", 2, "-b", "1G", "-e", "1G")
    for numbers in ("half", "int8"):
        ran = linkwright("collective", "expect", *words, "--type", numbers, "--explain", "--json")
        told = json.loads(ran.stdout)
        algorithm = told["sweep"][0]["algorithm"]
        assert (algorithm == "nvls-tree") == (numbers == "half")
        own = nccl_interfaces(TWO, GPUS, "all-reduce", 1 << 30, algorithm=algorithm)
        assert told["explanation"]["interfaces"] == [dict(row) for row in own]


def test_an_unknown_cross_nic_is_refused_with_those_that_work() -> None:
    with pytest.raises(CollectiveError, match="0, 1, 2"):
        expect(TWO, GPUS, "all-reduce", [1], cross_nic=3)


def test_messages_cost_what_it_takes_to_post_them() -> None:
    times = [
        time_of(System("hgx-h100", servers, network="400 Gb/s"), "all-to-all", 8192)
        for servers in (2, 4, 8)
    ]
    assert times[1] > times[0] + 15e-6
    assert times[2] > times[1] + 30e-6


def test_data_by_the_hosts_memory_is_no_faster() -> None:
    quick = time_of(TWO, "all-reduce", 1 << 30, algorithm="ring")
    assert time_of(TWO, "all-reduce", 1 << 30, algorithm="ring", gpudirect=False) >= quick
    ends = nccl_interfaces(TWO, GPUS, "all-reduce", 1 << 30, algorithm="ring", gpudirect=False)
    assert all(row["by_memory"] and row["through"] is None for row in ends)
