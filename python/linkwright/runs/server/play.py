"""Brings a scenario of jobs of GPUs from its file to its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linkwright import System
from linkwright.allocation import policy_names
from linkwright.arguments import callback, mapping_of, policies_of, taking, truth, whole
from linkwright.errors import AllocationError, SimulationError
from linkwright.files import PathOrName, reading_once
from linkwright.hardware import Prices
from linkwright.names import PolicyName
from linkwright.runs.bills import watts_source
from linkwright.runs.heat import PackageHeat, heat_of
from linkwright.runs.manifest import manifest_of
from linkwright.runs.run import Progress
from linkwright.runs.scenarios import (
    ScenarioFile,
    assumed_of_network,
    read_scenario_file,
    unused_network,
)
from linkwright.runs.server.run import ScenarioRun
from linkwright.runs.timeline import told_of_cut
from linkwright.scenario import Job, Scenario, SimulationResult
from linkwright.summaries.energy import Energy, Watts, energy_of, spans_of
from linkwright.summaries.known_error import known_errors
from linkwright.summaries.policies import job_rows

__all__ = [
    "Observed",
    "check_policies",
    "heats_of",
    "observed",
    "play_mix",
    "run_loaded",
    "simulated",
]


@taking(
    policies=policies_of, settings=mapping_of, timeline=whole, progress=callback, attribute=truth
)
@reading_once()
def play_mix(
    path: PathOrName,
    *,
    policies: Sequence[PolicyName] | None = None,
    settings: Mapping[str, object] | None = None,
    timeline: int = 0,
    progress: Progress | None = None,
    attribute: bool = False,
) -> ScenarioRun:
    """Reads a scenario of jobs of GPUs and plays them under each policy.

    Args:
        path: The scenario's TOML file; the files that it names are relative to it.
        policies: Instead of the scenario's own; at least one.
        settings: The values that replace the scenario's, as for `Scenario.with_settings`.
        timeline: How many jobs of each policy the run's timeline holds at most.
        progress: Called about every 100 ms with a policy, its jobs done, and its jobs in all. The
            simulated seconds and the events of the network follow; there are no events here.
        attribute: Whether to say what slowed each job, as for `play_jobs`.

    Raises:
        FileError: If the scenario cannot be read.
        InputError: If it or a file that it names is not what it should be or cannot be read,
            with line and column.
        AllocationError: If there is no policy of a given name, or `policies` is empty.
        SimulationError: If a job can never start, or the scenario is of programs.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    loaded = read_scenario_file(path, settings)
    check_policies(loaded.scenario, policies)
    return run_loaded(
        loaded, policies=policies, timeline=timeline, progress=progress, attribute=attribute
    )


def check_policies(scenario: Scenario, policies: Sequence[str] | None) -> None:
    """Refuses names that no policy has, and a list of none.

    Raises:
        AllocationError: If it is so.
    """
    if policies is not None and not policies:
        known = ", ".join(policy_names())
        raise AllocationError("`policies` is empty", f"name some of {known}, or leave it out")
    scenario.check_policies(policies or ())


def run_loaded(
    loaded: ScenarioFile,
    *,
    policies: Sequence[PolicyName] | None = None,
    timeline: int = 0,
    progress: Progress | None = None,
    prices: Prices | None = None,
    attribute: bool = False,
) -> ScenarioRun:
    """Plays the jobs of a scenario that was read, under these policies instead of its own.

    Raises:
        InputError: If a file is not what it should be, or a job is too large.
        SimulationError: If a job can never start, or the scenario is of programs.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    scenario = loaded.scenario
    if scenario.kind != "mix":
        raise SimulationError(
            f"`{loaded.path.name}` runs programs, not jobs that a policy places",
            "play it with play_programs",
        )
    system, jobs, notes = loaded.build()
    chosen = list(dict.fromkeys(scenario.policies if policies is None else policies))
    results = [
        simulated(scenario, system, jobs, policy, progress, attribute=attribute)
        for policy in chosen
    ]
    manifest = manifest_of(loaded, system, jobs, chosen)
    errors = known_errors([(system, scenario, jobs)])
    kept = {"jobs": (min(timeline, len(jobs)), len(jobs))}
    gpus = (row["gpus"] for result in results for row in job_rows(result))
    notes = [*notes, *assumed_of_network(system), *unused_network(system, gpus)]
    watts = None if prices is None else prices.gpu_watts
    seen = [observed(loaded, system, result, watts) for result in results]
    run = ScenarioRun(
        scenario,
        loaded.path,
        system,
        jobs,
        results,
        manifest,
        timeline,
        notes=[*notes, *told_of_cut(kept)],
        known_errors=errors,
        energies=[each.energy for each in seen],
        heats=heats_of(results, seen),
        watts_source=watts_source(prices),
    )
    if run.warnings:
        manifest["warnings"] = run.warnings
    return run


@dataclass(frozen=True)
class Observed:
    """Holds what is observed of a day beside its jobs.

    Attributes:
        energy: Is what they take of GPUs.
        heat: Is that of the scenario's package; None where it observes none.
    """

    energy: Energy
    heat: PackageHeat | None


def observed(
    loaded: ScenarioFile, system: System, result: SimulationResult, watts: Watts | None
) -> Observed:
    """Observes a day that was played on a system.

    Raises:
        InputError: If the scenario's package is not as it should be.
        SimulationError: If its temperatures cannot be told.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    spans = spans_of(result)
    energy = energy_of(system, spans, watts, loaded.scenario, loaded.files)
    return Observed(energy, heat_of(loaded, system, spans, watts))


def heats_of(
    results: Sequence[SimulationResult], seen: Sequence[Observed]
) -> dict[str, PackageHeat]:
    """Gives the heat under each policy's name, where a package is observed."""
    each = zip(results, seen, strict=True)
    return {result.policy: it.heat for result, it in each if it.heat is not None}


def simulated(
    scenario: Scenario,
    system: System,
    jobs: Sequence[Job],
    policy: PolicyName,
    progress: Progress | None = None,
    *,
    attribute: bool = False,
) -> SimulationResult:
    """Plays jobs under one policy, as a scenario says.

    Raises:
        SimulationError: If a job can never start.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """

    def report(done: int, total: int, time: float) -> None:
        if progress is not None:
            progress(policy, done, total, time, 0)

    report(0, len(jobs), 0.0)
    result = scenario.play_jobs(system, list(jobs), policy, progress=report, attribute=attribute)
    report(len(jobs), len(jobs), result.makespan)
    return result
