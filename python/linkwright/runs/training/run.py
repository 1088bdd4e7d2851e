"""Turns steps of training into a run, which has an answer, tables and a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from linkwright import System
from linkwright.recipes import Recipe
from linkwright.runs.bills import Bills
from linkwright.runs.busiest import busiest_sheet
from linkwright.runs.left_out import OF_TRAINING
from linkwright.runs.measured import measured_sheets
from linkwright.runs.rank_timeline import rank_timeline
from linkwright.runs.run import Run, Section, Sheet
from linkwright.runs.scenarios import unused_network
from linkwright.runs.training import sheets
from linkwright.runs.training.play import Played
from linkwright.summaries.energy import Energy
from linkwright.summaries.steps import Scaled
from linkwright.systems import system_words
from linkwright.texts import counted, duration

if TYPE_CHECKING:
    import pyarrow as pa

    from linkwright.kernel_traces import MeasuredKernels
    from linkwright.runs.timeline import Timeline

__all__ = ["TrainingRun"]

# How many of the busiest links are in the report.
REPORTED = 10


@dataclass(frozen=True, repr=False)
class TrainingRun(Run):
    """Steps of training a network, by one way to communicate or several.

    Attributes:
        recipe: The network that was trained, and how.
        system: On what.
        gpus: Ids in the system, in the order of the ranks.
        steps: By each way to communicate, in the order asked for.
        scaling: The same on fewer GPUs.
        manifest: The facts that repeat it.
        bills: The parts of the system, by each way; None without prices.
        energies: The energy that a step takes of GPUs, by each way.
    """

    recipe: Recipe
    system: System
    gpus: Sequence[int]
    steps: Sequence[Played]
    scaling: Sequence[Scaled] = ()
    manifest: Mapping[str, object] = field(default_factory=dict, repr=False)
    bills: Bills | None = None
    energies: Sequence[Energy] = ()

    def __repr__(self) -> str:
        return f"<TrainingRun: {self.title}, {duration(self.best.time)} a step>"

    @property
    def best(self) -> Played:
        """Returns the step of the shortest time; of equal ones the first."""
        return min(self.steps, key=lambda step: step.time)

    @property
    def title(self) -> str:
        """Names the network that is trained, and the system."""
        gpus = counted(len(self.gpus), "GPU")
        model = ", ".join(self.best.step.models)
        return f"{self.recipe.network.name} on {gpus} of {system_words(self.system)} ({model})"

    @property
    def units(self) -> str:
        """Names the unit that is counted a second: images, tokens or samples."""
        return "tokens" if self.recipe.network.tokens else self.recipe.network.samples

    def rate(self, step: Played) -> float:
        """Returns the images, tokens or samples a second."""
        return step.rate * (self.recipe.network.tokens or 1)

    @property
    def headline(self) -> str:
        """How long the best step takes, and how it compares with the others."""
        best, samples = self.best, self.recipe.network.samples
        told = (
            f"A step of {counted(self.recipe.batch, samples.removesuffix('s'), samples)} takes "
            f"{duration(best.time)}, {self.rate(best):,.0f} {self.units} a second"
        )
        if len(self.gpus) > 1:
            exposed = best.parts.exposed / best.time if best.time else 0.0
            told += f", by {best.communication}; {exposed:.1%} of it is exposed communication"
        others = [step for step in self.steps if step is not best]
        if others:
            slower = ", ".join(
                f"{step.time / best.time:.2f} times as long by {step.communication}"
                for step in others[:3]
            )
            told += f". It takes {slower}"
        told += "".join(self._saved(step) for step in self.steps if step.shared)
        return f"{told}."

    def _saved(self, step: Played) -> str:
        """Says how much one copy for all GPUs saves, and how much kernels move of it."""
        read, written = step.step.traffic or (0, 0)
        saved = (len(self.gpus) - 1) * step.shared / 2**30
        return (
            f". By {step.communication} one copy of the model, its gradients and the optimizer's "
            f"state saves {saved:,.2f} GiB; kernels read {read / 2**30:,.2f} GiB of shared memory, "
            f"and write {written / 2**30:,.2f} GiB"
        )

    @property
    def context(self) -> Sequence[str]:
        """Gives the answer, and the facts that it rests on."""
        recipe, network = self.recipe, self.recipe.network
        size = f"{network.parameters:,} parameters, {2 * network.multiply_adds / 1e9:,.2f} GFLOP"
        return [
            self.headline,
            f"{size} forward for each of {network.input}; {recipe.precision}, {recipe.optimizer}, "
            f"costs of {recipe.framework}.",
        ]

    @property
    def notes(self) -> Sequence[str]:
        """Lists the points that the network's source and the machine's leave open."""
        unused = unused_network(self.system, [self.gpus])
        assumed = self.best.step.assumptions
        return [*self.recipe.network.assumptions, *self.system.assumptions, *assumed, *unused]

    def tables(self) -> Mapping[str, pa.Table]:
        """Steps, layers of each model of GPU, links of the best step, and scaling."""
        import pyarrow as pa

        layers = [
            {"model": model, **row}
            for model in self.best.step.models
            for row in self.best.step.layers(model)
        ]
        scaled = [it.facts for it in self.scaling]
        memory = list(self.best.step.memory())
        tables: dict[str, Sequence[Mapping[str, Any]]] = {
            "steps": self._steps(),
            "layers": layers,
            "links": self.best.links(),
            "scaling": scaled,
            "memory": memory,
        }
        return {name: pa.Table.from_pylist(rows) for name, rows in tables.items() if rows}

    def _steps(self) -> list[dict[str, object]]:
        return [
            {
                "communication": step.communication,
                "time": step.time,
                "samples_per_second": step.rate,
                "tokens_per_second": self.rate(step) if self.recipe.network.tokens else None,
                "framework": step.parts.framework,
                "computing": step.parts.computing,
                "communication_time": step.parts.communication,
                "exposed": step.parts.exposed,
                "idle": step.parts.idle,
                "samples_at_once": step.step.samples_at_once,
                "data": step.data,
                "gpu_energy": energy.whole,
            }
            for step, energy in zip(self.steps, self.energies, strict=True)
        ]

    def summary(self) -> dict[str, object]:
        """Returns the content of `summary.json`, which `--json` prints."""
        network = self.recipe.network
        return {
            "headline": self.headline,
            "network": network.name,
            "parameters": network.parameters,
            "multiply_adds": network.multiply_adds,
            "input": network.input,
            "machine": self.system.name,
            "gpus": list(self.gpus),
            "models": self.best.step.models,
            **self.recipe.facts(),
            "best": self.best.communication,
            "steps": self._steps(),
            "scaling": [it.facts for it in self.scaling],
            "memory": list(self.best.step.memory()),
            "epoch": self._epoch(),
            **({} if self.bills is None else {"hardware": self.bills.summary()}),
            **({} if self.measured is None else {"measured": self.measured.summary()}),
        }

    def _epoch(self) -> float | None:
        """Seconds of an epoch of the dataset that the network is usually trained on."""
        samples = self.recipe.network.epoch
        return None if samples is None else samples / self.best.rate

    def sheets(self) -> Sequence[Sheet]:
        """Steps by each way, scaling, and the layers that take longest."""
        scaling = [sheets.scaling(self)] if self.scaling else []
        bills = [] if self.bills is None else [self.bills.sheet()]
        layers = sheets.layers(self)
        energies = sheets.energies(self)
        own = [sheets.steps(self), sheets.memory(self), *energies, *bills, *scaling, *layers]
        return [*own, *self._measured_sheets()]

    @property
    def measured(self) -> MeasuredKernels | None:
        """Gives the kernels of a trace, compared with the model's; None without a trace."""
        traced = self.recipe.trace
        if traced is None:
            return None
        run = {"batch": (self.recipe.trace_samples or 0) * (traced.trace.ranks or len(self.gpus))}
        return replace(traced, ratios=self.best.step.ratios, run=run)

    def _measured_sheets(self) -> Sequence[Sheet]:
        return [] if self.measured is None else measured_sheets(self.measured)

    def sections(self) -> Sequence[Section]:
        """Returns steps, scaling, layers, links, and the parts that the model leaves out."""
        from linkwright.runs.training.charts import layer_times, scaling_lines, step_parts

        steps, memory, layers = sheets.steps(self), sheets.memory(self), sheets.layers(self)
        scaling = [sheets.scaling(self)] if self.scaling else []
        parts = {"What a step's time goes into": step_parts(self)}
        scaled = {"Speed-up by GPUs": scaling_lines(self)} if self.scaling else {}
        links = self.best.links()
        of_links = [sheets.levels(links), busiest_sheet(links, REPORTED)]
        of = f"Of the step by {self.best.communication}."
        if not self.best.is_whole:
            of += " Servers that do the same were played once, and collectives alone on idle links."
        return [
            Section("Steps", sheets=[steps], charts=parts),
            Section("Memory", sheets=[memory]),
            Section("Energy", sheets=sheets.energies(self)),
            Section("Scaling", sheets=scaling, charts=scaled),
            Section("Measured kernels", sheets=self._measured_sheets()),
            *([] if self.bills is None else [self.bills.section()]),
            Section("Layers", sheets=layers, charts={"Time of each layer": layer_times(self)}),
            Section("Links", sheets=[sheet for sheet in of_links if sheet.rows], note=of),
            Section("What was trained", facts=self._facts()),
            Section("What the sources leave open", points=self.notes),
            Section("What the model leaves out", points=OF_TRAINING),
        ]

    def _facts(self) -> list[tuple[str, str]]:
        network, epoch = self.recipe.network, self._epoch()
        facts = [
            ("Network", network.name),
            ("Published", network.source),
            ("One sample", network.input),
            ("Parameters", f"{network.parameters:,}"),
            ("Machine", self.system.name),
            ("GPUs", ", ".join(str(gpu) for gpu in self.gpus)),
            ("Numbers", self.recipe.precision),
            ("Numbers of gradients", self.recipe.gradients or self.recipe.precision),
            ("Optimizer", self.recipe.optimizer),
            ("Framework", self.recipe.framework),
        ]
        return facts if epoch is None else [*facts, ("An epoch", f"{epoch:,.0f} s")]

    def timeline(self) -> Timeline | None:
        """Shows the best step: the computing and the transfers of every GPU over time."""
        return rank_timeline(self.title, self.system.name, self.best.run)
