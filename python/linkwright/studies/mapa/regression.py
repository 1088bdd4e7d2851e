"""Computes Table 2 and Fig. 12: the published regression beside the sound model, and its faults."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from linkwright import Allocator, Pattern, System
from linkwright.allocation import published_effective_bandwidth
from linkwright.studies.mapa.charts import ModelPoint, predicted_against_model
from linkwright.studies.mapa.published import published
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["regression", "ring_points"]

MACHINE = "dgx1-v100"
SIZES = range(2, 6)

Links = tuple[int, int, int]


def regression() -> Section:
    """Writes the section on Table 2 and Fig. 12."""
    allocator = Allocator(System(MACHINE), bandwidth_model="published", ties="published")
    points = ring_points(allocator, best_only=False)
    best = ring_points(allocator, best_only=True)
    samples = published()["regression_errors"]["samples"]
    return Section(
        title="Table 2 and Fig. 12: two models of effective bandwidth",
        text=[
            f"The paper fits Eq. 2 to {samples} measurements on allocations of two to five GPUs "
            "of a DGX-1V. It takes one for each mix (x, y, z) of double NVLinks, single NVLinks "
            f"and PCIe links. If we count the links of rings on `{MACHINE}`, {_count(points)} "
            f"mixes exist. In {_count(best)} of them the ring has the most bandwidth on its set "
            "of GPUs. Neither number is the paper's, which does not say how it counted. The "
            "measurements are unpublished, so Fig. 12's measured axis cannot be reproduced. The "
            "sound model, which is derived and not fitted, takes its place.",
        ],
        tables=[
            _difference_table(best),
            _fault_table(points),
            _monotone_table(points),
            _range_table(allocator),
            _error_table(),
            _point_table(best),
        ],
        figures={"models": predicted_against_model(best)},
    )


def ring_points(allocator: Allocator, *, best_only: bool) -> list[ModelPoint]:
    """Returns every mix of links that rings of two to five GPUs use, with both models' bandwidth.

    The sound model looks at the set of GPUs and not at one ring. Of the sets with rings of the same
    mix it is given the best.

    Args:
        allocator: An allocator of an idle machine.
        best_only: Whether only the ring with the most bandwidth on each set counts.
    """
    found: dict[tuple[int, Links], float] = {}
    for size in SIZES:
        pattern = Pattern("ring", size)
        for gpus in combinations(range(len(allocator.free)), size):
            sound = allocator.sound_bandwidth(gpus)
            best = allocator.best_placement(pattern, gpus)
            rings = [best.gpus] if best_only else _rings(gpus)
            for ring in rings:
                key = size, allocator.score(pattern, ring).links
                found[key] = max(found.get(key, 0.0), sound)
    return [
        ModelPoint(size, *links, published_effective_bandwidth(*links), sound)
        for (size, links), sound in sorted(found.items())
    ]


def _rings(gpus: Sequence[int]) -> Iterator[list[int]]:
    """Returns every order around a ring, each once: the first GPU fixed, no mirror image."""
    first, *rest = gpus
    for order in permutations(rest):
        if order[0] <= order[-1]:
            yield [first, *order]


def _count(points: Sequence[ModelPoint]) -> int:
    return len({(point.double, point.single, point.pcie) for point in points})


def _difference_table(points: Sequence[ModelPoint]) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for size in SIZES:
        gaps = [point.published - point.sound for point in points if point.gpus == size]
        mean = sum(map(abs, gaps)) / len(gaps)
        rows.append((size, len(gaps), mean, min(gaps), max(gaps)))
    return StudyTable(
        title="Published regression minus sound model, on each set's best ring",
        columns=(
            "GPUs",
            "mixes",
            "mean absolute (GB/s)",
            "minimum (GB/s)",
            "maximum (GB/s)",
        ),
        rows=tuple(rows),
        formats=("", "", ".1f", "+z.1f", "+z.1f"),
        note=(
            "For two GPUs both agree. The sound model takes the regression's three values for two "
            "GPUs as the share of the peak that a link reaches."
        ),
    )


def _fault_table(points: Sequence[ModelPoint]) -> StudyTable:
    pairs = _improvements(points)
    lower = [pair for pair in pairs if pair[1] < pair[0]]
    nothing = published_effective_bandwidth(0, 0, 0)
    return StudyTable(
        title="Faults of the published regression",
        columns=("property", "expected", "the regression's"),
        rows=(
            ("bandwidth of no link, (0, 0, 0)", "none", f"{nothing:.3f} GB/s"),
            (
                "replacing one link by a better one lowers it",
                f"in 0 of {len(pairs)} pairs of mixes",
                f"in {len(lower)} of {len(pairs)}",
            ),
            (
                "the largest such loss",
                "0 GB/s",
                f"{max((low - high for low, high in pairs), default=0):.1f} GB/s",
            ),
        ),
    )


def _improvements(points: Sequence[ModelPoint]) -> list[tuple[float, float]]:
    """Returns the published bandwidth before and after one link of a ring became better."""
    return [(before, after) for _, before, _, after in _steps(points)]


def _steps(points: Sequence[ModelPoint]) -> list[tuple[Links, float, Links, float]]:
    value = {(point.double, point.single, point.pcie): point.published for point in points}
    steps = []
    for links, before in value.items():
        for better in _one_better(links):
            if better in value:
                steps.append((links, before, better, value[better]))
    return steps


def _one_better(links: Links) -> list[Links]:
    double, single, pcie = links
    better = []
    if pcie:
        better += [(double, single + 1, pcie - 1), (double + 1, single, pcie - 1)]
    if single:
        better.append((double + 1, single - 1, pcie))
    return better


def _monotone_table(points: Sequence[ModelPoint]) -> StudyTable:
    worst = sorted(_steps(points), key=lambda step: step[3] - step[1])[:5]
    return StudyTable(
        title="The five largest losses by a better link",
        columns=("links", "one link better", "before (GB/s)", "after (GB/s)"),
        rows=tuple((str(a), str(b), before, after) for a, before, b, after in worst),
        formats=("", "", ".1f", ".1f"),
        note="Links as (double, single, PCIe); all of them are rings of at most five GPUs.",
    )


def _range_table(allocator: Allocator) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    machine_size = len(allocator.free)
    for size in range(2, machine_size + 1):
        pattern = Pattern("ring", size)
        mixes = {
            allocator.score(pattern, ring).links
            for gpus in combinations(range(machine_size), size)
            for ring in _rings(gpus)
        }
        values = [published_effective_bandwidth(*mix) for mix in sorted(mixes)]
        rows.append((size, len(mixes), min(values), max(values)))
    return StudyTable(
        title="Range of the regression over all rings of the machine, by size",
        columns=("GPUs", "mixes", "minimum (GB/s)", "maximum (GB/s)"),
        rows=tuple(rows),
        formats=("", "", ".1f", ".1f"),
        note=(
            "It was fitted on two to five GPUs. Beyond them it turns negative, and elsewhere "
            "exceeds the 150 GB/s that all six NVLinks of a V100 carry together."
        ),
    )


def _error_table() -> StudyTable:
    entry = published()["regression_errors"]
    square, absolute = entry["root_mean_square_error"], entry["mean_absolute_error"]
    corrected = square * math.sqrt(entry["samples"])
    return StudyTable(
        title="Errors of the fit, as published",
        columns=("measure", "published (GB/s)", "corrected (GB/s)"),
        rows=(
            ("root mean square error", square, corrected),
            ("mean absolute error", absolute, None),
        ),
        formats=("", ".4f", ".2f"),
        note=(
            "A root mean square is never below the mean absolute error. The authors' published "
            "script divides the root of the summed squares by the number of samples and not by "
            f"its root. Times the root of {entry['samples']}, the error is {corrected:.2f} GB/s."
        ),
    )


def _point_table(points: Sequence[ModelPoint]) -> StudyTable:
    return StudyTable(
        title="Both models on each mix of links",
        columns=("GPUs", "(double, single, PCIe)", "published (GB/s)", "sound (GB/s)"),
        rows=tuple(
            (
                point.gpus,
                str((point.double, point.single, point.pcie)),
                point.published,
                point.sound,
            )
            for point in points
        ),
        formats=("", "", ".2f", ".2f"),
        note="The sound model's value is that of the best set of GPUs with such a ring.",
    )
