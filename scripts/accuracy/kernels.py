"""Holds kernels of networks, as `train` times them, against kernels that were measured alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from accuracy.networks import attention_network, product_network
from accuracy.rows import Errors, Row, Series, errors_of, worst_first
from accuracy.tables import STORED, table
from accuracy.training import DOES_NOT_FIT, servers_of
from linkwright import NeuralNetwork, TrainingStep, choice_names, training_terms
from linkwright.errors import LinkwrightError
from linkwright.studies.training.terms import changed

KERNELS = "kernels of networks"
SAMPLE_FILE = "kernels-sample.csv"
GROUPS = "kernels-groups.csv"
KIND = "kernel"
# Where groups of sizes end.
SIZES = (16, 256, 4096, 1 << 20)
# Of a series in the sample; a series is asked about at once.
ROWS_OF_A_SERIES = 32


@dataclass(frozen=True)
class Kernel:
    """Holds a kernel that was measured alone: its shape, its numbers and its seconds."""

    kind: str
    gpu: str
    numbers: str
    shape: str
    time: float

    @staticmethod
    def of(line: Mapping[str, str]) -> Kernel:
        """Reads a line of our table."""
        time = float(line["microseconds"]) * 1e-6
        return Kernel(line["kind"], line["gpu"], line["numbers"], line["shape"], time)

    @property
    def facets(self) -> dict[str, str]:
        """Names the groups that it counts in."""
        gpu = self.gpu.split("-")[0]
        found = {KIND: f"{self.kind}, {self.numbers}, {gpu}"}
        if not self.unaskable:
            what, size = (
                ("rows", self.sizes[0]) if self.kind == "product" else ("tokens", self.sizes[1])
            )
            most = next(most for most in SIZES if size <= most)
            found["size"] = f"{self.kind} of {what} up to {most:,}"
        return found

    def ask(self) -> Row:
        """Asks how long the kernel takes."""
        refusal, expected = self.unaskable, None
        if not refusal:
            try:
                expected = forward(self.network, self.gpu, self.samples, self.numbers)
            except LinkwrightError as error:
                refusal = DOES_NOT_FIT if "GiB" in error.problem else error.problem.split(": ")[0]
        return Row(self.time, expected, self.facets, refusal=refusal)

    @property
    def unaskable(self) -> str:
        """Says why `train` has no such kernel; nothing where it has."""
        if self.kind not in ("product", "attention"):
            return f"`train` has no {self.kind}"
        if self.numbers not in choice_names()["precision"]:
            return f"`train` has no {self.kind} in {self.numbers}"
        return ""

    @property
    def network(self) -> NeuralNetwork:
        """Gives a network of that kernel alone."""
        if self.kind == "product":
            rows, columns, depth = self.sizes
            return product_network(rows, columns, depth)
        _, tokens, heads, key_heads, width = self.sizes
        return attention_network(tokens, heads, key_heads, width)

    @property
    def samples(self) -> int:
        """Gives the samples of a step that has the kernel once."""
        return 1 if self.kind == "product" else self.sizes[0]

    @property
    def sizes(self) -> list[int]:
        """Gives the sizes of its shape."""
        return [int(size) for size in self.shape.split("x")]


@cache
def terms() -> str:
    """Gives the terms of kernels whose weights are not cast before."""
    return changed(training_terms(), {"framework.pytorch": {"casts_weights": "false"}})


def forward(network: NeuralNetwork, gpu: str, samples: int, precision: str) -> float:
    """Gives the seconds of a network's forward pass on one GPU.

    Raises:
        MachineError: If the GPU's model is not known well enough.
        SimulationError: If the step does not fit.
    """
    step = TrainingStep(
        network,
        servers_of(gpu, 1),
        [0],
        batch=samples,
        precision=precision,  # type: ignore[arg-type]
        optimizer="sgd",
        terms=terms(),
    )
    [model] = step.models
    return step.computing(model)[0]


def series() -> Iterator[Series]:
    """Lists the kernels of the sample, some at a time."""
    kernels = [Kernel.of(line) for line in table(STORED / SAMPLE_FILE)]
    groups: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        groups.setdefault(kernel.facets[KIND], []).append(kernel)
    for name, own in groups.items():
        for start in range(0, len(own), ROWS_OF_A_SERIES):
            part = own[start : start + ROWS_OF_A_SERIES]
            yield Series(KERNELS, f"{name}, from {start}", partial(ask_all, part))


def ask_all(kernels: Sequence[Kernel]) -> list[Row]:
    """Asks about kernels one after another."""
    return [kernel.ask() for kernel in kernels]


def group_rows(kernels: Sequence[Kernel]) -> list[dict[str, str]]:
    """Asks about all kernels, and gives a line of our table for each group."""
    groups: dict[str, list[Row]] = {}
    for kernel in kernels:
        groups.setdefault(kernel.facets[KIND], []).append(kernel.ask())
    found = worst_first({name: errors_of(rows) for name, rows in groups.items()})
    return [{KIND: name, **shown(errors)} for name, errors in found.items()]


def shown(errors: Errors) -> dict[str, str]:
    """Writes the errors of a group as a line of our table has them."""
    names = ("rows", "asked", "median", "signed", "ninetieth", "largest")
    values = {name: getattr(errors, name) for name in names}
    return {name: "" if value is None else f"{value:g}" for name, value in values.items()}
