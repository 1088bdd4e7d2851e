"""Steps of training, from a network and a machine to what they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwright import System
from linkwright.collectives import MOST_PLANNED_GPUS
from linkwright.network import ClusterJob, ClusterRun
from linkwright.recipes import LIBRARY, Recipe
from linkwright.summaries.steps import Parts, parts_of
from linkwright.training import TrainingStep

__all__ = ["LARGEST_SCALING", "Played", "play_step"]

# Scaling is played for each power of two up to this number of GPUs unless it is asked for.
LARGEST_SCALING = 16
# Of more GPUs, servers that do the same are played once, and collectives take what NCCL's do alone.
# From or to a root some GPUs are done before others, so that all are played of as many as plans are
# made for.
MOST_PLAYED = 64
MOST_PLAYED_WITH_ROOT = MOST_PLANNED_GPUS
# Far more than a step has of any kind.
SPANS = 5_000_000


@dataclass(frozen=True)
class Played:
    """A step that was played.

    Attributes:
        communication: How data moved, as it was asked for.
        batch: Samples of the step.
        step: The work of every GPU.
        run: The result of playing it.
        parts: The parts of its time.
        alike: Of each server that was played for others, all that do the same; none where every GPU
            was played with its collectives.
        loads: Bytes of collectives that were not played, by the numbers of the links.
    """

    communication: str
    batch: int
    step: TrainingStep = field(repr=False)
    run: ClusterRun = field(repr=False)
    parts: Parts
    alike: Sequence[Sequence[int]] = ()
    loads: Sequence[tuple[int, float]] = field(default=(), repr=False)

    @property
    def is_whole(self) -> bool:
        """Whether every GPU was played with its collectives."""
        return not self.alike

    def links(self) -> Sequence[Mapping[str, Any]]:
        """Gives the rows of `ClusterRun.links` for all servers."""
        return list(self.run.links(self.alike, self.loads))

    @property
    def data(self) -> int:
        """Bytes that links carry, or those that kernels move of memory which all share.

        Links between switches are left out: servers that stand in for others do not load them.
        """
        if self.step.traffic is not None:
            return sum(self.step.traffic)
        return sum(row["data"] for row in self.links() if row["kind"] != "switch")

    @property
    def shared(self) -> int:
        """Gives the bytes of weights, gradients and the optimizer's state, where all share them."""
        if self.step.traffic is None:
            return 0
        held = ("weights", "gradients", "optimizer")
        return sum(row[of] for row in self.step.memory() for of in held)

    @property
    def time(self) -> float:
        """Gives the seconds of the step."""
        return self.run.makespan

    @property
    def rate(self) -> float:
        """Samples a second."""
        return self.batch / self.time if self.time > 0 else 0.0


def play_step(
    recipe: Recipe,
    system: System,
    gpus: Sequence[int],
    communication: str = LIBRARY,
    *,
    batch: int | None = None,
) -> Played:
    """Plays one step on idle GPUs.

    Args:
        recipe: How the network is trained.
        system: On what.
        gpus: Ids in the system, in the order of the ranks.
        communication: One of `communications`; a way by collectives takes a planner behind a
            colon, as `fsdp:packing`.
        batch: Samples of the step, other than the recipe's.

    Raises:
        MachineError: If a GPU's model is not known well enough.
        SimulationError: If the batch does not divide, or the GPUs cannot go that way.
    """
    samples = recipe.batch if batch is None else batch
    step, planner = recipe.step(system, gpus, communication, samples)
    program, mapping, stands_for, some = step.program, list(gpus), [1] * len(gpus), None
    most = MOST_PLAYED_WITH_ROOT if step.has_root else MOST_PLAYED
    if len(gpus) > most and planner is None:
        some = step.representatives(system)
    alike: Sequence[Sequence[int]] = ()
    loads: Sequence[tuple[int, float]] = ()
    if some is not None:
        program, ranks, alike, loads = some
        mapping = [gpus[rank] for rank, _ in ranks]
        stands_for = [count for _, count in ranks]
    job = ClusterJob(program, name=recipe.network.name, mapping=mapping)
    collectives: dict[str, Any] = {"protocol": "nccl"}
    if planner is not None:
        collectives["planner"] = planner
    protocol = {
        "send_overhead": f"{step.copy_cost * 1e9:.0f} ns",
        "copy_per_byte": "0 ns",
        "rendezvous_delay": "0 ns",
    }
    run = system.play(
        [job], fidelity="flow", collectives=collectives, protocol=protocol, timeline=SPANS
    )
    parts = parts_of(run, stands_for)
    return Played(communication, samples, step, run, parts, alike, loads)
