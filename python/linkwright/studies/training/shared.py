"""Plays Fig. 2-8: ways to share memory, on synthetic workloads of the MLP."""

from __future__ import annotations

from functools import cache, partial
from statistics import mean

from linkwright.recipes import Recipe
from linkwright.runs.training.play import play_step
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.studies.training.predicted import FIRST
from linkwright.studies.training.published import published, rows
from linkwright.studies.training.terms import changed, values
from linkwright.studies.training.workloads import gpus_of, machine
from linkwright.training import NeuralNetwork, training_terms

__all__ = [
    "DATASETS",
    "FARTHEST",
    "FAULTS",
    "SYSTEMS",
    "WAYS",
    "mechanisms",
    "speed",
    "step_time",
]

# Points each way and channels that have as many inputs as the published weights say: 400, 1024
# and 21,400.
DATASETS = {"MNIST": (20, 1), "CIFAR-10": (32, 1), "ImageNet": (10, 214)}
SYSTEMS = ("kepler", "titan", "dgx1-p100")
WAYS = ("p2p", "shared-memory", "zero-copy", "unified-memory")
BATCH = 32
# The workloads are programs without a framework: a call of the CUDA API takes about this number of
# us.
LAUNCH = 5.0
# Nothing that is changed alone makes its number.
FARTHEST = ("MNIST", "dgx1-p100")
# The text tells of these two changes.
FAULTS = "a baseline whose pages fault"
COPIES = "µs of the host for a copy, in both"


@cache
def step_time(
    dataset: str,
    system: str,
    way: str,
    copy: float = LAUNCH,
    iteration: float = 0.0,
    *,
    placed: bool = False,
) -> float:
    """Gives the seconds of a step on two GPUs.

    The host takes some microseconds for a copy, and for an iteration. Samples that are placed lie
    where kernels read them before the first step.
    """
    size, channels = DATASETS[dataset]
    network = NeuralNetwork.find("mlp:thousand-classes").with_input(size=size, channels=channels)
    host = {"iteration": iteration, "gpu": 0.0, "launch": LAUNCH, "copy": copy}
    terms = changed(training_terms(), {f"framework.{FIRST}": host})
    # Kernels that use another memory do so while they compute.
    overlap = way in ("shared-memory", "zero-copy")
    recipe = Recipe(
        network, 2 * BATCH, optimizer="sgd", framework=FIRST, overlap=overlap, terms=terms,
        host_copies=not placed,
    )  # fmt: skip
    return play_step(recipe, machine(system), gpus_of(system, 2), way).time


def speed(dataset: str, system: str, way: str) -> float:
    """How many times as fast as copies between GPUs."""
    return step_time(dataset, system, "p2p") / step_time(dataset, system, way)


def _alone() -> StudyTable:
    """Changes one part of a step at a time, and tells what becomes of the ratio."""
    own = values(training_terms(), f"framework.{FIRST}")
    copy, iteration = own["copy"], own["iteration"]
    table: list[tuple[Cell, ...]] = []
    for row in rows("fig_2_8"):
        of = row["dataset"], row["system"]
        ours = step_time(*of, "shared-memory")
        asked = (
            step_time(*of, "p2p") / step_time(*of, "shared-memory", placed=True),
            step_time(*of, "p2p", iteration=iteration) / ours,
            step_time(*of, "p2p", copy) / step_time(*of, "shared-memory", copy),
            step_time(*of, "p2p", copy) / ours,
            step_time(*of, "unified-memory") / ours,
        )
        table.append((*of, row["ratio"], speed(*of, "shared-memory"), *asked))
    return StudyTable(
        title="Times as fast as copies between GPUs, with one thing changed at a time",
        columns=(
            "dataset",
            "system",
            "published",
            "ours",
            "samples on GPU 0 from the start",
            f"{iteration:,.0f} µs of the host in the baseline",
            f"{copy:,.0f} {COPIES}",
            "the same in the baseline alone",
            FAULTS,
        ),
        rows=tuple(table),
        formats=("", "", *(".2f",) * 7),
    )


def _listed(table: StudyTable, column: str, *rows: int) -> str:
    """Gives some rows' numbers of the column whose name ends so, as words list them."""
    [at] = [place for place, name in enumerate(table.columns) if name.endswith(column)]
    *first, last = (f"{table.rows[row][at]:.2f}" for row in rows)
    return f"{', '.join(first)} and {last}" if first else last


def mechanisms() -> Section:
    """The table, and the means over datasets."""
    said = {(row["dataset"], row["system"]): row["ratio"] for row in rows("fig_2_8")}
    means = published()["fig_2_8"]["means"]
    table: list[tuple[Cell, ...]] = []
    for system in SYSTEMS:
        for dataset in DATASETS:
            ratios = [speed(dataset, system, way) for way in WAYS[1:]]
            table.append((system, dataset, said.get((dataset, system)), *ratios))
        ours = [mean(speed(dataset, system, way) for dataset in DATASETS) for way in WAYS[1:]]
        table.append((system, "mean", means[system], *ours))
    alone = _alone()
    *near, far = sorted(range(len(alone.rows)), key=lambda at: alone.rows[at][:2] == FARTHEST)
    faults, published_as, copies = (
        partial(_listed, alone, column) for column in (FAULTS, "published", COPIES)
    )
    return Section(
        title="Ways to share memory (Fig. 2-8)",
        text=[
            "Programs move the data of an MLP with 128, 64 and 1000 neurons, without a framework, "
            "with 32 pictures on each of two GPUs. The published sizes of weights give 400, 1024 "
            "and 21,400 inputs. True shared memory gains the cost of copies beside a call and the "
            "link's bandwidth. The text does not say what else its baseline does in a step, and "
            "no row of this figure entered a constant.",
            "**Which part makes the difference.** The second table changes one thing at a time. "
            f"Faults of pages come nearest. They give {faults(*near)} for {published_as(*near)}, "
            f"each within a tenth. For MNIST on the DGX-1 they give {faults(far)} for "
            f"{published_as(far)}, nearer than all else. If there is one cause, it is the "
            "likeliest. Table 2.4 gives the host's time for a copy under MXNet. That is enough "
            f"for MNIST on the two older systems, {copies(*near[:2])}, and gives nothing for "
            "ImageNet, whose copies are long. The place of the samples makes no such difference.",
        ],
        tables=[
            StudyTable(
                title="Times as fast as copies between GPUs",
                columns=(
                    "system",
                    "dataset",
                    "true shared memory, published",
                    "true shared memory",
                    "zero-copy",
                    "unified memory",
                ),
                rows=tuple(table),
                formats=("", "", ".2f", ".2f", ".2f", ".2f"),
            ),
            alone,
        ],
    )
