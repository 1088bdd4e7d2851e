"""Packets are led by the interfaces that a plan chose."""

from __future__ import annotations

import pytest

from linkwright import System
from linkwright.scenario import Job, play_jobs
from linkwright.names import FidelityName
from linkwright.summaries.policies import job_rows


@pytest.mark.parametrize("gpus", [[2, 3, 9], [2, 3, 8, 9], [2, 3, 4, 9, 10]])
def test_a_plan_over_both_interfaces_moves_by_both(gpus: list[int]) -> None:
    """The GPUs are at both sockets. By the nearest interface packets were half as fast."""
    network = {"kind": "fat-tree", "bandwidth": "12.5 GB/s", "buffer_packets": 64}
    system = System("summit-node", 2, network=network)
    others = [gpu for gpu in range(system.gpu_count) if gpu not in gpus]
    job = Job(
        "across",
        "vgg-16",
        len(gpus),
        iterations=1,
        compute_per_iteration=1e-6,
        bytes_per_iteration=50_000_000,
    )

    def seconds(fidelity: FidelityName) -> float:
        played = play_jobs(
            system,
            [job],
            "baseline",
            run_time="played",
            planner="packing",
            fidelity=fidelity,
            unhealthy=others,
        )
        [row] = job_rows(played)
        return float(row["run_time"])

    fluid, flow, packet = seconds("fluid"), seconds("flow"), seconds("packet")
    assert fluid == pytest.approx(flow, rel=0.01)
    assert -0.25 < flow / packet - 1 < 0.05
