"""Sums up programs that ran on a system: each job's times, and the links that were busiest.

Shares of computing and communicating are means over a job's ranks, of the job's time. They need
not add up to one, since a rank may end early.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from linkwright.network import ClusterRun

__all__ = ["JobSummary", "busiest_links", "job_summaries"]


@dataclass(frozen=True)
class JobSummary:
    """Sums up one job; its times are in seconds.

    Attributes:
        name: Is the job's.
        program: Is run by its ranks.
        ranks: Counts them.
        start: Is when they start.
        time: Lasts from there to its end.
        computing: Is a share of the time, in the mean over its ranks.
        communicating: Is the share of communication that no computation hid.
        messages: Counts those that were sent.
        data: Is in bytes.
    """

    name: str
    program: str
    ranks: int
    start: float
    time: float
    computing: float
    communicating: float
    messages: int
    data: int


def job_summaries(run: ClusterRun) -> list[JobSummary]:
    """Sums up each job of a run, in its order."""

    def share(part: float, time: float) -> float:
        return part / time if time > 0 else 0.0

    return [
        JobSummary(
            name=row["name"],
            program=row["program"],
            ranks=row["ranks"],
            start=row["start"],
            time=row["time"],
            computing=share(row["computing"], row["time"]),
            communicating=share(row["exposed_communication"], row["time"]),
            messages=row["messages"],
            data=row["data"],
        )
        for row in run.jobs()
    ]


def busiest_links(links: Iterable[Mapping[str, Any]], count: int) -> list[Mapping[str, Any]]:
    """Lists as many rows of `ClusterRun.links`: those of the highest utilisation, busiest first.

    A link that carried nothing, or is not counted, is not among them.
    """
    used = [row for row in links if row["data"]]
    return sorted(used, key=lambda row: (-row["utilisation"], row["link"]))[:count]
