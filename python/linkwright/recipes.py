"""How networks are trained: the network, by name or file, the recipe, and ways to communicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from linkwright import System, __version__
from linkwright.collectives import planner_names
from linkwright.errors import FileError, SimulationError, brief, did_you_mean, neither, printable
from linkwright.files import PathOrName, existing, read_text, sha256
from linkwright.scenario import choice_names
from linkwright.training import Model, NeuralNetwork, TrainingStep, neural_networks

if TYPE_CHECKING:
    from linkwright import names
    from linkwright.kernel_traces import MeasuredKernels

__all__ = [
    "LIBRARY",
    "SHARED",
    "SHARED_MEMORY",
    "Recipe",
    "communications",
    "is_public_model",
    "read_network",
    "way_of",
]

# Data that collectives of NCCL move, planned by NCCL's own choice.
LIBRARY = "nccl"
# Memory that all GPUs share, and how they do unless something else is said.
SHARED = "tsm"
SHARED_MEMORY: Final = "tsm-wt-c-rc"


@dataclass(frozen=True)
class Recipe:
    """How a network is trained, whatever it is trained on.

    Attributes:
        network: The network to train.
        batch: Samples of a step, over all GPUs.
        precision: The numbers that are multiplied.
        gradients: The numbers that gradients are kept and reduced in; those of `precision` where
            absent.
        optimizer: The rule that turns gradients into weights.
        framework: Whose costs around kernels count.
        overlap: Whether gradients are reduced while others are computed.
        bucket: Bytes of gradients that are reduced at once; the framework's where absent.
        micro_batch: Samples that go through a pipeline at once; the batch has four such parts for
            each GPU where absent.
        host_copies: Whether samples are copied from the host in every step.
        terms: The speeds that kernels reach and the costs of frameworks; Linkwright's own where
            absent.
        measured: Times of layers that replace the model's, as comma-separated values.
        trace: Kernels by which layers take as many times as long as by the model.
        trace_samples: Samples that a GPU computed at once in the trace; as many as now where
            absent.
        shared_memory: How GPUs share memory under `tsm`.
        shared_bandwidth: Of each GPU to that memory, each way, in GB/s; that of `GpuSystem` where
            absent.
    """

    network: NeuralNetwork
    batch: int
    precision: str = "fp32"
    gradients: str | None = None
    optimizer: str = "momentum"
    framework: str = "pytorch"
    overlap: bool = True
    bucket: int | None = None
    micro_batch: int | None = None
    host_copies: bool = True
    terms: str | None = field(default=None, repr=False)
    measured: str | None = field(default=None, repr=False)
    shared_memory: str = SHARED_MEMORY
    shared_bandwidth: float | None = None
    trace: MeasuredKernels | None = field(default=None, repr=False)
    trace_samples: int | None = None

    def step(
        self, system: System, gpus: Sequence[int], communication: str, batch: int
    ) -> tuple[TrainingStep, str | None]:
        """Returns a step, and the planner of its collectives; None for NCCL's own choice.

        Raises:
            MachineError: If a GPU's model is not known well enough.
            SimulationError: If the batch does not divide, or the GPUs cannot go that way.
        """
        way, planner = way_of(communication)
        step = TrainingStep(
            self.network,
            system,
            gpus,
            batch=batch,
            way=way,
            precision=cast("names.PrecisionName", self.precision),
            gradients=cast("names.PrecisionName | None", self.gradients),
            optimizer=cast("names.OptimizerName", self.optimizer),
            framework=cast("names.FrameworkName", self.framework),
            overlap=self.overlap,
            bucket=self.bucket,
            micro_batches=self._micro_batches(batch),
            host_copies=self.host_copies,
            terms=self.terms,
            measured=self.measured,
            trace=None if self.trace is None else self.trace.trace,
            trace_samples=self.trace_samples,
            shared_memory=cast("names.MemorySystemName", self.shared_memory),
            shared_bandwidth=self.shared_bandwidth,
        )
        return step, planner

    def _micro_batches(self, batch: int) -> int | None:
        if self.micro_batch is None:
            return None
        if batch % self.micro_batch:
            problem = f"micro-batches of {self.micro_batch} do not divide a batch of {batch}"
            raise SimulationError(problem, "use one that does, or another batch")
        return batch // self.micro_batch

    def facts(self) -> dict[str, object]:
        """Returns the facts that repeat it, but for the network."""
        terms, measured = (
            None if text is None else sha256(text.encode()) for text in (self.terms, self.measured)
        )
        return {
            "batch": self.batch,
            "precision": self.precision,
            "gradients": self.gradients,
            "optimizer": self.optimizer,
            "framework": self.framework,
            "overlap": self.overlap,
            "bucket": self.bucket,
            "micro_batch": self.micro_batch,
            "host_copies": self.host_copies,
            "terms": terms,
            "measured": measured if self.trace is None else self.trace.file,
            **({} if self.trace_samples is None else {"trace_samples": self.trace_samples}),
            **self._shared(),
            "linkwright": __version__,
        }

    def _shared(self) -> dict[str, object]:
        if (self.shared_memory, self.shared_bandwidth) == (SHARED_MEMORY, None):
            return {}
        return {"shared_memory": self.shared_memory, "shared_bandwidth": self.shared_bandwidth}


def read_network(name_or_path: PathOrName) -> tuple[NeuralNetwork, str | None]:
    """Reads a network by its name, or one's own from a file; with the text of the file.

    Raises:
        FileError: If there is neither such a network nor such a file.
        InputError: If the file is no network, with its place.
    """
    try:
        return NeuralNetwork.find(printable(str(name_or_path))), None
    except SimulationError as error:
        path = existing("network", name_or_path, "NeuralNetwork.from_text")
        if path is not None:
            text = read_text(path)
            return NeuralNetwork.from_text(text, printable(str(path))), text
        if is_public_model(str(name_or_path)):
            problem = f"`{brief(str(name_or_path))}` is a language model"
            raise FileError(problem, "train it with `train_model`") from error
        if str(name_or_path).endswith(".toml"):
            problem = f"there is no file `{brief(str(name_or_path))}`"
            raise FileError(problem, "name one, or a network") from error
        names = list(dict.fromkeys(name.split(":")[0] for name, _, _ in neural_networks()))
        known = f"the networks are {', '.join(names)}"
        raise neither("a network", str(name_or_path), names, known) from error


def is_public_model(name: str) -> bool:
    """Says whether a public language model has this name."""
    try:
        Model.find(printable(name))
    except SimulationError:
        return False
    return True


def communications() -> list[str]:
    """Names every way to communicate: NCCL, planners of all-reduces, and those without either."""
    ways = [way for way in choice_names()["training_way"] if way != "all-reduce"]
    return [LIBRARY, *_planners(), *ways]


def _planners() -> list[names.PlannerName]:
    """Lists the planners of a step's collectives, beside NCCL's own choice."""
    return [name for name in planner_names() if name not in (LIBRARY, "auto", "mpi")]


def way_of(communication: str) -> tuple[Any, str | None]:
    """Returns the way of the core, and the planner of its collectives; None for NCCL's own choice.

    Raises:
        SimulationError: If there is none of that name.
    """
    if communication == LIBRARY:
        return "all-reduce", None
    if communication in _planners():
        return "all-reduce", communication
    way, _, planner = communication.partition(":")
    known = communications()
    if way not in choice_names()["training_way"] or (planner and planner not in known):
        meant = None if way == LIBRARY else TrainingStep.way_meant(way)
        meant = LIBRARY if meant == "all-reduce" else meant
        advice = f"did you mean `{meant}`? " if meant else did_you_mean(communication, known)
        raise SimulationError(
            f"there is no way to communicate `{communication}`",
            f"{advice}use one of {', '.join(known)}",
        )
    return way, None if planner in ("", LIBRARY) else planner
