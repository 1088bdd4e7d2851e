"""Holds placements by name and nodes of several interfaces against theory."""

from __future__ import annotations

from typing import get_args

import pytest

from linkwright import System
from linkwright.errors import InputError, SimulationError
from linkwright.network import ClusterJob, Program
from linkwright.names import MappingName

TREE = {"kind": "fat-tree", "radix": 8, "pods": 2, "bandwidth": "10 GB/s"}


def pairs() -> list[ClusterJob]:
    """Gives two stencils of 32 ranks."""
    return [
        ClusterJob(Program.skeleton("stencil4d", 32), name=str(at), iterations=2) for at in (0, 1)
    ]


def test_every_placement_gives_each_rank_a_gpu_of_its_own_by_its_seed() -> None:
    system = System({"gpus": 2}, network=TREE)
    for mapping in get_args(MappingName):
        runs = [system.play(pairs(), mapping=mapping, seed=seed) for seed in (3, 3, 4)]
        placed = [gpu for job in runs[0].mapping for gpu in job]
        assert len(set(placed)) == len(placed) == 64
        assert runs[0].mapping == runs[1].mapping
        assert (runs[0].mapping == runs[2].mapping) == (mapping == "linear"), mapping


def test_nodes_by_chance_stay_whole() -> None:
    system = System({"gpus": 2}, network=TREE)
    [first, second] = system.play(pairs(), mapping="random-nodes", seed=1).mapping
    for job in (first, second):
        assert all(job[at] // 2 == job[at + 1] // 2 for at in range(0, len(job), 2))


def test_a_placement_that_shuffles_nothing_is_refused() -> None:
    with pytest.raises(SimulationError, match="`random-switches` needs several switches"):
        System("dgx1-v100").play(
            [ClusterJob(Program.skeleton("kripke", 4))], mapping="random-switches"
        )


@pytest.mark.parametrize("nics", [1, 2, 4, 8])
def test_interfaces_share_what_a_node_sends(nics: int) -> None:
    # As many ports as interfaces in all, so that there are 16 nodes whatever they have.
    network = {"kind": "fat-tree", "levels": 2, "radix": 16, "leaves": 2 * nics}
    system = System({"gpus": 8, "nics": nics}, network={**network, "bandwidth": "10 GB/s"})
    assert system.server_count == 16
    assert system.nic_count == 16 * nics
    from linkwright.network import ProgramBuilder

    builder = ProgramBuilder(16)
    for rank in range(8):
        builder.send(rank, rank + 8, 10**6)
        builder.receive(rank + 8, rank, 10**6)
    job = ClusterJob(builder.build(), mapping=[*range(8), *range(8, 16)])
    least = 8 / nics * 1e6 / 10e9
    assert least < system.play([job]).makespan < 1.15 * least + 10e-6


@pytest.mark.parametrize(("nics", "words"), [(9, "9 network interfaces for 8 GPUs"), (3, "share")])
def test_interfaces_that_do_not_fit_are_refused(nics: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        System({"gpus": 8, "nics": nics}, network=TREE)
