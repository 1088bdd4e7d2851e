"""The unique allocations: which sets of GPUs differ by more than their ids."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations, groupby, permutations, product

from linkwright import System
from linkwright.studies.blink.published import published
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["MACHINES", "SIZES", "allocations", "canonical_form", "link_counts", "unique"]

MACHINES = ("dgx1-v100", "dgx1-p100")
SIZES = range(3, 9)

Counts = Sequence[Sequence[int]]


def allocations() -> Section:
    """The section on how many unique allocations there are."""
    found = {machine: unique(machine) for machine in MACHINES}
    rows: list[tuple[Cell, ...]] = [
        (size, *(sum(len(gpus) == size for gpus in found[machine]) for machine in MACHINES))
        for size in SIZES
    ]
    rows.append(("all", *(len(found[machine]) for machine in MACHINES)))
    rows.append(("all, published", *(published()["allocations"][name] for name in MACHINES)))
    return Section(
        title="Unique allocations",
        text=[
            "A job of three to eight GPUs can get many sets of them, most alike. Two sets are one "
            "class if some numbering gives both the same number of NVLinks on every pair. The "
            "table counts sets that NVLink joins.",
        ],
        tables=[
            StudyTable(
                title="Classes of allocations that NVLink joins, by the number of GPUs",
                columns=("GPUs", *MACHINES),
                rows=tuple(rows),
                note=(
                    "Both counts are as published. All NVLinks of a DGX-1P are single ones. Those "
                    "of a DGX-1V are single or double, so it has more classes on the same pairs."
                ),
            )
        ],
    )


@cache
def unique(preset: str) -> tuple[tuple[int, ...], ...]:
    """The lowest ids of every class of sets of three to eight GPUs that NVLink joins."""
    machine = System(preset)
    counts = link_counts(machine)
    classes: dict[tuple[int, ...], tuple[int, ...]] = {}
    for size in SIZES:
        for gpus in combinations(range(machine.gpu_count), size):
            if _joined(counts, gpus):
                classes.setdefault(canonical_form(counts, gpus), gpus)
    return tuple(classes.values())


def link_counts(machine: System) -> list[list[int]]:
    """Counts the NVLinks that join each pair of GPUs."""
    return [
        [int(label[2:]) if label.startswith("NV") else 0 for label, _ in row]
        for row in machine.gpu_matrix()
    ]


def canonical_form(counts: Counts, gpus: Sequence[int]) -> tuple[int, ...]:
    """The link counts of all pairs, in the numbering that makes them least.

    Only numberings in the order of the GPUs' own links compete, so that few are tried.
    """

    def own(gpu: int) -> list[int]:
        return sorted(counts[gpu][other] for other in gpus if other != gpu)

    alike = [list(group) for _, group in groupby(sorted(gpus, key=own), key=own)]
    numberings = product(*(permutations(group) for group in alike))
    return min(
        tuple(counts[a][b] for a, b in combinations((gpu for part in parts for gpu in part), 2))
        for parts in numberings
    )


def _joined(counts: Counts, gpus: Sequence[int]) -> bool:
    reached, waiting = {gpus[0]}, [gpus[0]]
    while waiting:
        gpu = waiting.pop()
        fresh = [other for other in gpus if counts[gpu][other] and other not in reached]
        reached.update(fresh)
        waiting += fresh
    return len(reached) == len(gpus)
