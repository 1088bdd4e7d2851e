"""Asks who talks to whom where a network is trained, by every way to communicate."""

from __future__ import annotations

from math import log2

import pytest
from commands import linkwright, parsed

from linkwright import System, plan
from linkwright.collectives import planner_names
from linkwright.errors import CollectiveError
from linkwright.traffic import traffic_of_schedule

# Each rank sends all it has in every round.
DOUBLING = "mpi-recursive-doubling"


def test_a_schedule_sends_what_theory_says() -> None:
    machine, size = System("dgx1-v100"), 1 << 26
    asked = set()
    for planner in planner_names():
        for count in (2, 4, 8):
            try:
                schedule = plan(machine, range(count), "all-reduce", algorithm=planner, size=size)  # type: ignore[arg-type]
            except CollectiveError:
                continue
            asked.add(planner)
            sent = sum(there + back for _, _, there, back in traffic_of_schedule(schedule, size))
            # Nothing sends less (Patarasuk and Yuan 2009), and trees and rings no more.
            least = 2 * (count - 1)
            expected = count * log2(count) if planner == DOUBLING else least
            assert sent / size == pytest.approx(expected, rel=1e-6), (planner, count)
    assert {"blink", "packing", "nccl-ring", "nccl-tree", DOUBLING} <= asked


def test_a_planner_has_the_graph_of_its_schedule() -> None:
    words = ["allocate", "-m", "dgx1-v100", "-k", "4", "--program", "resnet-50", "--communication"]
    by_blink = parsed(*words, "blink")["program"]["traffic"]
    schedule = plan(System("dgx1-v100"), range(4), "all-reduce", algorithm="blink", size=1 << 26)
    joined = [(a, b) for a, b, _, _ in traffic_of_schedule(schedule, 1 << 26)]
    assert [(edge["a"], edge["b"]) for edge in by_blink] == joined
    assert sum(edge["share"] for edge in by_blink) == pytest.approx(1)
    ring = parsed(*words, "nccl")["program"]["traffic"]
    whole = [
        sum(edge["bytes_a_to_b"] + edge["bytes_b_to_a"] for edge in it) for it in (by_blink, ring)
    ]
    assert whole[0] == pytest.approx(whole[1], rel=1e-6)
    assert "So `blink` plans it on GPUs 0 to 3" in linkwright(*words, "blink").stderr
    (told,) = parsed(*words, "fsdp:blink")["program"]["notes"]
    assert "told as rings; `blink` plans others" in told, told
