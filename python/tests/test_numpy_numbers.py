"""Numbers of numpy, and sizes and speeds as text, are taken wherever the API takes numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright import LinkwrightError
from linkwright.errors import ArgumentError

DGX1 = lw.System("dgx1-v100")
PAIR = lw.Pattern("ring", 2)
PLAN = lw.plan(DGX1, [0, 1], "all-reduce")
PROGRAM = lw.network.Program.skeleton("kripke", 2)
LENET = lw.training.NeuralNetwork.find("lenet")
NETWORK = lw.System(network="fat-tree")

# Calls that take a whole number, and one that they take.
WHOLE: dict[str, tuple[Callable[[Any], object], int]] = {
    "Job.gpus": (lambda n: lw.scenario.Job("a", "gmm", n), 2),
    "Job.iterations": (lambda n: lw.scenario.Job("a", "gmm", 1, iterations=n), 2),
    "generate_jobs": (lambda n: lw.scenario.generate_jobs(n, n, n), 2),
    "mapping_from_text": (lambda n: lw.network.mapping_from_text("0\n1\n", [n], n), 2),
    "Pattern": (lambda n: lw.Pattern("ring", n), 2),
    "Pattern.from_edges": (lambda n: lw.Pattern.from_edges(4, [(0, n)]), 2),
    "System.servers": (lambda n: lw.System(DGX1, n), 2),
    "System of a list": (lambda n: lw.System([(DGX1, n)]), 2),
    "System.gpus": (lambda n: lw.System({"gpus": n}, network="torus"), 2),
    "read_system.servers": (lambda n: lw.network.read_system("dgx1-v100", n), 2),
    "System.network": (lambda n: lw.System(network={"kind": "torus", "dimensions": [n, n]}), 2),
    "Fabric.ports": (lambda n: lw.network.Fabric("fat-tree", ports=n), 2),
    "Fabric.parameters": (lambda n: lw.network.Fabric("fat-tree", radix=n), 8),
    "System.server_of": (NETWORK.server_of, 2),
    "Allocator.explain": (lambda n: lw.Allocator(DGX1).explain("a", PAIR, limit=n), 2),
    "Allocator.mark_unhealthy": (lambda n: lw.Allocator(DGX1).mark_unhealthy(n), 2),
    "plan.root": (lambda n: lw.plan(DGX1, [0, 2], "broadcast", root=n), 2),
    "bus_factor": (lambda n: lw.collectives.bus_factor("all-reduce", n), 2),
    "Schedule.time": (lambda n: PLAN.time(n), 1 << 20),
    "Program.skeleton": (lambda n: lw.network.Program.skeleton("kripke", n), 4),
    "Program.skeleton.direction_sets": (
        lambda n: lw.network.Program.skeleton("kripke", 4, direction_sets=n),
        2,
    ),
    "read_program.ranks": (lambda n: lw.network.read_program("kripke", ranks=n), 4),
    "ClusterJob.iterations": (lambda n: lw.network.ClusterJob(PROGRAM, iterations=n), 2),
    "GpuSystem.gpus": (lambda n: lw.GpuSystem(gpus=n), 2),
    "GpuKernel.buffer": (lambda n: lw.gpu.GpuKernel().buffer("a", n), 256),
    "NeuralNetwork.with_input": (
        lambda n: lw.training.NeuralNetwork.find("alexnet").with_input(size=n),
        224,
    ),
    "TrainingStep.batch": (lambda n: lw.training.TrainingStep(LENET, DGX1, [0], batch=n), 64),
    "ProgramBuilder": (lambda n: lw.network.ProgramBuilder(n), 2),
    "ProgramBuilder.send": (lambda n: lw.network.ProgramBuilder(4).send(0, n, n), 2),
}
# Arguments that are keys of a scenario.
KEYS = {
    "Fabric.dimensions",
    "Fabric.parameters",
    "Program.skeleton.direction_sets",
    "System.gpus",
    "System.network",
}
# Calls that take a list of whole numbers.
LISTS: dict[str, Callable[[Any], object]] = {
    "plan": lambda ids: lw.plan(DGX1, ids, "all-reduce"),
    "plan_for_sizes": lambda ids: lw.collectives.plan_for_sizes(DGX1, [0, 1], "all-reduce", ids),
    "expect": lambda ids: lw.expect(DGX1, ids, "all-reduce", [8]),
    "expect.sizes": lambda ids: lw.expect(DGX1, [0, 1], "all-reduce", ids),
    "packing_rate": lambda ids: lw.collectives.packing_rate(DGX1, ids),
    "Allocator.score": lambda ids: lw.Allocator(DGX1).score(PAIR, ids),
    "Allocator.sound_bandwidth": lambda ids: lw.Allocator(DGX1).sound_bandwidth(ids),
    "System.cpuset": DGX1.cpuset,
    "simulate.unhealthy": lambda ids: lw.scenario.play_jobs(DGX1, [], unhealthy=ids),
    "ClusterJob.mapping": lambda ids: lw.network.ClusterJob(PROGRAM, mapping=ids),
    "time_sweep": lambda ids: lw.collectives.time_sweep(PLAN, None, ids),
    "TrainingStep": lambda ids: lw.training.TrainingStep(LENET, DGX1, ids, batch=64),
    "ProgramBuilder.communicator": lambda ids: lw.network.ProgramBuilder(4).communicator(ids),
    "Fabric.dimensions": lambda ids: lw.network.Fabric("torus", dimensions=ids),
}
# Calls that take bytes.
SIZES: dict[str, Callable[[Any], object]] = {
    "plan": lambda size: lw.plan(DGX1, [0, 1], "all-reduce", size=size),
    "plan_for_sizes": lambda size: lw.collectives.plan_for_sizes(DGX1, [0, 1], "all-reduce", [size]),
    "expect": lambda size: list(lw.expect(DGX1, [0, 1], "all-reduce", [size])),
    "nccl_choices": lambda size: list(lw.collectives.nccl_choices(DGX1, [0, 1], "all-reduce", size)),
    "Schedule.time": lambda size: PLAN.time(size, chunk=size),
    "time_sweep": lambda size: list(lw.collectives.time_sweep(PLAN, None, [size], chunk=size)),
    "to_msccl_xml": lambda size: PLAN.to_msccl_xml(min_bytes=size, max_bytes=size, size=size),
    "to_mscclpp_json": lambda size: PLAN.to_mscclpp_json(min_bytes=size, max_bytes=size),
    "TrainingStep.bucket": lambda size: lw.training.TrainingStep(LENET, DGX1, [0, 1], batch=64, bucket=size),
    "Job.bytes_per_iteration": lambda size: lw.scenario.Job(
        "a", "gmm", 2, iterations=1, compute_per_iteration=1.0, bytes_per_iteration=size
    ),
}
# Calls that take gigabytes per second.
SPEEDS: dict[str, Callable[[Any], object]] = {
    "Job.run_time": lambda speed: lw.scenario.Job("a", "gmm", 2).run_time(speed),
    "GpuSystem": lambda speed: lw.GpuSystem("r9-nano", 2, "tsm-wt-c-rc", shared_bandwidth=speed),
    "expect.link_bandwidth": lambda speed: list(
        lw.expect(DGX1, [0, 1], "all-reduce", [1 << 20], link_bandwidth=speed)
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_of_numpy_are_whole_numbers(name: str) -> None:
    call, number = WHOLE[name]
    expected = call(number)
    # A key's value is a float where it is one.
    floats = () if name in KEYS else (np.float64, float)
    for kind in (np.int32, np.int64, np.uint32, *floats):
        found = call(kind(number))
        assert found == expected or type(found).__eq__ is object.__eq__
    for wrong in (
        True,
        np.True_,
        2.5,
        np.float32(2.5),
        float("nan"),
        float("inf"),
        "two",
        np.ones(1),
    ):
        with pytest.raises(LinkwrightError) as refused:
            call(wrong)
        assert len(str(refused.value)) < 400
    with pytest.raises(LinkwrightError):
        call(-7)


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_whole_numbers_are_arrays_and_ranges(name: str) -> None:
    call = LISTS[name]
    expected = call([2, 3])
    floats = () if name in KEYS else ([np.int64(2), 3.0], np.array([2.0, 3.0]))
    for ids in (np.array([2, 3]), (2, 3), range(2, 4), *floats):
        found = call(ids)
        assert found == expected or type(found).__eq__ is object.__eq__
    unordered = () if name in KEYS else ({2, 3}, {2: 3}, b"23")
    for wrong in ("2,3", [2, True], [2, 2.5], [2, "3"], *unordered):
        with pytest.raises(LinkwrightError):
            call(wrong)


@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_numbers_or_texts(name: str) -> None:
    call = SIZES[name]
    expected = call(64 << 20)
    for size in ("64 MiB", "64MiB", np.int64(64 << 20), float(64 << 20)):
        assert call(size) == expected
    for wrong in ("64", "64 MX", "-1 MiB", 0.5, float("nan"), True, [1]):
        with pytest.raises(LinkwrightError):
            call(wrong)


@pytest.mark.parametrize("name", SPEEDS)
def test_speeds_are_numbers_or_texts(name: str) -> None:
    call = SPEEDS[name]
    expected = call(50.0)
    for speed in ("400 Gb/s", "400Gb/s", "50 GB/s", np.float32(50), np.int64(50), 50):
        assert call(speed) == expected
    for wrong in ("400", "fast", -1.0, float("nan"), True, [1.0]):
        with pytest.raises(LinkwrightError):
            call(wrong)


def test_what_is_wrong_is_said_by_its_place() -> None:
    with pytest.raises(ArgumentError) as refused:
        lw.plan(DGX1, [0, 1.5], "all-reduce")  # type: ignore[list-item]
    assert str(refused.value) == "`gpus[1]` is 1.5, a float; give a whole number"
    with pytest.raises(ArgumentError) as refused:
        lw.Pattern.from_edges(4, [(0, 1), (0, "x")])  # type: ignore[list-item]
    assert str(refused.value) == "`edges[1][1]` is 'x', a str; give a whole number"
    with pytest.raises(ArgumentError) as refused:
        PLAN.time("25 Mx")
    assert str(refused.value) == (
        "`size` is '25 Mx', a str; give bytes, or a size such as \"25 MiB\""
    )
