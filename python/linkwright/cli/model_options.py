"""Holds the options and settings of `linkwright train`, and the names that it knows by group."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkwright.cli.gpu_options import choice
from linkwright.cli.groups import grouped
from linkwright.cli.keys import Keys, below, file, flag, named, number, size, text, time
from linkwright.cli.panels import JOB, OUTPUT, SYSTEM, Rare
from linkwright.recipes import SHARED_MEMORY, communications
from linkwright.scenario import choice_names
from linkwright.training import models, neural_networks

__all__ = [
    "LISTS",
    "OF_MODELS",
    "OF_NETWORKS",
    "TRAIN_KEYS",
    "Explain",
    "Form",
    "GpuFile",
    "ImbalanceSeed",
    "Layout",
    "MicroBatch",
    "Recompute",
    "Seeds",
    "Zero",
    "networks",
    "precisions",
    "trained_models",
]

LAYOUT = "Language models"


def networks() -> list[str]:
    """Gives the networks without the variants of one."""
    return list(dict.fromkeys(name.split(":")[0] for name, _, _ in neural_networks()))


def trained_models() -> list[str]:
    """Gives the language models."""
    return [name for name, _, _ in models()]


def precisions() -> list[str]:
    """Gives the numbers of networks and models, and those of kernels alone."""
    names = choice_names()
    return list(dict.fromkeys([*names["model_precision"], *names["kernel_precision"]]))


# The long lists that `--help-all` shows.
LISTS = {
    "Names of networks": networks(),
    "Names of precisions": precisions(),
    "Names of language models": trained_models(),
    **grouped("Ways to communicate", communications()),
}

# Settings of networks, and those of language models, by Python's keywords.
OF_NETWORKS = below(
    "Settings of networks",
    number("size", "POINTS", "Points of an image each way", "the network's", least=1),
    named("framework", "Whose costs around kernels count", choice_names()["framework"], "pytorch"),
    flag("overlap", "Reduce gradients while others are computed", "true"),
    flag("host_copies", "Copy samples from the host in every step", "true"),
    flag("scaling", "Play 1, 2, 4, ... GPUs, too", "true up to 16 GPUs"),
    file("terms", "The rates of kernels and the costs of frameworks (TOML)", "Linkwright's"),
    named(
        "shared_memory",
        "How GPUs share memory under tsm",
        choice_names()["memory_system"],
        SHARED_MEMORY,
    ),
    number(
        "shared_bandwidth",
        "GB/S",
        "The bandwidth of each GPU to that memory, each way",
        "32",
        kind=float,
    ),
)
OF_MODELS = [
    *below(
        "Settings of language models",
        text(
            "order",
            "NAME|PARTS",
            "Which ranks are neighbours: "
            f"{', '.join(choice_names()['order'])}, or parts such as tp-cp-fsdp-dp-pp",
            "megatron",
        ),
        named("kernels", "Whose kernels compute", choice_names()["kernels"], "fused"),
        flag("sequence_parallel", "Divide by tokens what tensor parallelism leaves whole"),
        flag("async_tensor", "Hide collectives of tensor parallelism behind products"),
        named(
            "context",
            "How parts of sequences meet",
            choice_names()["context_exchange"],
            "ring",
        ),
        number("prefetch", "N", "Gather the weights of N blocks ahead", "1", least=0),
        number("lora", "RANK", "Train matrices of this rank beside frozen weights", least=1),
        text(
            "lora_target",
            "NAME+...",
            f"Where these matrices stand: {', '.join(choice_names()['lora_target'])}",
            "attention",
        ),
        flag("fp8_weights", "Keep weights in eight bits alone"),
        flag("fp8_activations", "Keep in eight bits what a perceptron's function reads"),
        text("imbalance", "uniform|zipf:S", "How unevenly tokens want experts", "uniform"),
        number(
            "capacity_factor",
            "FACTOR",
            "The most tokens of an expert, in even shares",
            "no token is dropped",
            kind=float,
        ),
    ),
    *below(
        "Settings of failures",
        time("failures_every", "The mean time between failures of the job, such as 3h"),
        time("checkpoint_every", "The time between two checkpoints", "the one that loses least"),
        time("checkpoint_time", "The time that training waits for a checkpoint, such as 30s"),
        time("restart_time", "The time from a failure until training goes on", "0s"),
    ),
    *below(
        "Settings of what was measured",
        number("measured_step", "SECONDS", "The time of a step that was measured", kind=float),
        text("measured_layout", "PART=N,...", "The layout of --measured", "--layout"),
        number(
            "measured_micro_batch",
            "N",
            "Samples that a replica of --measured computed at once",
            "--micro-batch",
            least=1,
        ),
    ),
]
OF_BOTH = [
    *below(
        "Settings of what was measured",
        number(
            "measured_batch",
            "N",
            "Samples of a step of --measured, over all GPUs",
            "as many for each replica as now",
            least=1,
        ),
    ),
    *below(
        "Settings of gradients",
        size(
            "bucket",
            "Gradients that are reduced at once, such as 25MiB; 0 reduces each layer's alone",
            "the framework's",
            zero=True,
        ),
    ),
    *below(
        "Settings of GPUs",
        text(
            "gpu_power", "WATTS", "The most that each GPU draws, such as 500W", "its data sheet's"
        ),
        text("gpu_clock", "CLOCK", "The highest clock of the cores, such as 1500MHz"),
        size("gpu_memory", "The memory of each GPU, such as 96GiB", "the machine's"),
        text("gpu_bandwidth", "SPEED", "The bandwidth of that memory, such as 2.4TB/s"),
    ),
]
TRAIN_KEYS = Keys(*OF_NETWORKS, *OF_MODELS, *OF_BOTH)

Layout = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=LAYOUT,
        metavar="PART=N,...",
        help="How GPUs divide a model, such as fsdp=4,tp=8: dp, fsdp, tp, pp, vp, cp, ep, etp. "
        "auto finds the fastest.",
    ),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        rich_help_panel=Rare(LAYOUT),
        help="Say why the second layout that auto finds is slower.",
    ),
]
Form = Annotated[
    str | None,
    typer.Option(
        "--as",
        rich_help_panel=Rare(OUTPUT),
        help=f"Print only a framework's flags: {', '.join(choice_names()['flags'])}.",
        **choice("framework with flags", choice_names()["flags"]),
    ),
]
MicroBatch = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        rich_help_panel=JOB,
        help="Samples that a replica computes at once.",
    ),
]
Zero = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=LAYOUT,
        metavar="0..3",
        min=0,
        max=3,
        help="Divide 1 the optimizer's state, 2 gradients, 3 weights.  [default: 3 with fsdp]",
    ),
]
Recompute = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=LAYOUT,
        metavar="NAME",
        help="Compute again: none, selective, selective-op, full, full:N.",
    ),
]
ImbalanceSeed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        rich_help_panel=Rare(JOB),
        metavar="N",
        min=0,
        help="Draw which experts tokens want most.  [default: 0]",
    ),
]
GpuFile = Annotated[
    Path | None,
    typer.Option(
        "--gpu",
        rich_help_panel=Rare(SYSTEM),
        metavar="NAME|FILE",
        help="Replace sections of the GPUs' model by this file's (TOML); --kernel takes a name, "
        "too.",
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=Rare(JOB),
        metavar="N",
        min=0,
        max=10_000,
        help="Draw the times of kernels N times; 0 varies nothing.  [default: 20]",
    ),
]
