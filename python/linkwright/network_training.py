"""`linkwright.train` tells what a step of training takes on a machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

from linkwright import System
from linkwright.arguments import (
    bytes_of,
    gpus_of,
    path_or_name,
    quantity,
    taking,
    text,
    texts,
    truth,
    whole,
)
from linkwright.errors import InputError, SimulationError, printable
from linkwright.files import PathOrName, path_of, portable_name, read_text, sha256
from linkwright.hardware import bill_of, read_prices
from linkwright.kernel_traces import (
    MeasuredKernels,
    is_trace,
    name_of,
    read_kernel_trace,
    trace_or_path,
)
from linkwright.network import Fabric
from linkwright.recipes import LIBRARY, SHARED, SHARED_MEMORY, Recipe, read_network
from linkwright.runs.bills import Billed, Bills
from linkwright.runs.training.play import LARGEST_SCALING, Played, play_step
from linkwright.runs.training.run import TrainingRun
from linkwright.summaries.energy import energy_of
from linkwright.summaries.steps import Scaled
from linkwright.systems import network_of, read_system, server_of, with_gpus
from linkwright.training import KernelTrace, NeuralNetwork

__all__ = ["train"]


@taking(
    machine=server_of,
    servers=whole,
    fabric=network_of,
    gpus=gpus_of,
    batch=whole,
    size=whole,
    tokens=whole,
    scaling=truth,
    precision=text,
    gradients=text,
    optimizer=text,
    framework=text,
    overlap=truth,
    bucket=bytes_of,
    micro_batch=whole,
    measured=trace_or_path,
    measured_batch=whole,
    host_copies=truth,
    shared_memory=text,
    gpu_memory=bytes_of,
    gpu_power=quantity,
    gpu_clock=quantity,
    gpu_bandwidth=quantity,
    gpu=path_or_name,
)
def train(
    network: NeuralNetwork | PathOrName,
    machine: System | PathOrName = "dgx1-v100",
    *,
    servers: int | None = None,
    fabric: Fabric | PathOrName | Mapping[str, object] | None = None,
    gpus: int | Sequence[int] | None = None,
    batch: int = 256,
    communication: str | Sequence[str] = LIBRARY,
    size: int | None = None,
    tokens: int | None = None,
    scaling: bool | None = None,
    precision: str = "fp32",
    gradients: str | None = None,
    optimizer: str = "momentum",
    framework: str = "pytorch",
    overlap: bool = True,
    bucket: int | str | None = None,
    micro_batch: int | None = None,
    host_copies: bool = True,
    terms: PathOrName | None = None,
    measured: KernelTrace | PathOrName | None = None,
    measured_batch: int | None = None,
    shared_memory: str = SHARED_MEMORY,
    shared_bandwidth: float | str | None = None,
    prices: PathOrName | None = None,
    gpu_power: float | str | None = None,
    gpu_clock: float | str | None = None,
    gpu_memory: int | str | None = None,
    gpu_bandwidth: float | str | None = None,
    gpu: PathOrName | None = None,
) -> TrainingRun:
    """Tells the time that a step of training a network takes on a machine.

    Args:
        network: One of `neural_networks`, one's own file (TOML), or a `NeuralNetwork`.
        machine: A preset's name, a machine's file, or a `System`.
        servers: How many of the machine there are; as many as `gpus` needs where absent.
        fabric: The network that joins the servers, as `network` of `read_system`; a fat-tree where
            absent.
        gpus: How many, from the lowest ids, or which; all where absent.
        batch: Samples of a step, over all GPUs.
        communication: How data moves, or several ways to compare. A way is `nccl`, a planner of
            all-reduces such as `packing`, or a name such as `p2p`, `fsdp` or `pipeline`. A way by
            collectives takes a planner behind a colon, as `fsdp:packing`.
        size: Points of an image each way, where the network takes images.
        tokens: Of a sequence, where the network takes sequences.
        scaling: Whether the same is played on 1, 2, 4, ... GPUs; up to 16 where absent.
        precision: The numbers that are multiplied: `fp32`, `tf32`, `fp16` or `bf16`.
        gradients: The numbers that gradients are kept and reduced in; those of `precision` where
            absent. PyTorch's automatic mixed precision keeps and reduces `fp32`.
        optimizer: `sgd`, `momentum` or `adam`.
        framework: Whose costs around kernels count: `pytorch` or a release of MXNet.
        overlap: Whether gradients are reduced while others are computed.
        bucket: Bytes of gradients that are reduced at once, or a text such as `25MiB`; 0 for
            every layer's apart; the framework's where absent.
        micro_batch: Samples that go through a pipeline at once; the batch has four such parts for
            each GPU where absent.
        host_copies: Whether samples are copied from the host in every step; synthetic ones are not.
        terms: The speeds that kernels reach and the costs of frameworks: a file, or the TOML
            itself, like that of `training_terms`.
        measured: Times of layers that replace the model's, of the samples that one GPU computes at
            once. It is a file, or the comma-separated values themselves
            (docs/reference/formats.md). It may also be a trace of PyTorch's profiler of the same
            network on the same GPUs. With a trace, layers take as long as was measured.
        measured_batch: Samples of a step of the trace, over all of its GPUs; each GPU computed as
            many as now where absent.
        shared_memory: How GPUs share memory under `tsm`, as for `GpuSystem`.
        shared_bandwidth: Of each GPU to that memory, each way, in GB/s or a text such as
            `512 GB/s`; that of `GpuSystem` where absent.
        prices: A file of prices and watts, as for `read_prices`. It tells the system's price, and
            energy and cost of a step.

        gpu_power: Watts that each GPU draws at most, or a text such as `500W`; its data sheet's
            where absent. Its clock falls to what they allow.

        gpu_clock: Megahertz of its cores at most, or a text such as `1500MHz`.

        gpu_memory: Bytes that each GPU has, or a text such as `96GiB`.

        gpu_bandwidth: GB/s of its memory, or a text such as `2.4TB/s`.

        gpu: The path of a file with sections that replace those of the GPUs' model, or that it
            lacks.

    Raises:
        FileError: If there is no such network, machine or file.
        InputError: If a file is not what it should be, with its place.
        MachineError: If a GPU's model is not known well enough.
        SimulationError: If the batch does not divide, the machine has fewer GPUs or cannot go
            that way, or a choice is unknown.

    Examples:
        >>> from linkwright import train
        >>> train("resnet50", "dgx1-v100", batch=256).headline[:36]
        'A step of 256 images takes 96.515 ms'
    """
    own: str | None = None
    what = network
    if not isinstance(network, NeuralNetwork):
        network, own = read_network(network)
    if size is not None or tokens is not None:
        network = network.with_input(size=size, tokens=tokens)
    if not isinstance(machine, System) or servers is not None or fabric is not None:
        wanted = gpus if isinstance(gpus, int) else None
        machine = read_system(machine, servers, network=fabric, gpus=wanted)
    system, changes = with_gpus(
        machine,
        gpu=gpu,
        gpu_power=gpu_power,
        gpu_clock=gpu_clock,
        gpu_memory=gpu_memory,
        gpu_bandwidth=gpu_bandwidth,
    )
    chosen = _gpus_of(system, gpus)
    traced = _traced(measured, system)
    layers = None if traced is not None else cast("PathOrName | None", measured)
    samples = _samples(traced, measured_batch, batch, len(chosen))
    given = {"<terms>": _text_of("terms", terms), "<measured>": _text_of("measured", layers)}
    recipe = Recipe(
        network,
        batch,
        precision,
        gradients,
        optimizer,
        framework,
        overlap,
        cast("int | None", bucket),
        micro_batch,
        host_copies,
        _held(given["<terms>"]),
        _held(given["<measured>"]),
        shared_memory,
        cast("float | None", shared_bandwidth),
        traced,
        samples,
    )
    ways = (
        [communication] if isinstance(communication, str) else texts("communication", communication)
    )
    if not ways:
        raise SimulationError("no way to communicate was named", f"name one, such as `{LIBRARY}`")
    if SHARED not in ways and (shared_bandwidth is not None or shared_memory != SHARED_MEMORY):
        setting = "shared_memory" if shared_bandwidth is None else "shared_bandwidth"
        refused = f"{setting} changes nothing without `tsm` among the ways to communicate"
        raise SimulationError(refused, "leave it out, or take `tsm`")
    with _told_of(given):
        steps = [play_step(recipe, system, chosen, way) for way in ways]
    if scaling is None:
        # Measured times are of one batch.
        scaling = len(chosen) <= LARGEST_SCALING and layers is None
    scaled = _scaling(recipe, system, chosen, steps) if scaling and len(chosen) > 1 else []
    manifest: dict[str, Any] = {
        "network": network.name if own is None else portable_name(str(what)),
        "sha256": None if own is None else sha256(own.encode()),
        "input": network.input,
        "machine": portable_name(system.name),
        "gpus": list(chosen),
        "communication": ways,
        **changes,
        **recipe.facts(),
    }
    priced = None if prices is None else read_prices(prices)
    watts = None if priced is None else priced.gpu_watts
    energies = [energy_of(system, [(chosen, 0.0, step.time)], watts) for step in steps]
    bills = None
    if priced is not None:
        each, bill = zip(steps, energies, strict=True), bill_of(system)
        rows = [
            Billed(step.communication, bill, step.time, 1, energy.whole, energy.has_rest)
            for step, energy in each
        ]
        bills = Bills(rows, priced, "communication")
    return TrainingRun(recipe, system, chosen, steps, scaled, manifest, bills, energies)


def _traced(measured: KernelTrace | PathOrName | None, system: System) -> MeasuredKernels | None:
    """The trace, where what was measured is one."""
    if isinstance(measured, KernelTrace):
        return MeasuredKernels(measured, name_of(measured), system=system)
    if measured is None or (isinstance(measured, str) and "\n" in measured):
        return None
    if not is_trace(measured):
        return None
    return MeasuredKernels(read_kernel_trace(measured), name_of(measured), system=system)


def _samples(
    traced: MeasuredKernels | None, batch: int | None, asked: int, gpus: int
) -> int | None:
    """Samples that a GPU computed at once in a trace; None without one.

    Raises:
        SimulationError: If there is no trace, or its GPUs do not divide its batch.
    """
    if batch is None:
        return None if traced is None else max(1, asked // gpus)
    if traced is None:
        problem = "measured_batch changes nothing without a trace"
        raise SimulationError(problem, "name one by measured, or leave it out")
    ranks = traced.trace.ranks or gpus
    if batch < 1 or batch % ranks:
        problem = f"{ranks} GPUs do not divide a measured batch of {batch}"
        raise SimulationError(problem, f"give a batch that is a multiple of {ranks}")
    return batch // ranks


@dataclass(frozen=True)
class _Given:
    """A text, and the file that it is from where there is one."""

    text: str
    file: str | None = None


def _held(given: _Given | None) -> str | None:
    return None if given is None else given.text


def _text_of(argument: str, value: PathOrName | None) -> _Given | None:
    """The text that an argument is, or that the file which it names holds."""
    if value is None or (isinstance(value, str) and "\n" in value):
        return None if value is None else _Given(value)
    path = path_of(argument, value)
    return _Given(read_text(path), printable(str(path)))


@contextmanager
def _told_of(texts: Mapping[str, _Given | None]) -> Iterator[None]:
    """Names the file where its text is refused, by what the text is called without one."""
    try:
        yield
    except InputError as error:
        found = texts.get(error.file)
        if found is None or found.file is None:
            raise
        raise InputError(found.file, *error.args[1:]) from error


def _gpus_of(system: System, gpus: int | Sequence[int] | None) -> list[int]:
    count = system.gpu_count
    if gpus is None:
        return list(range(count))
    if not isinstance(gpus, int):
        return list(gpus)
    if not 1 <= gpus <= count:
        raise SimulationError(
            f"{gpus} GPUs are wanted, and the machine has {count}", f"take 1 to {count}"
        )
    return list(range(gpus))


def _scaling(
    recipe: Recipe, system: System, gpus: Sequence[int], steps: Sequence[Played]
) -> list[Scaled]:
    """The steps on 1, 2, 4, ... GPUs, as far as these divide the batch and have memory for it.

    Speed-ups are over the fewest GPUs that do, as if those had scaled without loss.
    """
    counts = [count for count in (2**power for power in range(20)) if count < len(gpus)]
    scaled = []
    for step in steps:
        way = step.communication
        for kind in ("strong", "weak"):
            own = recipe.batch // len(gpus)
            played: list[tuple[int, Played]] = []
            for count in counts:
                batch = own * count if kind == "weak" else recipe.batch
                if batch == 0 or batch % count:
                    continue
                with suppress(SimulationError):
                    part = gpus[:count]
                    played.append((count, play_step(recipe, system, part, way, batch=batch)))
            played.append((len(gpus), step))
            fewest, first = played[0]
            alone = first.rate / fewest
            scaled += [
                Scaled(kind, way, count, of.batch, of.time, of.rate / alone if alone else 0.0)
                for count, of in played
            ]
    return scaled
