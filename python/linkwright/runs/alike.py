"""Why variants of a day come to exactly the same, where they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwright import System
from linkwright.scenario import Scenario, SimulationResult

__all__ = ["alike_days", "alike_measures"]

# The measures that say when jobs start and end. Energy is a sum in the order of GPUs.
TIMES = ("wait", "run_time", "job_time", "makespan")


def alike_days(
    results: Sequence[SimulationResult],
    reference: str,
    systems: Mapping[str, System],
    scenarios: Mapping[str, Scenario],
) -> list[str]:
    """Says why variants come to exactly what the reference comes to, job by job.

    Args:
        results: Are of each variant.
        reference: Names one of them.
        systems: Played each variant.
        scenarios: Hold each variant as it is read.
    """
    own = next(result for result in results if result.policy == reference)
    # Rows are made of days alone that end at the same picosecond.
    ends = [it for it in results if it is not own and it.makespan == own.makespan]
    gpus: dict[str, bool] = {}
    for other in ends:
        pairs = list(zip(own.jobs(), other.jobs(), strict=True))
        if all(a["start"] == b["start"] and a["finish"] == b["finish"] for a, b in pairs):
            gpus[other.policy] = all(a["gpus"] == b["gpus"] for a, b in pairs)
    return _told(list(gpus), reference, systems, scenarios, gpus)


def alike_measures(
    found: Mapping[str, Sequence[Mapping[str, Any]]],
    reference: str,
    systems: Mapping[str, System],
    scenarios: Mapping[str, Scenario],
) -> list[str]:
    """Says the same of variants over seeds, by their times.

    Args:
        found: Has each variant's measures on each seed.
        reference: Names one.
        systems: Played each.
        scenarios: Hold each as it is read.
    """

    def measures(name: str) -> list[list[Any]]:
        return [[of_seed[measure] for measure in TIMES] for of_seed in found[name]]

    own = measures(reference)
    same = [name for name in found if name != reference and measures(name) == own]
    return _told(same, reference, systems, scenarios, {})


def _told(
    same: Sequence[str],
    reference: str,
    systems: Mapping[str, System],
    scenarios: Mapping[str, Scenario],
    gpus: Mapping[str, bool],
) -> list[str]:
    """Makes a sentence for the variants of each reason."""
    reasons: dict[str, list[str]] = {}
    for name in same:
        if gpus.get(name):
            why = "every job got the same GPUs at the same time"
        elif _chooses_alone(scenarios[name], scenarios[reference]) and (
            label := _one_label(systems[name])
        ):
            why = (
                f"within a server of {systems[name].name} every GPU reaches every other over links "
                f"that are alike ({label}), so that no set of its GPUs is better than another"
            )
        elif name in gpus:
            why = "some jobs got other GPUs, which are as good for them"
        else:
            why = "their difference does not change these jobs"
        reasons.setdefault(why, []).append(name)
    return [
        f"{', '.join(names)} and {reference} come to exactly the same: {why}."
        for why, names in reasons.items()
    ]


def _chooses_alone(one: Scenario, other: Scenario) -> bool:
    """Whether two variants differ in who chooses GPUs, and maybe in nothing else."""
    return one.policies != other.policies


def _one_label(system: System) -> str | None:
    """The label of all links between GPUs of a server, where there is one; else None."""
    labels = {
        link
        for server, _ in system.servers() or [(system, 1)]
        for one, row in enumerate(server.gpu_matrix())
        for other, link in enumerate(row)
        if one != other
    }
    return next(iter(labels))[0] if len(labels) == 1 else None
