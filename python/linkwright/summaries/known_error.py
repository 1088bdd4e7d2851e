"""How far the flow model's times of jobs were from the packet model's, where both were measured."""

from __future__ import annotations

from dataclasses import dataclass

from linkwright import System

__all__ = ["KnownError", "known_error"]

# The least and the largest error, by the policy of the network interfaces; what
# `examples/flow_error.py` finds, rounded outward. docs/concepts/network.md tells them apart.
_Errors = dict[str, tuple[float, float]]
ONE_GPU: _Errors = {"fcfs": (-0.10, 0.20), "rr": (-0.05, 0.34)}
SEVERAL_GPUS: _Errors = {"fcfs": (-0.18, 0.47), "rr": (-0.18, 0.47)}
OTHER_NETWORKS: _Errors = {"fcfs": (-0.18, 0.10), "rr": (-0.40, 0.01)}
OF_ONE_GPU = (
    "the six applications on 32 to 512 ranks, each alone on a fat-tree and a dragonfly with one "
    "GPU per node"
)
OF_SEVERAL_GPUS = (
    "four applications on 64 and 512 ranks, each alone on a fat-tree and a dragonfly with four and "
    "eight GPUs per node"
)
OF_OTHER_NETWORKS = (
    "four applications on 64 and 256 ranks, each alone on a torus and on Quartz with one GPU per "
    "node"
)


@dataclass(frozen=True)
class KnownError:
    """How far times of jobs were from those of the packet model where both were measured.

    Attributes:
        least: The least error, as part of the packet model's time.
        most: The largest.
        programs: What was measured; another program's error may lie beyond.
    """

    least: float
    most: float
    programs: str

    def __str__(self) -> str:
        return (
            f"known error of the flow model: times of jobs {self.least:+.0%} to {self.most:+.0%} "
            f"of the packet model's, for {self.programs}"
        )


def known_error(system: System) -> KnownError:
    """What was measured on the systems that are most like one."""
    kind = system.fabric.kind if system.fabric is not None else ""
    if kind not in ("fat-tree", "dragonfly"):
        errors, programs = OTHER_NETWORKS, OF_OTHER_NETWORKS
    elif system.gpu_count > system.nic_count:
        errors, programs = SEVERAL_GPUS, OF_SEVERAL_GPUS
    else:
        errors, programs = ONE_GPU, OF_ONE_GPU
    any_policy = (min(it[0] for it in errors.values()), max(it[1] for it in errors.values()))
    return KnownError(*errors.get(system.nic or "", any_policy), programs)
