"""The DGX-1 with V100 (section 2.2): copies between GPUs against NCCL."""

from __future__ import annotations

from linkwright import training_terms
from linkwright.recipes import Recipe
from linkwright.runs.training.play import Played, play_step
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.studies.training.constants import constants
from linkwright.studies.training.halves import CALIBRATED, HELD_BACK
from linkwright.studies.training.predicted import SECOND, play
from linkwright.studies.training.published import rows
from linkwright.studies.training.terms import changed, values
from linkwright.studies.training.workloads import loaded, machine

__all__ = [
    "LARGE",
    "NCCL",
    "NETWORKS",
    "P2P",
    "SYSTEM",
    "overheads",
    "speed_up",
    "speedups",
    "step",
    "synchronized",
]

SYSTEM = "dgx1-v100"
NETWORKS = ("LeNet", "AlexNet", "ResNet", "GoogLeNet", "Inception-v3")
# Larger pictures than the others take. Section 2.2.1 has ResNet among them, but with these a V100
# would not hold the batch of 64 that it trained, and Table 2.10 has the memory of smaller ones.
LARGE = ("Inception-v3",)
# Where two GPUs have no NVLink, a third hands on what is copied, as section 2.2.2 has it of MXNet.
P2P = "p2p-relay"
OVER_HOST = "p2p"
NCCL = "all-reduce-broadcast"


def with_nccl(terms: str, share: float) -> str:
    """The terms of MXNet with NCCL, whose kernels take so much more time, on one GPU, too."""
    kernels = values(terms, "kernels.mxnet")
    host = values(terms, f"framework.{SECOND}")
    slower: dict[str, object] = {"least": kernels["least"] * (1 + share)}
    slower |= {name: kernels[name] / (1 + share) for name in ("plain", "matrix", "memory")}
    more: dict[str, object] = {
        name: host[name] * (1 + share) for name in ("launch", "iteration", "gpu")
    }
    return changed(terms, {"kernels.mxnet": slower, f"framework.{SECOND}": more})


def step(network: str, batch: int, gpus: int, way: str) -> Played:
    """A step with so many pictures on each GPU, by copies between GPUs or NCCL."""
    dataset = "ImageNet-299" if network in LARGE else "ImageNet"
    terms = training_terms()
    if way == NCCL:
        terms = with_nccl(terms, constants().nccl)
    return play((dataset, network), batch, SYSTEM, gpus, way, SECOND, terms)


def speed_up(network: str, batch: int, gpus: int, way: str) -> float:
    """Pictures a second over those of one GPU."""
    return gpus * step(network, batch, 1, way).time / step(network, batch, gpus, way).time


def overhead(network: str, batch: int) -> float:
    """By how much more time NCCL takes than copies on one GPU."""
    return step(network, batch, 1, NCCL).time / step(network, batch, 1, P2P).time - 1


def overheads() -> Section:
    """Table 2.8."""
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
        title="What NCCL costs on one GPU (Table 2.8)",
        text=[
            "On one GPU NCCL moves nothing, and yet costs 16 to 32 % of the time, at batch 64 no "
            "less than at 16: not a time for each call, which larger batches would hide. The text "
            "says that it is there on several GPUs, too. It is taken as a share of all times of "
            f"kernels and host: {constants().nccl:.1%}, the mean of every other row, the first "
            "counted. What ours have beyond that are 30 µs for each call, an assumption."
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
    """Fig. 2-4: speed-ups, by both ways."""
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
            "Pictures a second over those of one GPU, each way over itself on one, and NCCL's "
            "time below copies'. Published is what the sentences say of the figure. Where two GPUs "
            "have no NVLink, a third hands on what is copied; over the host's memory, which the "
            "text names first, 8 GPUs are slower than published. No row of this machine entered "
            "a constant but those of Table 2.8. The text joins GPUs 0 and 1 by two NVLinks; over "
            "one, as `nvidia-smi` numbers them, LeNet on two GPUs reaches "
            f"{_on_one_link():.2f} instead of {speed_up('LeNet', 16, 2, P2P):.2f}, published 1.62: "
            "the text's own pair is meant.",
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


def synchronized() -> Section:
    """Table 2.9, beside what of a step the host does not work."""
    table: list[tuple[Cell, ...]] = []
    for row in rows("table_2_9"):
        played = step("LeNet", row["batch"], row["gpus"], NCCL)
        table.append(
            (
                row["batch"],
                row["gpus"],
                row["share"] / 100,
                1 - played.parts.framework / played.time,
            )
        )
    return Section(
        title="The host's waiting (Table 2.9)",
        text=[
            "Published is `cudaStreamSynchronize` as a share of the time in all calls of the "
            "CUDA API. Linkwright has no calls; the nearest is the part of a step in which the "
            "host does not prepare it. Both are of LeNet with NCCL. They are different "
            "quantities: this table is no check of the model."
        ],
        tables=[
            StudyTable(
                title="Waiting of the host",
                columns=("batch", "GPUs", "published", "step without the framework's part"),
                rows=tuple(table),
                formats=("", "", ".1%", ".1%"),
            )
        ],
    )
