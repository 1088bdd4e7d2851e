"""Truly shared memory (chapters 3 and 4) for the networks of Tables 2.4 to 2.10, and for Llama."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from linkwright import GpuSystem, NeuralNetwork, System
from linkwright.errors import SimulationError
from linkwright.recipes import SHARED, SHARED_MEMORY, Recipe
from linkwright.runs.training.play import Played, play_step
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.studies.training.kernels import agreement
from linkwright.studies.training.predicted import SECOND
from linkwright.studies.training.workloads import WORKLOADS, gpus_of, loaded, machine

__all__ = ["BANDWIDTHS", "NETWORKS", "least_bandwidth", "truly_shared"]

SYSTEM = "dgx1-v100"
GPUS = 4
BATCH = 16
NETWORKS = tuple(WORKLOADS)
WAYS = ("p2p-relay", "nccl", "unified-memory", "zero-copy")
LLAMA, LLAMA_SERVER, LLAMA_GPUS, TOKENS = "llama3-8b", "hgx-h200", 8, 2048
# Of each GPU to shared memory, in GB/s: the first is that of the text's Table 3.1.
BANDWIDTHS = (32, 128, 512, 2048, 8192)
# Without coherence, and with it.
MEMORIES = ("tsm-wb-nc-rc", SHARED_MEMORY)
GIGABYTE = 1e9
# A bisection ends when both ends are as near to each other as this.
NEAR = 1.02
# A dataset, or an optimizer of Llama, and a network.
Trained = tuple[str, str]


def _recipe(which: Trained) -> tuple[Recipe, System, list[int]]:
    if which[1] == LLAMA:
        network = NeuralNetwork.find(LLAMA).with_input(tokens=TOKENS)
        recipe = Recipe(
            network, LLAMA_GPUS, precision="bf16", optimizer=which[0], host_copies=False
        )
        return recipe, System(LLAMA_SERVER), list(range(LLAMA_GPUS))
    recipe = Recipe(loaded(*which), GPUS * BATCH, framework=SECOND)
    return recipe, machine(SYSTEM), gpus_of(SYSTEM, GPUS)


@cache
def _played(
    which: Trained, way: str, bandwidth: float | None = None, memory: str = SHARED_MEMORY
) -> Played | None:
    """A step; None where a GPU's memory does not hold it."""
    recipe, system, gpus = _recipe(which)
    recipe = replace(recipe, shared_bandwidth=bandwidth, shared_memory=memory)
    try:
        return play_step(recipe, system, gpus, way)
    except SimulationError:
        return None


def _best(which: Trained) -> float:
    ways = (*WAYS, "fsdp") if which[1] == LLAMA else WAYS
    return min(step.time for way in ways if (step := _played(which, way)))


def least_bandwidth(which: Trained, memory: str) -> float | None:
    """The least GB/s of a GPU by which truly shared memory is as fast as the best other way.

    None where even the most, which leaves GPUs' own memory as the limit, is not enough.
    """

    def wins(bandwidth: float) -> bool:
        step = _played(which, SHARED, bandwidth, memory)
        return step is not None and step.time <= _best(which)

    low, high = 1.0, 65_536.0
    if not wins(high):
        return None
    while high / low > NEAR:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if wins(middle) else (middle, high)
    return high


def _name(which: Trained) -> str:
    return f"{which[1]}, {which[0]}"


def _times(every: tuple[Trained, ...]) -> StudyTable:
    table: list[tuple[Cell, ...]] = []
    for which in every:
        own = _played(which, SHARED)
        assert own is not None
        steps = [_played(which, way) for way in (*WAYS, "fsdp")]
        if which[1] != LLAMA:
            steps[-1] = None
        moved = [step and step.data / GIGABYTE for step in (*steps[:2], own)]
        saved = (len(own.step.gpus) - 1) * own.shared / GIGABYTE
        times = [step and step.time * 1e3 for step in (*steps, own)]
        table.append((_name(which), *times, *moved, saved))
    return StudyTable(
        title="Milliseconds of a step, GB that move, and GB of memory that one copy saves",
        columns=(
            "network", "P2P", "NCCL", "unified memory", "zero copy", "FSDP",
            f"tsm, {BANDWIDTHS[0]} GB/s", "P2P moves", "NCCL moves", "tsm moves", "tsm saves",
        ),
        rows=tuple(table),
        formats=("", *(",.1f",) * 6, *(",.2f",) * 4),
    )  # fmt: skip


def _sweep(every: tuple[Trained, ...]) -> StudyTable:
    table: list[tuple[Cell, ...]] = []
    for which in every:
        for memory in MEMORIES:
            steps = [_played(which, SHARED, float(each), memory) for each in BANDWIDTHS]
            speed = [step and _best(which) / step.time for step in steps]
            table.append((_name(which), memory, *speed, least_bandwidth(which, memory)))
    return StudyTable(
        title="Times as fast as the best other way, by GB/s of a GPU to shared memory",
        columns=(
            "network", "memory", *(f"{each:,} GB/s" for each in BANDWIDTHS), "as fast at (GB/s)"
        ),
        rows=tuple(table),
        formats=("", "", *(".2f",) * len(BANDWIDTHS), ",.0f"),
    )  # fmt: skip


def truly_shared(networks: tuple[Trained, ...] = NETWORKS) -> Section:
    """What one memory for all GPUs is worth in training, and what it takes to win."""
    every = (*networks, ("sgd", LLAMA), ("adam", LLAMA))
    messages = {row["what"]: row["bytes"] for row in GpuSystem(memory=SHARED_MEMORY).costs()}
    return Section(
        title="Truly shared memory (chapters 3 and 4)",
        text=[
            "The prototype above stands for a package in which all memory is shared: one copy of "
            "the model, of its gradients and of the optimizer's state, which kernels reach through "
            "a switch; nothing is copied, and each GPU updates its part once. `linkwright train "
            "--communication tsm` plays it with the links and messages of `linkwright gpu run "
            f"--memory {SHARED_MEMORY}`: a line that is read is answered by "
            f"{messages['read response']} bytes, one that is written takes "
            f"{messages['write request']}. Four V100s with {BATCH} samples each; Llama of 8 billion "
            f"parameters on eight H200s with a sequence of {TOKENS:,} tokens each, in bf16. "
            "An empty cell is a step that the GPUs' memory does not hold.",
            "**What it would take.** All that kernels read and write crosses the switch, so that "
            "its bandwidth stands against that of a GPU's own memory, and no longer against what "
            "copies take. The last column of the second table is found by bisection: "
            "below it copies of gradients cost less than reading everything from afar. Coherence "
            "adds bytes to each message, and moves that point by as much. Where a network's "
            "kernels are short and its copies many, little bandwidth wins.",
            "What it leaves out: the time to set gradients to zero, lines of a GPU's second level "
            "that a later kernel finds, and waits for controllers that all GPUs want at once. GPUs "
            "other than the R9 Nano have its messages, since the text gives no others.",
        ],
        tables=[_times(every), _sweep(every), agreement()],
    )
