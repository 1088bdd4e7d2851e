"""The variants of a scenario that a comparison plays, as the runs of a sweep.

A scenario makes some choices, and the variant that it is compared with, such as
`[compare.default]`, differs from it in some keys. Each of these keys is a choice: played alone, the
variant is the reference with that one key as the scenario has it. So what is to be played follows
from the scenario, and nothing has to be written twice.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from linkwright import Scenario, System, preset_names
from linkwright.errors import FileError
from linkwright.files import PathOrName, existing, is_read_once, lasting
from linkwright.runs.run import Progress
from linkwright.runs.scenarios import ScenarioFile, assumed_of_network
from linkwright.summaries.known_error import KnownError, known_errors
from linkwright.sweeps import Sweep, Workers, run_sweep
from linkwright.sweeps.pace import Forecast, Told

__all__ = [
    "Built",
    "Played",
    "alone",
    "errors_of",
    "machines_of",
    "notes_of",
    "path_values",
    "play_variants",
]

# A system, its jobs, and notes.
Built = tuple[System, list[Any], list[str]]


@dataclass(frozen=True)
class Played:
    """A variant that a comparison plays.

    Attributes:
        name: What people read.
        variant: What the scenario calls it, with the settings beside.
        settings: What is put over the scenario so that it has this variant, by its name there.
        choice: Of one choice alone its key; empty of what is none.
    """

    name: str
    variant: str
    settings: Mapping[str, object]
    choice: str = ""


def path_values(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The keys of a table and of all within it, with dots, each with its value."""
    for key, value in table.items():
        path = f"{above}.{key}" if above else key
        if isinstance(value, Mapping):
            yield from path_values(value, path)
        else:
            yield path, value


def alone(loaded: ScenarioFile, reference: str) -> list[Played]:
    """For each choice the reference with that choice alone; none where there are not several."""
    scenario = loaded.scenario
    different = dict(path_values(scenario.differences.get(reference, {})))
    if len(different) < 2:
        return []
    first = scenario.variant(scenario.variants[0])
    found = []
    for number, path in enumerate(different, start=1):
        rest = {key: value for key, value in different.items() if key != path}
        name = f"alone-{number}"
        chosen = f"{path} = {_written(loaded, first, path)}"
        found.append(Played(chosen, name, {f"compare.{name}": _nested(rest)}, path))
    return found


def machines_of(loaded: ScenarioFile, machines: Sequence[str]) -> list[Played]:
    """The scenario on each machine: a preset's name, or a file's as it is given here."""
    first = loaded.scenario.variants[0]
    presets = [preset for preset, _ in preset_names()]
    found = []
    for number, machine in enumerate(machines, start=1):
        written = machine
        file = None if machine in presets else existing("machines", machine, "System.from_text")
        if file is not None:
            if is_read_once(file):
                raise FileError(
                    f"`{machine}` can be read once only, and every run of a comparison reads it",
                    "save it to a file",
                )
            # A scenario's files are relative to it.
            written = os.path.relpath(machine, loaded.path.parent).replace(os.sep, "/")
            written = written if "." in written or "/" in written else f"./{written}"
        if [name for name, *_ in loaded.scenario.servers] == [written]:
            found.append(Played(machine, first, {}))
            continue
        name = f"machine-{number}"
        found.append(Played(machine, name, {f"compare.{name}": {"system": {"server": written}}}))
    return found


# What a scenario tells of keys that it need not write.
TOLD = {
    "allocation.bandwidth_model": "bandwidth_model",
    "allocation.servers": "server_choice",
    "allocation.ties": "ties",
    "collectives.planner": "planner",
    "fidelity": "fidelity",
    "queue.discipline": "discipline",
}


def _written(loaded: ScenarioFile, first: Scenario, path: str) -> str:
    """What the scenario has for a key, as people read it."""
    if path == "allocation.policies":
        return first.policies[0]
    if path in TOLD:
        return str(getattr(first, TOLD[path]))
    written = dict(path_values(tomllib.loads(loaded.content.decode())))
    normal = {key.replace("-", "_"): value for key, value in written.items()}
    return str(normal.get(path, "as it is where nobody says"))


def _nested(paths: Mapping[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for path, value in paths.items():
        *tables, key = path.split(".")
        at = table
        for name in tables:
            at = at.setdefault(name, {})
        at[key] = value
    return table


def notes_of(built: Mapping[str, Built]) -> list[str]:
    """Lists the notes of all variants and the assumptions of their networks, each once."""
    told = ((*notes, *assumed_of_network(system)) for system, _, notes in built.values())
    return list(dict.fromkeys(note for notes in told for note in notes))


def errors_of(built: Mapping[str, Built], loaded: ScenarioFile) -> list[KnownError]:
    """How far the models of all variants are known to be off, each once."""
    of = loaded.scenario.variant
    return known_errors((system, of(name), jobs) for name, (system, jobs, _) in built.items())


def play_variants(
    play: Callable[..., dict[str, Any]],
    loaded: ScenarioFile,
    variants: Sequence[str],
    settings: Mapping[str, object],
    draws: Sequence[Mapping[str, object]] = ({},),
    *,
    workers: Workers | Executor | None,
    checkpoint: PathOrName | None,
    progress: Progress | None,
    forecast: Told | None = None,
    what: str,
) -> tuple[dict[str, Built], list[dict[str, Any]]]:
    """What each variant is built of, and what each came to on each draw, draw by draw.

    What cannot be built is refused before anything is played.

    Args:
        play: Plays one: called with the scenario's file, the variant's name, the settings, and
            what the draw says.
        loaded: The scenario, with the settings.
        variants: The names of its variants.
        settings: What was put over its file.
        draws: What else a run is told; every variant is played on each.
        workers: Where the runs are played, as for `run_sweep`.
        checkpoint: A file that keeps every finished run, as for `run_sweep`.
        progress: Called with what is played, how many runs are done, and how many there are.
        forecast: Told how long all will take, as soon as every variant has been played once; of a
            single draw, as soon as one has.
        what: What the runs are, in the words of their progress.

    Raises:
        InputError: If a variant is not as it should be, or a job does not fit, with the place.
        SweepError: If a run that was begun cannot be played.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    of = {name: loaded.variant(name) for name in variants}
    built = {name: variant.build() for name, variant in of.items()}
    files = dict.fromkeys(name for variant in of.values() for name in variant.files)
    runs = [
        {"variant": name, "settings": dict(settings), **draw} for draw in draws for name in variants
    ]
    inputs = [loaded.path, *(loaded.path.parent / name for name in files)]
    ahead = Forecast(forecast, len(variants) if len(draws) > 1 else 1)

    def report(what: str, done: int, total: int) -> None:
        ahead.show(done, total)
        if progress is not None:
            progress(what, done, total, 0.0, 0)

    # A cluster's workers stand in folders of their own.
    with lasting(loaded.path, loaded.content) as scenario:
        found = run_sweep(
            Sweep(play, runs, loaded.scenario.seed, inputs, {"scenario": str(scenario)}),
            workers,
            checkpoint=checkpoint,
            progress=report,
            what=what,
        )
    return built, list(found.results)
