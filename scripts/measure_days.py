"""Writes `validation/days.csv`: jobs of small shared days as fluids, as flows and as packets.

On each system the jobs of a mix come at once and fill its GPUs, and each runs as fluids, as flows
and as packets. Mixes take planners, policies and choices of servers in turn. Intervals of results
are looked up in these rows (`linkwright.summaries.measured_days`). All take less than ten minutes
of one CPU:

    scripts/measure_days.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from random import Random

from linkwright import System
from linkwright.scenario import Job, play_jobs
from linkwright.names import FidelityName, PlannerName, PolicyName, ServerChoiceName
from linkwright.summaries.measured_days import HEADER, MeasuredJob
from linkwright.summaries.policies import job_rows

FILE = Path(__file__).resolve().parents[1] / "validation" / "days.csv"
TITLE = """\
# Jobs of several GPUs in random mixes that fill a system at once, by scripts/measure_days.py: how
# long each runs as fluids, as flows and as packets, in milliseconds. Links between servers have the
# gigabits per second that are named.
"""
FIDELITIES: tuple[FidelityName, ...] = ("fluid", "flow", "packet")
WORKLOADS = (
    "alexnet",
    "vgg-16",
    "resnet-50",
    "inception-v3",
    "caffenet",
    "googlenet",
    "jacobi",
)
POLICIES: tuple[PolicyName, ...] = ("baseline", "preserve", "greedy")
CHOICES: tuple[ServerChoiceName, ...] = ("spread", "pack", "first-fit")
# Of each system.
MIXES = 6
CLASSIC: tuple[PlannerName, ...] = ("packing", "nccl-ring", "nccl-classic")
MODERN: tuple[PlannerName, ...] = ("packing", "nccl-ring", "nccl-tree")


@dataclass(frozen=True)
class Measured:
    """A system, with the mixes that it is given.

    It has `servers` of the kind `server`. Their network is of the kind `fabric`, and each
    of its links carries `gigabits` Gb/s. `planners` take turns. The largest job asks for `largest`
    GPUs.
    """

    server: str
    planners: tuple[PlannerName, ...]
    largest: int
    servers: int = 1
    fabric: str = ""
    gigabits: int = 0

    @property
    def name(self) -> tuple[str, int, str]:
        """Tells it from the others."""
        return self.server, self.servers, self.fabric

    def system(self) -> System:
        """Joins the servers."""
        if self.servers == 1:
            return System(self.server)
        network = {"kind": self.fabric, "bandwidth": f"{self.gigabits} Gb/s"}
        return System(self.server, self.servers, network=network)


GRID = (
    Measured("dgx1-v100", CLASSIC, 5),
    Measured("dgx1-p100", CLASSIC, 5),
    Measured("dgx2", MODERN, 6),
    Measured("dgx-a100", MODERN, 5),
    Measured("hgx-h100", MODERN, 5),
    Measured("summit-node", MODERN, 4),
    Measured("pcie-tree-4", MODERN, 4),
    Measured("4x-l40s-pcie", MODERN, 4),
    Measured("torus2d-16", CLASSIC, 5),
    Measured("cubemesh-16", CLASSIC, 5),
    Measured("summit-node", MODERN, 6, 3, "fat-tree", 100),
    Measured("summit-node", MODERN, 6, 4, "dragonfly", 100),
    Measured("dgx1-v100", CLASSIC, 10, 2, "fat-tree", 100),
    Measured("dgx1-p100", CLASSIC, 10, 2, "single-switch", 100),
    Measured("pcie-tree-4", MODERN, 6, 3, "fat-tree", 100),
    Measured("pcie-tree-4", MODERN, 6, 4, "dragonfly", 100),
    Measured("4x-l40s-pcie", MODERN, 6, 3, "single-switch", 200),
    Measured("dgx-a100", MODERN, 10, 2, "fat-tree", 200),
    Measured("hgx-h100", MODERN, 10, 2, "fat-tree", 400),
    Measured("hgx-h100", MODERN, 10, 2, "dragonfly", 400),
)


def mix(seed: int, gpus: int, largest: int) -> list[Job]:
    """Draws jobs that come at once and fill that many GPUs."""
    random = Random(seed)
    jobs: list[Job] = []
    while gpus > 0:
        size = min(random.randint(1, largest), gpus)
        iterations, workload = random.randint(1, 3), random.choice(WORKLOADS)
        jobs.append(Job(f"job-{len(jobs)}", workload, size, iterations=iterations))
        gpus -= size
    return jobs


def measured(of: Measured, seed: int) -> Iterator[MeasuredJob]:
    """Plays a mix; gives its jobs of several GPUs."""
    system = of.system()
    planner = of.planners[seed % len(of.planners)]
    policy = POLICIES[seed // 2 % len(POLICIES)]
    choice = CHOICES[(seed + seed // 3) % len(CHOICES)] if of.servers > 1 else CHOICES[-1]
    jobs = mix(seed, system.gpu_count, of.largest)
    played = [
        job_rows(
            play_jobs(
                system,
                jobs,
                policy,
                servers=choice,
                run_time="played",
                planner=planner,
                fidelity=fidelity,
            )
        )
        for fidelity in FIDELITIES
    ]
    for job, fluid, flow, packet in zip(jobs, *played, strict=True):
        if job.gpus > 1:
            yield MeasuredJob(
                server=of.server,
                servers=of.servers,
                fabric=of.fabric,
                gigabits=of.gigabits,
                planner=planner,
                policy=policy,
                choice=choice,
                mix=seed,
                workload=job.workload,
                gpus=job.gpus,
                spanned=len(packet.get("servers", [0])),
                iterations=job.iterations,
                fluid=round(fluid["run_time"] * 1e3, 4),
                flow=round(flow["run_time"] * 1e3, 4),
                packet=round(packet["run_time"] * 1e3, 4),
            )


def main() -> None:
    """Plays all and writes the file."""
    lines = [HEADER]
    for of in GRID:
        began = time.process_time()
        rows = [row for seed in range(MIXES) for row in measured(of, seed)]
        lines += [",".join(map(str, astuple(row))) for row in rows]
        print(of, f"{len(rows)} jobs", f"{time.process_time() - began:.1f} s", file=sys.stderr)
    FILE.write_text(TITLE + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
