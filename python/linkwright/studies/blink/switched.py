"""Plays all-reduce on the 16 GPUs of a DGX-2, by size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow

from linkwright import System, expect
from linkwright.names import AlgorithmName, ProcessesName, ProtocolName
from linkwright.studies.blink.charts import speedup_by_size
from linkwright.studies.blink.measure import ONE_HOP, Progress, plan_for
from linkwright.studies.blink.published import published
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["LAUNCHES", "Times", "played", "switched"]

MACHINE = "dgx2"
SIZES = tuple(1 << power for power in range(10, 31, 2))
QUICK_LARGEST = 64 << 20
RIVALS: tuple[AlgorithmName, ...] = ("nccl-classic", "nccl-ring", "nccl-tree")
# Up to which size a protocol is tried; beyond, the loss of bandwidth outweighs its latency.
PROTOCOLS: dict[ProtocolName, int] = {"LL": 4 << 20, "LL128": 16 << 20, "Simple": 1 << 62}
# LL128 came with NCCL 2.5.
NOT_OF_ITS_TIME = "LL128"
# Sixteen GPUs are launched by one thread, one after another or (NCCL up to 2.8) at once. Or a
# process for each launches it, as frameworks and MPI run them.
LAUNCHES: dict[str, ProcessesName] = {
    "one process": "one",
    "a group launch": "group",
    "one process a GPU": "each",
}
SHOWN = "one process a GPU"
# The release whose choice stands beside `nccl-classic`.
RELEASE = "2.4"


@dataclass(frozen=True)
class Times:
    """Holds what algorithms take, in seconds, by how they are launched.

    Attributes:
        sizes: Bytes.
        best: By launch, algorithm and size, with the fastest protocol.
        simple: By launch and size, of `one-hop` in Simple.
    """

    sizes: Sequence[int]
    best: Mapping[str, Mapping[str, Mapping[int, float]]]
    simple: Mapping[str, Mapping[int, float]]

    def gains(self, launch: str, rival: str, *, simple: bool = False) -> dict[int, float]:
        """Gives by size how many times as fast as the rival `one-hop` is."""
        ours = self.simple[launch] if simple else self.best[launch][ONE_HOP]
        return {size: self.best[launch][rival][size] / ours[size] for size in self.sizes}

    def claims(self, launch: str, rival: str, *, simple: bool = False) -> tuple[float, float]:
        """Gives the gain at the least size, and the largest at any."""
        gains = self.gains(launch, rival, simple=simple)
        return gains[self.sizes[0]], max(gains.values())


def played(sizes: Sequence[int], progress: Progress | None = None) -> Times:
    """Plays every algorithm with the protocols that are worth while at each size.

    A launch comes before anything moves, so that all sizes are played under one of the readings.
    """
    names = (ONE_HOP, *RIVALS)
    machine = System(MACHINE)
    gpus = range(machine.gpu_count)
    found: dict[str, dict[int, dict[str, float]]] = {}
    later: dict[str, float] = {}
    for done, name in enumerate(names, 1):
        found[name] = {}
        for size in sizes:
            schedule = plan_for(machine, gpus, "all-reduce", name, size)
            found[name][size] = {
                protocol: schedule.time(size, protocol=protocol, processes=LAUNCHES[SHOWN]).time
                for protocol, most in PROTOCOLS.items()
                if size <= most and not (name == RIVALS[0] and protocol == NOT_OF_ITS_TIME)
            }
            if not later:
                times = {
                    launch: schedule.time(size, processes=processes).time
                    for launch, processes in LAUNCHES.items()
                }
                later = {launch: time - times[SHOWN] for launch, time in times.items()}
        if progress is not None:
            progress("all-reduce on a DGX-2", done, len(names))
    best: dict[str, dict[str, dict[int, float]]] = {
        launch: {
            name: {size: min(by.values()) + more for size, by in found[name].items()}
            for name in names
        }
        for launch, more in later.items()
    }
    simple = {
        launch: {size: by["Simple"] + more for size, by in found[ONE_HOP].items()}
        for launch, more in later.items()
    }
    return Times(sizes, best, simple)


def switched(*, quick: bool = False, progress: Progress | None = None) -> Section:
    """Writes the section on the DGX-2."""
    times = played([size for size in SIZES if not quick or size <= QUICK_LARGEST], progress)
    drawn = [(SHOWN, rival) for rival in RIVALS]
    drawn += [(launch, RIVALS[0]) for launch in LAUNCHES if launch != SHOWN]
    rows = [
        {"size": size, "comparison": f"against {rival}, {launch}", "speedup": gain}
        for launch, rival in drawn
        for size, gain in times.gains(launch, rival).items()
    ]
    return Section(
        title="All-reduce on the 16 GPUs of a DGX-2",
        text=[
            "Each GPU has a star of one hop with a sixteenth of the data. The rivals are NCCL's "
            "rings and chains. Every NCCL takes the fastest of its protocols at each size (LL, "
            "LL128, Simple; `nccl-classic` has no LL128). For `one-hop` there are two readings. A "
            "schedule that is exported to MSCCL gets the fastest protocol. Simple is nearer to "
            "the copies that Blink issues.",
            "The time of small data depends on how sixteen GPUs are launched, and the talk does "
            "not say that. There are three readings, for both sides. One process launches on one "
            "GPU after another, or on all as a group, as NCCL up to 2.8 does. Or each GPU has a "
            "process of its own, as frameworks and MPI run them. `--processes` of `linkwright "
            "collective time` and `compare` says which.",
        ],
        tables=[_claims(times), _times(times), _beside_the_release(times)],
        figures={
            "blink-dgx2": speedup_by_size(
                rows,
                "All-reduce by one-hop on a DGX-2, 16 GPUs",
                "Modelled: how many times as fast as each NCCL.",
            )
        },
    )


def _claims(times: Times) -> StudyTable:
    entry = published()["switched"]
    published_of = {
        "latency, least size": entry["latency_maximum"],
        "throughput, any size": entry["throughput_maximum"],
    }
    rows: list[tuple[Cell, ...]] = []
    for launch in LAUNCHES:
        for rival in RIVALS:
            claims = [times.claims(launch, rival, simple=simple) for simple in (False, True)]
            for (what, said), cells in zip(
                published_of.items(), zip(*claims, strict=True), strict=True
            ):
                rows.append((launch, what, rival, said if rival == RIVALS[0] else None, *cells))
    return StudyTable(
        title="The gain of one-hop trees, published beside reproduced: times as fast at most",
        columns=("launches", "what", "against", "published", "best protocols", "one-hop in Simple"),
        rows=tuple(rows),
        formats=("", "", "", *(".2f",) * 3),
        note=_note(times, list(published_of.values())),
    )


def _note(times: Times, said: Sequence[float]) -> str:
    found = {launch: times.claims(launch, RIVALS[0]) for launch in LAUNCHES}

    def off(launch: str, at: int) -> float:
        return abs(math.log(found[launch][at] / said[at]))

    nearest = min(LAUNCHES, key=lambda launch: off(launch, 0) + off(launch, 1))
    by_claim = [
        min(LAUNCHES, key=lambda launch: off(launch, 0)),
        min(LAUNCHES, key=lambda launch: off(launch, 1)),
    ]
    latency, throughput = found[nearest]
    largest = times.sizes[-1]
    return (
        f"Of the readings {nearest} is the nearest to both figures together: {latency:.2f} and "
        f"{throughput:.2f} beside {said[0]:.2f} and {said[1]:.2f}. The nearest to the latency "
        f"alone is {by_claim[0]} ({found[by_claim[0]][0]:.2f}), to the throughput alone "
        f"{by_claim[1]} ({found[by_claim[1]][1]:.2f}). The win is one of latency: a ring takes "
        "thirty steps where a star takes two. It shrinks with size. With long data nothing is "
        f"left (at {_binary(largest)} {times.gains(SHOWN, RIVALS[1])[largest]:.2f} against "
        f"`{RIVALS[1]}`): rings use all bandwidth of a switched machine, too."
    )


def _times(times: Times) -> StudyTable:
    best, least = times.best[SHOWN], times.sizes[0]
    rows: list[tuple[Cell, ...]] = []
    for size in times.sizes:
        cells = [times.simple[SHOWN][size] * 1e6, *(by[size] * 1e6 for by in best.values())]
        gained = [times.gains(SHOWN, rival)[size] for rival in RIVALS]
        rows.append((_binary(size), *cells, *gained))
    added = " and ".join(
        f"{(times.best[launch][ONE_HOP][least] - best[ONE_HOP][least]) * 1e6:.1f} us under {launch}"
        for launch in LAUNCHES
        if launch != SHOWN
    )
    return StudyTable(
        title=(
            f"All-reduce on 16 GPUs by size, {SHOWN}, reproduced: microseconds, and times as fast"
        ),
        columns=(
            "size",
            f"{ONE_HOP} in Simple",
            *best,
            *(f"{ONE_HOP} over {rival}" for rival in RIVALS),
        ),
        rows=tuple(rows),
        formats=("", *(".1f",) * (len(best) + 1), *(".2f",) * len(RIVALS)),
        note=f"Every time is longer by {added}.",
    )


def _beside_the_release(times: Times) -> StudyTable:
    machine = System(MACHINE)
    table = expect(
        machine,
        range(machine.gpu_count),
        "all-reduce",
        times.sizes,
        nccl=RELEASE,
        processes=LAUNCHES[SHOWN],
    )
    rows: list[tuple[Cell, ...]] = []
    apart: list[float] = []
    for row in pyarrow.table(table).to_pylist():
        size, time = row["size"], row["time"]
        classic, ours = (times.best[SHOWN][name][size] for name in (RIVALS[0], ONE_HOP))
        ways = (row["protocol"], row["channels"])
        rows.append((_binary(size), classic * 1e6, time * 1e6, *ways, classic / time, time / ours))
        apart.append(abs(classic / time - 1))
    return StudyTable(
        title=f"{RIVALS[0]} beside what NCCL {RELEASE} chooses, {SHOWN}, reproduced: microseconds",
        columns=(
            "size",
            RIVALS[0],
            f"NCCL {RELEASE}'s choice",
            "its protocol",
            "its channels",
            f"{RIVALS[0]} over it",
            f"{ONE_HOP} over NCCL {RELEASE}'s choice (times as fast)",
        ),
        rows=tuple(rows),
        formats=("", ".1f", ".1f", "", "", ".2f", ".2f"),
        note=(
            f"`{RIVALS[0]}` has as many channels as that time's rings at every size. `linkwright "
            f"collective expect --nccl {RELEASE}` has what the release chooses, from one channel "
            f"for the least data to all for long. With the same launches they are {apart[0]:.0%} "
            f"apart at the least size and {apart[-1]:.0%} at the largest. There more channels "
            "than rings fill the gaps. Between, the choice of channels is the better. By default "
            f"`{RIVALS[0]}` is launched as all plans are, so plans compare. NCCL {RELEASE} is "
            "launched as the group that it launches. `--processes group` launches both so."
        ),
    )


def _binary(size: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size >> 10} KiB"
