"""Plays each application by packets and by flows, and tells how far off the flows are.

The range that results of the flow model print is that of
`python examples/flow_error.py 32 64 128 256 512`, which takes some minutes.
"""

import sys
from collections.abc import Mapping

from linkwright import ClusterJob, Program, System, applications

# 2,048 nodes of one GPU; on the last, packets go the direct way within a group, as in the study.
SYSTEMS: Mapping[str, Mapping[str, object]] = {
    "fat-tree": {"kind": "fat-tree"},
    "dragonfly": {"kind": "dragonfly"},
    "dragonfly, direct": {"kind": "dragonfly", "intra_group_detours": False},
}
# Ranks may begin the second before others have ended the first.
ITERATIONS = 2


def seconds(
    application: str, ranks: int, speedup: float, network: dict[str, object], fidelity: str
) -> float:
    """How long a job takes, alone, with the computation of the study's GPUs."""
    program = Program.skeleton(application, ranks)
    job = ClusterJob(program, iterations=ITERATIONS, computation_scale=1 / speedup)
    return System(network=network).replay([job], fidelity=fidelity).makespan


def main(sizes: list[int]) -> None:
    """Prints the error of each application on each network, and the range for each policy."""
    print(f"{'error of flows, by ranks':37}{''.join(f'{size:>7}' for size in sizes)}")
    ranges: dict[str, list[float]] = {"fcfs": [], "rr": []}
    for system, settings in SYSTEMS.items():
        for nic, errors in ranges.items():
            for application, _, speedup in applications():
                told = ""
                for size in sizes:
                    packets, flows = (
                        seconds(application, size, speedup, {**settings, "nic": nic}, fidelity)
                        for fidelity in ("packet", "flow")
                    )
                    errors.append(flows / packets - 1)
                    told += f"{errors[-1]:>+7.1%}"
                print(f"{system:20}{nic:5}{application:12}{told}", flush=True)
    for nic, errors in ranges.items():
        print(f"{nic}: {min(errors):+.1%} to {max(errors):+.1%}")


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [32])
