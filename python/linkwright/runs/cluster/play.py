"""Programs played on a system: from their inputs to a run that can be repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from linkwright import System
from linkwright.arguments import (
    callback,
    mapping_of,
    path_or_name,
    real,
    taking,
    text,
    truth,
    whole,
)
from linkwright.errors import ArgumentError, SimulationError, given, printable
from linkwright.files import PathOrName, portable_name, reading_once
from linkwright.network import ClusterJob, ClusterRun, mapping_from_text
from linkwright.programs import (
    MAPPINGS,
    Places,
    mapping_text,
    read_program_with_notes,
    with_notes,
)
from linkwright.runs.cluster.attribution import attribute_programs
from linkwright.runs.cluster.run import Replay
from linkwright.runs.heat import heat_of
from linkwright.runs.manifest import of_programs, of_trace
from linkwright.runs.rank_timeline import rank_timeline_kept
from linkwright.runs.run import Progress
from linkwright.runs.scenarios import (
    ScenarioFile,
    read_scenario_file,
    told_of,
    trace_files,
    unused_network,
)
from linkwright.runs.timeline import told_of_cut
from linkwright.systems import fat_tree_for, read_system

__all__ = ["MAPPINGS", "SIZED", "play_programs", "play_trace", "replay_loaded"]

SIZED = (
    "no network was named, so the job had a fat-tree of its own size, {nodes:,} nodes; "
    "the network `fat-tree` has 2,048"
)


def system_of(argument: str, value: object) -> Any:
    """Reads a system, or a function that makes one for a number of ranks.

    Raises:
        ArgumentError: If it is neither.
    """
    if isinstance(value, System) or callable(value):
        return value
    wanted = "give a `System`, or a function that makes one for a number of ranks"
    raise ArgumentError(given(value), wanted, argument)


@taking(
    trace=path_or_name,
    system=system_of,
    mapping=path_or_name,
    ranks=whole,
    parameters=mapping_of,
    iterations=whole,
    computation_scale=real,
    fidelity=text,
    protocol=mapping_of,
    collectives=mapping_of,
    seed=whole,
    timeline=whole,
    events=mapping_of,
    progress=callback,
)
@reading_once()
def play_trace(
    trace: PathOrName,
    system: System | Callable[[int], System] | None = None,
    *,
    ranks: int | None = None,
    parameters: Mapping[str, object] | None = None,
    iterations: int = 1,
    computation_scale: float = 1.0,
    mapping: PathOrName = "linear",
    fidelity: str = "packet",
    protocol: dict[str, object] | None = None,
    collectives: dict[str, object] | None = None,
    seed: int = 0,
    timeline: int = 0,
    events: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Replay:
    """Plays one recorded trace, or one application, on a system.

    Args:
        trace: An OTF2 archive (its folder or its anchor file), a file of GOAL text, or one of
            `applications`.
        system: The system that the job runs on, or a function that makes it for a number of ranks.
            An example is `lambda ranks: read_system("dgx1-v100", network="torus", gpus=ranks)`.
            Where absent, it is a fat-tree of the job's size with a GPU at each port: the smallest
            that has the ports. With a file of mappings it is that of 2,048 that `fat-tree` is by
            name.
        ranks: How many ranks an application has.
        parameters: An application's own.
        iterations: How often the main loop runs.
        computation_scale: The factor on times of computation.
        mapping: A placement, as for `System.play`, or a file with the GPU of each rank.
        fidelity: `packet` or `flow`, as for `System.play`.
        protocol: The costs of messages in software, as for `System.play`.
        collectives: How collectives become messages, as for `System.play`.
        seed: Of routing by chance and of random mappings.
        timeline: The most records of each kind that the run keeps: intervals of computation,
            messages, and stays in regions. `notes` give the full number of each kind that is cut.
        events: Which raw events of the network the run keeps: `packets`, `queues` and what belongs
            to them, as for `System.play`.
        progress: Called about every 100 ms with the program's name, operations done, operations
            in all, simulated seconds, and events of the network.

    Raises:
        FileError: If a file is not there or cannot be read.
        InputError: If a file or a setting is not what it should be.
        SimulationError: If the job does not fit or does not come to an end.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    # Ranks that an application cannot fit on are refused before it is made; a trace tells its
    # ranks.
    read = None if ranks else read_program_with_notes(trace, ranks=ranks, **(parameters or {}))
    size = ranks or (read[0].ranks if read else 1)
    told: list[str] = []
    if system is None and str(mapping) in MAPPINGS:
        fitted = fat_tree_for(size)
        system = read_system(network=fitted)
        told = [SIZED.format(nodes=system.server_count)] if len(fitted) > 1 else []
    elif system is None:
        system = read_system(network="fat-tree")
    elif not isinstance(system, System):
        system = system(size)
    if ranks is not None and ranks > system.gpu_count:
        # A program of this many ranks takes long to make, and would be refused for its size.
        raise SimulationError(
            f"the jobs have {ranks} ranks in all, and the system has {system.gpu_count} GPUs",
            "use fewer or smaller jobs, or a larger system",
        )
    # A list, since two inputs may have one name in two folders.
    inputs = [("trace", name, content) for name, content in trace_files(trace).items()]
    inputs += [("system", portable_name(name), text) for name, text in system.files.items()]
    gpus: str | list[int] = str(mapping)
    if gpus not in MAPPINGS:
        text = mapping_text(mapping)
        file = printable(str(mapping))
        [gpus] = mapping_from_text(text, [size], system.gpu_count, file)
        inputs.append(("mapping", Path(mapping).name, text.encode()))
    program, left_out = read or read_program_with_notes(
        trace, Places(system, gpus, seed), ranks=ranks, **(parameters or {})
    )
    job = ClusterJob(
        program, iterations=iterations, computation_scale=computation_scale, mapping=gpus
    )
    play: dict[str, Any] = {
        "fidelity": fidelity,
        "protocol": protocol or {},
        "collectives": collectives or {},
        "seed": seed,
    }
    try:
        run = system.play(
            [job],
            **play,
            **(events or {}),
            timeline=timeline,
            progress=_telling(job.name, progress),
        )
    except SimulationError as error:
        raise with_notes(error, left_out) from error
    choices = {
        "ranks": program.ranks,
        "parameters": dict(parameters or {}),
        "iterations": iterations,
        "computation_scale": computation_scale,
        "mapping": portable_name(str(mapping)),
        **play,
    }
    manifest = of_trace(trace, system, choices, inputs)
    notes = [*left_out, *told_of(system), *told, *run.notes]
    notes += [*unused_network(system, run.mapping), *_cut(run)]
    return Replay(job.name, system, [job], run, manifest, notes, events=events or {})


@taking(settings=mapping_of, timeline=whole, events=mapping_of, progress=callback, attribute=truth)
@reading_once()
def play_programs(
    path: PathOrName,
    *,
    settings: Mapping[str, object] | None = None,
    timeline: int = 0,
    events: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    attribute: bool = False,
) -> Replay:
    """Reads a scenario of programs and plays its jobs.

    Args:
        path: The scenario's TOML file; the files that it names are relative to it.
        settings: The values that replace the scenario's, as for `Scenario.with_settings`.
        timeline: The most records of each kind that the run keeps: intervals of computation,
            messages, and stays in regions. `notes` give the full number of each kind that is cut.
        events: Which raw events of the network the run keeps: `packets`, `queues` and what belongs
            to them, as for `System.play`.
        progress: Called about every 100 ms with the scenario's name, operations done, operations
            in all, simulated seconds, and events of the network.
        attribute: Whether to split the slowdown of each job. Then each is played alone, too, on its
            GPUs and on the first of the system.

    Raises:
        FileError: If the scenario cannot be read.
        InputError: If it or a file that it names is not what it should be or cannot be read,
            with line and column.
        SimulationError: If the jobs do not come to an end, or are a mix of GPUs.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    return replay_loaded(
        read_scenario_file(path, settings),
        timeline=timeline,
        events=events,
        progress=progress,
        attribute=attribute,
    )


def replay_loaded(
    loaded: ScenarioFile,
    *,
    timeline: int = 0,
    events: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    attribute: bool = False,
) -> Replay:
    """Plays the jobs of a scenario of programs that was read.

    Raises:
        InputError: If a file is not what it should be, or the jobs do not fit.
        SimulationError: If the jobs do not come to an end, or are a mix of GPUs.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    scenario = loaded.scenario
    if scenario.kind != "programs":
        raise SimulationError(
            f"`{loaded.path.name}` has jobs that a policy places, not programs",
            "play_mix plays them",
        )
    system, jobs, notes = loaded.build()
    name = scenario.name or loaded.path.stem
    try:
        run = system.play(
            jobs,
            **scenario.play_options,
            **(events or {}),
            timeline=timeline,
            progress=_telling(name, progress),
        )
    except SimulationError as error:
        raise with_notes(error, notes) from error
    manifest = of_programs(loaded, system, run.fidelity)
    notes = [*notes, *told_of(system), *run.notes, *unused_network(system, run.mapping), *_cut(run)]
    rows = zip(run.mapping, run.jobs(), strict=True)
    spans = [(sorted(set(gpus)), row["start"], row["end"]) for gpus, row in rows]
    slowdowns = (
        attribute_programs(name, system, jobs, run, scenario.play_options) if attribute else None
    )
    heat = heat_of(loaded, system, spans)
    return Replay(name, system, jobs, run, manifest, notes, heat, slowdowns, events or {})


def _cut(run: ClusterRun) -> list[str]:
    return told_of_cut(rank_timeline_kept(run))


def _telling(
    name: str, progress: Progress | None
) -> Callable[[int, int, float, int], object] | None:
    return None if progress is None else partial(progress, name)
