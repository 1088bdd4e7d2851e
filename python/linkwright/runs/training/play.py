"""Steps of training, from a network and a machine to what they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from linkwright import (
    MOST_PLANNED_GPUS,
    ClusterJob,
    ClusterRun,
    NeuralNetwork,
    System,
    TrainingStep,
    __version__,
    choice_names,
    expect,
    neural_networks,
    planner_names,
)
from linkwright.errors import FileError, SimulationError, printable
from linkwright.files import read_text, sha256
from linkwright.runs.training.parts import Parts, parts_of

if TYPE_CHECKING:
    from linkwright import names

__all__ = [
    "LARGEST_SCALING",
    "LIBRARY",
    "Played",
    "Recipe",
    "communications",
    "load_network",
    "make_step",
    "play_step",
]

# Scaling is played for each power of two up to so many GPUs unless it is asked for.
LARGEST_SCALING = 16
# On more GPUs than plans are made for, which all do the same, one is played, and its collectives
# take what NCCL's do alone.
MOST_PLAYED = MOST_PLANNED_GPUS
# Far more than a step has of any kind.
SPANS = 5_000_000
# Data that collectives of NCCL move, planned by NCCL's own choice.
LIBRARY = "nccl"


@dataclass(frozen=True)
class Recipe:
    """How a network is trained, whatever it is trained on.

    Attributes:
        network: What is trained.
        batch: Samples of a step, over all GPUs.
        precision: The numbers that are multiplied.
        optimizer: What turns gradients into weights.
        framework: Whose costs around kernels count.
        overlap: Whether gradients are reduced while others are computed.
        bucket: Bytes of gradients that are reduced at once; the framework's where absent.
        micro_batches: Parts of the batch that follow one another through a pipeline.
        terms: What kernels reach and frameworks cost; Linkwright's own where absent.
        measured: Times of layers that replace the model's, as comma-separated values.
    """

    network: NeuralNetwork
    batch: int
    precision: str = "fp32"
    optimizer: str = "momentum"
    framework: str = "pytorch"
    overlap: bool = True
    bucket: int | None = None
    micro_batches: int | None = None
    terms: str | None = field(default=None, repr=False)
    measured: str | None = field(default=None, repr=False)

    def facts(self) -> dict[str, object]:
        """What repeats it, but for the network."""
        terms, measured = (
            None if text is None else sha256(text.encode()) for text in (self.terms, self.measured)
        )
        return {
            "batch": self.batch,
            "precision": self.precision,
            "optimizer": self.optimizer,
            "framework": self.framework,
            "overlap": self.overlap,
            "bucket": self.bucket,
            "micro_batches": self.micro_batches,
            "terms": terms,
            "measured": measured,
            "linkwright": __version__,
        }


@dataclass(frozen=True)
class Played:
    """A step that was played.

    Attributes:
        communication: How data moved, as it was asked for.
        batch: Samples of the step.
        step: What every GPU did.
        run: What became of it.
        parts: What its time went into.
    """

    communication: str
    batch: int
    step: TrainingStep = field(repr=False)
    run: ClusterRun = field(repr=False)
    parts: Parts

    @property
    def time(self) -> float:
        """Seconds of the step."""
        return self.run.makespan

    @property
    def rate(self) -> float:
        """Samples a second."""
        return self.batch / self.time if self.time > 0 else 0.0


def communications() -> list[str]:
    """Every way to communicate: NCCL, planners of all-reduces, and those without either."""
    ways = [way for way in choice_names()["training_way"] if way != "all-reduce"]
    return [LIBRARY, *(name for name in planner_names() if name != "mpi"), *ways]


def load_network(name_or_path: str | Path) -> tuple[NeuralNetwork, str | None]:
    """A network by its name, or one's own from a file; with the text of the file.

    Raises:
        FileError: If there is neither such a network nor such a file.
        InputError: If the file is no network, with its place.
    """
    path = Path(name_or_path)
    try:
        return NeuralNetwork.find(str(name_or_path)), None
    except SimulationError as error:
        if path.exists():
            text = read_text(path)
            return NeuralNetwork.from_toml(text, printable(str(path))), text
        if path.suffix == ".toml":
            raise FileError(f"there is no file `{path}`", "name one, or a network") from error
        names = list(dict.fromkeys(name.split(":")[0] for name, _, _ in neural_networks()))
        close = get_close_matches(str(name_or_path).lower(), names, n=1)
        advice = f"did you mean `{close[0]}`? " if close else ""
        raise FileError(
            f"there is neither a network nor a file `{name_or_path}`",
            f"{advice}the networks are {', '.join(names)}",
        ) from error


def make_step(
    recipe: Recipe,
    system: System,
    gpus: Sequence[int],
    communication: str = LIBRARY,
    *,
    batch: int | None = None,
) -> tuple[TrainingStep, str | None]:
    """A step, and the planner of its collectives; None for NCCL's own choice."""
    way, planner = _way_of(communication)
    step = TrainingStep(
        recipe.network,
        system,
        gpus,
        batch=recipe.batch if batch is None else batch,
        way=way,
        precision=cast("names.PrecisionName", recipe.precision),
        optimizer=cast("names.OptimizerName", recipe.optimizer),
        framework=cast("names.FrameworkName", recipe.framework),
        overlap=recipe.overlap,
        bucket=recipe.bucket,
        micro_batches=recipe.micro_batches,
        terms=recipe.terms,
        measured=recipe.measured,
    )
    return step, planner


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
    step, planner = make_step(recipe, system, gpus, communication, batch=batch)
    samples = recipe.batch if batch is None else batch
    program, mapping = step.program, list(gpus)
    if len(gpus) > MOST_PLAYED and planner is None:
        program, mapping = step.alone(_times(step, system, gpus)), mapping[:1]
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
    return Played(communication, samples, step, run, parts_of(run))


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
            root=0 if kind in ("broadcast", "reduce") else None,
        )
        times += [(kind, size, row["time"]) for size, row in zip(sizes, found, strict=True)]
    return times


def _way_of(communication: str) -> tuple[Any, str | None]:
    """The way of the core, and the planner of its collectives; None for NCCL's own choice."""
    if communication == LIBRARY:
        return "all-reduce", None
    if communication in planner_names() and communication != "mpi":
        return "all-reduce", communication
    way, _, planner = communication.partition(":")
    known = communications()
    if way not in choice_names()["training_way"] or (planner and planner not in known):
        close = get_close_matches(communication, known, n=1)
        advice = f"did you mean `{close[0]}`? " if close else ""
        raise SimulationError(
            f"there is no way to communicate `{communication}`",
            f"{advice}there are {', '.join(known)}",
        )
    return way, None if planner in ("", LIBRARY) else planner
