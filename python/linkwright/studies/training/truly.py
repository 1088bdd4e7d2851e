"""This plays truly shared memory (chapters 3 and 4) for the networks of Tables 2.4 to 2.10."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from linkwright import GpuSystem, System
from linkwright.errors import OutOfMemoryError
from linkwright.recipes import SHARED, SHARED_MEMORY, Recipe
from linkwright.runs.training.play import Played, play_step
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.studies.training.kernels import agreement
from linkwright.studies.training.predicted import SECOND
from linkwright.studies.training.workloads import WORKLOADS, gpus_of, loaded, machine
from linkwright.training import NeuralNetwork

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
    except OutOfMemoryError:
        return None


def _best(which: Trained) -> float:
    ways = (*WAYS, "fsdp") if which[1] == LLAMA else WAYS
    return min(step.time for way in ways if (step := _played(which, way)))


@cache
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


def _needed(what: str, every: tuple[Trained, ...], memory: str) -> str:
    """Tells the bandwidths from which on shared memory wins."""
    least = [each for which in every if (each := least_bandwidth(which, memory)) is not None]
    wins = sum(each <= BANDWIDTHS[0] for each in least)
    return (
        f"{what} need {min(least):,.0f} to {max(least):,.0f} GB/s each; {wins} of {len(every)} win "
        f"at {BANDWIDTHS[0]}."
    )


def _spared(every: tuple[Trained, ...]) -> str:
    """Tells what bandwidth suffices without coherence, as a share of that with it."""
    shares = [
        1 - bare / leased
        for which in every
        if (bare := least_bandwidth(which, MEMORIES[0]))
        and (leased := least_bandwidth(which, MEMORIES[1]))
    ]
    return f"{min(shares):.0%} to {max(shares):.0%}"


def _times(every: tuple[Trained, ...]) -> StudyTable:
    table: list[tuple[Cell, ...]] = []
    for which in every:
        own = _played(which, SHARED)
        assert own is not None
        steps = [_played(which, way) for way in (*WAYS, "fsdp")]
        if which[1] != LLAMA:
            steps[-1] = None
        moved = [step.data / GIGABYTE if step else None for step in (*steps[:2], own)]
        saved = (len(own.step.gpus) - 1) * own.shared / GIGABYTE
        times = [step.time * 1e3 if step else None for step in (*steps, own)]
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
            speed = [_best(which) / step.time if step else None for step in steps]
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
    """Sets one memory for all GPUs beside other ways, and finds what it takes to win."""
    every = (*networks, ("sgd", LLAMA), ("adam", LLAMA))
    messages = {row["what"]: row["bytes"] for row in GpuSystem(memory=SHARED_MEMORY).costs()}
    return Section(
        title="Truly shared memory (chapters 3 and 4)",
        text=[
            "The prototype above stands for a package in which all memory is shared. There is one "
            "copy of the model, of its gradients and of the optimizer's state. Kernels reach it "
            "through a switch, nothing is copied, and each GPU updates its part once. "
            "`linkwright train --communication tsm` takes the links and messages of `linkwright "
            f"gpu run --memory {SHARED_MEMORY}`: {messages['read response']} bytes answer the "
            f"read of a line, and a write takes {messages['write request']}. Four V100s have "
            f"{BATCH} samples each. Llama of 8 billion parameters has a sequence of {TOKENS:,} "
            "tokens on each of eight H200s, in bf16. An empty cell is a step that does not fit.",
            "**What it would take.** All data that kernels read and write cross the switch. Its "
            "bandwidth stands against the bandwidth of a GPU's own memory. At most it can gain "
            "the time of copies. A bisection finds the last column of the second table. "
            f"{_needed('V100s', networks, SHARED_MEMORY)} "
            f"{_needed('Llama', every[-2:], SHARED_MEMORY)} An H200's own memory has 4,800. "
            f"Coherence adds bytes to each message: without it {_spared(every)} less is enough. "
            "Where the memory is pooled, Llama with Adam fits, as it does with FSDP. Copies to "
            "GPU 0 do not hold it.",
            "**Kernels.** The third table has kernels access by access, less the driver's launch. "
            "At the sizes shown, kernels that their links bind agree within 15 %. Others differ "
            "by up to 1.4 times. Kernels read before they write, since wavefronts start together, "
            "and training counts both one after the other. The product at 32 GB/s does not agree. "
            "Its compute units bind it, and 16 times the bandwidth makes it less than a fifth "
            "faster. Training takes such a time from a GPU's peak.",
            "It leaves out the time to set gradients to zero, and lines of a second level that a "
            "later kernel finds. It leaves out waits for a controller that all GPUs want at once. "
            "Every GPU has the R9 Nano's messages, since the text gives no others.",
        ],
        tables=[_times(every), _sweep(every), agreement()],
    )
