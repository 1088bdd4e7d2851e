"""Compares a collective whose system has parts that are down with the same on the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from linkwright import System
from linkwright.collectives import Schedule, Timing
from linkwright.errors import CollectiveError
from linkwright.cli.schedules import gpus_of

__all__ = ["Degraded", "Without", "degraded"]

Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="PART",
        help="A part that is down: a device such as mlx5_3 of every server, node1/mlx5_3 of one, "
        "or GPU0-GPU3, a pair's links. Repeatable. The cost on the whole system is told beside.",
    ),
]

# How many lost GPUs a note names.
MOST_NAMED = 8


@dataclass(frozen=True)
class Degraded:
    """A system without parts that are down, and the GPUs of a job that are left.

    Attributes:
        whole: The system with all of its parts.
        system: The rest of it.
        parts: The names of the lost parts. They stand as they were given.
        gpus: The job's GPUs that are left, as the text of their ids. None stands for all.
        notes: Says which GPUs the job has lost.
    """

    whole: System
    system: System
    parts: list[str]
    gpus: str | None
    notes: list[str]

    def title(self) -> str:
        """How a heading goes on, such as ` without mlx5_3`; empty of a whole system."""
        return f" without {', '.join(self.parts)}" if self.parts else ""

    def fields(self, schedule: Schedule, timing: Timing, now: float) -> dict[str, Any]:
        """Gives the whole system's cost as data; `now` is the time in seconds without the parts."""
        return {
            "algorithm": schedule.algorithm,
            "protocol": timing.protocol,
            "time": timing.time,
            "algorithm_bandwidth": timing.algorithm_bandwidth,
            "bus_bandwidth": timing.bus_bandwidth,
            "times_as_long": now / timing.time,
        }


def degraded(
    whole: System, without: Sequence[str] | None, gpus: str | None, root: int | None = None
) -> Degraded:
    """Leaves parts out of a system, and their GPUs out of a job.

    A job runs on the GPUs that are left, as one that is started again without them.

    Args:
        whole: The system.
        without: The names of the parts.
        gpus: The job's GPUs, as the text of their ids. None stands for all.
        root: The GPU that has or gets the data, where there is one.

    Raises:
        MachineError: If there is no such part, with those that there are.
        CollectiveError: If the root is lost, or fewer than two GPUs are left.
    """
    parts = list(dict.fromkeys(without or ()))
    if not parts:
        return Degraded(whole, whole, [], gpus, [])
    system = whole.without(parts)
    lost = set(system.lost_gpus)
    wanted = gpus_of(whole, gpus)
    left = [gpu for gpu in wanted if gpu not in lost]
    gone = [gpu for gpu in wanted if gpu in lost]
    named = ", ".join(parts)
    if root in lost:
        raise CollectiveError(
            f"GPU {root}, the root, is lost without {named}", "name another GPU by --root"
        )
    if gone and len(left) < 2:
        raise CollectiveError(
            f"without {named} the job has {len(left)} of its {len(wanted)} GPUs, and a collective "
            "needs two",
            "leave fewer parts out, or name other GPUs by --on",
        )
    if not gone:
        return Degraded(whole, system, parts, gpus, [])
    note = (
        f"the job has lost {_ids(gone)} with {named}, and runs on the {len(left)} GPUs that are "
        "left"
    )
    return Degraded(whole, system, parts, ",".join(map(str, left)), [note])


def _ids(gpus: Sequence[int]) -> str:
    if len(gpus) > MOST_NAMED:
        return f"{len(gpus)} GPUs"
    return f"GPU{'' if len(gpus) == 1 else 's'} {', '.join(map(str, gpus))}"
