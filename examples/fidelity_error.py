"""Plays small random mixes of jobs by each fidelity, and tells how far they are apart.

In each mix the jobs fill a server together and copy their images from the host, so that they meet
on its links. `python examples/fidelity_error.py 20` plays those of docs/concepts/run-time.md.
"""

import sys
from random import Random
from statistics import median

import pyarrow

from linkwright import Job, System, simulate

# Servers, what plans the all-reduces there, and how many GPUs the largest job asks for.
SERVERS = (
    ("dgx1-v100", "nccl-classic", 3),
    ("dgx1-p100", "nccl-ring", 3),
    ("pcie-tree-4", "nccl-ring", 2),
    ("dgx-a100", "nccl-ring", 3),
)
WORKLOADS = ("vgg-16", "alexnet", "caffenet", "resnet-50", "googlenet", "jacobi")
ITERATIONS = (20, 60)


def mix(seed: int, gpus: int, largest: int) -> list[Job]:
    """Jobs that come at once and fill that many GPUs."""
    random = Random(seed)
    jobs: list[Job] = []
    while gpus > 0:
        size = min(random.randint(1, largest), gpus)
        iterations = random.randint(*ITERATIONS)
        jobs.append(Job(f"job-{len(jobs)}", random.choice(WORKLOADS), size, iterations=iterations))
        gpus -= size
    return jobs


def seconds(system: System, jobs: list[Job], planner: str, fidelity: str) -> list[float]:
    """How long each job runs."""
    played = simulate(
        system,
        jobs,
        "baseline",
        run_time="played",
        planner=planner,
        fidelity=fidelity,
        host_copies=True,
    )
    return pyarrow.table(played.jobs())["run_time"].to_pylist()


def main(mixes: int) -> None:
    """Prints the errors of each mix, and of all jobs."""
    fluid_errors: list[float] = []
    flow_errors: list[float] = []
    print("mix server       planner      jobs slowed     fluid to flow    flow to packet")
    for seed in range(mixes):
        name, planner, largest = SERVERS[seed % len(SERVERS)]
        system = System(name)
        jobs = mix(seed, system.gpu_count, largest)
        fluid, flow, packet = (
            seconds(system, jobs, planner, fidelity) for fidelity in ("fluid", "flow", "packet")
        )
        # The first has the GPUs that it has alone.
        slowed = flow[0] / seconds(system, jobs[:1], planner, "flow")[0] - 1
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
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
