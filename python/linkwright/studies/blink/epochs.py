"""Measures the cost of communication in steps of training on DGX-1 machines, by planner."""

from __future__ import annotations

from functools import cache

from linkwright import System
from linkwright.recipes import LIBRARY, Recipe
from linkwright.runs.training.play import Played, play_step
from linkwright.studies.blink.measure import BASELINES, Progress
from linkwright.studies.blink.published import benchmarks
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.training import NeuralNetwork

__all__ = ["epochs"]

MACHINES = {"DGX-1P": "dgx1-p100", "DGX-1V": "dgx1-v100"}
NETWORKS = ("alexnet", "resnet-18", "resnet-50", "vgg-16")
PLANNERS = (*BASELINES, "packing")
COUNTS = tuple(range(2, 9))
# Pictures on each GPU.
BATCH = 32


@cache
def _step(network: str, machine: str, gpus: int, communication: str) -> Played:
    recipe = Recipe(NeuralNetwork.find(network), BATCH * gpus)
    return play_step(recipe, System(machine), list(range(gpus)), communication)


def epochs(*, quick: bool = False, progress: Progress | None = None) -> Section:
    """Writes the section on steps of training.

    Args:
        quick: Fewer networks and numbers of GPUs.
        progress: Called with the stage, the networks done, and those in all.
    """
    networks = NETWORKS[:1] if quick else NETWORKS
    counts = (2, 4, 8) if quick else COUNTS
    shares: list[tuple[Cell, ...]] = []
    times: list[tuple[Cell, ...]] = []
    for done, network in enumerate(networks):
        for name, machine in MACHINES.items():
            played = [_step(network, machine, gpus, LIBRARY) for gpus in counts]
            cells = [each.parts.exposed / each.time for each in played]
            shares.append((network, name, *cells))
            for gpus in counts:
                by = [_step(network, machine, gpus, planner).time for planner in PLANNERS]
                first = by[0]
                times.append((network, name, gpus, first * 1e3, *(time / first for time in by[1:])))
        if progress is not None:
            progress("epochs", done + 1, len(networks))
    return Section(
        title="Communication in whole steps of training",
        text=[
            f"`linkwright train` plays each step, with {BATCH} pictures on each GPU and 32-bit "
            "numbers. It reduces gradients in buckets while others are computed. An epoch is a "
            "number of equal steps. GPUs are the first by their ids. The paper shows its shares "
            "without numbers and does not say its batches. Others measured steps on one GPU of a "
            "DGX-1P: TensorFlow's benchmarks of 2017 trained four networks. Two terms of fast "
            "convolutions are fitted on these four rows. The rows say how well one mechanism "
            "explains four networks, and no more.",
        ],
        tables=[
            _one_gpu(),
            StudyTable(
                title="Communication that nothing hides, as a share of an epoch, by NCCL's choice",
                columns=("network", "machine", *(f"{gpus} GPUs" for gpus in counts)),
                rows=tuple(shares),
                formats=("", "", *(".1%",) * len(counts)),
            ),
            StudyTable(
                title="Time of a step by each planner",
                columns=(
                    "network",
                    "machine",
                    "GPUs",
                    f"{PLANNERS[0]} (ms)",
                    *(f"{planner} over it" for planner in PLANNERS[1:]),
                ),
                rows=tuple(times),
                formats=("", "", "", ".1f", *(".3f",) * (len(PLANNERS) - 1)),
            ),
        ],
    )


def _one_gpu() -> StudyTable:
    """Compares what one GPU trains, measured and by the model."""
    rows: list[tuple[Cell, ...]] = []
    for row in benchmarks():
        recipe = Recipe(NeuralNetwork.find(row.network), row.samples, host_copies=False)
        ours = play_step(recipe, System(row.machine), [0]).rate
        rows.append((row.network, row.machine, row.samples, row.rate, ours, ours / row.rate))
    return StudyTable(
        title="Pictures a second on one GPU, measured beside reproduced",
        columns=("network", "machine", "batch", "measured", "reproduced", "ours / measured"),
        rows=tuple(rows),
        formats=("", "", "", ".0f", ".0f", ".2f"),
        note="Pictures are synthetic and lie in the GPU's memory. cuDNN's convolutions by fewer "
        "multiplications save VGG-16 and AlexNet most of their arithmetic. Winograd's take "
        "windows of 3 x 3 points, Fourier's those of 5 x 5. Without them ours trained VGG-16 at "
        "63 pictures a second.",
    )
