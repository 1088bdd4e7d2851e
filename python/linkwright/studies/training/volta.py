"""The DGX-1 with V100 (section 2.2): copies between GPUs against NCCL."""

from __future__ import annotations

from functools import cache
from statistics import median
from typing import Any

from linkwright.recipes import Recipe
from linkwright.runs.training.play import Played, play_step
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.studies.training.constants import constants
from linkwright.studies.training.halves import CALIBRATED, HELD_BACK
from linkwright.studies.training.predicted import SECOND, play
from linkwright.studies.training.published import published, rows
from linkwright.studies.training.terms import changed, values
from linkwright.studies.training.workloads import loaded, machine
from linkwright.training import training_terms

__all__ = [
    "LARGE",
    "NCCL",
    "NETWORKS",
    "P2P",
    "SYSTEM",
    "epoch",
    "overheads",
    "speed_up",
    "speedups",
    "start",
    "step",
    "synchronized",
    "waiting",
    "weak_beyond_strong",
]

SYSTEM = "dgx1-v100"
NETWORKS = ("LeNet", "AlexNet", "ResNet", "GoogLeNet", "Inception-v3")
# These networks take larger pictures than the others. Section 2.2.1 has ResNet among them. With
# such pictures a V100 would not hold the batch of 64 that it trained, and Table 2.10 has the memory
# of smaller ones.
LARGE = ("Inception-v3",)
# Where two GPUs have no NVLink, a third hands on what is copied, as section 2.2.2 has it of MXNet.
P2P = "p2p-relay"
OVER_HOST = "p2p"
NCCL = "all-reduce-broadcast"


def with_nccl(terms: str, share: float) -> str:
    """Returns the terms of MXNet with NCCL. Its kernels take longer by `share`, on one GPU, too."""
    kernels = values(terms, "kernels.mxnet")
    host = values(terms, f"framework.{SECOND}")
    slower: dict[str, object] = {"least": kernels["least"] * (1 + share)}
    slower |= {name: kernels[name] / (1 + share) for name in ("plain", "matrix", "memory")}
    more: dict[str, object] = {
        name: host[name] * (1 + share) for name in ("launch", "iteration", "gpu")
    }
    return changed(terms, {"kernels.mxnet": slower, f"framework.{SECOND}": more})


def step(network: str, batch: int, gpus: int, way: str) -> Played:
    """Plays a step with a given number of pictures on each GPU, by copies between GPUs or NCCL."""
    dataset = "ImageNet-299" if network in LARGE else "ImageNet"
    terms = training_terms()
    if way == NCCL:
        terms = with_nccl(terms, constants().nccl)
    return play((dataset, network), batch, SYSTEM, gpus, way, SECOND, terms)


def speed_up(network: str, batch: int, gpus: int, way: str) -> float:
    """Returns the pictures a second over the pictures of one GPU."""
    return gpus * step(network, batch, 1, way).time / step(network, batch, gpus, way).time


def overhead(network: str, batch: int) -> float:
    """By how much more time NCCL takes than copies on one GPU."""
    return step(network, batch, 1, NCCL).time / step(network, batch, 1, P2P).time - 1


def _off_overhead() -> float:
    """How far off the overheads of Table 2.8 that were held back are in the median, in percent."""
    off: list[float] = [
        abs(100 * overhead(row["network"], row["batch"]) - row["overhead"])
        for row in rows("table_2_8")[1::2]
    ]
    return median(off)


def overheads() -> Section:
    """Computes Table 2.8."""
    table: list[tuple[Cell, ...]] = [
        (
            row["network"],
            row["batch"],
            row["overhead"] / 100,
            overhead(row["network"], row["batch"]),
            HELD_BACK if place % 2 else CALIBRATED,
        )
        for place, row in enumerate(rows("table_2_8"))
    ]
    return Section(
        title="The cost of NCCL on one GPU (Table 2.8)",
        text=[
            "On one GPU NCCL moves nothing, and MXNet does not even call it. Its key-value store "
            "hands a single GPU's gradients on as they are (src/kvstore/kvstore_nccl.h). And yet "
            "a run takes 16 to 32 % longer, at batch 64 no less than at 16. Calls do not cause "
            "it, since larger batches would hide them, and the links do no work. The text names "
            "other code and other kernels, and says that the overhead is there on several GPUs, "
            "too. No model of NCCL gives it. We take it as a share of all times of kernels and "
            f"host: {constants().nccl:.1%}, the mean of every other row, beginning with the "
            f"first. Rows that were held back are {_off_overhead():.1f} points off in the median. "
            "Our rows differ by the copies from the host beside that. Nothing here explains why "
            "networks and batches differ as published."
        ],
        tables=[
            StudyTable(
                title="Overhead of NCCL on one GPU",
                columns=("network", "batch", "published", "ours", "half"),
                rows=tuple(table),
                formats=("", "", ".1%", ".1%", ""),
            )
        ],
    )


def speedups(networks: tuple[str, ...], batches: tuple[int, ...]) -> Section:
    """Computes Fig. 2-4: speed-ups, by both ways."""
    said = {
        ("LeNet", 16, row["gpus"], way): row["ratio"]
        for row in rows("fig_2_4_gpus")
        for way in (P2P, NCCL)
        if (row["method"] == "p2p") == (way == P2P)
    }
    ahead = {(row["network"], 16, row["gpus"]): row["ratio"] for row in rows("fig_2_4_nccl")}
    table: list[tuple[Cell, ...]] = []
    for network in networks:
        for batch in batches:
            for gpus in (2, 4, 8):
                by_copies, by_nccl = (step(network, batch, gpus, way) for way in (P2P, NCCL))
                table.append(
                    (
                        network,
                        batch,
                        gpus,
                        said.get((network, batch, gpus, P2P)),
                        speed_up(network, batch, gpus, P2P),
                        speed_up(network, batch, gpus, OVER_HOST),
                        said.get((network, batch, gpus, NCCL)),
                        speed_up(network, batch, gpus, NCCL),
                        ahead.get((network, batch, gpus)),
                        by_copies.time / by_nccl.time,
                    )
                )
    return Section(
        title="Copies between GPUs and NCCL (Fig. 2-4)",
        text=[
            "The table has pictures a second, each way over itself on one GPU, and NCCL's time "
            "below copies'. The published numbers come from sentences about the figure. Where two "
            "GPUs have no NVLink, a third hands on the copies. Over the host's memory, which the "
            "text names first, 8 GPUs are slower than published. Only rows of Table 2.8 of this "
            "machine entered a constant. The text joins GPUs 0 and 1 by two NVLinks. By the "
            "numbers of `nvidia-smi` one joins them. Over one, LeNet on two GPUs reaches "
            f"{_on_one_link():.2f} instead of {speed_up('LeNet', 16, 2, P2P):.2f}, and 1.62 is "
            "published. So the text means its own pair.",
        ],
        tables=[
            StudyTable(
                title="Speed-up, and NCCL over copies",
                columns=(
                    "network",
                    "batch",
                    "GPUs",
                    "copies, published",
                    "copies",
                    "copies over the host",
                    "NCCL, published",
                    "NCCL",
                    "NCCL ahead, published",
                    "NCCL ahead",
                ),
                rows=tuple(table),
                formats=("", "", "", *(".2f",) * 7),
            )
        ],
    )


def _on_one_link() -> float:
    """LeNet's speed-up on the preset's first two GPUs, which one NVLink joins."""
    alone = step("LeNet", 16, 1, P2P)
    recipe = Recipe(loaded("ImageNet", "LeNet"), 32, framework=SECOND, terms=training_terms())
    return 2 * alone.time / play_step(recipe, machine(SYSTEM), [0, 1], P2P).time


@cache
def epoch(network: str, batch: int, gpus: int) -> float:
    """Returns the seconds of an epoch's steps with NCCL."""
    images: int = published()["fig_2_6"]["images"]
    return step(network, batch, gpus, NCCL).time * images / (batch * gpus)


def waiting() -> list[tuple[dict[str, Any], str]]:
    """Returns the rows of Table 2.9, each with its half.

    NCCL is called on several GPUs only: of their rows every other is calibrated on, the first
    counted.
    """
    found = []
    several = 0
    for row in rows("table_2_9"):
        several += row["gpus"] > 1
        is_calibrated = row["gpus"] > 1 and several % 2 == 1
        found.append((row, CALIBRATED if is_calibrated else HELD_BACK))
    return found


@cache
def start() -> float:
    """Seconds that a run spends in calls of CUDA other than waiting, however long its epoch is."""
    calibrated = [row for row, half in waiting() if half == CALIBRATED]
    seconds: list[float] = [
        epoch("LeNet", row["batch"], row["gpus"]) * (100 / row["share"] - 1) for row in calibrated
    ]
    return median(seconds)


def weak_beyond_strong(network: str, batch: int, gpus: int) -> float:
    """By how much weak scaling is beyond strong: a start is spread over more images."""
    steps = epoch(network, batch, gpus)
    return gpus * (steps + start()) / (gpus * steps + start()) - 1


def synchronized() -> Section:
    """Computes Table 2.9: waiting, and the rest."""
    table: list[tuple[Cell, ...]] = []
    off = []
    for row, half in waiting():
        steps = epoch("LeNet", row["batch"], row["gpus"])
        ours = steps / (steps + start())
        table.append((row["batch"], row["gpus"], row["share"] / 100, ours, half))
        if half == HELD_BACK:
            off.append(abs(ours - row["share"] / 100))
    return Section(
        title="The host's waiting (Table 2.9)",
        text=[
            "The text has `cudaStreamSynchronize` as a share of the time in all calls of the CUDA "
            "API, for LeNet with NCCL. The host waits as long as the steps of an epoch last. The "
            "share falls as steps get fewer and shorter, so the other calls take a constant time. "
            "It is a run's start, with its contexts, streams and memory; section 2.2.6 names it, "
            f"too. It is {start():.0f} s by the median of every other row of several GPUs, "
            f"beginning with the first. Rows that were held back are {median(off) * 100:.1f} "
            "points off in the median. On one GPU the host waits for less: MXNet synchronizes "
            "NCCL's streams on several GPUs only.",
        ],
        tables=[
            StudyTable(
                title="Waiting of the host",
                columns=("batch", "GPUs", "published", "ours", "half"),
                rows=tuple(table),
                formats=("", "", ".1%", ".1%", ""),
            )
        ],
    )
