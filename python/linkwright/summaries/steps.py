"""Holds parts of the time of steps of training, in the mean over GPUs, and their speed-ups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from linkwright.network import ClusterRun

__all__ = ["Collectives", "Parts", "Scaled", "collectives_of", "parts_of"]


@dataclass(frozen=True)
class Parts:
    """Holds a step's time in seconds, in the mean over its GPUs.

    Attributes:
        framework: The framework works on the host before the step.
        computing: Kernels of layers and of updates run.
        communication: Data moves to the GPU or from it, beside what it computes or not.
        exposed: It moves while no computation hides it.
        idle: The GPU does none of these.
    """

    framework: float
    computing: float
    communication: float
    exposed: float
    idle: float


@dataclass(frozen=True)
class Collectives:
    """Holds the seconds that a step's collectives take, in the mean over its GPUs.

    Attributes:
        running: In which one runs.
        exposed: Of this, what no computation hides.
    """

    running: float
    exposed: float


@dataclass(frozen=True)
class Scaled:
    """Holds a step on fewer GPUs, or on one batch for each.

    Attributes:
        kind: Is `strong`, the same batch on more GPUs, or `weak`, the same batch for each GPU.
        communication: Says how data moved.
        gpus: Counts them.
        batch: Counts the samples of the step.
        time: Is the step's, in seconds.
        speed_up: Is the quotient of its samples a second and those of one GPU.
    """

    kind: str
    communication: str
    gpus: int
    batch: int
    time: float
    speed_up: float

    @property
    def efficiency(self) -> float:
        """Gives the speed-up for each GPU."""
        return self.speed_up / self.gpus

    @property
    def facts(self) -> dict[str, object]:
        """Gives the row of tables and JSON."""
        return asdict(self) | {"efficiency": self.efficiency}


def parts_of(run: ClusterRun, stands_for: Sequence[int] | None = None) -> Parts:
    """Splits the time of a run of one step that kept all of its spans.

    Args:
        run: Is of one step.
        stands_for: Says for how many GPUs of the step each rank stands; one where absent.
    """
    return Parts(**run.step_parts(stands_for))


def collectives_of(run: ClusterRun) -> Collectives:
    """Counts what the collectives of a step took that kept all of its spans.

    Copies of samples and messages between two GPUs are no collectives.
    """
    return Collectives(*run.collective_parts())
