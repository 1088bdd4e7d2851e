"""Links between a fabric's switches hold up collectives, by what they carry and by every door."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from linkwright import System, expect, plan, train
from linkwright.network import ClusterJob, ProgramBuilder

SIZE = 256 << 20


def tree(tapering: int) -> System:
    """Four DGX A100s, each at a leaf of its own, of whose eight links 8, 4 or 2 lead up."""
    radix = 8 + 8 // tapering
    sizes = {"levels": 2, "radix": radix, "leaves": 4, "tapering": tapering}
    return System("dgx-a100", 4, network={"kind": "fat-tree", "bandwidth": "100 Gb/s", **sizes})


def expected(system: System, gpus: list[int]) -> Any:
    [row] = pa.table(expect(system, gpus, "all-reduce", [SIZE], algorithm="ring")).to_pylist()
    return row


def first_of(servers: int) -> list[int]:
    return list(range(8 * servers))


def test_a_ring_is_as_fast_as_a_tapered_leaf_lets_it() -> None:
    full, half, quarter = (expected(tree(it), first_of(2))["time"] for it in (1, 2, 4))
    # All eight interfaces are filled, and two of them share each link up, or four.
    assert 1.8 < half / full < 2.05
    assert 1.9 < quarter / half < 2.05


def test_what_stays_below_one_leaf_knows_nothing_of_it() -> None:
    times = {expected(tree(it), first_of(1))["time"] for it in (1, 2, 4)}
    assert len(times) == 1


@pytest.mark.parametrize(
    "system",
    [tree(2), System("dgx-a100", 4, network="torus")],
    ids=lambda system: system.fabric.kind,
)
def test_every_door_gives_the_same_time(system: System) -> None:
    gpus = first_of(3)
    row = expected(system, gpus)
    program = ProgramBuilder(len(gpus))
    program.collective("all-reduce", SIZE)
    replayed = system.play(
        [ClusterJob(program.build(), mapping=gpus)],
        fidelity="flow",
        collectives={"protocol": "nccl", "planner": "nccl-ring"},
    )
    planned = plan(system, gpus, "all-reduce", algorithm="nccl-ring", size=SIZE)
    assert row["time"] == planned.time(SIZE).time == replayed.makespan
    # What crosses servers crosses links between switches, and none is fuller than full.
    used = [link for link in replayed.links() if link["data"] > 0]
    assert all(link["utilisation"] <= 1 for link in used)
    assert {link["level"] for link in used} > {"injection", "ejection", "nvlink3", "pcie4"}


def test_no_optimum_is_claimed_where_none_is_known() -> None:
    full, tapered = (
        plan(tree(it), first_of(2), "all-reduce", algorithm="packing") for it in (1, 4)
    )
    assert full.rate is not None
    assert full.rate == full.optimum
    assert (tapered.optimum, tapered.optimum_of) == (None, None)
    assert tapered.rate == pytest.approx(full.rate / 4, rel=1e-3)


def test_a_step_of_training_pays_for_a_tapered_tree() -> None:
    full, tapered = (
        train("vgg-16", tree(it), batch=32, overlap=False, scaling=False).best.time for it in (1, 4)
    )
    assert tapered > 1.2 * full
