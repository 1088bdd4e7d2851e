"""Computes Tables 2.4, 2.5 and 2.6: an epoch on the first three systems, row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median

from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.studies.training.constants import constants
from linkwright.studies.training.halves import CALIBRATED, HELD_BACK, half
from linkwright.studies.training.predicted import FIRST, Predicted, predict
from linkwright.studies.training.published import Epoch, epochs
from linkwright.studies.training.terms import values
from linkwright.training import training_terms

__all__ = ["Found", "Progress", "breakdown", "calibration", "find", "scaling"]

# Called with the stage, the rows predicted, and those in all.
Progress = Callable[[str, int, int], object]
Found = Mapping[Epoch, Predicted]

# These parts are compared, under their names in tables.
PARTS = {
    "run": "run time",
    "computing": "computing",
    "communication": "communication",
    "peer_copies": "copies between GPUs",
}


def find(rows: list[Epoch] | None = None, progress: Progress | None = None) -> Found:
    """Computes the expected epochs of rows, or of all rows where none are given."""
    terms = training_terms()
    rows = list(epochs()) if rows is None else rows
    found = {}
    for done, row in enumerate(rows):
        if progress is not None:
            progress("epochs", done, len(rows))
        found[row] = predict(row, terms, constants())
    return found


def errors(found: Found, part: str, which: str, table: str | None = None) -> list[float]:
    """By how much predictions are off, as parts of what is published."""
    return [
        abs(getattr(ours, part) / getattr(row, part) - 1)
        for row, ours in found.items()
        if getattr(row, part) is not None and half(row) == which and table in (None, row.table)
    ]


def scalings(found: Found) -> dict[Epoch, tuple[float, float]]:
    """Returns the scaling of rows on several GPUs, by the published times and by ours."""
    alone = {row.block: (row, ours) for row, ours in found.items() if row.gpus == 1}
    ratios = {}
    for row, ours in found.items():
        if row.gpus > 1 and row.block in alone:
            first, its = alone[row.block]
            ratios[row] = first.run / row.run, its.run / ours.run
    return ratios


def calibration(found: Found) -> Section:
    """Shows the calibrated constants, and the errors of both halves."""
    text = training_terms()
    kernels, host, left = (
        values(text, "kernels.mxnet"),
        values(text, f"framework.{FIRST}"),
        constants(),
    )
    rows: list[tuple[Cell, ...]] = [
        ("a kernel's least time", f"{kernels['least']:.3g} µs"),
        ("part of the arithmetic peak that products reach", f"{kernels['plain']:.3g}"),
        ("part of the memory's bandwidth that kernels reach", f"{kernels['memory']:.3g}"),
        ("start of a block of a product", f"{kernels['plain_start']:.3g} terms of its sums"),
        ("kernels of a time step of an LSTM beside its products", f"{kernels['cell']:.3g}"),
        ("launch of a kernel", f"{host['launch']:.3g} µs"),
        ("the host in an iteration", f"{host['iteration']:.3g} µs"),
        ("the same for each GPU", f"{host['gpu']:.3g} µs"),
        ("start of a copy between GPUs", f"{host['copy']:.3g} µs"),
        ("decoding of a picture of CIFAR-10", f"{left.decode * 1e6:.3g} µs"),
    ]
    rows += [
        (f"batches of Table 2.5 on one GPU, {network}", f"{count:.0f}")
        for network, count in left.batches.items()
    ]
    medians: list[tuple[Cell, ...]] = []
    for part, name in PARTS.items():
        for table in ("2.4", "2.5", "2.6"):
            both = [errors(found, part, which, table) for which in (CALIBRATED, HELD_BACK)]
            if all(both):
                medians.append((name, table, *(median(each) for each in both), len(both[1])))
    ratios = scalings(found)
    for table in ("2.4", "2.5", "2.6"):
        both = [
            [
                abs(ours / said - 1)
                for row, (said, ours) in ratios.items()
                if row.table == table and half(row) == which
            ]
            for which in (CALIBRATED, HELD_BACK)
        ]
        if all(both):
            medians.append(
                ("scaling factor", table, *(median(each) for each in both), len(both[1]))
            )
    every = [[], []]  # type: list[list[float]]
    for part in PARTS:
        for errs, which in zip(every, (CALIBRATED, HELD_BACK), strict=True):
            errs += errors(found, part, which)
    medians.append(
        ("all of them but scaling", "", *(median(each) for each in every), len(every[1]))
    )
    return Section(
        title="The calibrated constants and their rows",
        text=[
            "Rows that differ only in their GPUs make a block. In each of Tables 2.4, 2.5 and 2.6 "
            "every other block calibrates, beginning with the first. The other half enters no "
            f"constant. `scripts/calibrate_training.py` fits {len(rows)} constants on the "
            f"calibrated half, which has {len(every[0])} numbers. It minimizes the squares of "
            "logarithms of ratios, for run times and for computing on one GPU. No time of "
            "communication is fitted. The GPUs' peaks, memory and links are those of data sheets.",
            f"**The numbers that were held back are {median(every[1]):.1%} off in the median**, "
            f"the calibrated ones {median(every[0]):.1%}.",
        ],
        tables=[
            StudyTable("Calibrated constants", ("", "value"), tuple(rows)),
            StudyTable(
                title="Median error of both halves",
                columns=("", "table", "calibrated", "held back", "rows held back"),
                rows=tuple(medians),
                formats=("", "", ".1%", ".1%", ""),
            ),
        ],
    )


def breakdown(found: Found) -> Section:
    """Computes Table 2.4."""
    rows: list[tuple[Cell, ...]] = []
    for row, ours in found.items():
        if row.table != "2.4":
            continue
        cells: list[Cell] = []
        for part in ("computing", "communication", "peer_copies", "run"):
            said = getattr(row, part)
            cells += [None if said is None else said * 1e3, getattr(ours, part) * 1e3]
            if said is None:
                cells[-1] = None
        rows.append((row.dataset, row.network, row.system, row.gpus, *cells, half(row)))
    heads = ("computing", "communication", "copies between GPUs", "run")
    return Section(
        title="Where the time of an epoch goes (Table 2.4)",
        text=[
            "Each GPU has batches of 64 pictures, or 128 sequences. Computing is kernels alone, "
            "as a profiler counts them, on the GPU that has most of them. Communication is all "
            "copies one after another. The rest of the run time is the host's.",
            "The text leaves three readings open. The copies between GPUs decide them, as their "
            "number and size are known. The MLP has ten classes, as MXNet's example has, and not "
            "the 1000 of section 2.3.1. CIFAR-10's pictures are 28 x 28 points, as MXNet's "
            "`train_cifar10.py` crops them. An epoch of Penn Treebank is its 42,068 lines. LeNet "
            "is MXNet's, with 431,080 weights where Table 2.3 has 60,000.",
        ],
        tables=[
            StudyTable(
                title="Milliseconds of an epoch, published and ours",
                columns=(
                    "dataset",
                    "network",
                    "system",
                    "GPUs",
                    *(f"{head}{which}" for head in heads for which in (", published", "")),
                    "half",
                ),
                rows=tuple(rows),
                formats=("", "", "", "", *(",.0f",) * 8, ""),
            )
        ],
    )


def scaling(found: Found) -> Section:
    """Computes Tables 2.5 and 2.6."""
    ratios = scalings(found)
    tables = []
    for table in ("2.5", "2.6"):
        rows: list[tuple[Cell, ...]] = [
            (
                row.dataset,
                row.network,
                row.batch,
                row.system,
                row.gpus,
                row.run,
                ours.run,
                *ratios.get(row, (None, None)),
                half(row),
            )
            for row, ours in found.items()
            if row.table == table
        ]
        tables.append(
            StudyTable(
                title=f"Table {table}: seconds of an epoch, and scaling",
                columns=(
                    "dataset",
                    "network",
                    "batch",
                    "system",
                    "GPUs",
                    "run, published (s)",
                    "run (s)",
                    "scaling, published",
                    "scaling",
                    "half",
                ),
                rows=tuple(rows),
                formats=("", "", "", "", "", ".1f", ".1f", ".2f", ".2f", ""),
            )
        )
    return Section(
        title="Scaling (Tables 2.5 and 2.6)",
        text=[
            "The text does not say how many pictures an epoch of synthetic ImageNet has. We take "
            "Table 2.6 as 500 batches on one GPU, as MXNet's iterator over synthetic pictures "
            "makes. Its times agree with that. Table 2.5's number is calibrated for each network. "
            "So only ratios are predicted there: between systems, and scaling. We recalculate the "
            "published scaling from the times.",
            "We take ResNet on ImageNet to have 50 layers, for three reasons. MXNet's "
            "`train_imagenet.py` has 50 by default. Its ResNet of 110 layers takes only small "
            "pictures. And GPU 0 holds the gradients of 50 layers in Table 2.10.",
        ],
        tables=tables,
    )
