"""What programs came to on a system: each job's times, and the links that were busiest.

Shares of computing and communicating are means over a job's ranks, of the job's time; they need
not add up to one, since a rank may end early.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwright import ClusterRun

__all__ = ["JobSummary", "KnownError", "busiest_links", "flow_error", "job_summaries"]

# Errors of the flow model, by the policy of the network interfaces: what `examples/flow_error.py`
# finds on 32, 64, 128, 256 and 512 ranks. docs/concepts/network.md tells them by network.
FLOW_ERRORS = {"fcfs": (-0.15, 0.58), "rr": (-0.03, 0.58)}
ANY_FLOW_ERROR = (-0.15, 0.58)
FLOW_PROGRAMS = "the six applications on 32 to 512 ranks, each alone on a fat-tree and a dragonfly"


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


def busiest_links(run: ClusterRun, count: int) -> list[dict[str, Any]]:
    """So many rows of `ClusterRun.links` of the highest utilisation, the busiest first.

    A link that carried nothing is not among them.
    """
    used = [row for row in run.links() if row["data"] > 0]
    return sorted(used, key=lambda row: (-row["utilisation"], row["link"]))[:count]


@dataclass(frozen=True)
class KnownError:
    """How far times of jobs were from those of the packet model where both were measured.

    Attributes:
        least: The least error, as part of the packet model's time.
        most: The largest.
        programs: What was measured; another program's error may lie beyond.
    """

    least: float
    most: float
    programs: str

    def __str__(self) -> str:
        return (
            f"known error of the flow model: times of jobs {self.least:+.0%} to {self.most:+.0%} "
            f"of the packet model's, for {self.programs}"
        )


def flow_error(nic: str) -> KnownError:
    """How far the flow model is known to be off under a policy of network interfaces."""
    least, most = FLOW_ERRORS.get(nic, ANY_FLOW_ERROR)
    return KnownError(least, most, FLOW_PROGRAMS)
