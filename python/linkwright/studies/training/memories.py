"""Computes Table 2.10 and section 2.2.5: memory of GPUs, and the largest batch."""

from __future__ import annotations

from statistics import median

from linkwright.errors import OutOfMemoryError
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.studies.training.halves import CALIBRATED, HELD_BACK
from linkwright.studies.training.published import memory, published
from linkwright.studies.training.volta import LARGE, SYSTEM
from linkwright.studies.training.workloads import gpus_of, loaded, machine
from linkwright.training import TrainingStep

__all__ = ["memories"]

# Rows of ResNet at batches 32 and 64 have more before training than in it: there is no such number.
IMPOSSIBLE = 2.0
GPUS = 4
GIBIBYTE = 2**30


def _step(network: str, batch: int) -> TrainingStep:
    dataset = "ImageNet-299" if network in LARGE else "ImageNet"
    return TrainingStep(
        loaded(dataset, network),
        machine(SYSTEM),
        gpus_of(SYSTEM, GPUS),
        batch=batch * GPUS,
        way="all-reduce-broadcast",
        framework="mxnet-18-04",
    )


def _largest(network: str) -> int:
    """The largest power of two of pictures on each GPU that its memory holds."""
    batch = 16
    while batch < 4096:
        try:
            _step(network, batch)
        except OutOfMemoryError:
            break
        batch *= 2
    return batch // 2


def memories() -> Section:
    """Writes both tables."""
    rows: list[tuple[Cell, ...]] = []
    errors: dict[str, list[float]] = {CALIBRATED: [], HELD_BACK: []}
    for place, row in enumerate(memory()):
        first, *others = list(_step(row.network, row.batch).memory())
        half = HELD_BACK if place % 2 else CALIBRATED
        held = first["before"], first["total"], others[0]["total"]
        ours = [part / GIBIBYTE for part in held]
        said = [row.before, row.first, row.others]
        errors[half] += [
            abs(mine / theirs - 1)
            for mine, theirs in zip(ours, said, strict=True)
            if theirs != row.before or theirs < IMPOSSIBLE
        ]
        cells = [number for pair in zip(said, ours, strict=True) for number in pair]
        rows.append((row.network, row.batch, *cells, half))
    entry = published()["section_2_2_5"]
    largest: list[tuple[Cell, ...]] = []
    for network in ("Inception-v3", "ResNet", "GoogLeNet"):
        most = _largest(network)
        largest.append((network, entry[network], most, "yes" if most == entry[network] else "no"))
    return Section(
        title="Memory (Table 2.10 and section 2.2.5)",
        text=[
            "Four GPUs train with NCCL, and one GB is 2^30 bytes. Two constants, the framework's "
            "own memory and its work space, are calibrated on every other row, beginning with the "
            f"first. The median error of these rows is {median(errors[CALIBRATED]):.1%}, of those "
            f"held back {median(errors[HELD_BACK]):.1%}. At batches 32 and 64, ResNet is printed "
            "to have more before training than in training. Neither number counts. We take ResNet "
            "on 224 x 224 points, where section 2.2.1 has 299. With 299, batch 64 would need 17.4 "
            "GB of the 16 that there are."
        ],
        tables=[
            StudyTable(
                title="GB of memory",
                columns=(
                    "network",
                    "batch",
                    *(
                        f"{when}{which}"
                        for when in ("before", "GPU 0 in training", "others in training")
                        for which in (", published", "")
                    ),
                    "half",
                ),
                rows=tuple(rows),
                formats=("", "", *(".2f",) * 6, ""),
            ),
            StudyTable(
                title="The largest batch of a GPU, in powers of two",
                columns=("network", "published", "ours", "holds"),
                rows=tuple(largest),
            ),
        ],
    )
