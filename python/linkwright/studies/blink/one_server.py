"""Times broadcast and all-reduce on every unique allocation of a DGX-1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from linkwright import System
from linkwright.collectives import bus_factor
from linkwright.names import AlgorithmName, CollectiveName
from linkwright.studies.blink.allocations import MACHINES, unique
from linkwright.studies.blink.charts import speedup_by_allocation
from linkwright.studies.blink.measure import (
    BASELINES,
    LARGE,
    OF_ITS_TIME,
    RECENT,
    Progress,
    Timed,
    maximum_and_mean,
    named,
    timed,
)
from linkwright.studies.blink.published import measured_pcie, published
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["OnAllocation", "one_server", "play"]

# Below this it counts as slower: less is what latencies make at this size.
LEVEL = 0.98


@dataclass(frozen=True)
class OnAllocation:
    """Holds the time of every algorithm on one unique allocation."""

    collective: CollectiveName
    gpus: tuple[int, ...]
    found: dict[str, Timed]

    def speedup(self, algorithm: str, baseline: str) -> float:
        """Says how many times as fast it is as the baseline."""
        return self.found[baseline].seconds / self.found[algorithm].seconds

    def speedup_with_measured_pcie(self, algorithm: str, baseline: str, size: int = LARGE) -> float:
        """The same where PCIe gives the baseline no more than was measured."""
        if self.found[baseline].links != "pcie":
            return self.speedup(algorithm, baseline)
        rate, _ = measured_pcie()
        seconds = size / (rate * 1e9) * bus_factor(self.collective, len(self.gpus))
        return seconds / self.found[algorithm].seconds


def play(
    preset: str,
    collective: CollectiveName,
    algorithms: Sequence[AlgorithmName],
    progress: Progress | None = None,
) -> list[OnAllocation]:
    """Times the algorithms on every unique allocation of a machine."""
    machine = System(preset)
    found = []
    allocations = unique(preset)
    for done, gpus in enumerate(allocations, 1):
        times: dict[str, Timed] = {
            name: timed(machine, gpus, collective, name)[0] for name in algorithms
        }
        found.append(OnAllocation(collective, gpus, times))
        if progress is not None:
            progress(f"{collective} on {preset}", done, len(allocations))
    return found


def one_server(
    collective: CollectiveName,
    contestants: Sequence[AlgorithmName],
    progress: Progress | None = None,
) -> Section:
    """Writes the section on one collective."""
    algorithms = [*contestants, *BASELINES]
    found = {preset: play(preset, collective, algorithms, progress) for preset in MACHINES}
    first = found[MACHINES[0]]
    over_pcie = [each for each in first if each.found[OF_ITS_TIME].links == "pcie"]
    return Section(
        title=f"{collective.capitalize()} on every unique allocation of a DGX-1",
        text=[
            f"{LARGE >> 20} MiB on each of the {len(first)} classes of `{MACHINES[0]}` and the "
            f"{len(found[MACHINES[1]])} of `{MACHINES[1]}`. On {len(over_pcie)} classes of the "
            "first `nccl-classic` finds no ring of NVLinks and goes over PCIe. `nccl-ring` leaves "
            "no class to PCIe.",
        ],
        tables=[
            _summary(collective, found, contestants),
            *(_by_allocation(preset, found[preset], algorithms) for preset in MACHINES),
        ],
        figures={
            f"blink-{collective}": speedup_by_allocation(
                [
                    {
                        "allocation": named(each.gpus),
                        "baseline": baseline,
                        "speedup": each.speedup(contestants[0], baseline),
                    }
                    for each in first
                    for baseline in BASELINES
                ],
                f"{collective.capitalize()} by {contestants[0]} on {MACHINES[0]}, "
                f"{LARGE >> 20} MiB",
            )
        },
    )


def _summary(
    collective: CollectiveName,
    found: dict[str, list[OnAllocation]],
    contestants: Sequence[AlgorithmName],
) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    entry = published()[collective]
    for preset, allocations in found.items():
        for baseline in BASELINES:
            for algorithm in contestants:
                said: list[Cell] = [None, None]
                real: list[Cell] = [None, None]
                if preset == MACHINES[0] and baseline == OF_ITS_TIME:
                    said = [entry["maximum"], entry["mean"]]
                    real = [
                        *maximum_and_mean(
                            [
                                each.speedup_with_measured_pcie(algorithm, baseline)
                                for each in allocations
                            ]
                        )
                    ]
                most, mean = maximum_and_mean(
                    [each.speedup(algorithm, baseline) for each in allocations]
                )
                pairs = [said[0], most, real[0], said[1], mean, real[1]]
                rows.append((preset, algorithm, baseline, *pairs))
    rate, _ = measured_pcie()
    return StudyTable(
        title=f"Speed-up of {collective}: most and geometric mean, published beside reproduced",
        columns=(
            "machine",
            "algorithm",
            "against",
            "most, published",
            "reproduced",
            f"at {rate:g} GB/s PCIe",
            "mean, published",
            "reproduced ",
            f"at {rate:g} GB/s PCIe ",
        ),
        rows=tuple(rows),
        formats=("", "", "", *(".2f",) * 6),
        note=_note(collective, found[MACHINES[0]], contestants),
    )


def _note(
    collective: CollectiveName, found: Sequence[OnAllocation], contestants: Sequence[AlgorithmName]
) -> str:
    rate, source = measured_pcie()
    reached = [
        each.found[OF_ITS_TIME].bandwidth * bus_factor(collective, len(each.gpus))
        for each in found
        if each.found[OF_ITS_TIME].links == "pcie"
    ]
    sentences = [
        f"Over PCIe the model gives a bus bandwidth of {fmean(reached):.0f} GB/s, as copies on an "
        f"idle server reach it. NCCL got about {rate:g} GB/s on four GPUs without a ring "
        f"({source}). The columns at {rate:g} GB/s take this for every class that `{OF_ITS_TIME}` "
        "leaves to PCIe. For other than four GPUs that is an extrapolation. The published maximum "
        "lies between both readings.",
    ]
    if collective == "all-reduce":
        sentences.append(
            "The model charges nothing for adding numbers up, so an all-reduce over trees "
            "is as fast as a broadcast. On real GPUs it is not."
        )
    for algorithm in contestants:
        gained = [each.speedup(algorithm, RECENT) for each in found]
        slower = sum(each < LEVEL for each in gained)
        _, mean = maximum_and_mean(gained)
        lost = f", by {1 - min(gained):.0%} at most" if slower else ""
        sentences.append(
            f"Against NCCL 2.18 (`{RECENT}`) the geometric mean of `{algorithm}` is {mean:.2f}. "
            f"It is slower on {slower} of {len(found)} classes{lost}."
        )
    if collective == "broadcast":
        sentences.append(
            "So the win mostly disappears: a ring that relays through a GPU has taken PCIe's place."
        )
    return " ".join(sentences)


def _by_allocation(
    preset: str, found: Sequence[OnAllocation], algorithms: Sequence[AlgorithmName]
) -> StudyTable:
    contestants = [name for name in algorithms if name not in BASELINES]
    rows = []
    for each in found:
        cells: list[Cell] = [named(each.gpus)]
        cells += [each.found[name].bandwidth for name in algorithms]
        cells.append(each.found[OF_ITS_TIME].links)
        cells += [
            each.speedup(algorithm, baseline) for algorithm in contestants for baseline in BASELINES
        ]
        rows.append(tuple(cells))
    return StudyTable(
        title=f"{found[0].collective.capitalize()} on {preset}, reproduced: GB/s of the size",
        columns=(
            "GPUs",
            *algorithms,
            f"links of {OF_ITS_TIME}",
            *(
                f"{algorithm} over {baseline}"
                for algorithm in contestants
                for baseline in BASELINES
            ),
        ),
        rows=tuple(rows),
        formats=("", *(".1f",) * len(algorithms), "", *(".2f",) * (2 * len(contestants))),
    )
