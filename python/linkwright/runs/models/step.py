"""Plays a step by a layout, and says what its time goes into."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwright import ClusterJob, ClusterRun, LayoutStep, ModelTraining, System
from linkwright.summaries.energy import Energy, energy_of

__all__ = ["ModelStep", "in_full", "parts_of", "play", "play_layout"]

# The names of exchanges, in the order in which their exposed parts are told.
EXCHANGES = {
    "tensor parallelism": ("tp",),
    "parts of sequences": ("cp",),
    "experts": ("ep", "etp"),
    "weights and gradients": ("shards", "dp", "edp"),
    "stages": ("pp",),
}
# Far more than a step of this many stages has of any kind.
SPANS = 20_000_000


@dataclass(frozen=True)
class ModelStep:
    """A step by a layout that was played.

    Attributes:
        step: The program of a rank of each stage.

        run: The step as it was played. Its ranks are the stages.

        parts: Rows of the parts of its time (`part`, `time` in seconds). They sum to its time.

        energy: The GPUs' energy, where that is known.
    """

    step: LayoutStep = field(repr=False)
    run: ClusterRun = field(repr=False)
    parts: Sequence[Mapping[str, Any]]
    energy: Energy

    @property
    def time(self) -> float:
        """Says how many seconds the step takes."""
        return self.run.makespan

    @property
    def bound(self) -> str:
        """Names the part that takes longest."""
        return str(max(self.parts, key=lambda row: row["time"])["part"])


def play_layout(
    training: ModelTraining, system: System, gpus: Sequence[int], settings: Mapping[str, Any]
) -> ModelStep:
    """Plays one step on idle GPUs.

    Args:
        training: The model, its layout and how it is trained.

        system: On what.

        gpus: Ids in the system, in the order of the ranks.

        settings: How it is run, as for `LayoutStep`.

    Raises:
        MachineError: If a GPU's model is not known well enough.
        CollectiveError: If no links join the GPUs of a group.
        SimulationError: If GPUs do not calculate with such numbers.
    """
    step = LayoutStep(training, system, gpus, **settings)
    name = training.model.name
    run = play(step, system, name)
    whole = [(list(gpus), 0.0, run.makespan)]

    def time_of(free: Sequence[str]) -> float:
        return play(step, system, name, free).makespan if free else run.makespan

    parts = parts_of(step, run.makespan, time_of)
    return ModelStep(step, run, parts, energy_of(system, whole, None))


def play(step: LayoutStep, system: System, name: str, free: Sequence[str] = ()) -> ClusterRun:
    """Plays a step on idle GPUs.

    Args:
        step: Has the program of each stage.
        system: Has the GPUs.
        name: Names the job.
        free: Exchanges that take no time, as for `LayoutStep.program`.
    """
    mapping = [gpu for gpu, _ in step.representatives]
    job = ClusterJob(step.program(free), name=name, mapping=mapping)
    return system.replay([job], fidelity="flow")


def in_full(step: LayoutStep, system: System, name: str) -> ClusterRun:
    """Plays the same with every exchange by itself, for a timeline."""
    mapping = [gpu for gpu, _ in step.representatives]
    job = ClusterJob(step.program(in_full=True), name=name, mapping=mapping)
    return system.replay([job], fidelity="flow", timeline=SPANS)


def parts_of(
    step: LayoutStep, time: float, time_of: Callable[[Sequence[str]], float]
) -> list[dict[str, Any]]:
    """Takes one kind of exchange after another out of the step; its part is the time saved.

    The rest is computing, and stages that wait for one another.

    Args:
        step: Has the program of each stage.
        time: Is its time in seconds.
        time_of: Gives that with some exchanges free.
    """
    used = set(step.exchanged)
    if len(step.representatives) > 1:
        used.add("pp")
    free: list[str] = []
    exposed, before = {}, time_of(free)
    for name, groups in EXCHANGES.items():
        if not used.intersection(groups):
            continue
        free.extend(groups)
        after = time_of(free)
        exposed[name] = before - after
        before = after
    count = step.micro_batches

    def computed(row: Mapping[str, Any]) -> float:
        return float(count * (row["forward"] + row["backward"]) + row["update"])

    busiest = max(step.work(), key=computed)
    parts = {
        "forward": count * busiest["forward"],
        "backward": count * (busiest["backward"] - busiest["again"]),
        "recomputation": count * busiest["again"],
        "update": busiest["update"],
        **exposed,
        "framework": step.framework,
    }
    rest = "waiting for stages" if len(step.representatives) > 1 else "waiting"
    parts[rest] = time - sum(parts.values())
    return [{"part": part, "time": spent} for part, spent in parts.items() if spent > 0.0]
