"""Values that are equal hash alike, come back equal from a pickle, and show themselves in short."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from linkwright import Allocator, Pattern, System, plan, train
from linkwright.network import read_system
from linkwright.scenario import Job, play_jobs

DGX1 = System("dgx1-v100")
RING = Pattern("ring", 3)
PLAN = plan(DGX1, [0, 1, 2, 3], "all-reduce")

# Two ways to one value, and another value.
HASHED: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "System": lambda: (DGX1, System.from_text(DGX1.to_toml()), System("dgx2")),
    "System of several": lambda: (
        System(DGX1, 2, network="torus"),
        read_system("dgx1-v100", 2, network="torus"),
        System(DGX1, 2, network="100 Gb/s"),
    ),
    "Match": lambda: (
        Allocator(DGX1).decide("a", RING),
        Allocator(DGX1).decide("b", RING),
        Allocator(DGX1).decide("a", Pattern("ring", 2)),
    ),
    "Pattern": lambda: (RING, Pattern("ring", 3), Pattern("chain", 3)),
}
# A value, and another of its class.
COMPARED: dict[str, Callable[[], tuple[Any, Any]]] = {
    "Timing": lambda: (PLAN.time(1 << 20), PLAN.time(1 << 21)),
    "Table": lambda: (PLAN.steps(), plan(DGX1, [0, 1], "all-reduce").steps()),
    "Table of floats": lambda: (
        play_jobs(DGX1, [Job("a", "gmm", 1)]).jobs(),
        play_jobs(DGX1, [Job("a", "gmm", 2)]).jobs(),
    ),
    "Export": lambda: (PLAN.to_msccl_xml(), PLAN.to_mscclpp_json()),
    "Explanation": lambda: (
        Allocator(DGX1).explain("a", RING),
        Allocator(DGX1, "greedy").explain("a", RING),
    ),
}


def an_allocator() -> Allocator:
    allocator = Allocator(DGX1)
    allocator.allocate("<b>\x1b[2J", RING)
    allocator.mark_unhealthy(7)
    return allocator


SHOWN: dict[str, tuple[Callable[[], Any], str, str]] = {
    "Allocator": (
        an_allocator,
        '<Allocator preserve on "dgx1-v100": 4 of 8 GPUs free, 1 jobs>',
        "(unhealthy)",
    ),
    "Explanation": (
        lambda: Allocator(DGX1).explain("a", RING),
        "<Explanation: GPUs [0, 3, 2] of 5 ranked, by lowest ids>",
        "effective_bandwidth (GB/s)",
    ),
    "Schedule": (
        lambda: PLAN,
        '<Schedule "packing-all-reduce": all-reduce on GPUs 0,1,2,3, ',
        "destination",
    ),
    "TrainingRun": (
        lambda: train("lenet", gpus=2, batch=64, scaling=False),
        "<TrainingRun: ",
        "<table>",
    ),
}


@pytest.mark.parametrize("name", HASHED)
def test_equal_values_hash_alike(name: str) -> None:
    one, same, other = HASHED[name]()
    assert one == same != other
    assert hash(one) == hash(same)
    assert len({one, same, other}) == 2
    again = pickle.loads(pickle.dumps(one))
    assert {one: 1}[again] == 1


@pytest.mark.parametrize("name", COMPARED)
def test_a_value_is_equal_to_what_its_pickle_gives(name: str) -> None:
    one, other = COMPARED[name]()
    again = pickle.loads(pickle.dumps(one))
    assert one == again
    assert one is not again
    assert one != other
    assert one != "another kind"


@pytest.mark.parametrize("name", SHOWN)
def test_a_value_shows_itself_in_a_line_and_in_a_notebook(name: str) -> None:
    make, start, held = SHOWN[name]
    value = make()
    assert repr(value).startswith(start)
    assert len(repr(value)) < 160
    html = value._repr_html_()
    assert held in html
    assert html.count("<table>") == html.count("</table>") >= 1
    assert "\x1b" not in html
    assert "<b>\x1b" not in html
