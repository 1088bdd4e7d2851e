"""Plays a step by a layout, and says what its time goes into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwright import System
from linkwright.network import ClusterJob, ClusterRun
from linkwright.training import LayoutStep, ModelTraining
from linkwright.step_errors import interval_of
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
# Parts of fewer seconds are roundings of picoseconds.
SMALLEST = 1e-10
# Far more than a step of this many stages has of any kind.
SPANS = 20_000_000


@dataclass(frozen=True)
class ModelStep:
    """A step by a layout that was played.

    Attributes:
        step: The program of a rank of each stage.

        run: The step as it was played, without what varies and what kernels wait for besides. Its
            ranks are the stages.

        time: Seconds that the step takes, in the mean of all seeds.

        times: Those of each seed; none without variation.

        parts: Rows of the parts of its time (`part`, `time` in seconds). They sum to its time.

        energy: The GPUs' energy, where that is known.
    """

    step: LayoutStep = field(repr=False)
    run: ClusterRun = field(repr=False)
    time: float
    times: Sequence[float] = field(repr=False)
    parts: Sequence[Mapping[str, Any]]
    energy: Energy

    @property
    def interval(self) -> tuple[float, float]:
        """Gives the seconds between which nine of ten measured steps lie."""
        return interval_of(self.time, self.times)

    @property
    def bound(self) -> str:
        """Names the part that takes longest."""
        return str(max(self.parts, key=lambda row: row["time"])["part"])


def play_layout(
    training: ModelTraining,
    system: System,
    gpus: Sequence[int],
    settings: Mapping[str, Any],
    seeds: int,
) -> ModelStep:
    """Plays one step on idle GPUs.

    Args:
        training: The model, its layout and how it is trained.

        system: On what.

        gpus: Ids in the system, in the order of the ranks.

        settings: How it is run, as for `LayoutStep`.

        seeds: How often times of kernels are drawn; they vary by nothing where zero.

    Raises:
        MachineError: If a GPU's model is not known well enough.
        CollectiveError: If no links join the GPUs of a group.
        SimulationError: If GPUs do not calculate with such numbers.
    """
    step = LayoutStep(training, system, gpus, **settings)
    run = play(step, system, training.model.name)
    parts, times = parts_of(step, run.makespan, seeds)
    time = sum(row["time"] for row in parts)
    energy = energy_of(system, [(list(gpus), 0.0, time)], None)
    return ModelStep(step, run, time, times, parts, energy)


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
    return system.play([job], fidelity="flow")


def in_full(step: LayoutStep, system: System, name: str) -> ClusterRun:
    """Plays the same with every exchange by itself, for a timeline."""
    mapping = [gpu for gpu, _ in step.representatives]
    job = ClusterJob(step.program(in_full=True), name=name, mapping=mapping)
    return system.play([job], fidelity="flow", timeline=SPANS)


def parts_of(
    step: LayoutStep, played: float, seeds: int
) -> tuple[list[dict[str, Any]], list[float]]:
    """Divides a step's time into parts, and gives it by each seed.

    One loss after another is added to the step: its part is the time that it adds. One kind of
    exchange after another is taken out of the step whose groups exchange alone: its part is the
    time saved. The rest is computing, and stages that wait for one another.

    Args:
        step: Has the program of each stage.
        played: Is its time without losses that no program has.
        seeds: Counts draws.
    """
    used = set(step.exchanged)
    if len(step.representatives) > 1:
        used.add("pp")
    free: list[str] = []
    exposed, before = {}, step.least(alone=True)
    shared = step.least() - before
    for name, groups in EXCHANGES.items():
        if not used.intersection(groups):
            continue
        free.extend(groups)
        after = step.least(free, alone=True)
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
        "shared network": shared,
        "framework": step.framework,
    }
    rest = "pipeline bubble" if len(step.representatives) > 1 else "waiting"
    parts[rest] = played - sum(parts.values())
    beside = step.least(beside=True)
    behind = step.least(beside=True, host=True)
    times = step.varied(seeds)
    parts["collectives beside kernels"] = beside - step.least()
    parts["host"] = behind - beside
    parts["variation"] = sum(times) / seeds - behind if seeds else 0.0
    rows = [{"part": part, "time": spent} for part, spent in parts.items() if spent > SMALLEST]
    return rows, times
