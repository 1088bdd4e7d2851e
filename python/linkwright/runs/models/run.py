"""Says what training a model by a layout takes: groups, memory, and time where it is predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from linkwright import System
from linkwright.runs.measured import measured_sheets
from linkwright.runs.models import sheets
from linkwright.runs.models.step import in_full
from linkwright.runs.rank_timeline import rank_timeline
from linkwright.runs.run import Run, Section, Sheet
from linkwright.systems import system_words
from linkwright.texts import counted, data, duration
from linkwright.training import Model, ModelTraining

if TYPE_CHECKING:
    import pyarrow as pa

    from linkwright.kernel_traces import MeasuredKernels
    from linkwright.names import FlagsName
    from linkwright.runs.models.checkpoints import Checkpoints
    from linkwright.runs.models.search import SearchedLayouts
    from linkwright.runs.models.step import ModelStep
    from linkwright.runs.timeline import Timeline

__all__ = ["ModelRun"]

OF_STEPS = (
    "One rank of each stage is played. An exchange lasts as long as NCCL takes for all groups at "
    "once, on links that carry nothing else.",
    "The sum of a tied embedding's gradients over the first and the last stage.",
    "Norms of gradients and of single heads.",
    "Hosts that wait for their GPUs within a step, and other times of exchanges in each step.",
)
LEFT_OUT = (
    "Activations that are moved to the host, and heads that predict several tokens at once.",
    "The driver's context and what NCCL keeps lie beside what PyTorch counts.",
)


@dataclass(frozen=True, repr=False)
class ModelRun(Run):
    """Gives a model's training by a layout.

    Attributes:
        training: The model, its layout and how it is trained.

        system: On what.

        gpus: Ids in the system, in the order of the ranks.

        groups: A row for each kind of group whose ranks exchange data.

        memory: A row for each pipeline stage.

        capacity: Bytes that a GPU has; None where nobody knows.

        timed: The step, where its time is predicted.

        untimed: Why it is not; empty where it is.

        facts: The facts that repeat it.

        manifest: The same, with the machine.

        searched: The results of the search for the layout; None where it was given.

        explained: Whether it is shown why the second layout is slower.

        measured_step: Seconds of a measured step; None where there is none.

        checkpoints: The checkpoints that keep the training from failures; None where these are not
            said.

        measured: The kernels that replace the model's times; None without a trace.
    """

    training: ModelTraining
    system: System
    gpus: Sequence[int]
    groups: Sequence[Mapping[str, Any]]
    memory: Sequence[Mapping[str, Any]]
    capacity: int | None
    timed: ModelStep | None
    untimed: str
    facts: Mapping[str, object]
    manifest: Mapping[str, object] = field(default_factory=dict, repr=False)
    searched: SearchedLayouts | None = None
    explained: bool = False
    measured_step: float | None = None
    checkpoints: Checkpoints | None = None

    measured: MeasuredKernels | None = None

    def __repr__(self) -> str:
        return f"<ModelRun: {self.title}>"

    @property
    def model(self) -> Model:
        """Says what is trained."""
        return self.training.model

    @property
    def title(self) -> str:
        """Says what is trained, and on what."""
        gpus = counted(len(self.gpus), "GPU")
        return (
            f"{self.model.name} by {self.training.layout} on {gpus} of {system_words(self.system)}"
        )

    @property
    def time(self) -> float | None:
        """Seconds of a step; None where it is not predicted."""
        return None if self.timed is None else self.timed.time

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens a second of each GPU; None where the time is not predicted."""
        if not self.time:
            return None
        return self.training.batch * self.model.tokens / self.time / len(self.gpus)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Nine of ten measured steps lie between these seconds; None where the time is unknown."""
        return None if self.timed is None else self.timed.interval

    @property
    def unexplained(self) -> float | None:
        """Seconds of the measured step that no part explains; None without either time."""
        if self.time is None or self.measured_step is None:
            return None
        return self.measured_step - self.time

    @property
    def reserved(self) -> int:
        """Bytes that the allocator holds on the GPU that needs the most."""
        return int(max(row["reserved"] for row in self.memory))

    @property
    def headline(self) -> str:
        """Says what a GPU needs, and how long a step takes where that is predicted."""
        total = max(row["total"] for row in self.memory)
        has = "" if self.capacity is None else f" of {data(self.capacity)}"
        told = (
            f"Each GPU needs {data(total)} at most for tensors; the allocator holds "
            f"{data(self.reserved)}{has}"
        )
        if self.time is None or self.tokens_per_second is None:
            return f"{told}. Its time is not predicted: {self.untimed}."
        batch = counted(self.training.batch, "sequence")
        return (
            f"A step of {batch} takes {duration(self.time)}, {self.tokens_per_second:,.0f} tokens "
            f"a second on each GPU. {told}."
        )

    @property
    def context(self) -> Sequence[str]:
        """Says how the model is trained; its groups come before the answer."""
        model, training = self.model, self.training
        active = ""
        if model.active_parameters != model.parameters:
            active = f", {model.active_parameters:,} of them for each token"
        micro = counted(training.micro_batches, "micro-batch", "micro-batches")
        return [
            f"{model.parameters:,} parameters{active}; sequences of {model.tokens:,} tokens, "
            f"{micro} of {training.micro_batch} for each replica; zero {training.zero}, recompute "
            f"{training.recompute}, {training.kernels} kernels.{self._numbers()}{self._routing()}",
        ]

    def _numbers(self) -> str:
        wanted = {
            "weights": self.facts["fp8_weights"],
            "activations": self.facts["fp8_activations"],
        }
        kept = " and ".join(what for what, is_kept in wanted.items() if is_kept)
        return f" Kept in eight bits: {kept}." if kept else ""

    def _routing(self) -> str:
        imbalance, factor = self.facts["imbalance"], self.facts["capacity_factor"]
        if imbalance == "uniform" and factor is None:
            return ""
        most = "" if factor is None else f", each taking {factor:g} even shares at most"
        return f" Experts are wanted by {imbalance}, seed {self.facts['seed']}{most}."

    def flags(self, framework: FlagsName) -> tuple[list[tuple[str, str]], list[str]]:
        """Writes the training as flags of a framework: `megatron` or `torchtitan`.

        Gives each flag with its value, empty where the flag alone says it, and sentences on what
        no flag says.
        """
        return self.training.flags(framework)

    def _searched(self) -> dict[str, object]:
        searched = self.searched
        if searched is None:
            return {}
        found: dict[str, object] = {
            "layouts": [row.row() for row in searched.first],
            "search": {
                "sound": searched.sound,
                "fitting": searched.fitting,
                "looked_at": searched.looked_at,
                "played": searched.played,
                "rest": searched.rest,
                "within": searched.within,
            },
        }
        if self.explained:
            found["explanation"] = searched.explanation()
        return found

    def tables(self) -> Mapping[str, pa.Table]:
        """Groups, memory, tensors, and the parts of the step's time where it is timed."""
        import pyarrow as pa

        tensors = list(self.training.tensors())
        tables: dict[str, Sequence[Mapping[str, Any]]] = {
            "groups": self.groups,
            "model_memory": self.memory,
            "tensors": tensors,
        }
        if self.searched is not None:
            tables["layouts"] = [row.row() for row in self.searched.first]
        if self.timed is not None:
            tables["parts"] = self.timed.parts
            tables["stages"] = list(self.timed.step.work())
            tables["exchanges"] = list(self.timed.step.exchanges())
        return {name: pa.Table.from_pylist(rows) for name, rows in tables.items() if rows}

    def summary(self) -> dict[str, object]:
        """Says what `summary.json` holds and `--json` prints."""
        model = self.model
        return {
            "headline": self.headline,
            "model": model.name,
            "family": model.family,
            "parameters": model.parameters,
            "active_parameters": model.active_parameters,
            "machine": self.system.name,
            "gpus": list(self.gpus),
            **self.facts,
            "time": self.time,
            "low": None if self.interval is None else self.interval[0],
            "high": None if self.interval is None else self.interval[1],
            "times": [] if self.timed is None else list(self.timed.times),
            "measured_step": self.measured_step,
            "unexplained": self.unexplained,
            "checkpoints": None if self.checkpoints is None else self.checkpoints.row(),
            "tokens_per_second_per_gpu": self.tokens_per_second,
            "untimed": self.untimed or None,
            "parts": [] if self.timed is None else list(self.timed.parts),
            "gpu_energy": None if self.timed is None else self.timed.energy.whole,
            **self._searched(),
            "groups": list(self.groups),
            "capacity": self.capacity,
            "memory": list(self.memory),
            **({} if self.measured is None else {"measured": self.measured.summary()}),
        }

    def sheets(self) -> Sequence[Sheet]:
        """Groups, memory, and the step where it is timed."""
        return [
            *sheets.layouts(self),
            *sheets.groups(self),
            sheets.memory(self, self.headline),
            *sheets.step(self),
            *sheets.checkpoints(self),
            *self._measured(),
        ]

    def sections(self) -> Sequence[Section]:
        """Gives groups, memory, the step, and all that is left out."""
        return [
            Section("Layouts", sheets=sheets.layouts(self)),
            Section("Groups", sheets=sheets.groups(self)),
            Section("What a step's time goes into", sheets=sheets.step(self)),
            Section("Checkpoints and restarts", sheets=sheets.checkpoints(self)),
            Section("Exchanges", sheets=sheets.exchanges(self)),
            Section("Measured kernels", sheets=self._measured()),
            Section("Memory of a GPU", sheets=[sheets.memory(self)]),
            Section("Tensors of a block", sheets=[sheets.tensors(self)]),
            Section("What a step leaves out", points=OF_STEPS),
            Section("What memory leaves out", points=LEFT_OUT),
        ]

    def _measured(self) -> Sequence[Sheet]:
        return [] if self.measured is None else measured_sheets(self.measured)

    def timeline(self) -> Timeline | None:
        """The step, where it is timed."""
        if self.timed is None:
            return None
        played = in_full(self.timed.step, self.system, self.model.name)
        return rank_timeline(self.title, self.system.name, played)
