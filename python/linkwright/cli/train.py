"""`linkwright train`: what a step of training takes on a machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from linkwright import train, train_model
from linkwright.errors import FileError
from linkwright.network import read_system
from linkwright.scenario import choice_names
from linkwright.training import models, neural_networks
from linkwright.cli import output, runs
from linkwright.cli.gpu_options import choice
from linkwright.cli.kernels import Kernel, Shapes, print_kernels
from linkwright.cli.model_options import (
    Again,
    AsyncTensor,
    CapacityFactor,
    CheckpointEvery,
    CheckpointTime,
    ContextName,
    Explain,
    FailuresEvery,
    Flags,
    Fp8Activations,
    Fp8Weights,
    GpuBandwidth,
    GpuClock,
    GpuFile,
    GpuMemory,
    GpuPower,
    Imbalance,
    ImbalanceSeed,
    KernelsName,
    Layout,
    LoraRank,
    LoraTarget,
    MeasuredLayout,
    MeasuredMicroBatch,
    MeasuredStep,
    MicroBatch,
    Order,
    Prefetch,
    RestartTime,
    Seeds,
    SequenceParallel,
    Zero,
)
from linkwright.cli.options import (
    MOST_GPUS,
    Json,
    MachineName,
    NetworkName,
    Prices,
    RunDirectory,
    gpu_ids,
)
from linkwright.cli.schedules import Plot
from linkwright.cli.sizes import parse_size
from linkwright.errors import SimulationError
from linkwright.kernel_traces import MeasuredKernels, read_kernel_trace, name_of
from linkwright.model_training import is_model
from linkwright.recipes import LIBRARY, SHARED_MEMORY, communications
from linkwright.runs.measured import measured_sheets

if TYPE_CHECKING:
    from linkwright.runs.models.run import ModelRun

# What stands for every layer's gradients apart.
NOTHING = "0"
# Ways to communicate that divide a model in one way, as layouts.
SHORT = {LIBRARY: "dp", "fsdp": "fsdp", "tensor": "tp", "pipeline": "pp"}


def _networks() -> list[str]:
    return list(dict.fromkeys(name.split(":")[0] for name, _, _ in neural_networks()))


def _models() -> list[str]:
    return [name for name, _, _ in models()]


def _trained() -> list[str]:
    return [*_networks(), *_models()]


def _ways(text: str) -> list[str]:
    """The names between commas.

    Raises:
        typer.BadParameter: If one is missing.
    """
    ways = [way.strip() for way in text.split(",")]
    if not all(ways):
        raise typer.BadParameter(f"`{text}` names nothing between two commas.")
    return list(dict.fromkeys(ways))


def _precisions() -> list[str]:
    """Lists the numbers of networks and models, and those of kernels alone."""
    names = choice_names()
    return list(dict.fromkeys([*names["model_precision"], *names["kernel_precision"]]))


def train_command(
    network: Annotated[
        str | None,
        typer.Argument(
            metavar="NETWORK|MODEL|FILE",
            help=f"What is trained: {', '.join(_networks())}, or your own file (TOML); or a "
            f"language model: {', '.join(_models())}, or a Hugging Face config.json.",
            autocompletion=_trained,
        ),
    ] = None,
    machine: MachineName = "dgx1-v100",
    servers: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="How many of the machine there are; as many as --gpus needs."
        ),
    ] = None,
    joined: NetworkName = None,
    gpus: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=MOST_GPUS, help="How many train, from the lowest ids; all."
        ),
    ] = None,
    on: Annotated[
        str | None, typer.Option(metavar="IDS", help="Which train instead, like 0,1,4-7.")
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Samples of a step, over all GPUs; 256 if absent, of a model what a layout needs.",
        ),
    ] = None,
    communication: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            help="How data moves; several are compared: "
            f"{', '.join(communications())}. Of those by collectives, with a planner behind a "
            "colon, as fsdp:packing.",
        ),
    ] = "nccl",
    precision: Annotated[
        str | None,
        typer.Option(
            help="The numbers that are multiplied; fp32 if absent, bf16 of a model, which takes "
            "fp8, mxfp8 and nvfp4, too.",
            **choice("precision", _precisions()),
        ),
    ] = None,
    gradients: Annotated[
        str | None,
        typer.Option(
            help="The numbers that gradients are reduced in; those of --precision if absent, fp32 "
            "of a model.",
            **choice("precision", choice_names()["precision"]),
        ),
    ] = None,
    optimizer: Annotated[
        str | None,
        typer.Option(
            help="Turn gradients into weights by this; momentum if absent, adam of a model.",
            **choice("optimizer", choice_names()["optimizer"]),
        ),
    ] = None,
    framework: Annotated[
        str,
        typer.Option(
            help="Whose costs around kernels count.",
            **choice("framework", choice_names()["framework"]),
        ),
    ] = "pytorch",
    size: Annotated[
        int | None, typer.Option(metavar="POINTS", min=1, help="Of images, each way.")
    ] = None,
    tokens: Annotated[int | None, typer.Option(metavar="N", min=1, help="Of a sequence.")] = None,
    bucket: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Gradients that are reduced at once, as 25MiB; 0 for every layer's apart; the "
            "framework's if absent.",
        ),
    ] = None,
    overlap: Annotated[
        bool, typer.Option(help="Reduce gradients while others are still computed.")
    ] = True,
    micro_batch: MicroBatch = None,
    host_copies: Annotated[
        bool, typer.Option(help="Copy samples from the host in every step.")
    ] = True,
    scaling: Annotated[
        bool | None,
        typer.Option(help="Play the same on 1, 2, 4, ... GPUs, too; up to 16 if absent."),
    ] = None,
    terms: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What kernels reach and frameworks cost, instead of Linkwright's (TOML).",
        ),
    ] = None,
    measured: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Measured times, which replace the model's: a trace of PyTorch's profiler (JSON, "
            "gzipped or not), which alone is summed up. Or those of a network's layers (CSV: "
            "layer, forward, backward, update).",
        ),
    ] = None,
    measured_batch: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Of --measured: samples of a step of the trace, over all of its GPUs; each "
            "replica has as many as now if absent.",
        ),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the best step, for ui.perfetto.dev."),
    ] = None,
    plot: Plot = None,
    shared_memory: Annotated[
        str,
        typer.Option(
            help="How GPUs share memory under tsm.",
            **choice("memory system", choice_names()["memory_system"]),
        ),
    ] = SHARED_MEMORY,
    shared_bandwidth: Annotated[
        float | None,
        typer.Option(
            metavar="GB/S",
            help="Of each GPU to that memory, each way; 32 if absent, as in gpu run.",
        ),
    ] = None,
    prices: Prices = None,
    layout: Layout = None,
    measured_layout: MeasuredLayout = None,
    measured_micro_batch: MeasuredMicroBatch = None,
    explain: Explain = False,
    flags: Flags = None,
    order: Order = None,
    zero: Zero = None,
    recompute: Again = None,
    kernels: KernelsName = None,
    sequence_parallel: SequenceParallel = False,
    async_tensor: AsyncTensor = False,
    context: ContextName = None,
    prefetch: Prefetch = None,
    lora: LoraRank = None,
    lora_target: LoraTarget = None,
    fp8_weights: Fp8Weights = False,
    fp8_activations: Fp8Activations = False,
    imbalance: Imbalance = None,
    capacity_factor: CapacityFactor = None,
    seed: ImbalanceSeed = None,
    seeds: Seeds = None,
    measured_step: MeasuredStep = None,
    failures_every: FailuresEvery = None,
    checkpoint_every: CheckpointEvery = None,
    checkpoint_time: CheckpointTime = None,
    restart_time: RestartTime = None,
    gpu_power: GpuPower = None,
    gpu_clock: GpuClock = None,
    gpu_memory: GpuMemory = None,
    gpu_bandwidth: GpuBandwidth = None,
    gpu: GpuFile = None,
    kernel: Kernel = None,
    shape: Shapes = None,
    to: RunDirectory = None,
    json: Json = False,
) -> None:
    """Tell what a step of training takes: computing, communication, and how it scales.

    Layers take what their arithmetic and their memory allow on the machine's GPUs; what moves
    between them is played over its links, by NCCL, by a planner, or by another way. Of a language
    model it tells the groups of a layout and each GPU's memory, and the time where it is predicted.
    """
    if kernel is not None:
        _refuse({"NETWORK": network, "--output": to}, "a kernel is timed alone; leave it out")
        print_kernels(kernel, shape, gpu, precision, json=json)
        return
    _refuse({"--shape": shape}, "say which --kernel has it")
    if gpus is not None and on is not None:
        raise typer.BadParameter("--on names the GPUs that --gpus counts; leave one out.")
    wanted = runs.Wanted(to=to, timeline=timeline, plot=plot, json=json)
    wanted.check()
    if network is None:
        _print_trace(measured, json=json)
        return
    of_models: dict[str, Any] = {
        "layout": layout,
        "measured_layout": measured_layout,
        "measured_micro_batch": measured_micro_batch,
        "explain": explain or None,
        "order": order,
        "zero": zero,
        "recompute": recompute,
        "kernels": kernels,
        "sequence_parallel": sequence_parallel or None,
        "async_tensor": async_tensor or None,
        "context": context,
        "prefetch": prefetch,
        "lora": lora,
        "lora_target": lora_target,
        "fp8_weights": fp8_weights or None,
        "fp8_activations": fp8_activations or None,
        "imbalance": imbalance,
        "capacity_factor": capacity_factor,
        "seed": seed,
        "seeds": seeds,
        "measured_step": measured_step,
        "failures_every": failures_every,
        "checkpoint_every": checkpoint_every,
        "checkpoint_time": checkpoint_time,
        "restart_time": restart_time,
    }
    # Options of both kinds; absent ones are as the function has them.
    both: dict[str, Any] = {
        "batch": batch,
        "micro_batch": micro_batch,
        "measured": measured,
        "measured_batch": measured_batch,
        "tokens": tokens,
        "bucket": _bucket(bucket),
        "precision": precision,
        "gradients": gradients,
        "optimizer": optimizer,
        "gpu_power": gpu_power,
        "gpu_clock": gpu_clock,
        "gpu_memory": None if gpu_memory is None else parse_size(gpu_memory),
        "gpu_bandwidth": gpu_bandwidth,
        "gpu": gpu,
    }
    chosen: dict[str, Any] = {"gpus": gpu_ids(on) if on is not None else gpus}
    if is_model(network):
        of_networks = {
            "--size": size,
            "--terms": terms,
            "--shared-bandwidth": shared_bandwidth,
            "--prices": prices,
            "--scaling": scaling,
            "--plot": plot,
        }
        _refuse(of_networks, f"`{network}` is a language model; leave it out")
        of_models["layout"] = layout or _short(communication, chosen["gpus"])
        with runs.watched() as watch, output.working("laying out the model"):
            laid = train_model(
                network,
                machine,
                servers=servers,
                fabric=joined,
                **chosen,
                **_given(of_models | both),
            )
        if flags is not None and not json:
            _print_flags(laid, flags)
            return
        document = None if flags is None else laid.summary() | {"flags": _flags(laid, flags)}
        runs.show(laid, wanted, watch, document)
        return
    of_models["flags"] = flags
    named = {f"--{name.replace('_', '-')}": value for name, value in of_models.items()}
    _refuse(named, f"`{network}` is no language model; name one, or leave it out")
    system = read_system(machine, servers, network=joined, gpus=gpus)
    with runs.watched() as watch, output.working("playing the step"):
        found = train(
            network,
            system,
            **chosen,
            communication=_ways(communication),
            size=size,
            scaling=scaling,
            framework=framework,
            overlap=overlap,
            host_copies=host_copies,
            terms=terms,
            shared_memory=shared_memory,
            shared_bandwidth=shared_bandwidth,
            prices=prices,
            **_given(both),
        )
    if plot is not None:
        from linkwright.plot import save_chart
        from linkwright.runs.training.charts import step_parts

        try:
            save_chart(step_parts(found), plot)
        except OSError as error:
            raise FileError(f"cannot write `{plot}`: {error.strerror or error}") from error
    runs.show(found, wanted, watch)


def _print_trace(measured: Path | None, *, json: bool) -> None:
    """Prints what a trace alone says.

    Raises:
        typer.BadParameter: If there is none, and nothing to train either.
    """
    if measured is None:
        raise typer.BadParameter("name a network or a model, a trace by --measured, or a --kernel.")
    with output.working("reading the trace"):
        found = MeasuredKernels(read_kernel_trace(measured), name_of(measured))
    if json:
        output.print_json({"headline": f"{found.headline}.", "measured": found.summary()})
        return
    runs.print_sheets(measured_sheets(found))


def _flags(laid: ModelRun, framework: str) -> dict[str, object]:
    flags, left_out = laid.flags(cast("Any", framework))
    return {"framework": framework, "flags": dict(flags), "left_out": left_out}


def _print_flags(laid: ModelRun, framework: str) -> None:
    """Prints flags, a line each, and on standard error what none says."""
    flags, left_out = laid.flags(cast("Any", framework))
    for name, value in flags:
        output.say(f"{name} {value}".rstrip())
    for sentence in left_out:
        output.say(f"left out: {sentence}", stderr=True)


def _bucket(text: str | None) -> int | None:
    return None if text is None else 0 if text.strip() == NOTHING else parse_size(text)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _refuse(options: dict[str, Any], remedy: str) -> None:
    """Refuses what is said of another kind of thing.

    Raises:
        SimulationError: If one is.
    """
    for name, value in options.items():
        if value is not None:
            raise SimulationError(f"{name} changes nothing here", remedy)


def _short(communication: str, gpus: int | list[int] | None) -> str | None:
    """The layout that a way to communicate is short for; None where all GPUs are replicas.

    Raises:
        SimulationError: If it is short for none.
    """
    part = SHORT.get(communication)
    if part is None:
        ways = ", ".join(SHORT)
        raise SimulationError(
            f"`{communication}` is no layout of a language model",
            f"take one of {ways}, or --layout",
        )
    count = len(gpus) if isinstance(gpus, list) else gpus
    if communication == LIBRARY:
        return None
    if count is None:
        raise SimulationError(f"`{communication}` of how many GPUs?", "say --gpus, or --layout")
    return f"{part}={count}"
