"""Writes the timeline of jobs on a system: a process for each job, a thread for each rank.

A rank that copies has one more thread for its copies, from the time when a copy engine takes them.
A rank whose collectives run as kernels has one for these, each from its call to its end.

A rank communicates here whenever it does not compute between its job's start and its own end. So a
time lost to a partner that is late is seen where it is lost.

Where a run kept queues, one more process has a counter for each link: how many packets waited for
it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from linkwright.network import ClusterRun
from linkwright.runs.timeline import (
    Arrow,
    Counter,
    Slice,
    Timeline,
    Track,
    whole_nanoseconds,
)
from linkwright.scenario import Table

__all__ = ["QUEUE_WINDOW", "rank_timeline", "rank_timeline_kept"]

# As `System.play` has it where nothing is said; in seconds.
QUEUE_WINDOW = 1e-6

NUMBERS = re.compile(r"(\d+)")


def rank_timeline(
    name: str, machine: str, run: ClusterRun, *, queue_window: float = QUEUE_WINDOW
) -> Timeline | None:
    """Shows the events that a run kept; returns None where it kept nothing.

    Args:
        name: Names the program or the scenario.
        machine: Names the system.
        run: Has the events.
        queue_window: How many seconds a window of the run's queues lasts.
    """
    kept = rank_timeline_kept(run)
    if not any(held for what, (held, _) in kept.items() if what != "regions"):
        return None
    jobs = list(run.jobs())
    held, count = kept["spans"]
    tracks = _tracks(run, [row["start"] for row in jobs], is_whole=held == count)
    arrows = [
        Arrow(
            process=row["job"],
            source=row["source"],
            destination=row["destination"],
            name=f"{row['size']} B to rank {row['destination']}",
            category="collective" if row["collective"] else "message",
            sent=whole_nanoseconds(row["sent"]),
            delivered=whole_nanoseconds(row["delivered"]),
        )
        for row in run.messages()
    ]
    about = {"replay": name, "machine": machine}
    processes = [row["name"] for row in jobs]
    counters = _queues(run.queues(), len(processes), queue_window)
    if counters:
        processes.append("packets that wait for each link")
        kept["windows"] = run.queues().num_rows, run.queue_windows
    return Timeline(about, processes, tracks, arrows, kept, counters)


def rank_timeline_kept(run: ClusterRun) -> dict[str, tuple[int, int]]:
    """How many of each thing a run kept for its timeline, and how many there were."""
    held = [table().num_rows for table in (run.computation, run.messages, run.regions)]
    counts = zip(held, run.timeline_counts, strict=True)
    kept = dict(zip(("spans", "messages", "regions"), counts, strict=True))
    if run.copy_count:
        kept["copies"] = run.copies().num_rows, run.copy_count
    if run.kernel_count:
        kept["kernels"] = run.kernels().num_rows, run.kernel_count
    return kept


def _tracks(run: ClusterRun, starts: Sequence[float], *, is_whole: bool) -> list[Track]:
    regions = _by_rank(run.regions(), "region", _region)
    computation = _by_rank(run.computation(), "compute", lambda _: "compute")
    copies = _by_rank(run.copies(), "copy", _copy)
    kernels = _by_rank(run.kernels(), "kernel", _kernel)
    tracks = []
    for row in run.ranks():
        job, rank = row["job"], row["rank"]
        stays = regions.get((job, rank), [])
        spans = computation.get((job, rank), [])
        end = (
            whole_nanoseconds(row["end"]) if is_whole else max((it.end for it in spans), default=0)
        )
        waits = _between(spans, stays, whole_nanoseconds(starts[job]), end)
        name = f"rank {rank} (GPU {row['gpu']}, node {row['node']})"
        tracks.append(Track(job, rank, name, f"rank {rank}, beside", [*stays, *spans, *waits]))
        if copied := copies.get((job, rank)):
            # No arrow leads to it, so its number need only be its own.
            name = f"rank {rank}, copies"
            tracks.append(Track(job, -1 - 2 * rank, name, name, copied))
        if ran := kernels.get((job, rank)):
            name = f"rank {rank}, kernels"
            tracks.append(Track(job, -2 - 2 * rank, name, f"{name}, beside", ran))
    return tracks


def _queues(table: Table, process: int, window: float) -> list[Counter]:
    """Counts the packets that wait for each link, in the mean of each window; else none wait."""
    values: dict[str, list[tuple[int, float]]] = {}
    for row in table:
        of_link = values.setdefault(row["place"], [])
        start, end = (whole_nanoseconds(at) for at in (row["start"], row["start"] + window))
        # The window before ended in zero, which this one begins with where they touch.
        if of_link and of_link[-1][0] >= start:
            of_link.pop()
        of_link += [(start, row["mean"]), (end, 0.0)]
    return [
        Counter(process, place, "packets", values[place]) for place in sorted(values, key=_in_order)
    ]


def _in_order(place: str) -> list[tuple[str, int]]:
    """Sorts names by the numbers in them: `leaf10` comes behind `leaf9`."""
    pieces = NUMBERS.split(place)
    return [
        (text, int(number)) for text, number in zip(pieces[::2], [*pieces[1::2], "0"], strict=True)
    ]


def _by_rank(
    table: Table, category: str, name: Callable[[dict[str, Any]], str]
) -> dict[tuple[int, int], list[Slice]]:
    found: dict[tuple[int, int], list[Slice]] = {}
    for row in table:
        start, end = whole_nanoseconds(row["start"]), whole_nanoseconds(row["end"])
        piece = Slice(start, end, name(row), category)
        found.setdefault((row["job"], row["rank"]), []).append(piece)
    return found


def _region(row: dict[str, Any]) -> str:
    return str(row["region"])


def _copy(row: dict[str, Any]) -> str:
    where = row["direction"] if row["peer"] is None else f"to rank {row['peer']}"
    return f"copy {row['size']} B {where}"


def _kernel(row: dict[str, Any]) -> str:
    return f"{row['collective']} of {row['size']} B"


def _between(spans: Sequence[Slice], stays: Sequence[Slice], start: int, end: int) -> list[Slice]:
    """The times without computation, cut where a region begins or ends."""
    cuts = sorted({cut for stay in stays for cut in (stay.start, stay.end)})
    found = []
    at = start
    for span in [*sorted(spans, key=lambda span: span.start), Slice(end, end, "", "")]:
        if span.start > at:
            inside = [cut for cut in cuts if at < cut < span.start]
            for one, other in zip([at, *inside], [*inside, span.start], strict=True):
                found.append(Slice(one, other, "communicate", "communicate"))
        at = max(at, span.end)
    return found
