"""Sums up runs by quartiles of what the jobs felt, and compares policies with one another.

The tables of a run say what happened to every job. MAPA compares policies by the quartiles of
the bandwidth-sensitive jobs' run times and by throughput (SC'21, Table 3), and so does the core.
Jobs of one GPU have no bandwidth between GPUs. Their run time is the same under every policy, and
they are counted apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwright.scenario import SimulationResult, policy_speedups
from linkwright.quartiles import Quartiles

__all__ = [
    "NOTHING_DIFFERS",
    "PolicySummary",
    "Speedup",
    "gained",
    "held_rows",
    "job_rows",
    "speedups",
    "summarise",
    "time_unit",
]

NOTHING_DIFFERS = "No job is sensitive and has two or more GPUs: no policy gains anything."

# Seconds from which on spans are told in hours.
HOUR = 3600.0


@dataclass(frozen=True)
class PolicySummary:
    """Says what one policy made of a list of jobs.

    Attributes:
        policy: Names it.
        jobs: Counts the jobs.
        one_gpu_jobs: Counts those that had one GPU. None of them is in the bandwidths.
        makespan: Is in seconds from time zero until the last job ended.
        throughput: Is in jobs per hour over the makespan.
        run_time: Is in seconds, of the sensitive jobs of two or more GPUs; None if there are none.
        wait: Is in seconds, of jobs of any kind.
        effective_bandwidth: Is in GB/s, of those same sensitive jobs, by the scenario's model.
        sound_bandwidth: Is the same by the sound model.
    """

    policy: str
    jobs: int
    one_gpu_jobs: int
    makespan: float
    throughput: float
    run_time: Quartiles | None
    wait: Quartiles
    effective_bandwidth: Quartiles | None
    sound_bandwidth: Quartiles | None


@dataclass(frozen=True)
class Speedup:
    """Says how much faster a policy is than the baseline: above one is faster.

    The quartiles are ratios of run times, baseline by policy, as in MAPA's Table 3. `minimum` is
    of the fastest job of each, `maximum` of the slowest. They compare distributions; no job is
    followed from one policy to the other.
    """

    policy: str
    minimum: float
    lower: float
    median: float
    upper: float
    maximum: float
    throughput: float


def job_rows(result: SimulationResult) -> list[dict[str, Any]]:
    """Gives a dictionary for each job, with the columns of `SimulationResult.jobs` as keys."""
    return list(result.jobs())


def held_rows(result: SimulationResult) -> list[dict[str, Any]]:
    """As `job_rows`, with a row for each time in which a job held GPUs: it may have lost some."""
    jobs = {row["job"]: row for row in job_rows(result)}
    return [{**jobs[held["job"]], **held} for held in result.tries()]


def summarise(result: SimulationResult) -> PolicySummary:
    """Sums up one run.

    Raises:
        SimulationError: If the run had no jobs.
    """
    found = result.summary()
    five = {
        name: None if found[name] is None else Quartiles(*found[name])
        for name in ("run_time", "wait", "effective_bandwidth", "sound_bandwidth")
    }
    return PolicySummary(policy=result.policy, **{**found, **five})


def speedups(results: Sequence[SimulationResult], baseline: str = "baseline") -> list[Speedup]:
    """Lists each policy's speed-up over the baseline, in the order of the results.

    Empty where no job was sensitive and of two or more GPUs: then there is nothing to compare.

    Raises:
        SimulationError: If the baseline is not among the results, or one had no jobs.
    """
    found = policy_speedups(results, baseline)
    return [Speedup(policy, *run_time, throughput) for policy, run_time, throughput in found]


def time_unit(longest: float) -> tuple[str, float]:
    """Chooses a unit for the spans of a run, by the longest in seconds; gives its seconds, too."""
    return ("h", HOUR) if longest >= HOUR else ("s", 1.0)


def gained(compared: Sequence[Speedup], reference: str) -> str:
    """Tells in a sentence or two which policy a comparison found the best."""
    if not compared:
        return NOTHING_DIFFERS
    others = [speedup for speedup in compared if speedup.policy != reference]
    if not others:
        return f"Only {reference} was played: there is nothing to compare it with."
    best = max(others, key=lambda speedup: (speedup.throughput, speedup.median, speedup.maximum))
    found = (
        f"{best.policy} has {best.throughput:.3f} times the throughput of {reference}; the median "
        f"sensitive job runs {best.median:.3f} times as fast, the slowest {best.maximum:.3f} times."
    )
    return found if len(others) == 1 else f"The best by throughput: {found}"
