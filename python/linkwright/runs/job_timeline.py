"""Writes the timeline of jobs of GPUs: a process for each result, a thread for each GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkwright import System
from linkwright.runs.timeline import Slice, Timeline, Track, whole_nanoseconds
from linkwright.scenario import SimulationResult
from linkwright.summaries.policies import held_rows

__all__ = ["job_timeline"]


def job_timeline(
    results: Sequence[SimulationResult],
    systems: Sequence[System],
    about: Mapping[str, str],
    limit: int,
) -> Timeline:
    """Shows which job held which GPU when: a process for each result, a thread for each GPU.

    Args:
        results: The results.
        systems: The system that each was played on.
        about: The facts that say which run it shows.
        limit: How many jobs of each it holds at most.
    """
    tracks = []
    count = kept = 0
    for process, (result, system) in enumerate(zip(results, systems, strict=True)):
        held: dict[int, list[Slice]] = {}
        rows = held_rows(result)
        count, kept = len(rows), min(len(rows), limit)
        for row in rows[:limit]:
            start, end = (whole_nanoseconds(row[at]) for at in ("start", "finish"))
            piece = Slice(start, end, row["job"], row["workload"])
            for gpu in row["gpus"]:
                held.setdefault(gpu, []).append(piece)
        names = system.gpu_names
        tracks += [
            Track(process, gpu, names[gpu], f"{names[gpu]}, beside", held[gpu])
            for gpu in sorted(held)
        ]
    names_of = [result.policy for result in results]
    return Timeline(about, names_of, tracks, kept={"jobs": (kept, count)})
