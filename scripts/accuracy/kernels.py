"""Holds kernels alone, as `train --kernel` times them, against kernels that were measured."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import pyarrow as pa

from accuracy.rows import Errors, Row, Series, errors_of, worst_first
from accuracy.tables import STORED, table
from linkwright.scenario import choice_names
from linkwright.training import kernel_time_terms, kernel_times
from linkwright.errors import LinkwrightError

KERNELS = "kernels alone"
OTHERS = "kernels alone, by terms of other GPUs"
SAMPLE_FILE = "kernels-sample.csv"
GROUPS = "kernels-groups.csv"
KIND = "kernel"
# Generations whose terms a GPU's rows set.
GENERATIONS = {
    "A100-SXM4-80GB": "ampere",
    "H100-SXM5-80GB": "hopper",
    "B200-SXM6-180GB": "blackwell",
}
# Milliseconds where groups of lengths end.
LENGTHS = (0.02, 0.1, 1.0, 1e9)


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
        most = next(most for most in LENGTHS if self.time * 1e3 <= most)
        length = f"up to {most:g} ms" if most < LENGTHS[-1] else f"above {LENGTHS[-2]:g} ms"
        return {
            KIND: f"{self.kind}, {self.numbers}, {self.gpu.split('-')[0]}",
            "length": f"{self.kind} {length}",
        }

    @property
    def unaskable(self) -> str:
        """Says why `train --kernel` has no such kernel; nothing where it has."""
        if self.numbers not in choice_names()["kernel_precision"]:
            return f"{self.kind} in {self.numbers}: weights alone are narrow"
        return ""


@cache
def terms_without(generation: str) -> str:
    """Gives the terms as if the kernels of a generation had not been measured."""
    lines, keeps = [], True
    for line in kernel_time_terms().splitlines():
        if line.startswith("["):
            keeps = line.strip("[]").split(".")[0] != generation
        lines.append(line if keeps else "")
    text = "\n".join(lines)
    tomllib.loads(text)
    return text


def times(kernels: Sequence[Kernel], *, by_others: bool) -> list[float]:
    """Gives the seconds of kernels of one kind, in one kind of numbers, on one GPU."""
    first = kernels[0]
    terms = terms_without(GENERATIONS[first.gpu]) if by_others else None
    kind: Any = first.kind
    numbers: Any = first.numbers
    found = kernel_times(kind, [it.shape for it in kernels], first.gpu, numbers, terms)
    return [float(row["time"]) for row in pa.table(found).to_pylist()]


def series() -> Iterator[Series]:
    """Lists the kernels of the sample by groups, with their own terms and with those of others."""
    groups: dict[str, list[Kernel]] = {}
    for kernel in map(Kernel.of, table(STORED / SAMPLE_FILE)):
        groups.setdefault(kernel.facets[KIND], []).append(kernel)
    for name, own in groups.items():
        yield Series(KERNELS, name, partial(ask_all, own))
    for name, own in groups.items():
        if not own[0].unaskable:
            yield Series(OTHERS, name, partial(ask_all, own, by_others=True))


def ask_all(kernels: Sequence[Kernel], *, by_others: bool = False) -> list[Row]:
    """Asks how long kernels take that differ in their shapes alone."""
    refusal, expected = kernels[0].unaskable, [None] * len(kernels)
    if not refusal:
        try:
            expected = times(kernels, by_others=by_others)  # type: ignore[assignment]
        except LinkwrightError as error:
            refusal = error.problem
    return [
        Row(kernel.time, time, kernel.facets, refusal=refusal)
        for kernel, time in zip(kernels, expected, strict=True)
    ]


def group_rows(kernels: Sequence[Kernel]) -> list[dict[str, str]]:
    """Asks about all kernels, and gives a line of our table for each group."""
    groups: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        groups.setdefault(kernel.facets[KIND], []).append(kernel)
    found = worst_first({name: errors_of(ask_all(own)) for name, own in groups.items()})
    return [{KIND: name, **shown(errors)} for name, errors in found.items()]


def shown(errors: Errors) -> dict[str, str]:
    """Writes the errors of a group as a line of our table has them."""
    names = ("rows", "asked", "median", "signed", "ninetieth", "largest")
    values = {name: getattr(errors, name) for name in names}
    return {name: "" if value is None else f"{value:g}" for name, value in values.items()}
