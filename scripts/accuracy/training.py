"""Holds steps of networks on one GPU, and of older GPUs, against measured times."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial

from accuracy.rows import Row, Series
from linkwright import System, train
from linkwright.training import NeuralNetwork, training_terms
from linkwright.errors import MachineError, SimulationError
from linkwright.studies.training.constants import constants
from linkwright.studies.training.predicted import predict
from linkwright.studies.training.published import Epoch, epochs
from linkwright.studies.training.terms import changed
from linkwright.studies.training.today import Compared, Measured, compared, measured

TRAINING = "training steps"
SOURCE = "source"

# Servers with a model of GPU.
SERVERS = {
    "A100-SXM4-40GB": "dgx-a100",
    "A100-SXM4-80GB": "dgx-a100",
    "H100-SXM5-80GB": "hgx-h100",
    "H200-SXM5-141GB": "hgx-h100",
    "B200-SXM6-180GB": "hgx-b200",
}
DOES_NOT_FIT = "it does not fit the GPU's memory, by the model"


def series() -> list[Series]:
    """Lists every step of today's and of older GPUs."""
    return [*alone(), *older()]


@cache
def server_of(gpu: str) -> System:
    """Gives the preset with another model of GPU."""
    if gpu not in SERVERS:
        raise MachineError(f"no preset has the GPU `{gpu}`")
    name = SERVERS[gpu]
    text = re.sub(r'"[AH][12]00-SXM\d-\d+GB"', f'"{gpu}"', System(name).to_toml())
    return System.from_text(text, name=name)


def alone() -> Iterator[Series]:
    """Lists steps on one GPU of today: the GPU's own time, and the step as users run it."""
    for row in measured():
        name = f"{row.network}, {row.samples} samples, {row.precision}, one {row.gpu}"
        yield Series(TRAINING, f"{name}, its kernels", partial(kernels, row))
        yield Series(TRAINING, f"{name}, as run", partial(as_run, row))


def kernels(row: Measured) -> list[Row]:
    """Asks how long the kernels of a step take."""
    facets = {SOURCE: "PyTorch on one GPU, its kernels", "GPUs": one_of(row)}
    found = by_step().get(row)
    if found is None:
        return [Row(row.forward * 1e-6, None, facets, refusal=DOES_NOT_FIT)]
    of_gpu, ours = found.busy
    return [Row(of_gpu * 1e-6, ours * 1e-6, facets)]


@cache
def by_step() -> dict[Measured, Compared]:
    """Gives what the study of training compares, step by step."""
    return {each.measured: each for each in compared()}


def as_run(row: Measured) -> list[Row]:
    """Asks how long a step takes as users run it."""
    facets = {SOURCE: "PyTorch on one GPU, as run on a slow host", "GPUs": one_of(row)}
    found = NeuralNetwork.find(row.network)
    text = training_terms()
    if row.weights == row.precision:
        text = changed(text, {"framework.pytorch": {"casts_weights": "false"}})
    try:
        step = train(
            found if row.tokens is None else found.with_input(tokens=row.tokens),
            server_of(row.gpu.upper()),
            gpus=1,
            batch=row.samples,
            precision=row.precision,
            optimizer=row.optimizer,
            terms=text,
            scaling=False,
        )
    except SimulationError:
        return [Row(row.step * 1e-6, None, facets, refusal=DOES_NOT_FIT)]
    return [Row(row.step * 1e-6, step.steps[0].time, facets)]


def one_of(row: Measured) -> str:
    """Names the only GPU of a step."""
    return f"1 {row.gpu.split('-')[0].upper()}"


def older() -> Iterator[Series]:
    """Lists the epochs of MXNet on Kepler, on a Titan and on P100s."""
    for row in epochs():
        what = f"{row.dataset}, {row.network}, {row.batch}, {row.gpus} of {row.system}"
        yield Series(TRAINING, f"table {row.table}: {what}", partial(epoch, row))


def epoch(row: Epoch) -> list[Row]:
    """Asks about an epoch."""
    facets = {SOURCE: "MXNet on Kepler to Pascal", "GPUs": f"{row.gpus} of {row.system}"}
    return [Row(row.run, predict(row, training_terms(), constants()).run, facets)]
