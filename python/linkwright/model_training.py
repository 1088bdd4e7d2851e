"""`linkwright.train_model` tells what training a language model by a layout takes on a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, cast

from linkwright import System, __version__
from linkwright.arguments import (
    bytes_of,
    gpus_of,
    path_or_name,
    quantity,
    real,
    taking,
    text,
    truth,
    whole,
)
from linkwright.errors import (
    FileError,
    MachineError,
    SimulationError,
    brief,
    neither,
    printable,
)
from linkwright.files import PathOrName, existing, portable_name, read_text, sha256
from linkwright.kernel_traces import MeasuredKernels, trace_or_path
from linkwright.network import Fabric
from linkwright.recipes import is_public_model
from linkwright.runs.models.checkpoints import checkpoints_of
from linkwright.runs.models.run import ModelRun
from linkwright.runs.models.search import SearchedLayouts, best_layouts
from linkwright.runs.models.step import ModelStep, play_layout
from linkwright.systems import network_of, read_system, server_of, with_gpus
from linkwright.traced_training import AUTO, TracedTraining, batches_of, check_unmeasured
from linkwright.training import KernelTrace, LayoutSearch, Model, ModelTraining, models

__all__ = ["find_model", "is_model", "train_model"]

# How often times of kernels are drawn where nobody says.
SEEDS = 20
MOST_SEEDS = 10_000
# The layout that is searched for runs such kernels where nobody says.
FUSED = "fused"


def is_model(name_or_path: object) -> bool:
    """Whether a name is a public model's, or a path a configuration's (JSON)."""
    if isinstance(name_or_path, Model):
        return True
    name = str(name_or_path)
    return name.endswith(".json") or is_public_model(name)


def find_model(name_or_path: PathOrName) -> tuple[Model, str | None]:
    """Gives a model by its name, or from a Hugging Face configuration; with the text of the file.

    Raises:
        FileError: If there is neither such a model nor such a file.
        InputError: If the file is no configuration that is read; the message names the field.
    """
    try:
        return Model.find(printable(str(name_or_path))), None
    except SimulationError as error:
        path = existing("model", name_or_path, "Model.from_text")
        if path is not None:
            text_of = read_text(path)
            return Model.from_text(text_of, printable(str(path))), text_of
        if str(name_or_path).endswith(".json"):
            problem = f"there is no file `{brief(str(name_or_path))}`"
            raise FileError(problem, "name one, or a model") from error
        names = [name for name, _, _ in models()]
        known = f"the models are {', '.join(names)}"
        raise neither("a model", str(name_or_path), names, known) from error


@taking(
    machine=server_of,
    servers=whole,
    fabric=network_of,
    gpus=gpus_of,
    layout=text,
    order=text,
    batch=whole,
    micro_batch=whole,
    bucket=bytes_of,
    tokens=whole,
    precision=text,
    gradients=text,
    optimizer=text,
    zero=whole,
    recompute=text,
    kernels=text,
    sequence_parallel=truth,
    context=text,
    async_tensor=truth,
    prefetch=whole,
    lora=whole,
    lora_target=text,
    fp8_weights=truth,
    fp8_activations=truth,
    imbalance=text,
    capacity_factor=real,
    seed=whole,
    gpu_memory=bytes_of,
    gpu_power=quantity,
    gpu_clock=quantity,
    gpu_bandwidth=quantity,
    gpu=path_or_name,
    explain=truth,
    seeds=whole,
    measured_step=real,
    failures_every=real,
    checkpoint_every=real,
    checkpoint_time=real,
    restart_time=real,
    measured=trace_or_path,
    measured_layout=text,
    measured_batch=whole,
    measured_micro_batch=whole,
)
def train_model(
    model: Model | PathOrName,
    machine: System | PathOrName = "hgx-h100",
    *,
    servers: int | None = None,
    fabric: Fabric | PathOrName | Mapping[str, object] | None = None,
    gpus: int | Sequence[int] | None = None,
    layout: str | None = None,
    order: str = "megatron",
    batch: int | None = None,
    micro_batch: int | None = None,
    tokens: int | None = None,
    precision: str = "bf16",
    gradients: str = "fp32",
    optimizer: str = "adam",
    zero: int | None = None,
    recompute: str | None = None,
    kernels: str | None = None,
    sequence_parallel: bool = False,
    context: str = "ring",
    async_tensor: bool = False,
    prefetch: int = 1,
    bucket: int | str | None = None,
    lora: int | None = None,
    lora_target: str = "attention",
    fp8_weights: bool = False,
    fp8_activations: bool = False,
    imbalance: str = "uniform",
    capacity_factor: float | None = None,
    seed: int = 0,
    gpu_memory: int | str | None = None,
    gpu_power: float | str | None = None,
    gpu_clock: float | str | None = None,
    gpu_bandwidth: float | str | None = None,
    gpu: PathOrName | None = None,
    explain: bool = False,
    seeds: int = SEEDS,
    measured_step: float | None = None,
    failures_every: float | None = None,
    checkpoint_every: float | None = None,
    checkpoint_time: float | None = None,
    restart_time: float | None = None,
    measured: KernelTrace | PathOrName | None = None,
    measured_layout: str | None = None,
    measured_batch: int | None = None,
    measured_micro_batch: int | None = None,
) -> ModelRun:
    """Says what training a language model by a layout takes on a machine.

    Args:
        model: One of `models`, a Hugging Face configuration (`config.json`), or a `Model`.

        machine: A preset's name, a machine's file, or a `System`.

        servers: How many of the machine there are; as many as the layout needs where absent.

        fabric: The network that joins the servers, as `network` of `read_system`; a fat-tree where
            absent.

        gpus: How many, from the lowest ids, or which; those of the layout where absent.

        layout: How it is divided, as `fsdp=4,tp=8`; parts that are left out are one. All GPUs are
            replicas (`dp`) where absent. `auto` searches for the one by which a step takes the
            least time, with its micro-batches, `zero` and recomputation where these are absent.

        order: Which ranks are neighbours, as for `ModelTraining`.

        batch: Samples of a step, over all GPUs; one micro-batch for each replica where absent,
            four for each stage with a pipeline. As many as there are GPUs for `auto`.

        micro_batch: Samples that a replica computes at once; all of its batch where absent, one
            with a pipeline.

        tokens: Of a sequence; as the model was trained on where absent.

        precision: The numbers of products: those of `train`, or `fp8`, `mxfp8` or `nvfp4`, made
            of weights and activations in `bf16`.

        gradients: The numbers that gradients are kept in.

        optimizer: `sgd`, `momentum` or `adam`.

        zero: How much replicas divide, from 0 to 3. If absent, 3 with `fsdp` in the layout, else 0.

        recompute: The part that the backward pass computes again, as for `ModelTraining`.

        kernels: `fused`, `eager` or `compiled`, as for `ModelTraining`.

        sequence_parallel: Whether what tensor parallelism leaves whole is divided by tokens.

        context: How parts of sequences meet: `ring`, `all-gather` or `all-to-all`.

        async_tensor: Whether collectives of tensor parallelism are cut into parts that hide behind
            the products beside them.

        prefetch: Blocks whose divided weights are gathered ahead.

        bucket: Bytes of gradients that are reduced at once, or a text such as `25MiB`, where
            replicas keep whole weights. 0 reduces every block's apart. Where absent, it is
            PyTorch's or Megatron's.

        lora: Numbers between the small matrices that are trained in the place of all weights.

        lora_target: Beside which matrices they stand: `attention`, `all`, or names of PEFT or
            Megatron joined by `+`, as `q_proj+v_proj`.

        fp8_weights: Whether weights are kept in eight bits alone, as for `ModelTraining`.

        fp8_activations: Whether what a perceptron's function reads is kept in eight bits.

        imbalance: How uneven experts are wanted: `uniform` or `zipf:S`.

        capacity_factor: The most tokens of an expert, in even shares; none is dropped where
            absent.

        seed: Decides which experts are wanted most in each block.

        gpu_memory: Bytes that each GPU has, or a text such as `96GiB`; the machine's where absent.

        gpu_power: Watts that each GPU draws at most, or a text such as `500W`; its data sheet's
            where absent. Its clock falls to what they allow.

        gpu_clock: Megahertz of its cores at most, or a text such as `1500MHz`.

        gpu_bandwidth: GB/s of its memory, or a text such as `2.4TB/s`.

        gpu: The path of a file with sections that replace those of the GPUs' model, or that it
            lacks.

        explain: Whether the run shows why the second layout of a search is slower.

        seeds: How often times of kernels are drawn, which vary between GPUs and steps; the step
            waits for the slowest. They vary by nothing where zero.

        measured_step: Seconds that a step was measured to take, to tell what no part explains.

        failures_every: Seconds between two failures of the job, in the mean.

        checkpoint_every: Seconds that the training goes on for between two checkpoints; those that
            lose least where absent.

        checkpoint_time: Seconds for which it waits while a checkpoint is written.

        restart_time: Seconds until a failed training goes on from its last checkpoint; none where
            absent.
        measured: A trace of PyTorch's profiler of the same model on the same GPUs. The time of
            kernels is scaled by the ratio of the measured to the modelled one. Collectives stay the
            model's.

        measured_layout: By which the trace ran; the asked one where absent.

        measured_batch: Samples of a step of the trace, over all of its GPUs; each replica has the
            asked micro-batches where absent.

        measured_micro_batch: Samples that a replica computed at once in the trace; as many as
            asked where absent.

    Raises:
        FileError: If there is no such model, machine or file.
        InputError: If a file is not what it should be; the message names the field.
        OutOfMemoryError: If it does not fit, with what would; for `auto` with how many GPUs are
            enough.
        SimulationError: If the layout is not sound, with the nearest that is.

    Examples:
        >>> from linkwright import train_model
        >>> step = train_model(
        ...     "llama-3.1-8b", layout="fsdp=8", batch=64, micro_batch=1, recompute="full"
        ... )
        >>> step.headline[:35]
        'A step of 64 sequences takes 9.708 '
    """
    if measured_step is not None and not 0 < measured_step < inf:
        problem = f"a measured step of {measured_step:g} s is no span of time"
        raise SimulationError(problem, "give a positive one")
    if not 0 <= seeds <= MOST_SEEDS:
        raise SimulationError(f"{seeds} seeds", f"draw 0 to {MOST_SEEDS:,} of them")
    checkpoints = checkpoints_of(failures_every, checkpoint_every, checkpoint_time, restart_time)
    own: str | None = None
    what = model
    if not isinstance(model, Model):
        model, own = find_model(model)
    if tokens is not None:
        model = model.with_tokens(tokens)
    wanted = len(gpus) if isinstance(gpus, Sequence) else gpus
    needed = wanted if layout in (None, AUTO) else ModelTraining.counts(layout)[0]
    if not isinstance(machine, System) or servers is not None or fabric is not None:
        machine = read_system(machine, servers, network=fabric, gpus=wanted or needed)
    system, changes = with_gpus(
        machine,
        gpu=gpu,
        gpu_power=gpu_power,
        gpu_clock=gpu_clock,
        gpu_memory=gpu_memory,
        gpu_bandwidth=gpu_bandwidth,
    )
    chosen = _chosen(system, gpus if gpus is not None else needed)
    settings: dict[str, Any] = {
        "context": context,
        "async_tensor": async_tensor,
        "prefetch": prefetch,
        "bucket": bucket,
    }
    same: dict[str, Any] = {
        "order": order,
        "precision": precision,
        "gradients": gradients,
        "optimizer": optimizer,
        "lora": lora,
        "lora_target": lora_target,
        "fp8_weights": fp8_weights,
        "fp8_activations": fp8_activations,
        "imbalance": imbalance,
        "capacity_factor": capacity_factor,
        "seed": seed,
    }
    kernels_measured: MeasuredKernels | None = None
    if measured is not None:
        traced = TracedTraining(measured, measured_layout, measured_batch, measured_micro_batch)
        own_settings = {
            "zero": zero,
            "recompute": recompute or "none",
            "kernels": kernels or (FUSED if layout == AUTO else None),
            **same,
        }
        asked = (layout or f"dp={len(chosen)}", batch, micro_batch)
        kernels_measured = traced.compared(
            model, asked, own_settings, sequence_parallel, context, system
        )
        settings["measured"] = kernels_measured.ratios
    else:
        check_unmeasured(measured_layout, measured_batch, measured_micro_batch)
    capacity = _capacity(system, chosen) or cast("int | None", gpu_memory)
    searched: SearchedLayouts | None = None
    if layout == AUTO:
        batch = len(chosen) if batch is None else batch
        kernels = kernels or FUSED
        plain = ModelTraining(model, "dp=1", batch=batch, kernels=cast("Any", kernels), **same)
        search = LayoutSearch(
            plain,
            system,
            chosen,
            micro_batch=micro_batch,
            zero=zero,
            recompute=recompute,
            capacity=capacity,
            **cast("Any", settings),
        )
        searched = best_layouts(search, system, chosen, settings, seeds)
        best = searched.best.training
        layout, micro_batch, zero = best.layout, best.micro_batch, best.zero
        recompute, sequence_parallel = best.recompute, best.sequence_parallel
    if layout is None:
        layout = f"dp={len(chosen)}"
    batch, micro_batch = batches_of(layout, batch, micro_batch)
    training = ModelTraining(
        model,
        layout,
        batch=batch,
        micro_batch=micro_batch,
        zero=zero,
        recompute=recompute or "none",
        kernels=cast("Any", kernels),
        sequence_parallel=sequence_parallel,
        **same,
    )
    _check_count(training, chosen)
    groups = list(training.groups([system.server_of(gpu) for gpu in chosen]))
    memory = list(training.memory(capacity))
    facts: dict[str, object] = {
        "layout": training.layout,
        "order": order,
        "batch": batch,
        "micro_batch": micro_batch,
        "tokens": model.tokens,
        "precision": precision,
        "gradients": gradients,
        "optimizer": optimizer,
        "zero": training.zero,
        "recompute": training.recompute,
        "kernels": training.kernels,
        "sequence_parallel": sequence_parallel,
        "context": context,
        "async_tensor": async_tensor,
        "prefetch": prefetch,
        "bucket": bucket,
        "lora": lora,
        "lora_target": lora_target if lora is not None else None,
        "fp8_weights": fp8_weights,
        "fp8_activations": fp8_activations,
        "imbalance": imbalance,
        "capacity_factor": capacity_factor,
        "seed": seed,
        "seeds": seeds,
        **changes,
        "linkwright": __version__,
    }
    if kernels_measured is not None:
        facts["measured"] = {"file": kernels_measured.file, **kernels_measured.run}
    manifest = {
        "model": model.name if own is None else portable_name(str(what)),
        "sha256": None if own is None else sha256(own.encode()),
        "machine": portable_name(system.name),
        "gpus": list(chosen),
        **facts,
    }
    timed, untimed = _timed(training, system, chosen, settings, seeds)
    return ModelRun(
        training,
        system,
        chosen,
        groups,
        memory,
        capacity,
        timed,
        untimed,
        facts,
        manifest,
        searched,
        explained=explain,
        measured_step=measured_step,
        checkpoints=checkpoints,
        measured=kernels_measured,
    )


def _chosen(system: System, gpus: int | Sequence[int] | None) -> list[int]:
    """Gives the GPUs by their ids: all, the first ones, or these."""
    if gpus is None:
        return list(range(system.gpu_count))
    if not isinstance(gpus, int):
        return list(gpus)
    if not 1 <= gpus <= system.gpu_count:
        problem = f"{gpus} GPUs are wanted, and the machine has {system.gpu_count}"
        raise SimulationError(problem, f"take 1 to {system.gpu_count}, or more servers")
    return list(range(gpus))


def _check_count(training: ModelTraining, gpus: Sequence[int]) -> None:
    if training.gpus != len(gpus):
        problem = f"the layout {training.layout} has {training.gpus} GPUs, and {len(gpus)} train"
        raise SimulationError(problem, f"take {training.gpus} GPUs, or another layout")


def _capacity(system: System, gpus: Sequence[int]) -> int | None:
    """Bytes of the GPU that has the least; None where one is not known."""
    rows = [row["memory"] for row in system.devices() if row["is_gpu"]]
    found = [rows[gpu] for gpu in gpus]
    return None if None in found else min(found)


def _timed(
    training: ModelTraining,
    system: System,
    gpus: Sequence[int],
    settings: Mapping[str, Any],
    seeds: int,
) -> tuple[ModelStep | None, str]:
    """The step, where it can be timed, or else why there is none."""
    try:
        return play_layout(training, system, gpus, settings, seeds), ""
    except (SimulationError, MachineError) as error:
        return None, error.problem
