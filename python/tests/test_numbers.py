"""No whole number or float, however large, reaches the core as another or raises OverflowError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwright as lw
from linkwright import LinkwrightError

DGX1 = lw.System("dgx1-v100")
PAIR = lw.Pattern("ring", 2)
PLAN = lw.plan(DGX1, [0, 1, 2, 3], "all-reduce")
SYSTEM = lw.System(network={"kind": "fat-tree", "levels": 2, "leaves": 2, "radix": 4})
PROGRAM = lw.network.Program.skeleton("kripke", 2)
JOB = lw.scenario.Job("a", "gmm", 2)
XML = PLAN.to_msccl_xml().text
PLANNED = PLAN.to_mscclpp_json().text
GPU = lw.GpuSystem()


def allocator() -> lw.Allocator:
    return lw.Allocator(DGX1)


CALLS: dict[str, Callable[[Any], object]] = {
    "Job.gpus": lambda n: lw.scenario.Job("a", "gmm", n),
    "Job.iterations": lambda n: lw.scenario.Job("a", "gmm", 1, iterations=n),
    "Job.arrival": lambda n: lw.scenario.Job("a", "gmm", 1, arrival=n),
    "Job.run_time": lambda n: JOB.run_time(n),
    "generate_jobs.seed": lambda n: lw.scenario.generate_jobs(n, 1),
    "generate_jobs.count": lambda n: lw.scenario.generate_jobs(0, n if n < 10 or n > 10**6 else 10),
    "generate_jobs.max_gpus": lambda n: lw.scenario.generate_jobs(0, 1, n),
    "generate_jobs.interarrival": lambda n: lw.scenario.generate_jobs(0, 1, mean_interarrival=n),
    "jobs_from_text": lambda n: lw.scenario.jobs_from_text("job,workload,gpus\na,gmm,1\n", healthy_gpus=n),
    "mapping_from_text.ranks": lambda n: lw.network.mapping_from_text("0\n", [n], 1),
    "mapping_from_text.gpus": lambda n: lw.network.mapping_from_text("0\n", [1], n),
    "simulate": lambda n: lw.scenario.play_jobs(DGX1, [JOB], unhealthy=[n]),
    "Pattern.size": lambda n: lw.Pattern("ring", n),
    "Pattern.from_edges": lambda n: lw.Pattern.from_edges(n, [(0, n)]),
    "Allocator.score": lambda n: allocator().score(PAIR, [0, n]),
    "Allocator.best_placement": lambda n: allocator().best_placement(PAIR, [0, n]),
    "Allocator.sound_bandwidth": lambda n: allocator().sound_bandwidth([0, n]),
    "Allocator.mark_unhealthy": lambda n: allocator().mark_unhealthy(n),
    "Allocator.mark_healthy": lambda n: allocator().mark_healthy(n),
    "Allocator.explain": lambda n: allocator().explain("a", PAIR, limit=n),
    "Allocator.measure_decision": lambda n: allocator().measure_decision(
        PAIR, repeats=n if n < 3 or n > 2**32 else 3
    ),
    "published_effective_bandwidth": lambda n: lw.allocation.published_effective_bandwidth(n, n, n),
    "System.servers": lambda n: lw.System(DGX1, n if n < 4 or n > 2**31 else 4, network="1 Gb/s"),
    "System.listed": lambda n: lw.System([(DGX1, n if n < 4 or n > 2**31 else 4)]),
    "System.gpus": lambda n: lw.System({"gpus": n}, network="torus"),
    "System.server_of": lambda n: SYSTEM.server_of(n),
    "read_system.gpus": lambda n: lw.network.read_system(DGX1, gpus=n if n < 99 or n > 2**40 else 9),
    "System.from_text": lambda n: lw.System.from_text("", xgmi_links=n),
    "plan.gpus": lambda n: lw.plan(DGX1, [0, n], "all-reduce"),
    "plan.root": lambda n: lw.plan(DGX1, [0, 1], "broadcast", root=n),
    "plan.size": lambda n: lw.plan(
        DGX1, [0, 1], "all-reduce", size=n if n < 2**33 or n > 2**50 else 9
    ),
    "packing_rate": lambda n: lw.collectives.packing_rate(DGX1, [0, n]),
    "expect.gpus": lambda n: lw.expect(DGX1, [0, n], "all-reduce", [8]),
    "expect.sizes": lambda n: lw.expect(
        DGX1, [0, 1], "all-reduce", [n if n < 2**40 or n > 2**46 else 9]
    ),
    "expect.root": lambda n: lw.expect(DGX1, [0, 1], "broadcast", [8], root=n),
    "Schedule.time.size": lambda n: PLAN.time(n if n < 2**20 or n > 2**62 else 2**20, chunk=2**16),
    "Schedule.time.chunk": lambda n: PLAN.time(2**20, chunk=n if n < 1 or n > 2**19 else 2**16),
    "Schedule.to_msccl_xml": lambda n: PLAN.to_msccl_xml(min_bytes=n, max_bytes=n, step_limit=n),
    "Schedule.to_mscclpp_json": lambda n: PLAN.to_mscclpp_json(
        min_bytes=n, max_bytes=n, threads_per_block=n, block_limit=n
    ),
    "Schedule.from_msccl_xml": lambda n: lw.collectives.Schedule.from_msccl_xml(XML, gpus=[0, 1, 2, n]),
    "Schedule.from_mscclpp_json": lambda n: lw.collectives.Schedule.from_mscclpp_json(
        PLANNED, gpus=[0, 1, 2, n]
    ),
    "time_sweep": lambda n: lw.collectives.time_sweep(PLAN, None, [n if n < 2**20 else 2**20]),
    "Program.skeleton": lambda n: lw.network.Program.skeleton("kripke", n if n < 9 or n > 2**20 else 8),
    "Program.parameter": lambda n: lw.network.Program.skeleton("kripke", 4, direction_sets=n),
    "Program.operations_of": lambda n: PROGRAM.operations_of(n),
    "Program.from_goal": lambda n: lw.network.Program.from_goal("num_ranks 0\n", time_unit=n),
    "Program.to_goal": lambda n: PROGRAM.to_goal(time_unit=n),
    "random_mixes": lambda n: lw.scenario.random_mixes(n if n < 3 or n >= 2**64 else 3),
    "ClusterJob.iterations": lambda n: lw.network.ClusterJob(PROGRAM, iterations=n),
    "ClusterJob.start": lambda n: lw.network.ClusterJob(PROGRAM, start=n),
    "ClusterJob.computation_scale": lambda n: lw.network.ClusterJob(PROGRAM, computation_scale=n),
    "ClusterJob.priority": lambda n: lw.network.ClusterJob(PROGRAM, priority=n),
    "ClusterJob.mapping": lambda n: lw.network.ClusterJob(PROGRAM, mapping=[0, n]),
    "System.play.seed": lambda n: SYSTEM.play([lw.network.ClusterJob(PROGRAM)], seed=n),
    "System.play.timeline": lambda n: SYSTEM.play([lw.network.ClusterJob(PROGRAM)], timeline=n),
    "GpuSystem": lambda n: lw.GpuSystem(
        gpus=n, shared_bandwidth=n, read_lease=n, write_lease=n, timestamp_bits=n
    ),
    "GpuSystem.run.size": lambda n: GPU.run("relu", n if n < 99 or n > 2**40 else 64),
    "GpuSystem.run.limit": lambda n: GPU.run("relu", 64, limit=n),
    "GpuSystem.run.timeline": lambda n: GPU.run("relu", 64, timeline=n),
}
EDGES = [
    2**bits + off for bits in (0, 8, 16, 31, 32, 53, 63, 64, 127, 128, 1_100) for off in (-1, 0)
]
NUMBERS = st.one_of(
    st.sampled_from([sign * edge for edge in EDGES for sign in (1, -1)] + [10**400, -(10**5_000)]),
    st.integers(),
)


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=40)
@given(number=NUMBERS)
def test_a_number_is_taken_or_named(name: str, number: int) -> None:
    try:
        CALLS[name](number)
    except (LinkwrightError, MemoryError) as refused:
        told = str(refused)
    else:
        return
    assert "OverflowError" not in told


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(LinkwrightError, match="levels deep"):
        lw.network.Program.skeleton("kripke", 2, message=endless)
