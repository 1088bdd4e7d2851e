"""A tuner's file for stock NCCL: what to run for each size, by the clock of linkwright.

NCCL runs the cell of algorithm and protocol that costs least in its own model. Where the clock says
that another of its cells is faster by more than the error bar, the file names that one; everywhere
else it names what NCCL runs anyway, with its channels, since a size without a row is slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linkwright import CollectiveError, System, names, nccl_release
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

# The first release of NCCL whose example plugin reads a file, and the first whose plugin reads the
# table of costs as NCCL lays it out.
FIRST_WITH_FILE, FIRST_SOUND = "2.27.5", "2.30.3"

# The collectives that NCCL asks a tuner about.
TUNED: list[names.CollectiveName] = [
    "broadcast",
    "reduce",
    "all-gather",
    "reduce-scatter",
    "all-reduce",
]


@dataclass(frozen=True)
class TunedRow:
    """A row of the file, and why it stands there.

    `reason` is `gain` where it is faster than what NCCL runs by more than the bar, and `own` where
    it is what NCCL runs. It is `other-numbers` where it is for types and operations for which NCCL
    has no such cell above, and `rest` where NCCL refuses everything above. The gain is how much
    longer NCCL's own choice takes, as a part, and the bar the larger error bar of both: of the sizes
    timed, that one where they are nearest to each other.
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
        ranges = chosen_ranges(system, ids, name, nccl)
        gains = gains_on(system, ids, name, ranges, nccl)
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


def _rows(
    collective: str, ranges: list[ChosenRange], gains: list[Gain], nodes: int, ranks: int
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
