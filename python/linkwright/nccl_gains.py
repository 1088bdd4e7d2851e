"""Where another of NCCL's cells beats the one that it runs, by more than the error bar."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from linkwright import System, expect, names
from linkwright.collectives import nccl_choice_ranges, time_errors
from linkwright.nccl_tuner import LARGEST

__all__ = ["FOR_ANY_NUMBERS", "Cell", "ChosenRange", "Gain", "chosen_ranges", "gains_on"]

# An algorithm with a protocol.
Cell: TypeAlias = "tuple[names.NcclAlgorithmName, names.ProtocolName]"

# The sizes that are timed, in bytes, up to 1 GiB: larger data takes as much longer in any cell.
SIZES = [8 << power for power in range(28)]

# A cell is timed where NCCL's own model gives it at most this many times the time of its choice.
WORTH_TIMING = 2.0

# Algorithms that NCCL has for any type and operation.
FOR_ANY_NUMBERS = ("ring", "tree")


@dataclass(frozen=True)
class ChosenRange:
    """Sizes for which NCCL chooses the same: cells, channels and model times, its choice first."""

    first: int
    last: int
    cells: list[tuple[Cell, int, float]]

    def channels(self, cell: Cell) -> int:
        """The channels that NCCL gives one of its cells."""
        return next(channels for known, channels, _ in self.cells if known == cell)

    @property
    def own(self) -> Cell:
        """Gives the cell that NCCL runs."""
        return self.cells[0][0]

    @property
    def plain(self) -> Cell | None:
        """Gives the ring or tree that NCCL runs first; it has those for any type and operation."""
        found = (cell for cell, _, _ in self.cells if cell[0] in FOR_ANY_NUMBERS)
        return next(found, None)


@dataclass(frozen=True)
class Gain:
    """Sizes from the first to the last for which a cell beats NCCL's own by more than the bar."""

    first: int
    last: int
    cell: Cell
    gain: float
    bar: float


def chosen_ranges(
    system: System, gpus: list[int], collective: names.CollectiveName, nccl: str | None
) -> list[ChosenRange]:
    """From which size to which NCCL chooses the same.

    Raises:
        CollectiveError: If the GPUs do not fit the system.
    """
    found: list[ChosenRange] = []
    for row in nccl_choice_ranges(system, gpus, collective, nccl=nccl):
        if not found or found[-1].first != row["first"]:
            found.append(ChosenRange(row["first"], row["last"], []))
        cell = (row["algorithm"], row["protocol"])
        found[-1].cells.append((cell, row["channels"], row["model_time"]))
    return found


def _at(ranges: list[ChosenRange], size: int) -> ChosenRange:
    return ranges[bisect_right(ranges, size, key=lambda each: each.first) - 1]


def gains_on(
    system: System,
    gpus: list[int],
    collective: names.CollectiveName,
    ranges: list[ChosenRange],
    nccl: str | None,
) -> list[Gain]:
    """Where another cell than NCCL's own is faster by more than the error bar, by rising sizes.

    Raises:
        CollectiveError: If the GPUs do not fit the system.
    """
    own = [row["time"] for row in expect(system, gpus, collective, SIZES, nccl=nccl)]
    ran = [_at(ranges, size).own for size in SIZES]
    best: list[tuple[float, Cell] | None] = [None] * len(SIZES)
    for cell in sorted({cell for each in ranges for cell, _, _ in each.cells}):
        worth = [at for at, size in enumerate(SIZES) if _is_worth(_at(ranges, size), cell)]
        if not worth:
            continue
        algorithm, protocol = cell
        sizes = [SIZES[at] for at in worth]
        timed = expect(
            system, gpus, collective, sizes, nccl=nccl, algorithm=algorithm, protocol=protocol
        )
        for at, row in zip(worth, timed, strict=True):
            known = best[at]
            if row["time"] < own[at] and (known is None or row["time"] < known[0]):
                best[at] = row["time"], cell
    bars = _bars(system, gpus, collective, [cell[0] for cell in ran])
    others = [cell[1][0] if cell else known[0] for cell, known in zip(best, ran, strict=True)]
    theirs = _bars(system, gpus, collective, others)
    bars = [max(pair) for pair in zip(bars, theirs, strict=True)]
    runs: list[list[int]] = []
    for at, found in enumerate(best):
        if found is None or own[at] / found[0] - 1 <= bars[at]:
            continue
        last = runs[-1][-1] if runs else None
        before = None if last is None else best[last]
        if last == at - 1 and before is not None and before[1] == found[1]:
            runs[-1].append(at)
        else:
            runs.append([at])
    return list(_spans(runs, best, own, bars))


def _spans(
    runs: list[list[int]],
    best: list[tuple[float, Cell] | None],
    own: list[float],
    bars: list[float],
) -> Iterator[Gain]:
    """Joins sizes that were timed: a gain at both ends holds between them."""
    for run in runs:
        first = 0 if run[0] == 0 else SIZES[run[0]]
        last = LARGEST if run[-1] == len(SIZES) - 1 else SIZES[run[-1]]
        found = [(at, *best_at) for at in run if (best_at := best[at])]
        if first == last or not found:
            continue
        # Of the sizes the one whose gain is nearest to its bar speaks for all.
        told = [(own[at] / time - 1, bars[at]) for at, time, _ in found]
        gain, bar = min(told, key=lambda pair: pair[0] - pair[1])
        yield Gain(first, last, found[0][2], gain, bar)


def _is_worth(found: ChosenRange, cell: Cell) -> bool:
    """Whether a cell that is not NCCL's own is near enough in its model to be timed."""
    times = {known: time for known, _, time in found.cells}
    return cell != found.own and cell in times and times[cell] <= WORTH_TIMING * times[found.own]


def _bars(
    system: System, gpus: list[int], collective: names.CollectiveName, algorithms: Sequence[str]
) -> list[float]:
    found = time_errors(system, gpus, SIZES, collective=collective, algorithms=algorithms)
    return [row["ninetieth"] for row in found]
