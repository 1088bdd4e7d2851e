"""Uses NVLink and PCIe at once, and measures the gain of the hybrid on a DGX-1V."""

from __future__ import annotations

from collections.abc import Sequence

from linkwright import System
from linkwright.names import AlgorithmName, CollectiveName
from linkwright.studies.blink.allocations import MACHINES, SIZES, unique
from linkwright.studies.blink.measure import (
    LARGE,
    Progress,
    maximum_and_mean,
    plan_for,
    timed,
)
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["hybrid"]

ALGORITHM: AlgorithmName = "packing"
# Timing a hybrid all-reduce takes half a second: one class of each size has to do.
ALL_REDUCE: CollectiveName = "all-reduce"


def hybrid(progress: Progress | None = None) -> Section:
    """Writes the section on hybrid transfers."""
    machine = System(MACHINES[0])
    every = unique(MACHINES[0])
    lowest = [tuple(range(size)) for size in SIZES]
    rows: list[tuple[Cell, ...]] = []
    contests: list[tuple[CollectiveName, Sequence[tuple[int, ...]]]] = [
        ("broadcast", every),
        (ALL_REDUCE, lowest),
    ]
    for collective, allocations in contests:
        gains: dict[int, list[float]] = {}
        for done, gpus in enumerate(allocations, 1):
            both = plan_for(machine, gpus, collective, ALGORITHM, LARGE, "hybrid")
            [alone] = timed(machine, gpus, collective, ALGORITHM)
            gain = alone.seconds / both.time(LARGE).time
            gains.setdefault(len(gpus), []).append(gain)
            if progress is not None:
                progress(f"hybrid {collective}", done, len(allocations))
        rows += [
            (collective, size, len(values), *maximum_and_mean(values))
            for size, values in gains.items()
        ]
    return Section(
        title="NVLink and PCIe at once on a DGX-1V",
        text=[
            f"The hybrid splits {LARGE >> 20} MiB such that both classes of links end at once. It "
            "is compared with packing over NVLink alone.",
        ],
        tables=[
            StudyTable(
                title="The gain of the hybrid over NVLink alone, reproduced: times as fast",
                columns=("collective", "GPUs", "classes", "most", "mean"),
                rows=tuple(rows),
                formats=("", "", "", ".2f", ".2f"),
                note=(
                    "The rows of all-reduce are on the lowest ids of each size. Only a figure "
                    "shows the published gain, and the cost of switching peer access. The 0.25 ms "
                    "for each other GPU of the job is an assumption."
                ),
            )
        ],
    )
