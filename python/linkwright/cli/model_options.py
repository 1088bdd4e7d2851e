"""Holds the options of `linkwright train` for language models, and for its GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from linkwright.scenario import choice_names
from linkwright.cli.durations import parse_duration
from linkwright.cli.gpu_options import choice

__all__ = [
    "Again",
    "AsyncTensor",
    "CapacityFactor",
    "CheckpointEvery",
    "CheckpointTime",
    "ContextName",
    "Explain",
    "FailuresEvery",
    "Flags",
    "Fp8Activations",
    "Fp8Weights",
    "GpuBandwidth",
    "GpuClock",
    "GpuFile",
    "GpuMemory",
    "GpuPower",
    "Imbalance",
    "ImbalanceSeed",
    "KernelsName",
    "Layout",
    "LoraRank",
    "LoraTarget",
    "MeasuredLayout",
    "MeasuredMicroBatch",
    "MeasuredStep",
    "MicroBatch",
    "Order",
    "Prefetch",
    "RestartTime",
    "Seeds",
    "SequenceParallel",
    "Zero",
]

# The headings of these options in the help.
OF_MODELS = "Options of language models"
# That of what the user knows better of the machine's GPUs.
OF_GPUS = "Options of GPUs"

Layout = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=OF_MODELS,
        metavar="PART=N,...",
        help="How a model is divided, as fsdp=4,tp=8: replicas dp, with divided state fsdp. "
        "Layers have parts tp, stages pp and chunks vp, sequences parts cp. Experts are "
        "divided by ep, and each by etp. All GPUs are replicas if absent; auto searches for the "
        "one with the least time.",
    ),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        rich_help_panel=OF_MODELS,
        help="Say why the second layout that auto finds is slower.",
    ),
]
Flags = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=OF_MODELS,
        help="Print nothing but flags of a framework that runs the model so.",
        **choice("framework with flags", choice_names()["flags"]),
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=OF_MODELS,
        metavar="NAME|PARTS",
        help=f"Which ranks are neighbours: {', '.join(choice_names()['order'])}, or parts from "
        "neighbours on, as tp-cp-fsdp-dp-pp; megatron if absent.",
    ),
]
MeasuredLayout = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=OF_MODELS,
        metavar="PART=N,...",
        help="Of --measured: the layout that the trace is of; that of --layout if absent.",
    ),
]
MeasuredMicroBatch = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=OF_MODELS,
        metavar="N",
        min=1,
        help="Of --measured: samples that a replica computed at once in the trace; as many as now "
        "if absent.",
    ),
]
MicroBatch = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Samples that a replica computes at once, or that go through a pipeline; of a model "
        "all of its batch if absent, one with stages. Of a network the batch has four parts for "
        "each stage.",
    ),
]
Zero = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=OF_MODELS,
        metavar="0..3",
        min=0,
        max=3,
        help="Let replicas divide nothing, the optimizer's state, gradients too, weights too; "
        "3 with fsdp in the layout, else 0, if absent.",
    ),
]
Again = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=OF_MODELS,
        metavar="NAME",
        help="Compute again in the backward pass: none, selective (attention's core), "
        "selective-op (by operation, as torchtitan), full or full:N (blocks of each chunk). "
        "Modules are joined by +, as layernorm+moe_act.",
    ),
]
KernelsName = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=OF_MODELS,
        help="Whose kernels compute: fused are Transformer Engine's, eager and compiled "
        "PyTorch's; eager with --zero 3, else fused, if absent.",
        **choice("kind of kernels", choice_names()["kernels"]),
    ),
]
SequenceParallel = Annotated[
    bool,
    typer.Option(
        "--sequence-parallel",
        rich_help_panel=OF_MODELS,
        help="Divide what tensor parallelism leaves whole by tokens.",
    ),
]
AsyncTensor = Annotated[
    bool,
    typer.Option(
        "--async-tensor",
        rich_help_panel=OF_MODELS,
        help="Cut collectives of tensor parallelism into parts that hide behind products; with "
        "--sequence-parallel.",
    ),
]
ContextName = Annotated[
    str | None,
    typer.Option(
        "--context",
        rich_help_panel=OF_MODELS,
        help="How parts of sequences meet; ring if absent.",
        **choice("exchange between parts of sequences", choice_names()["context_exchange"]),
    ),
]
Prefetch = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=OF_MODELS,
        metavar="N",
        min=0,
        help="Blocks whose divided weights are gathered ahead; 1 if absent.",
    ),
]
LoraRank = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=OF_MODELS,
        metavar="RANK",
        min=1,
        help="Train matrices of this rank beside frozen weights.",
    ),
]
LoraTarget = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=OF_MODELS,
        metavar="NAME+...",
        help=f"Beside which matrices these stand: {', '.join(choice_names()['lora_target'])}; "
        "attention if absent.",
    ),
]
Fp8Weights = Annotated[
    bool,
    typer.Option(
        "--fp8-weights",
        rich_help_panel=OF_MODELS,
        help="Keep weights in eight bits alone; else copies in these stand beside them.",
    ),
]
Fp8Activations = Annotated[
    bool,
    typer.Option(
        "--fp8-activations",
        rich_help_panel=OF_MODELS,
        help="Keep what a perceptron's function reads in eight bits.",
    ),
]
Imbalance = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=OF_MODELS,
        metavar="uniform|zipf:S",
        help="How uneven experts are wanted; shares of zipf fall by their rank to the power of S. "
        "uniform if absent.",
    ),
]
CapacityFactor = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=OF_MODELS,
        metavar="FACTOR",
        help="The most tokens of an expert, in even shares; none is dropped if absent.",
    ),
]
ImbalanceSeed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        rich_help_panel=OF_MODELS,
        metavar="N",
        min=0,
        help="Which experts are wanted most; 0 if absent.",
    ),
]
GpuPower = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=OF_GPUS,
        metavar="WATTS",
        help="Each draws this at most under matrix load, as 500W, and its clock falls to that; "
        "its data sheet's if absent.",
    ),
]
GpuClock = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=OF_GPUS, metavar="CLOCK", help="Of their cores at most, as 1500MHz."
    ),
]
GpuMemory = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=OF_GPUS,
        metavar="SIZE",
        help="Memory of each GPU, as 96GiB; the machine's if absent.",
    ),
]
GpuBandwidth = Annotated[
    str | None,
    typer.Option(rich_help_panel=OF_GPUS, metavar="SPEED", help="Of that memory, as 2.4TB/s."),
]
GpuFile = Annotated[
    Path | None,
    typer.Option(
        "--gpu",
        rich_help_panel=OF_GPUS,
        metavar="FILE|NAME",
        help="Sections of a GPU's file that replace those of the GPUs' model (TOML); of --kernel a "
        "GPU's name, or its whole file.",
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=OF_MODELS,
        metavar="N",
        min=0,
        max=10_000,
        help="Draw times of kernels so often, which vary between GPUs and steps; 20 if absent, 0 "
        "varies nothing.",
    ),
]
MeasuredStep = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=OF_MODELS,
        metavar="SECONDS",
        help="A step was measured to take so long: tell what no part explains.",
    ),
]


def _span(text: str) -> Any:
    return typer.Option(rich_help_panel=OF_MODELS, metavar="TIME", parser=parse_duration, help=text)


FailuresEvery = Annotated[
    float | None,
    _span("The job fails so often, such as 3h, in the mean: tell what restarts take."),
]
CheckpointEvery = Annotated[
    float | None,
    _span("A checkpoint is written so often; as loses least if absent."),
]
CheckpointTime = Annotated[float | None, _span("Training waits so long for each, such as 30s.")]
RestartTime = Annotated[
    float | None,
    _span("A failed training goes on from its last checkpoint after this; at once if absent."),
]
