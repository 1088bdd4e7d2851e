"""How far a model's times of jobs were from those of a more exact one, where both were measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linkwright import Scenario, System
from linkwright.names import FidelityName

__all__ = ["KnownError", "error_of_programs", "known_errors"]


@dataclass(frozen=True)
class KnownError:
    """How far times of jobs were from those of a more exact model where both were measured.

    Attributes:
        model: Whose times they are.
        exact: The model that they were set against.
        least: The least error, as part of that model's time.
        most: The largest.
        programs: What was measured; another program's error may lie beyond.
    """

    model: FidelityName
    exact: FidelityName
    least: float
    most: float
    programs: str

    def __str__(self) -> str:
        return (
            f"known error of the {self.model} model: times of jobs {self.least:+.0%} to "
            f"{self.most:+.0%} of the {self.exact} model's, for {self.programs}"
        )


# The least and the largest error, by the policy of the network interfaces; what
# `examples/flow_error.py` finds, rounded outward. docs/concepts/network.md tells them apart.
_Errors = dict[str, tuple[float, float]]
ONE_GPU: _Errors = {"fcfs": (-0.20, 0.38), "rr": (-0.05, 0.34)}
SEVERAL_GPUS: _Errors = {"fcfs": (-0.22, 0.62), "rr": (-0.20, 0.34)}
OTHER_NETWORKS: _Errors = {"fcfs": (-0.27, 0.14), "rr": (-0.41, 0.01)}
LONE_SERVERS: _Errors = {"": (-0.02, 0.01)}
OF_ONE_GPU = (
    "one to eight iterations of the six applications on 32 to 256 ranks, and of three on 512, each "
    "alone on a fat-tree and a dragonfly with one GPU per node"
)
OF_SEVERAL_GPUS = (
    "one to eight iterations of four applications on 64 and 256 ranks, and of three on 512, each "
    "alone on a fat-tree and a dragonfly with four and eight GPUs per node"
)
OF_OTHER_NETWORKS = (
    "one to eight iterations of four applications on 64 and 256 ranks, each alone on a torus and "
    "on Quartz with one GPU per node"
)
OF_LONE_SERVERS = (
    "one to eight iterations of the six applications that fit, each alone on one of six servers"
)
# What `examples/fidelity_error.py` finds of jobs of GPUs that are played, rounded outward;
# docs/concepts/run-time.md has the tables.
ONE_SERVER = (
    KnownError("fluid", "flow", -0.01, 0.01, "41 mixes of jobs, each on one of six servers"),
    KnownError("flow", "packet", -0.19, 0.03, "41 mixes of jobs, each on one of six servers"),
)
SEVERAL_SERVERS = (
    KnownError(
        "fluid",
        "flow",
        -0.13,
        0.17,
        "24 mixes of jobs on four DGX-1Vs, or eight PCIe servers, in a fat-tree",
    ),
    KnownError(
        "flow",
        "packet",
        -0.10,
        0.08,
        "20 mixes of jobs on two DGX-1Vs, or three PCIe servers, in a fat-tree",
    ),
)


def error_of_programs(system: System, fidelity: str, protocol: str) -> KnownError | None:
    """What was measured of programs as flows, on the systems that are most like one.

    Args:
        system: What they are played on.
        fidelity: How; None is known of packets.
        protocol: What their collectives are; none is known of kernels.
    """
    if fidelity != "flow" or protocol == "nccl":
        return None
    if system.fabric is None:
        errors, programs = LONE_SERVERS, OF_LONE_SERVERS
    elif system.fabric.kind not in ("fat-tree", "dragonfly"):
        errors, programs = OTHER_NETWORKS, OF_OTHER_NETWORKS
    elif system.gpu_count > system.nic_count:
        errors, programs = SEVERAL_GPUS, OF_SEVERAL_GPUS
    else:
        errors, programs = ONE_GPU, OF_ONE_GPU
    any_policy = (min(it[0] for it in errors.values()), max(it[1] for it in errors.values()))
    return KnownError("flow", "packet", *errors.get(system.nic or "", any_policy), programs)


def known_errors(played: Iterable[tuple[System, Scenario]]) -> list[KnownError]:
    """What was measured of jobs as these scenarios play them on their systems, each once.

    A fluid's has a flow's, too. Where all follow a formula or are played as packets there are none.
    """
    return list(dict.fromkeys(error for each in played for error in _errors_of(*each)))


def _errors_of(system: System, scenario: Scenario) -> list[KnownError]:
    if scenario.kind == "programs":
        protocol = scenario.play.get("collectives", {}).get("protocol", "mpi")
        error = error_of_programs(system, scenario.fidelity, protocol)
        return [] if error is None else [error]
    if scenario.run_time != "played":
        return []
    measured = SEVERAL_SERVERS if system.server_count > 1 else ONE_SERVER
    return [it for it in measured if scenario.fidelity in ("fluid", it.model)]
