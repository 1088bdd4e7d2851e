"""The runs of a comparison, which the core lists, as the runs of a sweep."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from typing import Any

from linkwright import System
from linkwright.errors import FileError
from linkwright.files import PathOrName, existing, is_read_once, lasting
from linkwright.network import preset_names
from linkwright.plug_ins import source_files
from linkwright.runs.run import Progress
from linkwright.runs.scenarios import ScenarioFile, assumed_of_network
from linkwright.summaries.energy import Watts
from linkwright.summaries.known_error import KnownError, known_errors
from linkwright.sweeps import Sweep, Workers, play_sweep
from linkwright.sweeps.pace import Forecast, Told

__all__ = [
    "Built",
    "errors_of",
    "notes_of",
    "path_values",
    "play_variants",
    "written_of",
]

# A system, its jobs, and notes.
Built = tuple[System, list[Any], list[str]]


def path_values(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Returns the keys of a table and of all within it, with dots, each with its value."""
    for key, value in table.items():
        path = f"{above}.{key}" if above else key
        if isinstance(value, Mapping):
            yield from path_values(value, path)
        else:
            yield path, value


def written_of(loaded: ScenarioFile, machine: str) -> str:
    """Returns a scenario's text for a machine: a preset's name, or a file's relative to it.

    Raises:
        FileError: If the file can be read once only.
    """
    presets = [preset for preset, _ in preset_names()]
    file = None if machine in presets else existing("machines", machine, "System.from_text")
    if file is None:
        return machine
    if is_read_once(file):
        raise FileError(
            f"`{machine}` can be read only once, but every run of a comparison reads it",
            "save it to a file",
        )
    # A scenario's files are relative to it.
    written = os.path.relpath(machine, loaded.path.parent).replace(os.sep, "/")
    return written if "." in written or "/" in written else f"./{written}"


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
    listed: Mapping[str, Any],
    settings: Mapping[str, object],
    *,
    workers: Workers | Executor | None,
    checkpoint: PathOrName | None,
    progress: Progress | None,
    forecast: Told | None = None,
    what: str,
    watts: Watts | None = None,
    attribute: bool = False,
) -> tuple[dict[str, Built], list[dict[str, Any]]]:
    """Returns each variant's system and jobs, and each run's results, in the list's order.

    A variant that cannot be built is refused before anything is played.

    Args:
        play: Plays one: called with the scenario's file, the variant's name, the settings, and
            over seeds, the seed and which of the seeds it is.
        loaded: The scenario, with the settings.
        listed: The runs to play, as `Scenario.comparison` lists them.
        settings: The values that replaced those of its file.
        workers: Where the runs are played, as for `play_sweep`.
        checkpoint: A file that keeps every finished run, as for `play_sweep`.
        progress: Called with what is played, how many runs are done, and how many there are.
        forecast: Told how long all will take, as soon as every variant has been played once; of a
            single draw, as soon as one has.
        what: The name of the runs, in the words of their progress.
        watts: Stand in place of data sheets.
        attribute: Whether it is said what slowed each job.

    Raises:
        InputError: If a variant is not as it should be, or a job does not fit, with the place.
        SweepError: If a run that was begun cannot be played.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    variants = [each["variant"] for each in listed["variants"]]
    of = {name: loaded.variant(name) for name in variants}
    built = {name: variant.build() for name, variant in of.items()}
    files = dict.fromkeys(name for variant in of.values() for name in variant.files)
    runs = [
        {"variant": variants[at], "settings": dict(settings)}
        | ({} if seed is None else {"seed": seed, "draw": draw})
        | ({} if watts is None else {"watts": {name: list(it) for name, it in watts.items()}})
        | ({"attribute": True} if attribute else {})
        for at, seed, draw in listed["runs"]
    ]
    classes = sorted({name for variant in of.values() for name in variant.scenario.plug_ins})
    inputs = [loaded.path, *(loaded.path.parent / name for name in files)]
    ahead = Forecast(forecast, len(variants) if len(runs) > len(variants) else 1)

    def report(what: str, done: int, total: int) -> None:
        ahead.show(done, total)
        if progress is not None:
            progress(what, done, total, 0.0, 0)

    # A cluster's workers stand in folders of their own.
    with lasting(loaded.path, loaded.content) as scenario:
        found = play_sweep(
            Sweep(
                play,
                runs,
                loaded.scenario.seed,
                [*inputs, *source_files(classes)],
                {"scenario": str(scenario)},
                classes,
            ),
            workers,
            checkpoint=checkpoint,
            progress=report,
            what=what,
        )
    return built, list(found.results)
