"""Deadlines of jobs on the shared PCIe bus, in Python: whom they help, and what is refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

from linkwright import System
from linkwright.errors import SimulationError
from linkwright.network import ClusterJob, Program

SMALL, LARGE = 64_000, 1_000_000


def copies(arbitration: str, deadline: float | None, others: bool = True) -> list[float]:
    """How long the copies of a small job take beside two large ones that go first, in seconds."""
    bus = {"arbitration": arbitration, "first": "large"}
    system = System("pcie4-tree-4", network={"pcie": bus})
    sizes = [(SMALL, deadline), *[(LARGE, None)] * (2 if others else 0)]
    jobs = [
        ClusterJob(
            Program.skeleton("copy-execute", 1, input=f"{size} B", kernel="1 us"),
            name=f"{size}-{gpu}",
            iterations=4,
            mapping=[gpu],
            deadline=within,
        )
        for gpu, (size, within) in enumerate(sizes)
    ]
    rows = pa.table(system.play(jobs, timeline=1000).copies()).to_pylist()
    return [row["end"] - row["start"] for row in rows if row["job"] == 0]


def test_a_job_with_a_deadline_keeps_it_beside_jobs_that_go_first() -> None:
    alone = max(copies("qos", None, others=False))
    assert max(copies("qos", 1.2)) <= 1.2 * alone
    # Without one it waits, and only `qos` heeds it.
    assert max(copies("qos", None)) > 10 * alone
    assert copies("throughput", 1.2) == copies("throughput", None)


def test_deadlines_are_kept_and_refused_out_of_range() -> None:
    program = Program.skeleton("copy-execute", 1)
    assert ClusterJob(program).deadline is None
    assert ClusterJob(program, deadline=2.5).deadline == 2.5
    assert ClusterJob(program, deadline=2.5) != ClusterJob(program)
    for wrong in (0, -1, float("nan"), float("inf"), 1001, 0.0001):
        with pytest.raises(SimulationError, match=r"deadline is .*; give how many times"):
            ClusterJob(program, deadline=wrong)
