"""Shows what parts that failed for a time cost the jobs of a day."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

from linkwright.scenario import SimulationResult
from linkwright.runs.run import Sheet
from linkwright.summaries.failures import FailureCosts, failure_costs
from linkwright.texts import duration

__all__ = ["failure_sheets", "failure_summary"]

NOTE = (
    "Jobs on a part that fails begin anew, or from their last checkpoint. Lost: time spent in "
    "vain, and their wait for other GPUs."
)
SOONER = (
    " Under {names} jobs end sooner although parts fail: they come in another order, and a lone "
    "job would not."
)


def _told(results: Sequence[SimulationResult]) -> list[FailureCosts]:
    each = [failure_costs(result) for result in results]
    return [costs for costs in each if costs is not None]


def failure_summary(results: Sequence[SimulationResult]) -> dict[str, object]:
    """Gives what failures cost under each policy, as JSON holds it; nothing unless any failed."""
    told = _told(results)
    return {"failures": [asdict(costs) for costs in told]} if told else {}


def failure_sheets(results: Sequence[SimulationResult], reference: str | None) -> list[Sheet]:
    """Shows what failures cost under each policy; nothing unless any failed.

    Where jobs end sooner than under a reference without failures, a note says so.
    """
    told = _told(results)
    if not told:
        return []
    failed = {costs.policy for costs in told}
    whole = [it for it in results if it.policy == reference and it.policy not in failed]
    sooner = [it.policy for of in whole for it in told if it.job_time < _job_time(of)]
    return [
        Sheet(
            ["policy", "jobs that\nlost GPUs", "restarts", "lost"],
            [[it.policy, str(it.jobs), str(it.restarts), duration(it.lost)] for it in told],
            ["policy"],
            title="What failures cost",
            note=NOTE + (SOONER.format(names=", ".join(sooner)) if sooner else ""),
        )
    ]


def _job_time(result: SimulationResult) -> float:
    rows = list(result.jobs())
    return math.fsum(row["finish"] - row["arrival"] for row in rows) / len(rows)
