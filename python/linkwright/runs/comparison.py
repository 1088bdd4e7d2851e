"""Plays a scenario's variants on the same seeds and sets them against one of them.

The variants are runs of a sweep: each is a function of the scenario's file and the variant's name.
So a comparison that was killed goes on where it stopped, and any executor can play it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Literal

from linkwright import System
from linkwright.arguments import (
    callback,
    mapping_of,
    path_or_name,
    policies_of,
    taking,
    text,
    texts,
    truth,
    whole,
)
from linkwright.errors import SimulationError
from linkwright.files import PathOrName, path_of, reading_once
from linkwright.hardware import Prices, bill_of, read_prices
from linkwright.names import PolicyName
from linkwright.runs.alike import alike_days
from linkwright.runs.bills import Billed, Bills, watts_source
from linkwright.runs.compared import Comparison, Outcome
from linkwright.runs.heat import told_heat
from linkwright.runs.manifest import manifest_of, of_comparison
from linkwright.runs.run import Progress
from linkwright.runs.scenarios import read_scenario_file
from linkwright.runs.server.play import (
    check_policies,
    heats_of,
    observed,
    run_loaded,
    simulated,
)
from linkwright.runs.server.run import ScenarioRun
from linkwright.runs.variants import errors_of, notes_of, play_variants
from linkwright.runs.worth.play import compare_over_seeds
from linkwright.runs.worth.run import Worth
from linkwright.scenario import SimulationResult
from linkwright.summaries.energy import Energy, Watts
from linkwright.summaries.measures import gpus_in_order
from linkwright.sweeps import Workers
from linkwright.sweeps.pace import Forecast, Told
from linkwright.sweeps.workers import workers_of

__all__ = ["EqualName", "compare", "play_variant"]

# By what the machines of a comparison are made alike.
EqualName = Literal["gpus", "servers", "price"]


def play_variant(
    scenario: str,
    variant: str,
    settings: Mapping[str, object],
    watts: Watts | None = None,
    attribute: bool = False,
) -> dict[str, object]:
    """Plays one variant of a scenario: the run of a sweep, whose result JSON can hold.

    Args:
        scenario: Its file.
        variant: Its name.
        settings: The values that replace the scenario's.
        watts: Stand in place of data sheets.
        attribute: As for `play_jobs`.
    """
    loaded = read_scenario_file(scenario, settings).variant(variant)
    if loaded.scenario.kind == "mix":
        system, jobs, _ = loaded.build()
        policy = loaded.scenario.policies[0]
        result = simulated(loaded.scenario, system, jobs, policy, attribute=attribute)
        return {"result": result.to_json()}
    return dict(loaded.outcome(watts=watts))


@taking(
    policies=policies_of,
    settings=mapping_of,
    reference=text,
    workers=workers_of,
    checkpoint=path_of,
    timeline=whole,
    progress=callback,
    forecast=callback,
    seeds=whole,
    machines=texts,
    prices=path_or_name,
    attribute=truth,
    equal=text,
)
@reading_once()
def compare(
    path: PathOrName,
    *,
    policies: Sequence[PolicyName] | None = None,
    settings: Mapping[str, object] | None = None,
    reference: str | None = None,
    workers: Workers | Executor | None = None,
    checkpoint: PathOrName | None = None,
    timeline: int = 0,
    progress: Progress | None = None,
    forecast: Told | None = None,
    seeds: int | None = None,
    machines: Sequence[str] = (),
    prices: PathOrName | None = None,
    attribute: bool = False,
    equal: EqualName | None = None,
) -> ScenarioRun | Comparison | Worth:
    """Plays the variants of a scenario and sets them against one of them.

    They are each of its policies, or the scenario `as-written` where programs run; then what each
    `[compare.NAME]` says, applied to the first of them.

    Args:
        path: The scenario's TOML file; the files that it names are relative to it.
        policies: Instead of the scenario's own; at least one.
        settings: The values that replace the scenario's, as for `Scenario.with_settings`.
        reference: The variant to compare with. A policy is played even if the scenario does not
            name it. If not given, that of the scenario: `compare.reference`, else `baseline`, else
            the first; of a scenario without `[compare]`, `baseline`.
        workers: Where the variants are played, as for `play_sweep`. If not given, and no
            checkpoint, policies are played here one after the other, anything else by processes.
        checkpoint: A file that keeps every finished variant, as for `play_sweep`.
        timeline: How many jobs of each policy the run's timeline holds at most.
        progress: Called with what is played, how much is done, how much there is, the simulated
            seconds and the events of the network.
        forecast: Called once with the seconds that all runs take, the number of runs played by
            then, and the number of all. It is called as soon as every variant has been played once,
            or one where there is one seed.
        seeds: Of jobs of GPUs, on how many seeds, from the scenario's on; `compare.seeds` if not
            given. Then what each choice is worth is told, with its interval.
        machines: For jobs of GPUs, the servers to compare in place of variants, the first being the
            reference. Each is the name of a preset, or a file, with `=` and a number of servers or
            without.
        attribute: Whether to say what slowed each job of GPUs, as for `play_jobs`.
        prices: A file of prices and watts, as for `read_prices`. It tells the price of each
            variant's system, and energy and cost of a job.
        equal: Names `gpus`, `servers` or `price`. Every other machine has as many servers as make
            it alike the first, rounded down, at least one. A machine that is named alone is
            compared with the scenario's own servers.

    Raises:
        FileError: If the scenario cannot be read.
        InputError: If it, a variant or a file that it names is not as it should be, with its place.
        AllocationError: If there is no policy of a given name.
        SimulationError: If there is nothing to compare, or no such reference; if a job can never
            start.
        SweepError: If a variant that was begun cannot be played.
        KeyboardInterrupt: Within a second of Ctrl-C.

    Examples:
        >>> from linkwright import compare
        >>> compare("examples/dgx1-v100-mix.toml", policies=["baseline", "preserve"]).headline[:50]
        'preserve has 1.056 times the throughput of baselin'
    """
    loaded = read_scenario_file(path, settings)
    priced = None if prices is None else read_prices(prices)
    watts = None if priced is None else priced.gpu_watts
    scenario = loaded.scenario
    check_policies(scenario, policies)
    given = dict(settings or {})
    is_mix = scenario.kind == "mix"
    if policies is not None and not is_mix:
        raise SimulationError(f"`{loaded.path.name}` runs programs, which no policy places")
    own = [str(policy) for policy in policies or scenario.policies]
    others = scenario.variants[len(scenario.policies) or 1 :]
    if reference is None and is_mix and not others:
        reference = "baseline"
    if is_mix:
        known = [*own, *others]
        if reference is not None and reference not in known:
            check_policies(scenario, [reference])
            # Named before the others, so that [compare] stays applied to the same policy.
            own = [reference, *own] if not others else [*own, reference]
        given = {**given, "allocation.policies": own}
        loaded = read_scenario_file(path, given)
        scenario = loaded.scenario
    chosen = reference or scenario.reference or scenario.variants[0]
    if (seeds is not None or machines) and not is_mix:
        raise SimulationError(
            f"`{loaded.path.name}` runs programs, which cannot be compared over seeds or systems",
            "write each variant's changes under [compare.NAME]",
        )
    counted_seeds = seeds or scenario.seeds
    if attribute and not is_mix:
        raise SimulationError(
            f"`{loaded.path.name}` runs programs, and `attribute` is of jobs of GPUs",
            "leave it out",
        )
    if attribute and (counted_seeds or machines):
        raise SimulationError(
            "`attribute` is of one seed and of one machine",
            "leave out seeds and machines, or do not ask for it",
        )
    if equal is not None and not machines:
        raise SimulationError("`equal` is of machines", "name machines, or leave it out")
    if chosen not in scenario.variants:
        names = ", ".join(scenario.variants)
        raise SimulationError(f"there is no variant `{chosen}`", f"use one of {names}")
    if len(scenario.variants) < 2 and not is_mix:
        raise SimulationError(
            f"`{loaded.path.name}` has nothing to compare",
            "write each variant's changes under [compare.NAME]",
        )
    if is_mix and (counted_seeds or machines):
        return compare_over_seeds(
            loaded,
            settings=given,
            reference=chosen,
            seeds=counted_seeds or 1,
            machines=machines,
            equal=equal,
            workers=workers,
            checkpoint=checkpoint,
            timeline=timeline,
            progress=progress,
            forecast=forecast,
            prices=priced,
        )
    if is_mix and not others and workers is None and checkpoint is None:
        followed = _policy_by_policy(progress, Forecast(forecast, 1), len(set(scenario.policies)))
        played = run_loaded(
            loaded, timeline=timeline, progress=followed, prices=priced, attribute=attribute
        )
        played_under = [result.policy for result in played.results]
        alike = alike_days(
            played.results,
            chosen,
            dict.fromkeys(played_under, played.system),
            {name: scenario.variant(name) for name in played_under},
        )
        notes = [*alike, *played.notes]
        compared = replace(played, compared_with=chosen, notes=notes)
        return _billed_day(compared, [played.system], priced)
    built, found = play_variants(
        play_variant,
        loaded,
        scenario.comparison(reference=chosen),
        given,
        workers=workers,
        checkpoint=checkpoint,
        progress=progress,
        forecast=forecast,
        what="variants",
        watts=watts,
        attribute=attribute,
    )
    system, jobs, _ = built[chosen]
    notes, errors = notes_of(built), errors_of(built, loaded)
    if is_mix:
        results = [
            SimulationResult.from_text(result["result"]).named(name)
            for name, result in zip(scenario.variants, found, strict=True)
        ]
        manifest = manifest_of(loaded, system, jobs, own)
        manifest |= {"compared": list(scenario.variants), "reference": chosen}
        of = scenario.variant
        notes = [
            *alike_days(
                results,
                chosen,
                {name: built[name][0] for name in scenario.variants},
                {name: of(name) for name in scenario.variants},
            ),
            *notes,
        ]
        in_order = [gpus_in_order(built[name][0], of(name)) for name in scenario.variants]
        seen = [
            observed(loaded.variant(name), built[name][0], result, watts)
            for name, result in zip(scenario.variants, results, strict=True)
        ]
        run = ScenarioRun(
            scenario,
            loaded.path,
            system,
            jobs,
            results,
            manifest,
            timeline,
            chosen,
            notes,
            errors,
            in_order,
            energies=[each.energy for each in seen],
            heats=heats_of(results, seen),
            watts_source=watts_source(priced),
            systems=[built[name][0] for name in scenario.variants],
        )
        if run.warnings:
            manifest["warnings"] = run.warnings
        return _billed_day(run, [built[name][0] for name in scenario.variants], priced)
    outcomes = [
        Outcome(
            name,
            built[name][0].name,
            result["makespan"],
            [job for job, _ in result["jobs"]],
            [time for _, time in result["jobs"]],
            Energy(**result["energy"]),
            told_heat(result),
        )
        for name, result in zip(scenario.variants, found, strict=True)
    ]
    seeded = {"seed": scenario.seed}
    of_manifest = of_comparison(loaded, given, seeded, scenario.variants, chosen)
    told = (*notes, *system.warnings)
    bills = None
    if priced is not None:
        rows = [
            Billed(
                each.variant,
                bill_of(built[each.variant][0]),
                each.makespan,
                len(each.jobs),
                each.energy.whole,
                each.energy.has_rest,
            )
            for each in outcomes
        ]
        bills = Bills(rows, priced)
    return Comparison(loaded.path, system, chosen, outcomes, of_manifest, told, errors, bills)


def _billed_day(run: ScenarioRun, systems: Sequence[System], prices: Prices | None) -> ScenarioRun:
    """The run with the bill of each result's system, or of one that all have, by their prices."""
    if prices is None:
        return run
    of_results = [*systems] * (len(run.results) if len(systems) == 1 else 1)
    each = zip(run.results, of_results, run.energies, strict=True)
    rows = [
        Billed(
            result.policy,
            bill_of(system),
            result.makespan,
            len(run.jobs),
            energy.whole,
            energy.has_rest,
        )
        for result, system, energy in each
    ]
    return replace(run, bills=Bills(rows, prices, "policy"))


def _policy_by_policy(progress: Progress | None, ahead: Forecast, count: int) -> Progress:
    """Reports a run's progress, and how many of `count` policies have been played."""
    done: set[str] = set()
    ahead.show(0, count)

    def report(policy: str, jobs: int, of: int, seconds: float, events: int) -> None:
        if progress is not None:
            progress(policy, jobs, of, seconds, events)
        if jobs == of:
            done.add(policy)
            ahead.show(len(done), count)

    return report
