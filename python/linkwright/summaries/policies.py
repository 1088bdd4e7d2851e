"""What a run comes to: quartiles of what the jobs felt, and policies compared with one another.

The tables of a run say what happened to every job. MAPA compares policies by the quartiles of
the bandwidth-sensitive jobs' run times and by throughput (SC'21, Table 3), and so does this
module. Jobs of one GPU have no bandwidth between GPUs, and their run time is the same under
every policy: they are counted apart, so that they do not blur what the policies do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwright import SimulationResult, policy_speedups
from linkwright.quartiles import Quartiles

__all__ = [
    "NOTHING_DIFFERS",
    "PolicySummary",
    "Speedup",
    "gained",
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
    """What one policy made of a list of jobs.

    Attributes:
        policy: The policy's name.
        jobs: How many jobs ran.
        one_gpu_jobs: How many of them had one GPU; none of them is in the bandwidths.
        makespan: Seconds from time zero until the last job ended.
        throughput: Jobs per hour over the makespan.
        run_time: Seconds of the sensitive jobs of two or more GPUs; None if there are none.
        wait: Seconds that jobs of any kind waited.
        effective_bandwidth: GB/s of those same sensitive jobs, by the scenario's model.
        sound_bandwidth: GB/s of those same jobs, by the sound model.
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
    """How much faster a policy is than the baseline: above one is faster.

    The quartiles are ratios of run times, baseline by policy: that of the fastest job of each
    (`minimum`), of the quartiles, and of the slowest job of each (`maximum`), as in MAPA's
    Table 3. They compare distributions; no job is followed from one policy to the other.
    """

    policy: str
    minimum: float
    lower: float
    median: float
    upper: float
    maximum: float
    throughput: float


def job_rows(result: SimulationResult) -> list[dict[str, Any]]:
    """One dictionary per job, with the columns of `SimulationResult.jobs` as keys."""
    return list(result.jobs())


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
    """What spans of a run are told in, by its longest one in seconds: a unit and its seconds."""
    return ("h", HOUR) if longest >= HOUR else ("s", 1.0)


def gained(compared: Sequence[Speedup], reference: str) -> str:
    """What a comparison found, in a sentence or two."""
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
