"""Compares trees that take turns on a link, by streams that are reused, with such that do not."""

from __future__ import annotations

from collections.abc import Sequence

from linkwright import System, plan
from linkwright.names import AlgorithmName, CollectiveName
from linkwright.studies.blink.allocations import MACHINES, unique
from linkwright.studies.blink.measure import LARGE, Progress, maximum_and_mean, named, timed
from linkwright.studies.tables import Cell, Section, StudyTable

__all__ = ["streams"]

MACHINE = MACHINES[0]
COLLECTIVES: tuple[CollectiveName, ...] = ("broadcast", "all-reduce")
# A quick study plays each twelfth allocation.
QUICK_EVERY = 12
# Below this nothing is gained.
LEVEL = 1.005


def streams(
    contestants: Sequence[AlgorithmName], *, quick: bool = False, progress: Progress | None = None
) -> Section:
    """Makes the section on reusing streams.

    Args:
        contestants: Who packs trees.
        quick: Few allocations.
        progress: Called with the stage, the allocations done, and those in all.
    """
    machine = System(MACHINE)
    places = unique(MACHINE)[:: QUICK_EVERY if quick else 1]
    gains: dict[tuple[CollectiveName, AlgorithmName], list[float]] = {}
    for done, gpus in enumerate(places, 1):
        for collective in COLLECTIVES:
            for algorithm in contestants:
                [reused] = timed(machine, gpus, collective, algorithm)
                apart = plan(
                    machine, gpus, collective, algorithm=algorithm, size=LARGE, stream_reuse=False
                )
                gain = apart.time(LARGE).time / reused.seconds
                gains.setdefault((collective, algorithm), []).append(gain)
        if progress is not None:
            progress("streams", done, len(places))
    rows: list[tuple[Cell, ...]] = []
    for (collective, algorithm), found in gains.items():
        where = named(places[found.index(max(found))])
        gained = sum(gain > LEVEL for gain in found)
        rows.append(
            (collective, algorithm, len(found), gained, *maximum_and_mean(found), where, min(found))
        )
    return Section(
        title="Reusing streams",
        text=[
            "Blink's code generator gives trees that share a link the same CUDA stream. So they "
            "take turns on it, each in proportion to its data. With a stream for each, as under "
            "`--no-stream-reuse` of `linkwright collective plan`, `time` and `compare`, they get "
            f"equal parts of it. The data are {LARGE >> 20} MiB on {len(places)} allocations of "
            f"`{MACHINE}`, and each way has the best of its plans and chunks.",
        ],
        tables=[
            StudyTable(
                title="Gain by reusing streams, reproduced: times as fast as without",
                columns=(
                    "collective",
                    "algorithm",
                    "allocations",
                    "that gain",
                    "most",
                    "mean",
                    "most on GPUs",
                    "least",
                ),
                rows=tuple(rows),
                formats=("", "", "", "", ".3f", ".3f", "", ".3f"),
                note=(
                    "The paper gives no figure for it. Equal parts hold up the tree that has most "
                    "of a link's data. Turns help trees of equal data, too: a chunk that has the "
                    "link alone arrives sooner, and is passed on sooner."
                ),
            )
        ],
    )
