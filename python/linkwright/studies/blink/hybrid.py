"""NVLink and PCIe at once: what the hybrid gains on a DGX-1V."""

from __future__ import annotations

from linkwright import CollectiveError, Machine, plan
from linkwright.studies.blink.allocations import MACHINES, unique
from linkwright.studies.blink.measure import LARGE, Progress, maximum_and_mean
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["hybrid"]

LINKS = "hybrid"
COLLECTIVES = ("broadcast", "all-reduce")


def hybrid(progress: Progress | None = None) -> Section | None:
    """The section on hybrid transfers; None where no planner makes them."""
    machine = Machine.preset(MACHINES[0])
    allocations = unique(MACHINES[0])
    try:
        plan(machine, allocations[0], COLLECTIVES[0], links=LINKS)
    except CollectiveError:
        return None
    rows: list[tuple[Cell, ...]] = []
    for collective in COLLECTIVES:
        gains: dict[int, list[float]] = {}
        for done, gpus in enumerate(allocations, 1):
            both, alone = (
                plan(machine, gpus, collective, links=links) for links in (LINKS, "auto")
            )
            gain = alone.time(LARGE).time / both.time(LARGE).time
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
            f"{LARGE >> 20} MiB, split such that both classes of links end at once, against "
            "packing over NVLink alone.",
        ],
        tables=[
            StudyTable(
                title="What the hybrid gains over NVLink alone, reproduced: times as fast",
                columns=("collective", "GPUs", "classes", "most", "mean"),
                rows=tuple(rows),
                formats=("", "", "", ".2f", ".2f"),
                note="The published gain is known by a figure only.",
            )
        ],
    )
