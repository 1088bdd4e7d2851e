"""What programs came to on a system: each job's times, and the links that were busiest.

Shares of computing and communicating are means over a job's ranks, of the job's time; they need
not add up to one, since a rank may end early.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from linkwright import ClusterRun

__all__ = ["JobSummary", "busiest_links", "job_summaries"]


@dataclass(frozen=True)
class JobSummary:
    """One job; times in seconds.

    Attributes:
        name: Its name.
        program: What its ranks do.
        ranks: How many it has.
        start: When they start.
        time: From there to its end.
        computing: Share of the time, in the mean over its ranks.
        communicating: The same of communication that no computation hid.
        messages: How many were sent.
        data: In bytes.
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
    """Each job of a run, in its order."""

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
    """So many rows of `ClusterRun.links` of the highest utilisation, the busiest first.

    A link that carried nothing is not among them.
    """
    used = [row for row in links if row["data"] > 0]
    return sorted(used, key=lambda row: (-row["utilisation"], row["link"]))[:count]
