"""Plays applications by packets and by flows, and tells how far off the flows are.

The ranges that results of the flow model print are those of these six, which take half an hour:

    python examples/flow_error.py one-gpu 32 64 128 256
    python examples/flow_error.py one-gpu 512 stencil4d subcomm3d sw4lite
    python examples/flow_error.py several-gpus 64 256
    python examples/flow_error.py several-gpus 512 stencil4d subcomm3d sw4lite
    python examples/flow_error.py other-networks 64 256
    python examples/flow_error.py servers

Ranks may begin an iteration before others have ended the one before. So errors may grow from
iteration to iteration: each job is played with one, two, four and eight.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from linkwright import System
from linkwright.errors import SimulationError
from linkwright.network import ClusterJob, Program, applications

ITERATIONS = (1, 2, 4, 8)
POLICIES = ("fcfs", "rr")
# Those of the paper; others need hosts, or send by chance.
ALL = ("stencil4d", "subcomm3d", "kripke", "laghos", "amg", "sw4lite")
FOUR = ("stencil4d", "subcomm3d", "amg", "sw4lite")


@dataclass(frozen=True)
class Kind:
    """Describes a kind of systems.

    Attributes:
        applications: The programs that play on them.
        networks: The networks that join the nodes, by name.
        gpus: The GPUs of a node.
        servers: Instead of networks, servers that stand alone, with a rank on each GPU.
    """

    applications: tuple[str, ...]
    networks: Mapping[str, Mapping[str, object]]
    gpus: tuple[int, ...] = (1,)
    servers: tuple[str, ...] = ()

    def systems(self) -> Iterator[tuple[str, str, System]]:
        """Each with its name and the policy of its interfaces, if there are any."""
        for name, settings in self.networks.items():
            for gpus in self.gpus:
                for nic in POLICIES:
                    of = {**settings, "nic": nic}
                    yield f"{name:17}{gpus:2} {nic:5}", nic, System({"gpus": gpus}, network=of)
        for server in self.servers:
            yield f"{server:25}", "servers", System(server)


FAT_TREE: Mapping[str, object] = {"kind": "fat-tree"}
# Packets may go over a third switch of a group.
DETOURS: Mapping[str, object] = {"kind": "dragonfly", "intra_group_detours": True}
# Packets go the direct way within a group, as in the study of these networks, and by default.
DIRECT: Mapping[str, object] = {"kind": "dragonfly", "intra_group_detours": False}
KINDS = {
    "one-gpu": Kind(ALL, {"fat-tree": FAT_TREE, "dragonfly": DETOURS, "direct dragonfly": DIRECT}),
    "several-gpus": Kind(FOUR, {"fat-tree": FAT_TREE, "direct dragonfly": DIRECT}, (4, 8)),
    "other-networks": Kind(FOUR, {"torus": {"kind": "torus"}, "quartz": {"kind": "quartz"}}),
    "servers": Kind(
        ALL,
        {},
        servers=("dgx1-p100", "dgx1-v100", "dgx2", "dgx-a100", "pcie-tree-4", "4x-l40s-pcie"),
    ),
}


def error(system: System, application: str, ranks: int, iterations: int) -> float:
    """How far flows are off packets for a job alone, with the computation of the study's GPUs."""
    [speedup] = [speedup for name, _, speedup in applications() if name == application]
    program = Program.skeleton(application, ranks)
    job = ClusterJob(program, iterations=iterations, computation_scale=1 / speedup)
    packets = system.play([job], fidelity="packet").makespan
    return system.play([job], fidelity="flow").makespan / packets - 1


def fits(application: str, ranks: int) -> bool:
    """Says whether it can run on this number of ranks: some need grids of several dimensions."""
    try:
        Program.skeleton(application, ranks)
    except SimulationError:
        return False
    return True


def told(errors: list[float]) -> str:
    """Writes the least and the largest."""
    return f"{min(errors):+7.1%} to {max(errors):+6.1%}"


def main(kind: Kind, sizes: list[int], only: list[str]) -> None:
    """Prints the range over all sizes, for each number of iterations, and that of each policy."""
    print(f"{'network, GPUs of a node, interfaces':45}iterations: {ITERATIONS}")
    of_policies: dict[tuple[str, int], list[float]] = {}
    for name, nic, system in kind.systems():
        for application in only or kind.applications:
            on = [size for size in sizes or [system.gpu_count] if fits(application, size)]
            ranges = []
            for iterations in ITERATIONS if on else ():
                errors = [error(system, application, size, iterations) for size in on]
                of_policies.setdefault((nic, iterations), []).extend(errors)
                ranges.append(told(errors))
            print(f"{name}{application:10}", *(ranges or ["does not fit"]), flush=True)
    for nic in dict.fromkeys(nic for nic, _ in of_policies):
        ranges = [told(of_policies[nic, iterations]) for iterations in ITERATIONS]
        print(f"{f'all, {nic}':35}", *ranges)


if __name__ == "__main__":
    name, *words = sys.argv[1:] or ["one-gpu", "32"]
    sizes = [int(word) for word in words if word.isdigit()]
    main(KINDS[name], sizes, [word for word in words if not word.isdigit()])
