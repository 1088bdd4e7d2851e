"""Plays a scenario with each value that a search asks for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from linkwright import System
from linkwright.arguments import callback, mapping_of, path_or_name, real, taking, texts
from linkwright.errors import SimulationError
from linkwright.files import PathOrName, reading_once
from linkwright.hardware import bill_of, read_prices
from linkwright.runs.bills import Billed
from linkwright.runs.manifest import of_comparison
from linkwright.runs.run import Progress
from linkwright.runs.scenarios import ScenarioFile, read_scenario_file
from linkwright.runs.sizing.run import Sizing, Tried
from linkwright.runs.sizing.search import least_enough
from linkwright.runs.sizing.values import in_step, more_never_hurts, varied
from linkwright.summaries.energy import energy_in

__all__ = ["size_system"]

# The measures of a day of jobs by their names, in words: less is better.
OF_DAYS = {
    "job_time": "jobs' time, mean",
    "run_time": "run times, mean",
    "makespan": "the last end",
}


@taking(
    vary=texts,
    settings=mapping_of,
    keep=real,
    reference=mapping_of,
    prices=path_or_name,
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
        progress: Is called with what is played, the values done and the values there are.

    Raises:
        FileError: If a file cannot be read.
        InputError: If the scenario, a value or the prices are not as they should be.
        SimulationError: If nothing is varied, the share is none, or jobs do not fit or do not end.
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

    def play(over: Mapping[str, object], at: int) -> tuple[ScenarioFile, System, Tried]:
        loaded = read_scenario_file(path, {**given, **over})
        # Its variants are not played, and a value may be that of one of them.
        plug_ins.update(loaded.scenario.plug_ins)
        system, jobs, _ = loaded.build()
        bill = bill_of(system)
        if priced is not None:
            priced.check([bill])
        outcome = loaded.outcome(watts=watts)
        times, makespan = _times(loaded, outcome), float(outcome["makespan"])
        energy, has_rest = energy_in(outcome)
        billed = Billed(_named(steps[at]), bill, makespan, len(jobs), energy, has_rest)
        return loaded, system, Tried(at, billed, times)

    loaded, system, best = play(reference or steps[-1], len(steps) - 1)
    if not reference:
        tried[len(steps) - 1] = best
    tell(len(tried))

    def shares(at: int) -> Mapping[Hashable, float]:
        if at not in tried:
            tried[at] = play(steps[at], at)[2]
            tell(len(tried))
        times = tried[at].times
        each = {name: _share(best.times[name], times[name]) for name in best.times}
        return {**each, None: min(each.values())}

    never_hurts = more_never_hurts(ranges)
    found = least_enough(len(steps), shares, keep, more_never_hurts=never_hurts)
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
