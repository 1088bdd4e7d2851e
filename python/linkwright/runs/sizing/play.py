"""Plays a scenario with each value that a search asks for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from linkwright import System
from linkwright.arguments import callback, mapping_of, path_or_name, real, taking, texts
from linkwright.errors import SimulationError
from linkwright.files import PathOrName, lasting, reading_once
from linkwright.hardware import Bill, bill_of, read_prices
from linkwright.plug_ins import source_files
from linkwright.runs.bills import Billed
from linkwright.runs.manifest import of_comparison
from linkwright.runs.run import Progress
from linkwright.runs.scenarios import ScenarioFile, read_scenario_file
from linkwright.runs.sizing.run import Sizing, Tried
from linkwright.runs.sizing.search import least_enough
from linkwright.runs.sizing.values import in_step, more_never_hurts, varied
from linkwright.summaries.energy import Watts, energy_in
from linkwright.sweeps import Sweep, Workers, play_sweep
from linkwright.sweeps.workers import workers_of

__all__ = ["play_value", "size_system"]

# The measures of a day of jobs by their names, in words: less is better.
OF_DAYS = {
    "job_time": "jobs' time, mean",
    "run_time": "run times, mean",
    "makespan": "the last end",
}


def play_value(
    scenario: str, settings: Mapping[str, object], watts: Watts | None = None
) -> dict[str, Any]:
    """Plays a scenario with one value: the run of a sweep, whose result JSON can hold.

    Args:
        scenario: Its file.
        settings: The values that replace the scenario's.
        watts: Stand in place of data sheets.

    Raises:
        InputError: If the scenario is not what it should be.
        SimulationError: If a job can never start or does not end.
    """
    outcome: dict[str, Any] = read_scenario_file(scenario, settings).outcome(watts=watts)
    return outcome


@dataclass(frozen=True)
class _Ready:
    """Holds a scenario with one value, which is ready to be played."""

    loaded: ScenarioFile
    settings: Mapping[str, object]
    system: System
    job_count: int
    bill: Bill


@taking(
    vary=texts,
    settings=mapping_of,
    keep=real,
    reference=mapping_of,
    prices=path_or_name,
    workers=workers_of,
    progress=callback,
)
@reading_once()
def size_system(
    path: PathOrName,
    vary: Sequence[str],
    *,
    keep: float = 0.9,
    reference: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    prices: PathOrName | None = None,
    workers: Workers | Executor | None = None,
    progress: Progress | None = None,
) -> Sizing:
    """Finds the least value of a setting with which the jobs keep a share of their performance.

    Performance is the inverse of a job's time; of jobs of GPUs, of the mean times of all. It is
    compared with what the last value gives, or with a system of its own.

    Args:
        path: The scenario's TOML file.
        vary: Says what is varied. In `system.network.bandwidth=10 GB/s..80 GB/s` each value is
            twice the one before. `system.server=dgx-a100,hgx-h100` goes from the least to the most.
            Several change together.
        keep: Is the share of performance.
        reference: Is put over the scenario for what the performance is compared with. The last
            value stands where it is absent.
        settings: Are put over the scenario, as for `Scenario.with_settings`.
        prices: Names a file of prices and watts. `read_prices` describes it.
        workers: Play values where all are played, as for `play_sweep`. A bisection plays each value
            here, since the one before decides which comes next.
        progress: Is called with what is played, the values done and the values there are.

    Raises:
        FileError: If a file cannot be read.
        InputError: If the scenario, a value or the prices are not as they should be.
        SimulationError: If nothing is varied, the share is none, or jobs do not fit or do not end.
        SweepError: If a value that workers play cannot be played.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    if not 0 < keep <= 1:
        raise SimulationError(f"{keep:g} is no share of performance", "give one above 0, up to 1")
    if not vary:
        raise SimulationError("nothing is varied", "write KEY=LOW..HIGH or KEY=A,B,C")
    ranges = [varied(text) for text in vary]
    steps = in_step(ranges)
    given = dict(settings or {})
    priced = None if prices is None else read_prices(prices)
    watts = None if priced is None else priced.gpu_watts
    tried: dict[int, Tried] = {}
    plug_ins: set[str] = set()

    def tell(done: int) -> None:
        if progress is not None:
            progress("values", done, len(steps), 0.0, 0)

    def ready(over: Mapping[str, object]) -> _Ready:
        put_over = {**given, **over}
        loaded = read_scenario_file(path, put_over)
        # Its variants are not played, and a value may be that of one of them.
        plug_ins.update(loaded.scenario.plug_ins)
        system, jobs, _ = loaded.build()
        bill = bill_of(system)
        if priced is not None:
            priced.check([bill])
        return _Ready(loaded, put_over, system, len(jobs), bill)

    def outcome_at(at: int, of: _Ready, outcome: Mapping[str, Any]) -> Tried:
        times, makespan = _times(of.loaded, outcome), float(outcome["makespan"])
        energy, has_rest = energy_in(outcome)
        billed = Billed(_named(steps[at]), of.bill, makespan, of.job_count, energy, has_rest)
        return Tried(at, billed, times)

    def play(at: int, of: _Ready) -> Tried:
        return outcome_at(at, of, of.loaded.outcome(watts=watts))

    def play_all(places: Sequence[int]) -> None:
        wanted = {at: ready(steps[at]) for at in places if at not in tried}
        before = len(tried)
        found = _played_by(
            workers, list(wanted.values()), watts, lambda _, done, *__: tell(before + done)
        )
        for (at, of), outcome in zip(wanted.items(), found, strict=True):
            tried[at] = outcome_at(at, of, outcome)

    last = len(steps) - 1
    compared_with = ready(reference or steps[-1])
    loaded, system = compared_with.loaded, compared_with.system
    never_hurts = more_never_hurts(ranges)
    if reference or never_hurts:
        best = play(last, compared_with)
        if not reference:
            tried[last] = best
        tell(len(tried))
    if not never_hurts:
        play_all(range(len(steps)))
    if not reference:
        best = tried[last]

    def shares(at: int) -> Mapping[Hashable, float]:
        if at not in tried:
            tried[at] = play(at, ready(steps[at]))
            tell(len(tried))
        times = tried[at].times
        each = {name: _share(best.times[name], times[name]) for name in best.times}
        return {**each, None: min(each.values())}

    found = least_enough(
        len(steps), shares, keep, more_never_hurts=never_hurts, ahead_of_all=play_all
    )
    compared = ", ".join(f"{key}={value}" for key, value in (reference or steps[-1]).items())
    names = [_named(step) for step in steps]
    seeded = {"seed": loaded.scenario.seed}
    return Sizing(
        path=loaded.path,
        system=system,
        keys=[each.key for each in ranges],
        values=names,
        keep=keep,
        reference=compared,
        found=found,
        is_range=all(each.is_range for each in ranges),
        tried=[tried[at] for at in sorted(tried)],
        prices=priced,
        manifest={
            **of_comparison(loaded, given, seeded, names, compared, sorted(plug_ins)),
            "vary": list(vary),
            "keep": keep,
        },
    )


def _played_by(
    workers: Workers | Executor | None,
    wanted: Sequence[_Ready],
    watts: Watts | None,
    progress: Callable[[str, int, int], object],
) -> list[dict[str, Any]]:
    """Plays scenarios that do not wait for one another, and gives the outcome of each."""
    if not wanted:
        return []
    first = wanted[0].loaded
    beside = {} if watts is None else {"watts": {name: list(it) for name, it in watts.items()}}
    runs = [{"settings": dict(each.settings), **beside} for each in wanted]
    files = dict.fromkeys(name for each in wanted for name in each.loaded.files)
    classes = sorted({name for each in wanted for name in each.loaded.scenario.plug_ins})
    inputs = [first.path, *(first.path.parent / name for name in files), *source_files(classes)]
    # A cluster's workers stand in folders of their own.
    with lasting(first.path, first.content) as scenario:
        sweep = Sweep(
            play_value,
            runs,
            first.scenario.seed,
            inputs,
            {"scenario": str(scenario)},
            classes,
        )
        found = play_sweep(sweep, workers, progress=progress, what="values")
    return list(found.results)


def _named(step: Mapping[str, object]) -> str:
    return ", ".join(f"{value}" for value in step.values())


def _share(before: float, now: float) -> float:
    """Gives the share of performance that is left; a job without time loses none."""
    return before / now if now > 0 else 1.0


def _times(loaded: ScenarioFile, outcome: Mapping[str, Any]) -> dict[Hashable, float]:
    """How long each job takes, or a day's jobs in the mean."""
    if loaded.scenario.kind == "programs":
        return dict(outcome["jobs"])
    # Hours and the like have the factors of their measures; only ratios count here.
    return {words: float(outcome[name]) for name, words in OF_DAYS.items() if outcome.get(name)}
