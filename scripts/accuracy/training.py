"""Holds steps of training against published times."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, partial

from accuracy.networks import network
from accuracy.rows import Row, Series
from accuracy.runs import stored_run
from accuracy.tables import STORED, table
from linkwright import NeuralNetwork, System, choice_names, load_system, train, training_terms
from linkwright.errors import MachineError, SimulationError
from linkwright.studies.training.constants import constants
from linkwright.studies.training.predicted import predict
from linkwright.studies.training.published import Epoch, epochs
from linkwright.studies.training.terms import changed
from linkwright.studies.training.today import Compared, Measured, compared, measured

TRAINING = "training steps"
SOURCE = "source"

# Servers with a model of GPU, and how fast one of their network interfaces is.
SERVERS = {
    "A100-SXM4-40GB": ("dgx-a100", "200Gb/s"),
    "A100-SXM4-80GB": ("dgx-a100", "200Gb/s"),
    "H100-SXM5-80GB": ("hgx-h100", "400Gb/s"),
    "H200-SXM5-141GB": ("hgx-h100", "400Gb/s"),
    "B200-SXM6-180GB": ("hgx-b200", "400Gb/s"),
}
# Layouts of one kind over all GPUs, as `train` calls them.
LAYOUTS = {"fsdp": "fsdp", "tp": "tensor", "pp": "pipeline"}
GPUS_OF_A_SERVER = 8
DOES_NOT_FIT = "it does not fit the GPU's memory, by the model"


def series() -> list[Series]:
    """Lists every published step, and every step of today's and of older GPUs."""
    return [*published_steps(), *alone(), *older()]


def published_steps() -> Iterator[Series]:
    """Lists the steps that others published, from one server to many."""
    for at, row in enumerate(table(STORED / "training-steps.csv")):
        name = f"{at + 1}: {row['model']}, {row['gpus']} {row['gpu']}, {row['layout']}"
        played = partial(time_of, row)
        if int(row["gpus"]) > GPUS_OF_A_SERVER and not unaskable(row):
            ask = partial(published_step, row, partial(stored_run, name))
            yield Series(TRAINING, name, ask, repeat=partial(published_step, row, played))
        else:
            yield Series(TRAINING, name, partial(published_step, row, played))


def published_step(row: dict[str, str], ask: Callable[[], float]) -> list[Row]:
    """Asks about a published step."""
    facets = {
        SOURCE: row["source"].split(",")[0].split("_v")[0],
        "GPUs": f"{row['gpus']} {row['gpu']}",
    }
    refusal = unaskable(row)
    expected = None
    if not refusal:
        try:
            expected = ask()
        except (MachineError, SimulationError) as error:
            refusal = DOES_NOT_FIT if "GiB" in error.problem else error.problem.split(": ")[0]
    return [Row(float(row["seconds"]), expected, facets, refusal=refusal)]


def unaskable(row: dict[str, str]) -> str:
    """Says why `train` cannot be asked about a step; nothing where it can."""
    layout = row["layout"].split(", compiled")[0].split()
    reasons = {
        "its authors hold the row to be wrong": row["faulty"] == "yes",
        "only adapters are trained, or a model is tuned (LoRA, SFT)": row["stage"]
        != "pre-training",
        "`train` has no layers of experts": row["kind"] != "dense",
        "nobody tells its precision": not row["precision"],
        f"`train` multiplies no {row['precision']}": row["precision"]
        not in choice_names()["precision"],
        "`train` does not compute activations again": row["recomputation"] not in ("", "none"),
        "`train` takes one layout, and none over contexts": layout[1:] != [row["gpus"]]
        or layout[0] not in LAYOUTS,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def time_of(row: dict[str, str]) -> float:
    """Gives the seconds of a step; one that accumulates gradients is asked as several steps."""
    gpus, at_once = int(row["gpus"]), int(row["at_once"])
    way = LAYOUTS[row["layout"].split()[0]]
    together = at_once * (gpus if way == "fsdp" else 1)
    found = train(
        network(row["model"], int(row["tokens"])),
        servers_of(row["gpu"], gpus),
        gpus=gpus,
        batch=together,
        communication=way,
        precision=row["precision"],
        gradients=row["gradients"] or None,
        optimizer="adam",
        scaling=False,
    )
    return found.steps[0].time * int(row["samples"]) / together


@cache
def servers_of(gpu: str, gpus: int) -> System:
    """Gives the preset with another model of GPU, as often as the GPUs need."""
    if gpu not in SERVERS:
        raise MachineError(f"no preset has the GPU `{gpu}`")
    name, speed = SERVERS[gpu]
    text = re.sub(r'"[AH][12]00-SXM\d-\d+GB"', f'"{gpu}"', System(name).to_toml())
    server = System.from_text(text, name=name)
    count = -(-gpus // GPUS_OF_A_SERVER)
    return load_system(server, count, network=speed) if count > 1 else server


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
            servers_of(row.gpu.upper(), 1),
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
