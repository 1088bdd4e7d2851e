"""Plays small random mixes of jobs by each fidelity, and tells how far they are apart.

In each mix the jobs fill a server together. Of `host` they copy their images from the host, so that
they meet on its links; of `trees` they move much, and meet where the NVLinks of a job's GPUs do not
join them. `python examples/fidelity_error.py 20` and `python examples/fidelity_error.py 21 trees`
play those of docs/concepts/run-time.md.
"""

import sys
from dataclasses import dataclass
from random import Random
from statistics import median

import pyarrow

from linkwright import Job, System, simulate

ITERATIONS = (20, 60)


@dataclass(frozen=True)
class Kind:
    """A kind of mixes.

    Attributes:
        servers: What plans the all-reduces on each, and how many GPUs the largest job asks for.
        workloads: What jobs are drawn from.
        host_copies: Whether images come from the host.
    """

    servers: tuple[tuple[str, str, int], ...]
    workloads: tuple[str, ...]
    host_copies: bool


KINDS = {
    "host": Kind(
        (
            ("dgx1-v100", "nccl-classic", 3),
            ("dgx1-p100", "nccl-ring", 3),
            ("pcie-tree-4", "nccl-ring", 2),
            ("dgx-a100", "nccl-ring", 3),
        ),
        ("vgg-16", "alexnet", "caffenet", "resnet-50", "googlenet", "jacobi"),
        host_copies=True,
    ),
    "trees": Kind(
        (
            ("dgx1-v100", "nccl-classic", 4),
            ("torus2d-16", "packing", 5),
            ("cubemesh-16", "packing", 5),
        ),
        ("vgg-16", "alexnet", "caffenet", "jacobi"),
        host_copies=False,
    ),
}


def mix(kind: Kind, seed: int, gpus: int, largest: int) -> list[Job]:
    """Jobs that come at once and fill that many GPUs."""
    random = Random(seed)
    jobs: list[Job] = []
    while gpus > 0:
        size = min(random.randint(1, largest), gpus)
        iterations = random.randint(*ITERATIONS)
        workload = random.choice(kind.workloads)
        jobs.append(Job(f"job-{len(jobs)}", workload, size, iterations=iterations))
        gpus -= size
    return jobs


def seconds(
    kind: Kind, system: System, jobs: list[Job], planner: str, fidelity: str
) -> list[float]:
    """How long each job runs."""
    played = simulate(
        system,
        jobs,
        "baseline",
        run_time="played",
        planner=planner,
        fidelity=fidelity,
        host_copies=kind.host_copies,
    )
    return pyarrow.table(played.jobs())["run_time"].to_pylist()


def main(mixes: int, kind: Kind) -> None:
    """Prints the errors of each mix, and of all jobs."""
    fluid_errors: list[float] = []
    flow_errors: list[float] = []
    print("mix server       planner      jobs slowed     fluid to flow    flow to packet")
    for seed in range(mixes):
        name, planner, largest = kind.servers[seed % len(kind.servers)]
        system = System(name)
        jobs = mix(kind, seed, system.gpu_count, largest)
        fluid, flow, packet = (
            seconds(kind, system, jobs, planner, fidelity)
            for fidelity in ("fluid", "flow", "packet")
        )
        # The first has the GPUs that it has alone.
        slowed = flow[0] / seconds(kind, system, jobs[:1], planner, "flow")[0] - 1
        of_fluid = [one / other - 1 for one, other in zip(fluid, flow, strict=True)]
        of_flow = [one / other - 1 for one, other in zip(flow, packet, strict=True)]
        ranges = [f"{min(of):+7.1%} to {max(of):+6.1%}" for of in (of_fluid, of_flow)]
        print(f"{seed:3} {name:12} {planner:12} {len(jobs):4} {slowed:6.1%} {'  '.join(ranges)}")
        fluid_errors += of_fluid
        flow_errors += of_flow
    for told, errors in (("fluid to flow", fluid_errors), ("flow to packet", flow_errors)):
        sizes = [abs(error) for error in errors]
        print(f"{told}: median {median(sizes):.1%}, worst {max(sizes):.1%}, of {len(sizes)} jobs")


if __name__ == "__main__":
    count, kind = [*sys.argv[1:], *("4", "host")[len(sys.argv) - 1 :]]
    main(int(count), KINDS[kind])
