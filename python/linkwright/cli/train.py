"""Has `linkwright train`: the time of a step of training on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from linkwright import train, train_model
from linkwright.cli import output, runs
from linkwright.cli.gpu_options import choice
from linkwright.cli.kernels import Kernels, kernel_of, print_kernels
from linkwright.cli.model_options import (
    LISTS,
    OF_MODELS,
    OF_NETWORKS,
    TRAIN_KEYS,
    Explain,
    Form,
    GpuFile,
    ImbalanceSeed,
    Layout,
    MicroBatch,
    Recompute,
    Seeds,
    Zero,
    networks,
    precisions,
    trained_models,
)
from linkwright.cli.options import (
    MOST_GPUS,
    Json,
    MachineName,
    NetworkName,
    Prices,
    RunDirectory,
    Timeline,
    gpu_ids,
)
from linkwright.cli.panels import JOB, SYSTEM, Rare, described_by
from linkwright.cli.schedules import Plot
from linkwright.errors import FileError, SimulationError
from linkwright.kernel_traces import MeasuredKernels, name_of, read_kernel_trace
from linkwright.model_training import is_model
from linkwright.network import read_system
from linkwright.recipes import LIBRARY, communications
from linkwright.runs.measured import measured_sheets
from linkwright.scenario import choice_names

if TYPE_CHECKING:
    from linkwright.cli.keys import Key
    from linkwright.runs.models.run import ModelRun

# Ways to communicate that divide a model in one way, as layouts.
SHORT = {LIBRARY: "dp", "fsdp": "fsdp", "tensor": "tp", "pipeline": "pp"}


def _trained() -> list[str]:
    return [*networks(), *trained_models()]


def _ways(text: str) -> list[str]:
    """The names between commas.

    Raises:
        typer.BadParameter: If one is missing.
    """
    ways = [way.strip() for way in text.split(",")]
    if not all(ways):
        raise typer.BadParameter(f"`{text}` names nothing between two commas.")
    return list(dict.fromkeys(ways))


@described_by(TRAIN_KEYS, LISTS)
def train_command(
    network: Annotated[
        str | None,
        typer.Argument(
            metavar="NETWORK|MODEL|FILE",
            help="A network (resnet-50), a language model (llama-3.1-8b), or a file.",
            autocompletion=_trained,
        ),
    ] = None,
    machine: MachineName = "dgx1-v100",
    servers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            rich_help_panel=SYSTEM,
            help="Join N of the machine by a network.  [default: as --gpus needs]",
        ),
    ] = None,
    joined: NetworkName = None,
    gpus: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=MOST_GPUS,
            rich_help_panel=JOB,
            help="Train on the first N GPUs.  [default: all]",
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="IDS", rich_help_panel=JOB, help="Train on these GPUs, such as 0,1,4-7."
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            rich_help_panel=JOB,
            help="Samples of a step, over all GPUs.  [default: 256]",
        ),
    ] = None,
    communication: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            rich_help_panel=JOB,
            help="Compare ways of a network's data, such as nccl,p2p,fsdp:packing.",
            autocompletion=communications,
        ),
    ] = "nccl",
    precision: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=JOB,
            help="Multiply these numbers, such as bf16 or fp8.",
            **choice("precision", precisions()),
        ),
    ] = None,
    gradients: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=Rare(JOB),
            help=f"Reduce gradients in these numbers: {', '.join(choice_names()['precision'])}.  "
            "[default: as --precision; of a model fp32]",
            **choice("precision", choice_names()["precision"]),
        ),
    ] = None,
    optimizer: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=Rare(JOB),
            help=f"Update weights by this: {', '.join(choice_names()['optimizer'])}.  "
            "[default: momentum; of a model adam]",
            **choice("optimizer", choice_names()["optimizer"]),
        ),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, rich_help_panel=JOB, help="Tokens of a sequence."),
    ] = None,
    micro_batch: MicroBatch = None,
    layout: Layout = None,
    zero: Zero = None,
    recompute: Recompute = None,
    explain: Explain = False,
    setting: Annotated[list[str] | None, TRAIN_KEYS.option()] = None,
    measured: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Take times from a PyTorch trace or a table (CSV).",
        ),
    ] = None,
    gpu: GpuFile = None,
    seed: ImbalanceSeed = None,
    seeds: Seeds = None,
    kernel: Kernels = None,
    prices: Prices = None,
    timeline: Timeline = None,
    plot: Plot = None,
    form: Form = None,
    to: RunDirectory = None,
    json: Json = False,
) -> None:
    """Tell how long a step of training takes, part by part, and how it scales."""
    if kernel:
        _refuse({"NETWORK": network, "--output": to}, "a kernel is timed alone; leave it out")
        print_kernels(*kernel_of(kernel), gpu, precision, json=json)
        return
    if gpus is not None and on is not None:
        raise typer.BadParameter("--on names the GPUs that --gpus counts; leave one out.")
    wanted = runs.Wanted(to=to, timeline=timeline, plot=plot, json=json)
    wanted.check()
    if network is None:
        _print_trace(measured, json=json)
        return
    settings = TRAIN_KEYS.read(setting)
    of_models: dict[str, Any] = {
        "layout": layout,
        "explain": explain or None,
        "zero": zero,
        "recompute": recompute,
        "seed": seed,
        "seeds": seeds,
    }
    # Options of both kinds; absent ones are as the function has them.
    both: dict[str, Any] = {
        "batch": batch,
        "micro_batch": micro_batch,
        "measured": measured,
        "tokens": tokens,
        "precision": precision,
        "gradients": gradients,
        "optimizer": optimizer,
        "gpu": gpu,
    }
    chosen: dict[str, Any] = {"gpus": gpu_ids(on) if on is not None else gpus}
    if is_model(network):
        remedy = f"`{network}` is a language model; leave it out"
        _refuse({"--prices": prices, "--plot": plot}, remedy)
        _refuse_settings(settings, OF_NETWORKS, remedy)
        of_models["layout"] = layout or _short(communication, chosen["gpus"])
        with runs.watched() as watch, output.working("laying out the model"):
            laid = train_model(
                network,
                machine,
                servers=servers,
                fabric=joined,
                **chosen,
                **_given(of_models | both),
                **settings,
            )
        if form is not None and not json:
            _print_flags(laid, form)
            return
        document = None if form is None else laid.summary() | {"flags": _flags(laid, form)}
        runs.show(laid, wanted, watch, document)
        return
    remedy = f"`{network}` is no language model; name one, or leave it out"
    of_models["as"] = form
    _refuse({f"--{name.replace('_', '-')}": value for name, value in of_models.items()}, remedy)
    _refuse_settings(settings, OF_MODELS, remedy)
    system = read_system(machine, servers, network=joined, gpus=gpus)
    with runs.watched() as watch, output.working("playing the step"):
        found = train(
            network,
            system,
            **chosen,
            communication=_ways(communication),
            prices=prices,
            **_given(both),
            **settings,
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


def _refuse_settings(settings: dict[str, Any], keys: Sequence[Key], remedy: str) -> None:
    """Refuses settings of another kind of thing.

    Raises:
        SimulationError: If one is given.
    """
    _refuse({f"--set {key.name}": settings.get(key.name) for key in keys}, remedy)


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
