"""A comparison of jobs of GPUs over seeds: every variant on every seed, as the runs of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from random import Random
from typing import Any, cast

from linkwright import Job, SimulationResult, System, __version__
from linkwright.errors import SimulationError
from linkwright.names import PatternName, WorkloadName
from linkwright.runs.run import Progress
from linkwright.runs.scenarios import ScenarioFile, load_scenario
from linkwright.runs.server.play import simulated
from linkwright.runs.worth.choices import Played, alone, machines_of
from linkwright.runs.worth.run import Day, Worth
from linkwright.summaries.measures import measured
from linkwright.sweeps import Sweep, Workers, run_sweep

__all__ = ["compare_over_seeds", "play_seed"]


def play_seed(
    scenario: str, variant: str, settings: Mapping[str, object], seed: int, draw: int
) -> dict[str, Any]:
    """Plays one variant on one seed: the run of a sweep, whose result JSON can hold.

    Args:
        scenario: The scenario's file.
        variant: The variant's name there.
        settings: What is put over the scenario.
        seed: What its jobs are drawn from.
        draw: Which of the seeds it is, from zero, of which a file's jobs are drawn.
    """
    loaded, system, jobs, result = _played(scenario, variant, settings, seed, draw)
    return measured(loaded.scenario, system, jobs, result)


def _played(
    scenario: str, variant: str, settings: Mapping[str, object], seed: int, draw: int
) -> tuple[ScenarioFile, System, list[Job], SimulationResult]:
    loaded = load_scenario(scenario, _on_seed(load_scenario(scenario, settings), settings, seed))
    loaded = loaded.variant(variant)
    system, jobs, _ = loaded.build()
    if isinstance(loaded.scenario.jobs, str) and draw:
        jobs = _drawn(jobs, seed)
    result = simulated(loaded.scenario, system, jobs, loaded.scenario.policies[0])
    return loaded, system, jobs, result


def _on_seed(loaded: ScenarioFile, settings: Mapping[str, object], seed: int) -> dict[str, object]:
    found: dict[str, object] = {**settings, "seed": seed}
    if loaded.scenario.jobs_seed is not None:
        found["jobs.generate.seed"] = seed
    return found


def _drawn(jobs: Sequence[Job], seed: int) -> list[Job]:
    """As many jobs of a list, with replacement, that arrive when its jobs do."""
    random = Random(seed)
    drawn = random.choices(jobs, k=len(jobs))
    return [
        Job(
            f"{at:04}-{job.name}",
            cast(WorkloadName, job.workload),
            job.gpus,
            pattern=cast(PatternName, job.pattern),
            sensitive=job.sensitive,
            arrival=slot.arrival,
            iterations=job.iterations,
        )
        for at, (slot, job) in enumerate(zip(jobs, drawn, strict=True), start=1)
    ]


def compare_over_seeds(
    loaded: ScenarioFile,
    *,
    settings: Mapping[str, object],
    reference: str,
    seeds: int,
    machines: Sequence[str] = (),
    workers: Workers | Executor | None = None,
    checkpoint: str | Path | None = None,
    timeline: int = 0,
    progress: Progress | None = None,
) -> Worth:
    """Plays the variants of a scenario of jobs of GPUs on several seeds, and each choice alone.

    Args:
        loaded: The scenario, with the settings.
        settings: What was put over its file.
        reference: The variant to compare with; of machines the first is.
        seeds: How many: the scenario's, and those that follow.
        machines: Instead of its variants, the servers to play it on.
        workers: Where the runs are played, as for `run_sweep`.
        checkpoint: A file that keeps every finished run, as for `run_sweep`.
        timeline: How many jobs of a variant the run's timeline holds at most.
        progress: Called with what is played, how many runs are done, and how many there are.

    Raises:
        InputError: If a variant is not as it should be, or a job does not fit, with the place.
        SimulationError: If a machine is named twice.
        SweepError: If a run that was begun cannot be played.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    scenario = loaded.scenario
    if len(set(machines)) < len(machines):
        raise SimulationError("a machine is named twice", "name each once")
    if machines:
        played = machines_of(loaded, machines)
        reference = played[0].name
    else:
        played = [Played(name, name, {}) for name in scenario.variants]
        played[1:1] = alone(loaded, reference)
    beside: dict[str, object] = dict(settings)
    for each in played:
        beside |= each.settings
    whole = load_scenario(loaded.path, beside)
    # What cannot be built is refused before anything is played.
    built = {each.name: whole.variant(each.variant).build() for each in played}
    first = scenario.jobs_seed if scenario.jobs_seed is not None else scenario.seed
    listed = [(first + draw, draw) for draw in range(seeds)]
    runs: list[dict[str, object]] = [
        {
            "scenario": str(loaded.path),
            "variant": each.variant,
            "settings": beside,
            "seed": seed,
            "draw": draw,
        }
        for seed, draw in listed
        for each in played
    ]
    files: dict[str, None] = {}
    for each in played:
        files |= dict.fromkeys(whole.variant(each.variant).files)
    inputs = [loaded.path, *(loaded.path.parent / name for name in files)]
    found = run_sweep(
        Sweep(play_seed, runs, first, inputs),
        workers,
        checkpoint=checkpoint,
        progress=_telling(progress),
        what="runs",
    ).results
    of = {each.name: found[at :: len(played)] for at, each in enumerate(played)}
    together = played[0].name
    shown = [each for each in played if each.name in (reference, together)]
    if machines:
        shown = played
    days = []
    for each in shown:
        of_day, system, jobs, result = _played(str(loaded.path), each.variant, beside, *listed[0])
        days.append(Day(of_day.scenario, system, jobs, result.named(each.name)))
    system, jobs, notes = built[reference]
    manifest: dict[str, object] = {
        "linkwright": __version__,
        "scenario": loaded.facts,
        "files": [loaded.file_facts(name) for name in loaded.files],
        "settings": dict(settings),
        "seeds": [seed for seed, _ in listed],
        "compared": [each.name for each in played],
        "reference": reference,
    }
    choices = {each.name: each.choice for each in played if each.choice}
    return Worth(
        path=loaded.path,
        system=system,
        scenario=scenario,
        job_count=len(jobs),
        reference=reference,
        together=together,
        choices=choices,
        machines=list(machines),
        seeds=[seed for seed, _ in listed],
        found=of,
        days=days,
        manifest=manifest,
        notes=notes,
        timeline_limit=timeline,
    )


def _telling(progress: Progress | None) -> Callable[[str, int, int], object] | None:
    if progress is None:
        return None
    return lambda what, done, total: progress(what, done, total, 0.0, 0)
