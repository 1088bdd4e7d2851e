"""Steps of training, from a network and a machine to what they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from linkwright import MOST_PLANNED_GPUS, ClusterJob, ClusterRun, System, TrainingStep, expect
from linkwright.recipes import LIBRARY, Recipe
from linkwright.summaries.steps import Parts, parts_of

if TYPE_CHECKING:
    from linkwright import names

__all__ = ["LARGEST_SCALING", "Played", "play_step"]

# Scaling is played for each power of two up to so many GPUs unless it is asked for.
LARGEST_SCALING = 16
# Of more GPUs, servers that do the same are played once, and collectives take what NCCL's do alone.
# From or to a root some GPUs are done before others, so that all are played of as many as plans are
# made for.
MOST_PLAYED = 64
MOST_PLAYED_WITH_ROOT = MOST_PLANNED_GPUS
# Far more than a step has of any kind.
SPANS = 5_000_000
# Collectives from GPU 0, or to it.
ROOTED = ("broadcast", "reduce")


@dataclass(frozen=True)
class Played:
    """A step that was played.

    Attributes:
        communication: How data moved, as it was asked for.
        batch: Samples of the step.
        step: What every GPU did.
        run: What became of it.
        parts: What its time went into.
        is_whole: Whether every GPU was played with its collectives; else some stand for all that do
            the same.
    """

    communication: str
    batch: int
    step: TrainingStep = field(repr=False)
    run: ClusterRun = field(repr=False)
    parts: Parts
    is_whole: bool = True

    @property
    def time(self) -> float:
        """Seconds of the step."""
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
    if len(gpus) > _most_played(step) and planner is None:
        some = step.representatives(system, _times(step, system, gpus))
    if some is not None:
        program, ranks = some
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
    run = system.replay(
        [job], fidelity="flow", collectives=collectives, protocol=protocol, timeline=SPANS
    )
    parts = parts_of(run, stands_for)
    return Played(communication, samples, step, run, parts, is_whole=some is None)


def _most_played(step: TrainingStep) -> int:
    has_root = any(kind in ROOTED for kind, _ in step.collectives())
    return MOST_PLAYED_WITH_ROOT if has_root else MOST_PLAYED


def _times(step: TrainingStep, system: System, gpus: Sequence[int]) -> list[tuple[str, int, float]]:
    """How long each collective of a step takes on idle links, as `collective expect` says."""
    of_kind: dict[str, list[int]] = {}
    for kind, contributed in step.collectives():
        of_kind.setdefault(kind, []).append(contributed)
    times = []
    for kind, sizes in of_kind.items():
        # The whole buffer, as nccl-tests counts it.
        ranks = len(gpus) if kind == "all-gather" else 1
        found = expect(
            system,
            gpus,
            cast("names.CollectiveName", kind),
            [size * ranks for size in sizes],
            root=gpus[0] if kind in ROOTED else None,
        )
        times += [(kind, size, row["time"]) for size, row in zip(sizes, found, strict=True)]
    return times
