"""`linkwright train`: what a step of training takes on a machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from linkwright import (
    FileError,
    choice_names,
    load_system,
    neural_networks,
    train,
)
from linkwright.cli import output, runs
from linkwright.cli.gpu_options import choice
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
from linkwright.recipes import SHARED_MEMORY, communications

# What stands for every layer's gradients apart.
NOTHING = "0"


def _networks() -> list[str]:
    return list(dict.fromkeys(name.split(":")[0] for name, _, _ in neural_networks()))


def _ways(text: str) -> list[str]:
    """The names between commas.

    Raises:
        typer.BadParameter: If one is missing.
    """
    ways = [way.strip() for way in text.split(",")]
    if not all(ways):
        raise typer.BadParameter(f"`{text}` names nothing between two commas.")
    return list(dict.fromkeys(ways))


def train_command(
    network: Annotated[
        str,
        typer.Argument(
            metavar="NETWORK|FILE",
            help=f"What is trained: {', '.join(_networks())}, or your own file (TOML).",
            autocompletion=_networks,
        ),
    ],
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
        int, typer.Option(metavar="N", min=1, help="Samples of a step, over all GPUs.")
    ] = 256,
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
        str,
        typer.Option(
            help="The numbers that are multiplied.",
            **choice("precision", choice_names()["precision"]),
        ),
    ] = "fp32",
    gradients: Annotated[
        str | None,
        typer.Option(
            help="The numbers that gradients are reduced in; those of --precision if absent.",
            **choice("precision", choice_names()["precision"]),
        ),
    ] = None,
    optimizer: Annotated[
        str,
        typer.Option(
            help="What turns gradients into weights.",
            **choice("optimizer", choice_names()["optimizer"]),
        ),
    ] = "momentum",
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
    micro_batches: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Parts of a pipeline's batch; four times the GPUs if absent."
        ),
    ] = None,
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
            help="Measured times of layers, which replace the model's (CSV: layer, forward, "
            "backward, update).",
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
    to: RunDirectory = None,
    json: Json = False,
) -> None:
    """Tell what a step of training takes: computing, communication, and how it scales.

    Layers take what their arithmetic and their memory allow on the machine's GPUs; what moves
    between them is played over its links, by NCCL, by a planner, or by another way.
    """
    if gpus is not None and on is not None:
        raise typer.BadParameter("--on names the GPUs that --gpus counts; leave one out.")
    wanted = runs.Wanted(to=to, timeline=timeline, plot=plot, json=json)
    wanted.check()
    system = load_system(machine, servers, network=joined, gpus=gpus)
    chosen: dict[str, Any] = {"gpus": gpu_ids(on) if on is not None else gpus}
    with runs.watched() as watch, output.working("playing the step"):
        found = train(
            network,
            system,
            **chosen,
            batch=batch,
            communication=_ways(communication),
            size=size,
            tokens=tokens,
            scaling=scaling,
            precision=precision,
            gradients=gradients,
            optimizer=optimizer,
            framework=framework,
            overlap=overlap,
            bucket=_bucket(bucket),
            micro_batches=micro_batches,
            host_copies=host_copies,
            terms=terms,
            measured=measured,
            shared_memory=shared_memory,
            shared_bandwidth=shared_bandwidth,
            prices=prices,
        )
    if plot is not None:
        from linkwright.plot import save_chart
        from linkwright.runs.training.charts import step_parts

        try:
            save_chart(step_parts(found), plot)
        except OSError as error:
            raise FileError(f"cannot write `{plot}`: {error.strerror or error}") from error
    runs.show(found, wanted, watch)


def _bucket(text: str | None) -> int | None:
    return None if text is None else 0 if text.strip() == NOTHING else parse_size(text)
