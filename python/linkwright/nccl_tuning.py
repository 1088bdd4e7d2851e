"""A tuner's file for stock NCCL: what to run for each size, by the clock of linkwright.

NCCL runs the cell of algorithm and protocol that costs least in its own model. Where the clock says
that another of its cells is faster by more than the error bar, the file names that one; everywhere
else it names what NCCL runs anyway, with its channels, since a size without a row is slow.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from linkwright import (
    CollectiveError,
    System,
    expect,
    names,
    nccl_choice_ranges,
    nccl_release,
    time_errors,
)
from linkwright.nccl_tuner import LARGEST, LONGEST_LINE, TunerRow

__all__ = ["TunedRow", "Tuning", "tune_nccl"]

# The sizes that are timed, in bytes: those of nccl-tests.
SIZES = [8 << power for power in range(31)]

# A cell is timed where NCCL's own model gives it at most so many times what it gives its choice.
WORTH_TIMING = 4.0

# Algorithms that NCCL has for any type and operation.
FOR_ANY_NUMBERS = ("ring", "tree")

# The first release of NCCL whose example plugin reads a file, and the first whose plugin reads NCCL's
# own table right.
FIRST_WITH_FILE, FIRST_SOUND = "2.27.5", "2.29.7"

# The collectives that NCCL asks a tuner about.
TUNED: list[names.CollectiveName] = [
    "broadcast",
    "reduce",
    "all-gather",
    "reduce-scatter",
    "all-reduce",
]

Cell: TypeAlias = "tuple[names.NcclAlgorithmName, names.ProtocolName]"


@dataclass(frozen=True)
class TunedRow:
    """A row of the file, and why it stands there.

    `reason` is `gain` where it is faster than what NCCL runs by more than the bar, `own` where it is
    what NCCL runs, `other-numbers` where it is that of types and operations for which NCCL has no such
    cell, and `rest` where everything above is refused. The gain is how much longer NCCL's own choice
    takes, at least, as a part; the bar is the largest of the sizes timed.
    """

    row: TunerRow
    reason: str
    instead: Cell | None = None
    gain: float | None = None
    bar: float | None = None


@dataclass(frozen=True)
class Tuning:
    """The rows of a tuner's file in their order, for communicators of so many nodes and ranks."""

    rows: list[TunedRow]
    library: str
    nodes: int
    ranks: int
    notes: list[str]

    def text(self, machine: str) -> str:
        """The file, with the machine's name in its first remark."""
        plain = re.sub(r"[^ -~]", "?", machine)
        lines = [
            f"# linkwright: {self.library}, {self.nodes} nodes, {self.ranks} ranks of {plain}",
            "# Communicators of other nodes or ranks find no row, and run on one channel.",
        ]
        for tuned in self.rows:
            if tuned.gain is not None and tuned.instead is not None:
                lines.append(
                    f"# gain {tuned.gain:.0%} (bar {tuned.bar:.0%}) "
                    f"over {' '.join(tuned.instead)}, which is NCCL's own choice"
                )
            lines.append(tuned.row.line)
        return "".join(f"{line[: LONGEST_LINE - 1]}\n" for line in lines)


@dataclass(frozen=True)
class _Range:
    """Sizes for which NCCL chooses the same: its cells with their channels, its own choice first."""

    first: int
    last: int
    cells: list[tuple[Cell, int, float]]

    def channels(self, cell: Cell) -> int:
        return next(channels for known, channels, _ in self.cells if known == cell)

    @property
    def own(self) -> Cell:
        return self.cells[0][0]

    @property
    def plain(self) -> Cell | None:
        found = (cell for cell, _, _ in self.cells if cell[0] in FOR_ANY_NUMBERS)
        return next(found, None)


@dataclass(frozen=True)
class _Gain:
    """Sizes from the first to the last for which a cell beats NCCL's own by more than the bar."""

    first: int
    last: int
    cell: Cell
    gain: float
    bar: float


def tune_nccl(system: System, gpus: Sequence[int], *, nccl: str | None = None) -> Tuning:
    """What a tuner's file should say for a job: all five collectives, and all sizes.

    Args:
        system: Whose links carry it.
        gpus: The job's GPUs by their ids, two or more.
        nccl: NCCL's version, 2.27 or later; the newest that is known if absent.

    Raises:
        CollectiveError: If the GPUs do not fit the system, RCCL runs there, or the version has no
            plugin that reads a file.
    """
    ids = list(gpus)
    library, note = nccl_release(system, ids, nccl=nccl)
    if not library.startswith("NCCL"):
        raise CollectiveError(
            f"{library} runs on `{system.name}`, and the plugin is of NCCL",
            "name a machine with NVIDIA's GPUs",
        )
    notes = ([note] if note else []) + _notes_on(nccl)
    nodes = len({system.server_of(gpu) for gpu in ids})
    rows: list[TunedRow] = []
    for name in TUNED:
        ranges = _ranges(system, ids, name, nccl)
        gains = _gains(system, ids, name, ranges, nccl)
        rows += _rows(name, ranges, gains, nodes, len(ids))
    return Tuning(rows, library, nodes, len(ids), notes)


def _notes_on(nccl: str | None) -> list[str]:
    """What to know of the plugin of a release; none where it is sound.

    Raises:
        CollectiveError: If it reads no file.
    """
    given = [int(part) for part in re.findall(r"[0-9]{1,6}", nccl or "")][:3]
    if not given:
        return []
    # A release without its last number is the newest of that name.
    whole = (given + [99] * 3)[:3]
    if whole < [int(part) for part in FIRST_WITH_FILE.split(".")]:
        raise CollectiveError(
            f"the example plugin of NCCL {nccl} reads no file",
            f"it does since NCCL {FIRST_WITH_FILE}; name that or a later one by nccl",
        )
    if whole < [int(part) for part in FIRST_SOUND.split(".")]:
        loads = (
            "NCCL from 2.28 on loads it"
            if whole >= [2, 28, 0]
            else "NCCL 2.27 loads only its own, which needs a cast of the table as later ones have it"
        )
        return [
            f"the plugins from {FIRST_WITH_FILE} to before {FIRST_SOUND} take NCCL's table of costs for "
            f"one of pointers, and crash at the first row that matches: build that of {FIRST_SOUND} or "
            f"later; {loads}"
        ]
    return []


def _ranges(
    system: System, gpus: list[int], collective: names.CollectiveName, nccl: str | None
) -> list[_Range]:
    found: list[_Range] = []
    for row in nccl_choice_ranges(system, gpus, collective, nccl=nccl):
        if not found or found[-1].first != row["first"]:
            found.append(_Range(row["first"], row["last"], []))
        cell = (row["algorithm"], row["protocol"])
        found[-1].cells.append((cell, row["channels"], row["model_time"]))
    return found


def _at(ranges: list[_Range], size: int) -> _Range:
    return ranges[bisect_right(ranges, size, key=lambda each: each.first) - 1]


def _gains(
    system: System,
    gpus: list[int],
    collective: names.CollectiveName,
    ranges: list[_Range],
    nccl: str | None,
) -> list[_Gain]:
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
) -> Iterator[_Gain]:
    """Gains between sizes that were timed: what holds at both ends holds between them."""
    for run in runs:
        found = [best[at] for at in run]
        times = [time for time, _ in filter(None, found)]
        first = 0 if run[0] == 0 else SIZES[run[0]]
        last = LARGEST if run[-1] == len(SIZES) - 1 else SIZES[run[-1]]
        cell = found[0]
        if cell is None or first == last:
            continue
        gain = min(own[at] / time - 1 for at, time in zip(run, times, strict=True))
        yield _Gain(first, last, cell[1], gain, max(bars[at] for at in run))


def _is_worth(found: _Range, cell: Cell) -> bool:
    """Whether a cell that is not NCCL's own is near enough in its model to be timed."""
    times = {known: time for known, _, time in found.cells}
    return cell != found.own and cell in times and times[cell] <= WORTH_TIMING * times[found.own]


def _bars(
    system: System, gpus: list[int], collective: names.CollectiveName, algorithms: list[str]
) -> list[float]:
    found = time_errors(system, gpus, SIZES, collective=collective, algorithms=algorithms)
    return [row["ninetieth"] for row in found]


def _rows(
    collective: str, ranges: list[_Range], gains: list[_Gain], nodes: int, ranks: int
) -> list[TunedRow]:
    def row(first: int, last: int, cell: Cell, channels: int) -> TunerRow:
        return TunerRow(collective, first, last, *cell, channels, nodes, ranks)

    rows: list[TunedRow] = []
    for each in ranges:
        for first, last, gain in _pieces(each, gains):
            if gain is None:
                made = TunedRow(row(first, last, each.own, each.channels(each.own)), "own")
            else:
                named = row(first, last, gain.cell, each.channels(gain.cell))
                made = TunedRow(named, "gain", each.own, gain.gain, gain.bar)
            rows.append(made)
    rows = _joined(rows)
    special = [it.row for it in rows if it.row.algorithm not in FOR_ANY_NUMBERS]
    if special:
        first, last = special[0].first, special[-1].last
        plain = [
            TunedRow(
                row(max(each.first, first), min(each.last, last), cell, each.channels(cell)),
                "other-numbers",
            )
            for each in ranges
            if (cell := each.plain) and each.first <= last and each.last >= first
        ]
        rows += _joined(plain)
    most = max(channels for each in ranges for _, channels, _ in each.cells)
    rows.append(TunedRow(row(0, LARGEST, ("ring", "Simple"), most), "rest"))
    return rows


def _pieces(each: _Range, gains: list[_Gain]) -> Iterator[tuple[int, int, _Gain | None]]:
    """The parts of a range in which a gain holds, and those in which none does."""
    start = each.first
    for gain in gains:
        if gain.last < start or gain.first > each.last:
            continue
        if gain.first > start:
            yield start, gain.first - 1, None
            start = gain.first
        end = min(gain.last, each.last)
        # What NCCL comes to run by itself somewhere between is no gain.
        yield start, end, gain if gain.cell != each.own else None
        start = end + 1
    if start <= each.last:
        yield start, each.last, None


def _joined(rows: list[TunedRow]) -> list[TunedRow]:
    """Rows that follow each other and say the same, as one."""
    found: list[TunedRow] = []
    for tuned in rows:
        last = found[-1] if found else None
        same = last is not None and (last.row.cell, last.row.channels, last.reason, last.instead) == (
            tuned.row.cell,
            tuned.row.channels,
            tuned.reason,
            tuned.instead,
        )
        if last is not None and same:
            found[-1] = replace(last, row=replace(last.row, last=tuned.row.last))
        else:
            found.append(tuned)
    return found
