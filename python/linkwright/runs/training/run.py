"""Steps of training as a run: what it answers, its tables, its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from linkwright import System
from linkwright.runs.run import Run, Section, Sheet
from linkwright.runs.training import sheets
from linkwright.runs.training.play import Played, Recipe
from linkwright.texts import counted, duration

if TYPE_CHECKING:
    import pyarrow as pa

    from linkwright.runs.timeline import Timeline

__all__ = ["Scaled", "TrainingRun"]

LEFT_OUT = (
    "Layers take what their arithmetic and their memory allow at the shares of the peak that "
    "kernels are known to reach; no kernel is measured on the machine, unless you give its times.",
    "Kernels that fuse several layers, and algorithms of convolution that need fewer operations.",
    "Samples are ready in the host's memory: reading them from disks takes no time.",
    "Samples of the next step are copied when it begins, not while this one computes.",
    "Other jobs, and clocks that fall under load.",
)


@dataclass(frozen=True)
class Scaled:
    """A step on fewer GPUs, or on one batch for each.

    Attributes:
        kind: `strong`, the same batch on more GPUs, or `weak`, the same batch for each GPU.
        communication: How data moved.
        gpus: How many.
        batch: Samples of the step.
        time: Seconds of the step.
        speed_up: Samples a second over those of one GPU.
    """

    kind: str
    communication: str
    gpus: int
    batch: int
    time: float
    speed_up: float

    @property
    def efficiency(self) -> float:
        """The speed-up for each GPU."""
        return self.speed_up / self.gpus


@dataclass(frozen=True)
class TrainingRun(Run):
    """Steps of training a network, by one way to communicate or several.

    Attributes:
        recipe: What was trained, and how.
        system: On what.
        gpus: Ids in the system, in the order of the ranks.
        steps: By each way to communicate, in the order asked for.
        scaling: The same on fewer GPUs.
        manifest: What repeats it.
    """

    recipe: Recipe
    system: System
    gpus: Sequence[int]
    steps: Sequence[Played]
    scaling: Sequence[Scaled] = ()
    manifest: Mapping[str, object] = field(default_factory=dict, repr=False)

    @property
    def best(self) -> Played:
        """The step of the shortest time; of equal ones the first."""
        return min(self.steps, key=lambda step: step.time)

    @property
    def title(self) -> str:
        """What is trained, and on what."""
        gpus = counted(len(self.gpus), "GPU")
        model = ", ".join(self.best.step.models)
        return f"{self.recipe.network.name} on {gpus} of {self.system.name} ({model})"

    @property
    def units(self) -> str:
        """What is counted a second: images, tokens or samples."""
        return "tokens" if self.recipe.network.tokens else self.recipe.network.samples

    def rate(self, step: Played) -> float:
        """Images, tokens or samples a second."""
        return step.rate * (self.recipe.network.tokens or 1)

    @property
    def headline(self) -> str:
        """How long the best step takes, and how it compares with the others."""
        best = self.best
        told = (
            f"A step of {counted(self.recipe.batch, *self._samples())} takes "
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
        return f"{told}."

    @property
    def context(self) -> Sequence[str]:
        """The answer, and what it rests on."""
        recipe = self.recipe
        network = recipe.network
        size = f"{network.parameters:,} parameters, {2 * network.multiply_adds / 1e9:,.2f} GFLOP"
        return [
            self.headline,
            f"{size} forward for each of {network.input}; {recipe.precision}, {recipe.optimizer}, "
            f"costs of {recipe.framework}.",
        ]

    @property
    def notes(self) -> Sequence[str]:
        """What the network's source and the machine's leave open."""
        return [*self.recipe.network.assumptions, *self.system.assumptions]

    def _samples(self) -> tuple[str, str]:
        several = self.recipe.network.samples
        return several.removesuffix("s"), several

    def tables(self) -> Mapping[str, pa.Table]:
        """Steps, layers of each model of GPU, and scaling."""
        import pyarrow as pa

        layers = [
            {"model": model, **row}
            for model in self.best.step.models
            for row in self.best.step.layers(model)
        ]
        tables = {"steps": self._steps(), "layers": layers, "scaling": self._scaling()}
        tables["memory"] = list(self.best.step.memory())
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
                "data": sum(row["data"] for row in step.run.links()),
            }
            for step in self.steps
        ]

    def _scaling(self) -> list[dict[str, object]]:
        return [asdict(row) | {"efficiency": row.efficiency} for row in self.scaling]

    def summary(self) -> dict[str, object]:
        """What `summary.json` holds and `--json` prints."""
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
            "scaling": self._scaling(),
            "memory": list(self.best.step.memory()),
            "epoch": self._epoch(),
        }

    def _epoch(self) -> float | None:
        """Seconds of an epoch of the dataset that the network is usually trained on."""
        samples = self.recipe.network.epoch
        return None if samples is None else samples / self.best.rate

    def sheets(self) -> Sequence[Sheet]:
        """Steps by each way, scaling, and the layers that take longest."""
        layers = [sheets.layers(self, model) for model in self.best.step.models]
        scaling = [sheets.scaling(self)] if self.scaling else []
        return [sheets.steps(self), sheets.memory(self), *scaling, *layers]

    def sections(self) -> Sequence[Section]:
        """Steps, scaling, layers, links, and what the model leaves out."""
        from linkwright.runs.training.charts import layer_times, scaling_lines, step_parts

        best = self.best
        links = sheets.links(self)
        return [
            Section(
                "Steps",
                sheets=[sheets.steps(self)],
                charts={"What a step's time goes into": step_parts(self)},
            ),
            Section("Memory", sheets=[sheets.memory(self)]),
            Section(
                "Scaling",
                sheets=[sheets.scaling(self)] if self.scaling else [],
                charts={"Speed-up by GPUs": scaling_lines(self)} if self.scaling else {},
            ),
            Section(
                "Layers",
                sheets=[sheets.layers(self, model) for model in best.step.models],
                charts={"Time of each layer": layer_times(self)},
            ),
            Section(
                "Links",
                sheets=[links] if links.rows else [],
                note=f"Of the step by {best.communication}.",
            ),
            Section("What was trained", facts=self._facts()),
            Section("What the sources leave open", points=self.notes),
            Section("What the model leaves out", points=LEFT_OUT),
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
            ("Optimizer", self.recipe.optimizer),
            ("Framework", self.recipe.framework),
        ]
        return facts if epoch is None else [*facts, ("An epoch", f"{epoch:,.0f} s")]

    def timeline(self) -> Timeline | None:
        """The best step: what every GPU computed and moved when."""
        from linkwright.runs.rank_timeline import rank_timeline

        return rank_timeline(self.title, self.system.name, self.best.run)
