"""Says which share of a training's time checkpoints and restarts take."""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, inf, sqrt

from linkwright.errors import SimulationError

__all__ = ["Checkpoints", "checkpoints_of"]

# Beyond this a failure comes before any checkpoint: the exponential has no number.
MOST = 700.0


@dataclass(frozen=True)
class Checkpoints:
    """Holds how a training is kept from failures; all times are seconds.

    Failures come independently, as often while a checkpoint is written or the training restarts.
    The model is Daly's (A Higher Order Estimate of the Optimum Checkpoint Interval for Restart
    Dumps, FGCS 22, 2006, equation 13).

    Attributes:
        failures_every: The mean between two failures of the whole job.

        every: The training goes on for this long between two checkpoints.

        time: It waits for this long while a checkpoint is written.

        restart: It takes this long until a failed training goes on from its last checkpoint.
    """

    failures_every: float
    every: float
    time: float
    restart: float

    @property
    def lost(self) -> float:
        """The share of all time that goes to checkpoints, failed work and restarts."""
        mean = self.failures_every
        exponent = (self.every + self.time) / mean
        if exponent + self.restart / mean > MOST:
            return 1.0
        whole = mean * (expm1(self.restart / mean) + 1.0) * expm1(exponent)
        return 1.0 - self.every / whole

    @property
    def best(self) -> float:
        """The interval that loses least, by Daly's estimate (his equation 37)."""
        return best_interval(self.failures_every, self.time)

    def row(self) -> dict[str, float]:
        """Gives it as a part of a summary."""
        return {
            "failures_every": self.failures_every,
            "checkpoint_every": self.every,
            "checkpoint_time": self.time,
            "restart_time": self.restart,
            "lost": self.lost,
            "best_every": self.best,
        }


def best_interval(failures_every: float, time: float) -> float:
    """Gives Daly's estimate of the seconds between checkpoints that lose least."""
    if time >= 2 * failures_every:
        return failures_every
    part = time / (2 * failures_every)
    young = sqrt(2 * time * failures_every)
    return young * (1 + sqrt(part) / 3 + part / 9) - time


def checkpoints_of(
    failures_every: float | None,
    checkpoint_every: float | None,
    checkpoint_time: float | None,
    restart_time: float | None,
) -> Checkpoints | None:
    """Gives them from what is said, in seconds; None where nothing is.

    Raises:
        SimulationError: If something is missing, or no span of time.
    """
    said = {
        "failures_every": failures_every,
        "checkpoint_every": checkpoint_every,
        "checkpoint_time": checkpoint_time,
        "restart_time": restart_time,
    }
    given = {name: value for name, value in said.items() if value is not None}
    if not given:
        return None
    for name, value in given.items():
        least = 0.0 if name == "restart_time" else 1e-9
        if not least <= value < inf:
            words = name.replace("_", " ")
            raise SimulationError(f"{words}: {value:g} s is no span of time", "give a positive one")
    if failures_every is None or checkpoint_time is None:
        missing = "often the job fails" if failures_every is None else "long a checkpoint takes"
        problem = f"nobody says how {missing}"
        raise SimulationError(problem, "give `failures_every` and `checkpoint_time`, in seconds")
    every = best_interval(failures_every, checkpoint_time)
    return Checkpoints(
        failures_every,
        every if checkpoint_every is None else checkpoint_every,
        checkpoint_time,
        restart_time or 0.0,
    )
