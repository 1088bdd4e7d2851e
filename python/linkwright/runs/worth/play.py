"""A comparison of jobs of GPUs over seeds: every variant on every seed, as the runs of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from statistics import fmean
from typing import Any

from linkwright import System
from linkwright.errors import SimulationError
from linkwright.files import PathOrName
from linkwright.hardware import Prices, bill_of
from linkwright.runs.alike import alike_measures
from linkwright.runs.bills import Billed, Bills
from linkwright.runs.heat import heat_of
from linkwright.runs.manifest import of_comparison
from linkwright.runs.run import Progress
from linkwright.runs.scenarios import ScenarioFile, read_scenario_file
from linkwright.runs.server.play import simulated
from linkwright.runs.speeds import OWN_SPEED, own_speed_of, warnings_of
from linkwright.runs.speeds_between import speeds_between, told_speeds
from linkwright.runs.variants import (
    errors_of,
    notes_of,
    play_variants,
    written_of,
)
from linkwright.runs.worth.machines import bought
from linkwright.runs.worth.run import FirstDay, Worth
from linkwright.scenario import Job
from linkwright.summaries.energy import Watts, energy_in, spans_of
from linkwright.summaries.links import Day
from linkwright.sweeps import Workers
from linkwright.sweeps.pace import Told

__all__ = ["compare_over_seeds", "play_seed"]


def play_seed(
    scenario: str,
    variant: str,
    settings: Mapping[str, object],
    seed: int,
    draw: int,
    watts: Watts | None = None,
) -> dict[str, Any]:
    """Plays one variant on one seed: the run of a sweep, whose result JSON can hold.

    Args:
        scenario: The scenario's file.
        variant: The variant's name there.
        settings: The values that replace the scenario's.
        seed: The number from which its jobs are drawn.
        draw: The place of the seed among the seeds, from zero. A file's jobs are drawn by it.
        watts: Stand in place of data sheets.
    """
    return dict(_seeded(scenario, variant, settings, seed).outcome(draw, watts))


def _seeded(path: str, variant: str, settings: Mapping[str, object], seed: int) -> ScenarioFile:
    return read_scenario_file(path, settings).seeded(seed).variant(variant)


# A scenario with what it plays: the system and the jobs.
_Ready = tuple[ScenarioFile, System, Sequence[Job]]


def _ready(loaded: ScenarioFile) -> _Ready:
    system, jobs, _ = loaded.build()
    return loaded, system, jobs


def _first_day(name: str, ready: _Ready, watts: Watts | None) -> FirstDay:
    """Plays a day under the name that people give it."""
    loaded, system, jobs = ready
    scenario = loaded.scenario
    result = simulated(scenario, system, jobs, scenario.policies[0])
    heat = heat_of(loaded, system, spans_of(result), watts)
    return FirstDay(Day(scenario, system, jobs, result.named(name)), heat)


def _first_days(named: Sequence[tuple[str, _Ready]], watts: Watts | None) -> list[FirstDay]:
    return [_first_day(name, ready, watts) for name, ready in named]


def _energy(found: Sequence[Mapping[str, Any]]) -> tuple[float | None, bool]:
    """The mean energy of GPUs over the seeds, and whether all has that at rest."""
    each = [energy_in(outcome) for outcome in found]
    known = [energy for energy, _ in each if energy is not None]
    whole = fmean(known) if len(known) == len(each) else None
    return whole, all(has_rest for _, has_rest in each)


def compare_over_seeds(
    loaded: ScenarioFile,
    *,
    settings: Mapping[str, object],
    reference: str,
    seeds: int,
    machines: Sequence[str] = (),
    equal: str | None = None,
    workers: Workers | Executor | None = None,
    checkpoint: PathOrName | None = None,
    timeline: int = 0,
    progress: Progress | None = None,
    forecast: Told | None = None,
    prices: Prices | None = None,
) -> Worth:
    """Plays the variants of a scenario of jobs of GPUs on several seeds, and each choice alone.

    Args:
        loaded: The scenario, with the settings.
        settings: The values that replaced those of its file.
        reference: The variant to compare with; of machines the first is.
        seeds: How many: the scenario's, and those that follow.
        machines: Instead of its variants, the servers to play it on, each with `=` and how many of
            them there are, or without.
        equal: Chooses how many, as for `compare`.
        workers: Where the runs are played, as for `play_sweep`.
        checkpoint: A file that keeps every finished run, as for `play_sweep`.
        timeline: How many jobs of a variant the run's timeline holds at most.
        progress: Called with what is played, how many runs are done, and how many there are.
        forecast: Told how long all will take, as for `compare`.
        prices: The cost and the power of parts.

    Raises:
        FileError: If a machine is neither a preset nor a file.
        InputError: If a variant is not as it should be, or a job does not fit, with the place.
        SimulationError: If a machine is named twice, or its number of servers cannot be told.
        SweepError: If a run that was begun cannot be played.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    chosen, alike = bought(loaded, settings, machines, equal, prices)
    machines = [it.name for it in chosen]
    if len(set(machines)) < len(machines):
        raise SimulationError("a machine is named twice", "name each once")
    own_speed = own_speed_of(loaded, settings, [it.machine for it in chosen]) if machines else []
    if own_speed:
        settings = {**settings, **OWN_SPEED}
        loaded = read_scenario_file(loaded.path, settings)
    scenario = loaded.scenario
    watts = None if prices is None else prices.gpu_watts
    listed = scenario.comparison(
        reference=reference,
        seeds=seeds,
        machines=[(it.name, written_of(loaded, it.machine), it.servers) for it in chosen],
    )
    reference = listed["reference"]
    variants = listed["variants"]
    beside: dict[str, object] = {**settings, **listed["settings"]}
    with_all = read_scenario_file(loaded.path, beside)
    built, found = play_variants(
        play_seed,
        with_all,
        listed,
        beside,
        workers=workers,
        checkpoint=checkpoint,
        progress=progress,
        forecast=forecast,
        what="runs",
        watts=watts,
    )
    names = [each["name"] for each in variants]
    together, first = names[0], listed["seeds"][0]
    shown = [
        (each["name"], _ready(_seeded(str(loaded.path), each["variant"], beside, first)))
        for each in variants
        if machines or each["name"] in (reference, together)
    ]
    system, jobs, _ = built[next(it["variant"] for it in variants if it["name"] == reference)]
    cautions = [
        caution
        for name, (of_variant, its_jobs, _) in built.items()
        for caution in (
            *of_variant.warnings,
            *warnings_of(with_all.scenario.variant(name), of_variant, its_jobs),
        )
    ]
    of_system = {each["name"]: built[each["variant"]][0] for each in variants}
    of_scenario = {each["name"]: with_all.scenario.variant(each["variant"]) for each in variants}
    speeds = []
    if machines:
        of_jobs = {each["name"]: built[each["variant"]][1] for each in variants}
        speeds = speeds_between(
            [(name, of_scenario[name].speeds(of_system[name], of_jobs[name])) for name in names]
        )
    by_name = {name: found[at :: len(names)] for at, name in enumerate(names)}
    bills = None
    if machines or prices is not None:
        of_name = {each["name"]: built[each["variant"]] for each in variants}
        bills = Bills(
            [
                Billed(
                    name,
                    bill_of(of_name[name][0]),
                    fmean(each["makespan"] for each in by_name[name]),
                    len(of_name[name][1]),
                    *_energy(by_name[name]),
                )
                for name in names
            ],
            prices,
            "machine" if machines else "variant",
        )
    return Worth(
        path=loaded.path,
        system=system,
        scenario=scenario,
        job_count=len(jobs),
        reference=reference,
        together=together,
        choices={each["name"]: each["choice"] for each in variants if each["choice"]},
        machines=list(machines),
        seeds=listed["seeds"],
        found=by_name,
        first_days=partial(_first_days, shown, watts),
        manifest=of_comparison(loaded, settings, {"seeds": listed["seeds"]}, names, reference),
        notes=[
            *([] if alike is None else alike.notes),
            *own_speed,
            *told_speeds(speeds),
            *([] if machines else alike_measures(by_name, reference, of_system, of_scenario)),
            *notes_of(built),
        ],
        cautions=list(dict.fromkeys(cautions)),
        known_errors=errors_of(built, with_all),
        timeline_limit=timeline,
        bills=bills,
        equal=alike,
        speeds=speeds,
    )
