"""Makes a tuner's file for stock NCCL, by the clock of linkwright.

NCCL runs the cell of algorithm and protocol that costs least in its own model. The file names
another cell where the clock says that it is faster by more than the error bar. Everywhere else it
names NCCL's own cell with its channels, since a size without a row is slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linkwright import System, names
from linkwright.collectives import nccl_release
from linkwright.errors import CollectiveError
from linkwright.nccl_gains import (
    FOR_ANY_NUMBERS,
    Cell,
    ChosenRange,
    Gain,
    chosen_ranges,
    gains_on,
)
from linkwright.nccl_tuner import LARGEST, LONGEST_LINE, TunerRow

__all__ = ["TunedRow", "Tuning", "tune_nccl"]

# From these releases of NCCL on the example plugin reads a file, and NCCL's table of costs as it is
# laid out.
FIRST_WITH_FILE, FIRST_SOUND = "2.27.5", "2.30.3"

# The collectives that NCCL asks a tuner about. The plugin goes through rows one after another at
# every call, so that what most jobs wait for comes first.
TUNED: list[names.CollectiveName] = [
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "broadcast",
    "reduce",
]


@dataclass(frozen=True)
class TunedRow:
    """A row of the file, and why it stands there.

    `reason` is `gain` where it is faster than what NCCL runs by more than the bar, and `own` where
    it is what NCCL runs. It is `other-numbers` where it is for types and operations for which NCCL
    has no such cell above, and `rest` where NCCL refuses everything above. The gain is how much
    longer NCCL's own choice takes, as a part, and the bar the larger error bar of both. Of the
    sizes timed they are those where the two are nearest to each other.
    """

    row: TunerRow
    reason: str
    instead: Cell | None = None
    gain: float | None = None
    bar: float | None = None


@dataclass(frozen=True)
class Tuning:
    """Holds the rows of a tuner's file, for communicators of these nodes and ranks."""

    rows: list[TunedRow]
    library: str
    nodes: int
    ranks: int
    notes: list[str]

    def text(self, machine: str) -> str:
        """Writes the file, with the machine's name in its first remark."""
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


def tune_nccl(system: System, gpus: Sequence[int], *, nccl: str | None = None) -> Tuning:
    """Makes the rows of a job: of all five collectives, and of all sizes.

    Args:
        system: Whose links carry it.
        gpus: The job's GPUs by their ids, two or more.
        nccl: NCCL's version, 2.27 or later. If absent, it is the newest that is known.

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
    others: list[TunedRow] = []
    for name in TUNED:
        ranges = chosen_ranges(system, ids, name, nccl)
        gains = gains_on(system, ids, name, ranges, nccl)
        writer = _Writer(name, ranges, nodes, len(ids))
        first = writer.first_choice(gains)
        rows += first
        others += writer.others(first)
    return Tuning(rows + others, library, nodes, len(ids), notes)


def _notes_on(nccl: str | None) -> list[str]:
    """Says what is wrong with the plugin of a release; none where it is sound.

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
            "which NCCL loads from 2.28 on"
            if whole >= [2, 28, 0]
            else "or give that of 2.27 the later one's cast, as NCCL 2.27 loads no later plugin"
        )
        return [
            f"the example plugins before NCCL {FIRST_SOUND} take the table of costs for one of "
            f"pointers, and crash at the first row that matches: build that of {FIRST_SOUND} or "
            f"later, {loads}"
        ]
    return []


class _Writer:
    """Makes the rows of one collective for communicators of one size."""

    def __init__(self, collective: str, ranges: list[ChosenRange], nodes: int, ranks: int) -> None:
        self.collective, self.ranges, self.nodes, self.ranks = collective, ranges, nodes, ranks

    def row(self, first: int, last: int, cell: Cell, channels: int) -> TunerRow:
        return TunerRow(self.collective, first, last, *cell, channels, self.nodes, self.ranks)

    def first_choice(self, gains: list[Gain]) -> list[TunedRow]:
        """Gives each size its row."""
        rows: list[TunedRow] = []
        for each in self.ranges:
            for first, last, gain in _pieces(each, gains):
                if gain is None:
                    own = self.row(first, last, each.own, each.channels(each.own))
                    rows.append(TunedRow(own, "own"))
                else:
                    named = self.row(first, last, gain.cell, each.channels(gain.cell))
                    rows.append(TunedRow(named, "gain", each.own, gain.gain, gain.bar))
        return _joined(rows)

    def others(self, before: list[TunedRow]) -> list[TunedRow]:
        """Gives the rows for where NCCL refuses those before."""
        rows: list[TunedRow] = []
        special = [it.row for it in before if it.row.algorithm not in FOR_ANY_NUMBERS]
        if special:
            least, most = special[0].first, special[-1].last
            for each in self.ranges:
                cell, first, last = each.plain, max(each.first, least), min(each.last, most)
                if cell is not None and first <= last:
                    made = self.row(first, last, cell, each.channels(cell))
                    rows.append(TunedRow(made, "other-numbers"))
        cells = [cell for each in self.ranges for cell in each.cells]
        channels = max(number for cell, number, _ in cells if cell[0] in FOR_ANY_NUMBERS)
        rest = self.row(0, LARGEST, ("ring", "Simple"), channels)
        return [*_joined(rows), TunedRow(rest, "rest")]


def _pieces(each: ChosenRange, gains: list[Gain]) -> Iterator[tuple[int, int, Gain | None]]:
    """The parts of a range in which a gain holds, and those in which none does."""
    start = each.first
    for gain in gains:
        if gain.last < start or gain.first > each.last:
            continue
        if gain.first > start:
            yield start, gain.first - 1, None
            start = gain.first
        end = min(gain.last, each.last)
        # NCCL may run the cell by itself somewhere between, which is no gain.
        yield start, end, gain if gain.cell != each.own else None
        start = end + 1
    if start <= each.last:
        yield start, each.last, None


def _joined(rows: list[TunedRow]) -> list[TunedRow]:
    """Joins rows that follow each other and say the same."""
    found: list[TunedRow] = []
    for tuned in rows:
        last = found[-1] if found else None
        same = last is not None and (
            last.row.cell,
            last.row.channels,
            last.reason,
            last.instead,
        ) == (
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
