"""The timeline of jobs on a system: a process for each job, a thread for each rank.

A rank that copies has one more for its copies, from the time when a copy engine takes them, and one
whose collectives run as kernels one for these, each from its call to its end.

A rank communicates here whenever it does not compute between its job's start and its own end,
so that a time lost to a partner that is late is seen where it is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwright.network import ClusterRun
from linkwright.scenario import Table
from linkwright.runs.timeline import Arrow, Slice, Timeline, Track, whole_nanoseconds

__all__ = ["rank_timeline", "rank_timeline_kept"]


def rank_timeline(name: str, machine: str, run: ClusterRun) -> Timeline | None:
    """What a run that was given a `timeline` kept; None where it kept nothing."""
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
    return Timeline(about, [row["name"] for row in jobs], tracks, arrows, kept)


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
