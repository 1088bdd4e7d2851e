"""Plays small random mixes of jobs by each fidelity, and tells how far they are apart.

In each mix the jobs fill a server together, or the servers of a fat-tree. In `host` they copy their
images from the host, so that they meet on its links. In `trees` they move much, and meet where the
NVLinks of a job's GPUs do not join them. In `clusters` they have GPUs of several servers, and meet
at interfaces, too. docs/concepts/run-time.md has the figures that these print:

    python examples/fidelity_error.py 20
    python examples/fidelity_error.py 21 trees
    python examples/fidelity_error.py 24 clusters
    python examples/fidelity_error.py 20 small-clusters
"""

import sys
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from statistics import median

import pyarrow

from linkwright import System
from linkwright.names import FidelityName, PlannerName, ServerChoiceName
from linkwright.scenario import Job, play_jobs


@dataclass(frozen=True)
class Where:
    """Says which servers jobs run on, and how.

    Attributes:
        server: A server's name.
        planner: The planner of the all-reduces.
        largest: How many GPUs the largest job asks for.
        servers: How many servers there are; several are joined by a fat-tree of 11.9 GB/s.
        choice: In which of them a job looks for GPUs.
        host_copies: Whether images come from the host.
    """

    server: str
    planner: PlannerName
    largest: int
    servers: int = 1
    choice: ServerChoiceName = "first-fit"
    host_copies: bool = False

    def system(self) -> System:
        """Returns the servers, joined."""
        network = {"kind": "fat-tree", "bandwidth": "11.9 GB/s"} if self.servers > 1 else None
        return System(self.server, self.servers, network=network)


@dataclass(frozen=True)
class Kind:
    """Describes a kind of mixes.

    Attributes:
        where: The systems that they run on, in turns.
        workloads: The workloads that jobs are drawn from.
        iterations: The least and the most of a job.
        fills: How many times the jobs would fill the GPUs; those beyond the first wait for others.
        packets: Whether packets are played; of many servers they take hours.
    """

    where: tuple[Where, ...]
    workloads: tuple[str, ...]
    iterations: tuple[int, int] = (20, 60)
    fills: int = 1
    packets: bool = True


FIDELITIES: tuple[FidelityName, ...] = ("fluid", "flow", "packet")
MOVE_MUCH = ("vgg-16", "alexnet", "caffenet", "jacobi")


KINDS = {
    "host": Kind(
        (
            Where("dgx1-v100", "nccl-classic", 3, host_copies=True),
            Where("dgx1-p100", "nccl-ring", 3, host_copies=True),
            Where("pcie-tree-4", "nccl-ring", 2, host_copies=True),
            Where("dgx-a100", "nccl-ring", 3, host_copies=True),
        ),
        ("vgg-16", "alexnet", "caffenet", "resnet-50", "googlenet", "jacobi"),
    ),
    "trees": Kind(
        (
            Where("dgx1-v100", "nccl-classic", 4),
            Where("torus2d-16", "packing", 5),
            Where("cubemesh-16", "packing", 5),
        ),
        MOVE_MUCH,
    ),
    "clusters": Kind(
        (
            Where("pcie-tree-4", "nccl-ring", 6, 8, "spread"),
            Where("pcie-tree-4", "nccl-ring", 6, 8, "pack"),
            Where("dgx1-v100", "nccl-classic", 8, 4, "spread", host_copies=True),
            Where("dgx1-v100", "nccl-classic", 14, 4),
        ),
        MOVE_MUCH,
        (100, 500),
        fills=2,
        packets=False,
    ),
    "small-clusters": Kind(
        (
            Where("pcie-tree-4", "nccl-ring", 6, 3, "spread"),
            Where("dgx1-v100", "nccl-classic", 12, 2, "spread"),
        ),
        MOVE_MUCH,
        (3, 6),
    ),
}


def mix(kind: Kind, seed: int, gpus: int, largest: int) -> list[Job]:
    """Jobs that come at once and fill that many GPUs, or as often as the kind says."""
    random = Random(seed)
    gpus *= kind.fills
    jobs: list[Job] = []
    while gpus > 0:
        size = min(random.randint(1, largest), gpus)
        iterations = random.randint(*kind.iterations)
        workload = random.choice(kind.workloads)
        jobs.append(Job(f"job-{len(jobs)}", workload, size, iterations=iterations))
        gpus -= size
    return jobs


def seconds(where: Where, jobs: list[Job], fidelity: FidelityName) -> list[float]:
    """How long each job runs."""
    played = play_jobs(
        where.system(),
        jobs,
        "baseline",
        servers=where.choice,
        run_time="played",
        planner=where.planner,
        fidelity=fidelity,
        host_copies=where.host_copies,
    )
    return pyarrow.table(played.jobs())["run_time"].to_pylist()


def main(mixes: int, kind: Kind) -> None:
    """Prints the errors of each mix, and of all jobs."""
    found: dict[str, list[float]] = {}
    print("mix system           planner      servers    jobs slowed     fluid to flow", end="")
    print("    flow to packet" if kind.packets else "")
    for seed in range(mixes):
        where = kind.where[seed % len(kind.where)]
        jobs = mix(kind, seed, where.system().gpu_count, where.largest)
        played = {
            fidelity: seconds(where, jobs, fidelity)
            for fidelity in FIDELITIES[: 3 if kind.packets else 2]
        }
        # The first has the GPUs that it has alone.
        slowed = played["flow"][0] / seconds(where, jobs[:1], "flow")[0] - 1
        name = f"{where.servers} x {where.server}"
        told = (
            f"{seed:3} {name:16} {where.planner:12} {where.choice:10} {len(jobs):4} {slowed:6.1%}"
        )
        for one, other in pairwise(played):
            errors = [a / b - 1 for a, b in zip(played[one], played[other], strict=True)]
            found.setdefault(f"{one} to {other}", []).extend(errors)
            told += f"  {min(errors):+7.1%} to {max(errors):+6.1%}"
        print(told, flush=True)
    for which, errors in found.items():
        sizes = [abs(error) for error in errors]
        beyond = sum(size > 0.05 for size in sizes)
        print(
            f"{which}: median {median(sizes):.1%}, worst {max(sizes):.1%}, {beyond} beyond 5 %, "
            f"of {len(sizes)} jobs"
        )


if __name__ == "__main__":
    count, kind = [*sys.argv[1:], *("4", "host")[len(sys.argv) - 1 :]]
    main(int(count), KINDS[kind])
