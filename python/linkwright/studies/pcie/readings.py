"""The readings of what the paper leaves open, each beside what it published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean
from typing import Literal

from linkwright.studies.pcie.kernels import Kernels, preset, simulated
from linkwright.studies.pcie.layouts import QUICK, Layout
from linkwright.studies.pcie.published import published
from linkwright.studies.pcie.runs import Pair, Progress, perform
from linkwright.studies.pcie.sections import LARGE, SMALL, Found, gains, pair_name, totals
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["READINGS", "Reading", "nearest", "play", "readings"]

KernelsName = Literal["given", "computed"]
KERNELS: tuple[KernelsName, ...] = ("given", "computed")
# The paper has numbers of these.
POLICIES = ("round-robin", "small first", "QoS")
HEADS = ("both, small first", "both, QoS", "small, small first", "large, small first")


@dataclass(frozen=True)
class Reading:
    """Settles the three things that the paper leaves open.

    Attributes:
        layout: Says what the tasks share, and how fast copies are.
        kernels: Names the source of kernel times: MGPUSim, or our own GPU.
    """

    layout: Layout
    kernels: KernelsName

    def times(self) -> Kernels:
        """Gives the microseconds of each kernel."""
        return preset() if self.kernels == "given" else simulated()

    def words(self) -> tuple[float, str, str]:
        """Says what each of the three choices is, for a table."""
        return self.layout.rate / 1e9, self.layout.link, self.kernels


READINGS = tuple(
    Reading(replace(layout, copied=copied), kernels)
    for copied, layout, kernels in product(published()["readings"]["bandwidth"], QUICK, KERNELS)
)


def play(
    reading: Reading,
    window: float,
    chosen: Sequence[tuple[str, str]] | None = None,
    progress: Progress | None = None,
) -> list[Pair]:
    """Plays the pairs of a reading under the policies with published numbers.

    Args:
        reading: Which reading.
        window: Seconds of counting.
        chosen: Which pairs; all where absent.
        progress: Called with stage, done and all.
    """
    return perform(
        reading.layout,
        window,
        kernels=reading.times(),
        chosen=chosen,
        policies=POLICIES,
        progress=progress,
        stage="readings",
    )


def _said() -> list[float]:
    said = published()["throughput"]
    keys = ("small_first", "qos", "small_task", "large_task")
    return [said[key] / 100 for key in keys]


def _found(pairs: Sequence[Pair]) -> list[float]:
    return [
        totals(pairs, "small first"),
        totals(pairs, "QoS"),
        gains(pairs, "small first", SMALL),
        gains(pairs, "small first", LARGE),
    ]


def _apart(pairs: Sequence[Pair]) -> float:
    """How far the four numbers are from the published ones, in the mean."""
    both = zip(_found(pairs), _said(), strict=True)
    return fmean(abs(one - other) for one, other in both)


def nearest(played: Mapping[Reading, Sequence[Pair]]) -> Reading:
    """Finds the reading whose four numbers are least far from the published ones, in the mean.

    Args:
        played: The pairs of each reading.
    """
    return min(played, key=lambda reading: _apart(played[reading]))


def readings(found: Found, window: float, progress: Progress | None = None) -> Section:
    """Plays every reading, and sets it beside what was published.

    Args:
        found: The pairs of each layout with PCIe 4 and given times.
        window: Seconds of counting.
        progress: Called with stage, done and all.
    """
    known = {layout: pairs for layout, pairs in found.items() if layout in QUICK}
    played: dict[Reading, Sequence[Pair]] = {}
    for reading in READINGS:
        same = [
            pairs
            for layout, pairs in known.items()
            if (layout.root, layout.rate) == (reading.layout.root, reading.layout.rate)
        ]
        if reading.kernels == "given" and same:
            [played[reading]] = same
        else:
            played[reading] = play(reading, window, progress=progress)
    best = nearest(played)
    return Section(
        title="Readings, each beside the paper",
        text=[*_sentences(played, best), *_large(played)],
        tables=[_every(played), _pairs(best, played[best])],
    )


def _every(played: Mapping[Reading, Sequence[Pair]]) -> StudyTable:
    rows: list[tuple[Cell, ...]] = [(None, "published", "", None, *_said(), None)]
    for reading, pairs in played.items():
        demand = fmean(pair.demand for pair in pairs)
        rows.append((*reading.words(), demand, *_found(pairs), 100 * _apart(pairs)))
    return StudyTable(
        title="Throughput over round-robin in every reading",
        columns=("copies (GB/s)", "link", "kernels", "mean demand", *HEADS, "apart (points)"),
        rows=tuple(rows),
        formats=("g", "", "", ".2f", *("+.1%",) * len(HEADS), ".1f"),
        note="The column `apart` has the mean distance of the four numbers from the published "
        "ones.",
    )


def _pairs(reading: Reading, pairs: Sequence[Pair]) -> StudyTable:
    rows: list[tuple[Cell, ...]] = [
        (
            pair_name(pair),
            pair.demand,
            *(pair.throughput(policy) for policy in ("small first", "QoS")),
            *(pair.gain("small first", task) for task in (SMALL, LARGE)),
        )
        for pair in pairs
    ]
    return StudyTable(
        title=f"Every pair in the nearest reading: {_name(reading)}",
        columns=("pair", "demand", *HEADS),
        rows=tuple(rows),
        formats=("", ".2f", *(".3f",) * len(HEADS)),
    )


def _name(reading: Reading) -> str:
    copied, link, kernels = reading.words()
    return f"{copied:g} GB/s, {link}, kernels {kernels}"


def _sentences(played: Mapping[Reading, Sequence[Pair]], best: Reading) -> list[str]:
    numbers = ", ".join(f"{it:+.1%}" for it in _found(played[best]))
    said = ", ".join(f"{it:+.1%}" for it in _said())
    return [
        "The paper leaves three things open: how fast copies are, what the switches share, and "
        "how long kernels take. Pinned copies reach 13 GB/s over PCIe 3 and 26 over PCIe 4. Less "
        "favourable copies reach 10 over PCIe 3. Kernels are given (MGPUSim's) or computed "
        "(inside our own GPU). Nothing is fitted, and all readings are played over the same 28 "
        "pairs.",
        f"**The nearest is {_name(best)}.**",
        f"It gives {numbers} where the paper has {said}. That is {100 * _apart(played[best]):.1f} "
        "points apart in the mean.",
    ]


def _large(played: Mapping[Reading, Sequence[Pair]]) -> list[str]:
    """Says how the large task fares."""

    def of(copied: float, root: bool) -> list[float]:
        return [
            gains(pairs, "small first", LARGE)
            for reading, pairs in played.items()
            if reading.layout.rate == copied * 1e9 and reading.layout.root is root
        ]

    ports = {copied: of(copied, False) for copied in (10.0, 13.0, 26.0)}
    worse = sum(gains(pairs, "small first", LARGE) < 0 for pairs in played.values())
    given = ", ".join(f"{each[0]:+.1%}" for each in ports.values())
    return [
        "**The large task loses nothing only over PCIe 4 with the given kernels, as an "
        f"artefact.** It loses in {worse} of the {len(played)} readings. With a port for each "
        f"switch and given kernels it gets {given} at 10, 13 and 26 GB/s. The paper has "
        f"{_said()[3]:+.1%}. Over the slower bus copies take more of an iteration. Then it waits "
        "longer for short copies than it gains by having the link to one of its two GPUs at a "
        "time."
    ]
