"""What happened when in a replay, as Perfetto's viewer (ui.perfetto.dev) reads it.

The format is Chrome's trace event format, in JSON: a process for each job and a thread for each
rank, with slices for regions, computation and communication, and an arrow (a flow) for each
message, from the slice in which it was sent to the slice in which its data had arrived. Times
are simulated microseconds with three decimals: the viewer counts whole nanoseconds, and drops a
slice whose end it finds behind that of the slice around it. So both ends of everything are
rounded down, to the same nanosecond wherever they are the same or lie within one.

A rank communicates here whenever it does not compute between its job's start and its own end,
so that a time lost to a partner that is late is seen where it is lost.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkwright import Table
from linkwright.replay_summary import Replay
from linkwright.writing import replace_file

__all__ = ["timeline_events", "timeline_text", "write_timeline"]

Event = Mapping[str, object]


@dataclass(frozen=True)
class _Slice:
    # In whole nanoseconds.
    start: int
    end: int
    name: str
    category: str


def timeline_events(replay: Replay) -> Iterator[Event]:
    """The events of a replay that was given a `timeline`, rank by rank and then the messages."""
    run = replay.run
    regions = _by_rank(run.regions())
    computation = _by_rank(run.computation())
    is_whole = len(replay.jobs) > 0 and _kept(replay)[0] == run.timeline_counts[0]
    starts = [_whole(row["start"]) for row in run.jobs()]
    for job, played in enumerate(replay.jobs):
        yield _metadata("process_name", job, 0, played.name)
        yield {**_metadata("process_sort_index", job, 0, ""), "args": {"sort_index": job}}
    threads: dict[tuple[int, int], int] = {}
    used = [0] * len(replay.jobs)
    for row in run.ranks():
        job, rank = row["job"], row["rank"]
        stays = [
            _Slice(_whole(stay["start"]), _whole(stay["end"]), stay["region"], "region")
            for stay in regions.get((job, rank), [])
        ]
        spans = [
            _Slice(_whole(span["start"]), _whole(span["end"]), "compute", "compute")
            for span in computation.get((job, rank), [])
        ]
        last = _whole(row["end"]) if is_whole else max((span.end for span in spans), default=0)
        waits = _between(spans, stays, starts[job], last)
        for lane, slices in enumerate(_lanes([*stays, *spans, *waits])):
            # A rank has a second thread only where it computes several things at once.
            thread, used[job] = used[job], used[job] + 1
            threads.setdefault((job, rank), thread)
            place = f"GPU {row['gpu']}, node {row['node']}"
            name = f"rank {rank} ({place})" if lane == 0 else f"rank {rank}, beside"
            yield _metadata("thread_name", job, thread, name)
            yield {
                **_metadata("thread_sort_index", job, thread, ""),
                "args": {"sort_index": thread},
            }
            for piece in slices:
                yield {
                    "ph": "X",
                    "pid": job,
                    "tid": thread,
                    "ts": _microseconds(piece.start),
                    "dur": _microseconds(piece.end - piece.start),
                    "name": piece.name,
                    "cat": piece.category,
                }
    yield from _arrows(list(run.messages()), threads)


def _arrows(
    messages: Iterable[Mapping[str, Any]], threads: Mapping[tuple[int, int], int]
) -> Iterator[Event]:
    for number, message in enumerate(messages):
        common = {
            "pid": message["job"],
            "name": f"{message['size']} B to rank {message['destination']}",
            "cat": "collective" if message["collective"] else "message",
            "id": number,
        }
        # A rank without any slice has no thread to point at.
        source, destination = (
            threads.get((message["job"], message[end])) for end in ("source", "destination")
        )
        if source is None or destination is None:
            continue
        yield {"ph": "s", **common, "tid": source, "ts": _microseconds(_whole(message["sent"]))}
        # It ends in the slice around its end, not in the next one.
        yield {
            "ph": "f",
            "bp": "e",
            **common,
            "tid": destination,
            "ts": _microseconds(_whole(message["delivered"])),
        }


def timeline_text(replay: Replay) -> str:
    """The timeline as JSON, one event to a line."""
    events = ",\n".join(
        json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        for event in timeline_events(replay)
    )
    about = {
        "replay": replay.name,
        "machine": replay.machine,
        **dict(zip(("spans_kept", "messages_kept", "regions_kept"), _kept(replay), strict=True)),
        **dict(zip(("spans", "messages", "regions"), replay.run.timeline_counts, strict=True)),
    }
    head = json.dumps(about, ensure_ascii=False)
    return f'{{"displayTimeUnit":"ns","otherData":{head},"traceEvents":[\n{events}\n]}}\n'


def write_timeline(replay: Replay, path: Path) -> None:
    """Writes the timeline, whole or not at all.

    Raises:
        OSError: If the file cannot be written.
    """
    replace_file(path, timeline_text(replay).encode())


def _kept(replay: Replay) -> tuple[int, int, int]:
    run = replay.run
    return run.computation().num_rows, run.messages().num_rows, run.regions().num_rows


def _metadata(what: str, process: int, thread: int, name: str) -> dict[str, object]:
    return {"ph": "M", "pid": process, "tid": thread, "name": what, "args": {"name": name}}


def _by_rank(table: Table) -> dict[tuple[int, int], list[dict[str, Any]]]:
    found: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in table:
        found.setdefault((row["job"], row["rank"]), []).append(row)
    return found


def _whole(seconds: float) -> int:
    """The whole nanoseconds of a time, which is a number of picoseconds but for its last bits."""
    return round(seconds * 1e12) // 1000


def _microseconds(nanoseconds: int) -> float:
    """The microseconds from which every reader gets the same nanoseconds again.

    Viewers multiply by 1000; newer ones round the product, older ones cut it off.
    """
    found = nanoseconds / 1000
    return found if int(found * 1000) == nanoseconds else math.nextafter(found, math.inf)


def _between(
    spans: Sequence[_Slice], stays: Sequence[_Slice], start: int, end: int
) -> list[_Slice]:
    """The times without computation, cut where a region begins or ends."""
    cuts = sorted({cut for stay in stays for cut in (stay.start, stay.end)})
    found = []
    at = start
    for span in [*sorted(spans, key=lambda span: span.start), _Slice(end, end, "", "")]:
        if span.start > at:
            inside = [cut for cut in cuts if at < cut < span.start]
            for one, other in zip([at, *inside], [*inside, span.start], strict=True):
                found.append(_Slice(one, other, "communicate", "communicate"))
        at = max(at, span.end)
    return found


def _lanes(slices: Iterable[_Slice]) -> list[list[_Slice]]:
    """The slices by threads, on each of which one is within another or beside it."""
    lanes: list[list[_Slice]] = []
    open_ends: list[list[int]] = []
    order = {"region": 0, "compute": 1, "communicate": 1}
    for piece in sorted(slices, key=lambda it: (it.start, -it.end, order[it.category])):
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
