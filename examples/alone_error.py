"""Plays one iteration of a job alone on idle links, by each fidelity, beside `collective time`.

As fluids and as flows an all-reduce is a kernel of NCCL's and takes what `collective time` says; as
packets it is messages under an MPI library's protocol. `python examples/alone_error.py` with the
names of servers plays these; docs/concepts/run-time.md has those of

    python examples/alone_error.py dgx1-v100 dgx2 dgx-a100 hgx-h100 pcie-tree-4 4x-l40s-pcie
"""

import sys

import pyarrow

from linkwright import System, plan
from linkwright.scenario import Job, play_jobs, workloads
from linkwright.names import FidelityName, PlannerName, WorkloadName

GPUS = 4
PLANNERS: tuple[PlannerName, ...] = ("packing", "nccl-ring")
FIDELITIES: tuple[FidelityName, ...] = ("fluid", "flow", "packet")
# The largest gradients of a workload, and small ones.
WORKLOADS: tuple[WorkloadName, ...] = ("vgg-16", "jacobi")
BYTES = {
    row["workload"]: row["bytes_per_iteration"] for row in pyarrow.table(workloads()).to_pylist()
}


def communicating(
    system: System, workload: WorkloadName, planner: PlannerName, fidelity: FidelityName
) -> float:
    """How long an iteration is longer than that of a job of one GPU, which reduces nothing."""
    one, all_gpus = (
        play_jobs(
            system,
            [Job("alone", workload, gpus, iterations=1)],
            "baseline",
            run_time="played",
            planner=planner,
            fidelity=fidelity,
        ).makespan
        for gpus in (1, GPUS)
    )
    return all_gpus - one


def main(servers: list[str]) -> None:
    """Prints what `collective time` says, and how far each fidelity is off."""
    heads = "".join(f"{fidelity:>9}" for fidelity in FIDELITIES)
    print(f"{'server':14}{'planner':11}{'workload':9}{'collective time':>16}{heads}")
    for server in servers:
        system = System(server)
        for planner in PLANNERS:
            for workload in WORKLOADS:
                size = BYTES[workload]
                schedule = plan(system, range(GPUS), "all-reduce", algorithm=planner, size=size)
                alone = schedule.time(size).time
                errors = [
                    communicating(system, workload, planner, fidelity) / alone - 1
                    for fidelity in FIDELITIES
                ]
                told = "".join(f"{error:>+9.1%}" for error in errors)
                print(
                    f"{server:14}{planner:11}{workload:9}{alone * 1e3:13.3f} ms{told}", flush=True
                )


if __name__ == "__main__":
    main(sys.argv[1:] or ["dgx1-v100"])
