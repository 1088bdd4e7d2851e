"""Writes the events of a run over time, as Perfetto's viewer (ui.perfetto.dev) reads them.

The format is Chrome's trace event format, in JSON. It has processes and threads with slices on
these, and counters of processes. Each message has an arrow (a flow), from the slice in which it was
sent to the slice in which its data had arrived. Times are simulated microseconds with three
decimals. The viewer counts whole nanoseconds, and drops a slice whose end it finds behind the end
of the slice around it. So both ends of everything are rounded down, to the same nanosecond wherever
they are the same or lie within one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from linkwright.writing import replace_file

__all__ = [
    "Arrow",
    "Counter",
    "Slice",
    "Timeline",
    "Track",
    "timeline_text",
    "told_of_cut",
    "whole_nanoseconds",
    "write_timeline",
]

Event = Mapping[str, object]


@dataclass(frozen=True)
class Slice:
    """Describes something that lasted on a track, in whole nanoseconds."""

    start: int
    end: int
    name: str
    category: str


@dataclass(frozen=True)
class Track:
    """Holds the slices at one place: a rank, or a GPU.

    Attributes:
        process: Which of the timeline's processes it is of.
        key: Its number there, by which arrows name it.
        name: The name that is shown.
        beside: The name of a second thread, where slices lie across one another.
        slices: The spans of time on it. Of two that begin and end together, the first in the list
            is around the other.
    """

    process: int
    key: int
    name: str
    beside: str
    slices: Sequence[Slice]


@dataclass(frozen=True)
class Arrow:
    """Describes an arrow from one track of a process to another, in whole nanoseconds."""

    process: int
    source: int
    destination: int
    name: str
    category: str
    sent: int
    delivered: int


@dataclass(frozen=True)
class Counter:
    """A number that changes now and then.

    Attributes:
        process: Which of the timeline's processes it is of.
        name: The name that is shown.
        unit: The unit of its values.
        values: The whole nanoseconds from which on it has a value, and the value.
    """

    process: int
    name: str
    unit: str
    values: Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Timeline:
    """Holds the events over time.

    Attributes:
        about: The facts that say which run it shows.
        processes: The name of each process.
        tracks: Its tracks, in the order in which they are shown.
        arrows: Its arrows.
        kept: How many of what it holds, and how many there were.
        counters: Its counters.
    """

    about: Mapping[str, object]
    processes: Sequence[str]
    tracks: Sequence[Track]
    arrows: Sequence[Arrow] = ()
    kept: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    counters: Sequence[Counter] = ()

    @property
    def cut(self) -> Sequence[str]:
        """How many of how many it holds, in a sentence; none where it holds all."""
        return told_of_cut(self.kept)


def told_of_cut(kept: Mapping[str, tuple[int, int]]) -> list[str]:
    """How many of how many a timeline holds, in a sentence; none where it holds all, or nothing.

    Args:
        kept: How many it holds of each thing, and how many there were.
    """
    if not any(held for held, _ in kept.values()):
        return []
    cut = [f"{held:,} of {count:,} {what}" for what, (held, count) in kept.items() if held < count]
    return [f"the timeline holds the first {', '.join(cut)}"] if cut else []


def timeline_text(timeline: Timeline) -> str:
    """Writes the timeline as JSON, one event to a line."""
    events = ",\n".join(
        json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in _events(timeline)
    )
    kept = {f"{what}_kept": counts[0] for what, counts in timeline.kept.items()}
    all_there_were = {what: counts[1] for what, counts in timeline.kept.items()}
    head = json.dumps({**timeline.about, **kept, **all_there_were}, ensure_ascii=False)
    return f'{{"displayTimeUnit":"ns","otherData":{head},"traceEvents":[\n{events}\n]}}\n'


def write_timeline(timeline: Timeline, path: Path) -> None:
    """Writes the timeline, whole or not at all.

    Raises:
        OSError: If the file cannot be written.
    """
    # A file's name that is no UTF-8 becomes escapes of JSON's.
    replace_file(path, timeline_text(timeline).encode(errors="backslashreplace"))


def whole_nanoseconds(seconds: float) -> int:
    """The whole nanoseconds of a time, which is a number of picoseconds but for its last bits."""
    return round(seconds * 1e12) // 1000


def _events(timeline: Timeline) -> Iterator[Event]:
    for process, name in enumerate(timeline.processes):
        yield _metadata("process_name", process, 0, name)
        order = {"args": {"sort_index": process}}
        yield {**_metadata("process_sort_index", process, 0, ""), **order}
    threads: dict[tuple[int, int], int] = {}
    used = [0] * len(timeline.processes)
    for track in timeline.tracks:
        process = track.process
        for lane, slices in enumerate(_lanes(track.slices)):
            # A track has a second thread only where its slices lie across one another.
            thread, used[process] = used[process], used[process] + 1
            threads.setdefault((process, track.key), thread)
            name = track.name if lane == 0 else track.beside
            yield _metadata("thread_name", process, thread, name)
            order = {"args": {"sort_index": thread}}
            yield {**_metadata("thread_sort_index", process, thread, ""), **order}
            for piece in slices:
                yield {
                    "ph": "X",
                    "pid": process,
                    "tid": thread,
                    "ts": _microseconds(piece.start),
                    "dur": _microseconds(piece.end - piece.start),
                    "name": piece.name,
                    "cat": piece.category,
                }
    for number, arrow in enumerate(timeline.arrows):
        yield from _arrow(number, arrow, threads)
    for counter in timeline.counters:
        for start, value in counter.values:
            yield {
                "ph": "C",
                "pid": counter.process,
                "ts": _microseconds(start),
                "name": counter.name,
                "args": {counter.unit: value},
            }


def _arrow(number: int, arrow: Arrow, threads: Mapping[tuple[int, int], int]) -> Iterable[Event]:
    common = {"pid": arrow.process, "name": arrow.name, "cat": arrow.category, "id": number}
    ends = (arrow.source, arrow.destination)
    source, destination = (threads.get((arrow.process, end)) for end in ends)
    # A track without any slice has no thread to point at.
    if source is None or destination is None:
        return ()
    return (
        {"ph": "s", **common, "tid": source, "ts": _microseconds(arrow.sent)},
        # It ends in the slice around its end, not in the next one.
        {
            "ph": "f",
            "bp": "e",
            **common,
            "tid": destination,
            "ts": _microseconds(arrow.delivered),
        },
    )


def _metadata(what: str, process: int, thread: int, name: str) -> dict[str, object]:
    return {"ph": "M", "pid": process, "tid": thread, "name": what, "args": {"name": name}}


def _microseconds(nanoseconds: int) -> float:
    """The microseconds from which every reader gets the same nanoseconds again.

    This is for viewers that multiply by 1000. Newer ones round the product, older ones cut it off.
    """
    found = nanoseconds / 1000
    return found if int(found * 1000) == nanoseconds else math.nextafter(found, math.inf)


def _lanes(slices: Sequence[Slice]) -> list[list[Slice]]:
    """Divides the slices among threads. On each thread, a slice is within another or beside it."""
    lanes: list[list[Slice]] = []
    open_ends: list[list[int]] = []
    for piece in sorted(slices, key=lambda it: (it.start, -it.end)):
        for ends in open_ends:
            while ends and ends[-1] <= piece.start:
                ends.pop()
        fits = (at for at, ends in enumerate(open_ends) if not ends or piece.end <= ends[-1])
        lane = next(fits, len(lanes))
        if lane == len(lanes):
            lanes.append([])
            open_ends.append([])
        lanes[lane].append(piece)
        open_ends[lane].append(piece.end)
    return lanes
