"""Compares measured steps on one of today's GPUs with the model's times."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import median
from typing import cast

from linkwright import System
from linkwright.errors import OutOfMemoryError
from linkwright.names import OptimizerName, PrecisionName
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.studies.training.halves import CALIBRATED, HELD_BACK
from linkwright.studies.training.terms import changed
from linkwright.training import NeuralNetwork, TrainingStep, training_terms

__all__ = ["Compared", "Measured", "compared", "errors", "measured", "today"]

# The kernels' terms are calibrated on layers of these networks, on this GPU.
CALIBRATED_NETWORKS = (
    "resnet-50:late-stride",
    "googlenet:plain",
    "gpt2-1.5b",
    "lenet:mxnet",
    "lstm",
)
CALIBRATED_GPU = "h100-sxm5-80gb"
OTHER_GPU = "another GPU"
# The GPUs stand in this server; a GPU alone uses nothing of it but itself.
SERVER = "hgx-h100"


@dataclass(frozen=True)
class Measured:
    """Holds a step on one GPU with PyTorch.

    Attributes:
        gpu: Its model.
        network: The network.
        tokens: Of a sequence, where it is not the network's own number.
        samples: Of the step.
        precision: The numbers that are multiplied.
        weights: The numbers that weights are kept in.
        optimizer: The rule that turns gradients into weights.
        forward: Microseconds of the forward pass, the host kept ahead.
        backward: The same of the backward pass.
        update: The same of new weights.
        step: Microseconds of a step as users run it.
        kernels: Kernels and copies of a step.
        memory: MiB that PyTorch allocated at most.
    """

    gpu: str
    network: str
    tokens: int | None
    samples: int
    precision: PrecisionName
    weights: str
    optimizer: OptimizerName
    forward: float
    backward: float
    update: float
    step: float
    kernels: int
    memory: float

    @property
    def half(self) -> str:
        """Whether the kernels' terms are calibrated on it."""
        own = self.gpu == CALIBRATED_GPU and self.network in CALIBRATED_NETWORKS
        return CALIBRATED if own else HELD_BACK


@dataclass(frozen=True)
class Compared:
    """Holds a measured step, and the model's times of it in microseconds."""

    measured: Measured
    forward: float
    backward: float
    update: float

    @property
    def busy(self) -> tuple[float, float]:
        """Returns the computing time of the GPU, in all: as measured, and by the model."""
        row = self.measured
        if row.weights != row.precision:
            return row.forward + row.backward + row.update, sum(
                (self.forward, self.backward, self.update)
            )
        # The model's new weights have 32 bits; those of such steps have none.
        return row.forward + row.backward, self.forward + self.backward

    @property
    def ratio(self) -> float:
        """The model's time over what was measured."""
        measured, ours = self.busy
        return ours / measured


@cache
def measured() -> tuple[Measured, ...]:
    """All steps that were measured."""
    text = (files(__package__) / "measured.csv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return tuple(
        Measured(
            gpu=row["gpu"],
            network=row["network"],
            tokens=int(row["tokens"]) if row["tokens"] else None,
            samples=int(row["samples"]),
            precision=cast("PrecisionName", row["precision"]),
            weights=row["weights"],
            optimizer=cast("OptimizerName", row["optimizer"]),
            forward=float(row["forward"]),
            backward=float(row["backward"]),
            update=float(row["update"]),
            step=float(row["step"]),
            kernels=int(row["kernels"]),
            memory=float(row["memory"]),
        )
        for row in csv.DictReader(lines)
    )


@cache
def _server(gpu: str) -> System:
    """Builds the server with GPUs of a model."""
    own, wanted = (f'"{name.upper()}"' for name in (CALIBRATED_GPU, gpu))
    return System.from_text(System(SERVER).to_toml().replace(own, wanted))


def _compare(row: Measured, terms: str) -> Compared | None:
    """The model's times; None where the step does not fit the GPU as the model has it."""
    network = NeuralNetwork.find(row.network)
    if row.tokens is not None:
        network = network.with_input(tokens=row.tokens)
    if row.weights == row.precision:
        # Weights of 16 bits are not cast.
        terms = changed(terms, {"framework.pytorch": {"casts_weights": "false"}})
    try:
        step = TrainingStep(
            network,
            _server(row.gpu),
            [0],
            batch=row.samples,
            precision=row.precision,
            optimizer=row.optimizer,
            terms=terms,
        )
    except OutOfMemoryError:
        return None
    [model] = step.models
    forward, backward, update = step.computing(model)
    return Compared(row, forward * 1e6, backward * 1e6, update * 1e6)


def compared(terms: str | None = None) -> list[Compared]:
    """Every measured step beside the model's, where it fits.

    Args:
        terms: The speeds that kernels reach and the costs of the framework; the built-in where
            absent.
    """
    text = terms or training_terms()
    found = (_compare(row, text) for row in measured())
    return [each for each in found if each is not None]


def errors(found: Iterable[Compared]) -> dict[str, list[float]]:
    """By how much steps are off: those calibrated on, those held back, and these on another GPU."""
    of: dict[str, list[float]] = {CALIBRATED: [], HELD_BACK: [], OTHER_GPU: []}
    for each in found:
        own = each.measured.gpu == CALIBRATED_GPU
        of[each.measured.half if own else OTHER_GPU].append(abs(each.ratio - 1))
    return of


def today() -> Section:
    """All steps that were measured on one GPU of today."""
    found = compared()
    off = errors(found)
    rows: list[tuple[Cell, ...]] = []
    for each in found:
        row = each.measured
        measured, ours = each.busy
        rows.append(
            (
                row.gpu.split("-")[0].upper(),
                row.network,
                row.samples,
                row.precision,
                measured / 1e3,
                ours / 1e3,
                each.ratio,
                row.step / 1e3,
                row.half,
            )
        )
    return Section(
        title="Today's GPUs and PyTorch",
        text=[
            "`scripts/measure_layers.py` measures steps on one GPU with PyTorch 2.11, CUDA 13.0 "
            "and cuDNN 9.19. They are channels last, in bf16 by autocast, with weights of 32 "
            "bits. Llama's weights have 16, its sequences have 2,048 tokens, and its update is "
            "not compared. The GPU's computing was timed with the host kept ahead of it.",
            "`make calibrate-training` calibrates the rates that kernels reach "
            "(`kernels.current`) on the H100, by single kernels and the layers of five networks. "
            f"The median error of a step of these networks is {median(off[CALIBRATED]):.1%}. For "
            f"networks that were held back it is {median(off[HELD_BACK]):.1%}. On the H200, where "
            f"nothing was calibrated, it is {median(off[OTHER_GPU]):.1%} for all.",
            "Where a step as users run it takes longer than the GPU computes, the host limits it. "
            "That host was a virtual machine. It takes 14.5 microseconds to launch the shortest "
            "kernel, and about 30 for each kernel of a network. Other hosts take a third of it, "
            "and graphs of kernels next to nothing. It enters no term.",
        ],
        tables=[
            StudyTable(
                title="The part of a step that one GPU computes",
                columns=(
                    "GPU",
                    "network",
                    "samples",
                    "numbers",
                    "measured (ms)",
                    "ours (ms)",
                    "ours / measured",
                    "step as users run it (ms)",
                    "rows",
                ),
                rows=tuple(rows),
                formats=("", "", "", "", ".2f", ".2f", ".2f", ".2f", ""),
                note="Small networks and batches have the largest errors. Each of their layers "
                "takes as long as the starts of its kernels. For such layers a library takes "
                "other kernels than a model of families knows. Convolutions that a library "
                "calculates by fewer multiplications, or pads, are off by up to a third either "
                "way.",
            )
        ],
    )
