"""The ways in which the paper's text lets its mix of jobs be read.

The paper does not print its list of jobs, nor how long each ran, and says in two places what the
list was drawn from. A reading settles that; the study plays one, and compares them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, Literal, cast

import pyarrow

from linkwright.allocation import published_effective_bandwidth
from linkwright.scenario import Job, generate_jobs, workload_names, workloads
from linkwright.names import DisciplineName, PatternName, RunTimeName, WorkloadName
from linkwright.studies.mapa.published import published

__all__ = [
    "JOBS",
    "LARGEST",
    "READINGS",
    "Reading",
    "ReadingName",
    "as_read",
    "every_reading",
    "jobs_of",
    "networks",
    "speed_by_slope",
]

ReadingName = Literal["text", "published-fit"]

NETWORKS = 6
JOBS = 300
LARGEST = 5


@dataclass(frozen=True)
class Reading:
    """How the mix of jobs is read.

    Attributes:
        six_networks: Whether jobs are drawn from Fig. 5's six networks, or from all nine workloads.
        flat: Whether insensitive jobs take as long on any links (Fig. 16).
        discipline: In which order waiting jobs start.
        run_time: Whose bandwidth run times follow: the sound model's or the regression's.
        by_slope: Whether the networks compute as fast as Fig. 2b's slope of VGG-16 has it, or as
            the seconds of Section 4.1's quartiles have it.
    """

    six_networks: bool
    flat: bool
    discipline: DisciplineName
    run_time: RunTimeName
    by_slope: bool

    def words(self) -> tuple[str, str, str, str, str]:
        """What each of the five choices says, for a table."""
        return (
            "six networks" if self.six_networks else "nine workloads",
            "flat" if self.flat else "as others",
            self.discipline,
            "Eq. 2" if self.run_time == "regression" else "sound model",
            "slope of Fig. 2b" if self.by_slope else "seconds of 4.1",
        )


# The text's: "machine learning networks as shown in Figure 5", first in, first out, on a machine
# whose insensitive jobs do not feel links (Fig. 16), and sensitive ones as Fig. 2b has it.
READINGS: dict[ReadingName, Reading] = {
    "text": Reading(
        six_networks=True, flat=True, discipline="fifo", run_time="formula", by_slope=True
    ),
    "published-fit": Reading(
        six_networks=False, flat=False, discipline="fifo", run_time="formula", by_slope=False
    ),
}


def every_reading() -> list[Reading]:
    """All of the readings that the text allows."""
    disciplines: tuple[DisciplineName, ...] = ("fifo", "backfill")
    run_times: tuple[RunTimeName, ...] = ("formula", "regression")
    choices = product((True, False), (True, False), disciplines, run_times, (True, False))
    return [Reading(*choice) for choice in choices]


def networks() -> Sequence[WorkloadName]:
    """The six networks of Fig. 5."""
    return workload_names()[:NETWORKS]


def jobs_of(seed: int, chosen: Reading, *, mean_interarrival: float | None = None) -> list[Job]:
    """The paper's mix of 300 jobs in a reading.

    Args:
        seed: The same seed gives the same jobs.
        chosen: The reading.
        mean_interarrival: Mean seconds between arrivals; all wait from the start where absent.
    """
    drawn = generate_jobs(
        seed,
        JOBS,
        LARGEST,
        workloads=networks() if chosen.six_networks else None,
        mean_interarrival=mean_interarrival,
    )
    return [as_read(job, chosen) for job in drawn]


def as_read(job: Job, chosen: Reading) -> Job:
    """A job with the times that it has in a reading."""
    compute, size = _iteration(job.workload, chosen)
    if chosen.flat and not job.sensitive:
        # As long as at the median of the bandwidths that MAPA's jobs had, and no data to move.
        reference = published()["effective_bandwidth"]["median_preserve"] * 1e9
        compute += 2 * (job.gpus - 1) / job.gpus * size / reference
        size = 0
    return Job(
        job.name,
        cast(WorkloadName, job.workload),
        job.gpus,
        pattern=cast(PatternName, job.pattern),
        arrival=job.arrival,
        compute_per_iteration=compute,
        bytes_per_iteration=size,
    )


@cache
def _catalogue() -> dict[str, dict[str, Any]]:
    return {row["workload"]: row for row in pyarrow.table(workloads()).to_pylist()}


def _iteration(workload: str, chosen: Reading) -> tuple[float, int]:
    """Seconds of computing and bytes of an iteration."""
    row = _catalogue()[workload]
    compute, size = row["compute_per_iteration"], row["bytes_per_iteration"]
    if chosen.by_slope and workload in networks():
        compute *= speed_by_slope()
    return compute, size


@cache
def speed_by_slope() -> float:
    """What the networks' computing times are multiplied by so that VGG-16 has Fig. 2b's slope.

    Two GPUs reduce all gradients in size over bandwidth; the slope is the time on PCIe over that
    on double NVLinks. One number moves all networks: of the others no slope is published.
    """
    entry = published()["link_speedup"]
    row, slope = _catalogue()[entry["network"]], entry["most"]
    pcie, double = (published_effective_bandwidth(*mix) * 1e9 for mix in ((0, 0, 1), (1, 0, 0)))
    compute = row["bytes_per_iteration"] * (1 / pcie - slope / double) / (slope - 1)
    return float(compute / row["compute_per_iteration"])
