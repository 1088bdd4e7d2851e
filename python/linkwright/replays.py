"""Jobs played on a cluster: from their inputs to a run that can be repeated.

The manifest names the version, the settings and the hash of every input, and holds no clock and
no folder, so that the same inputs give the same bytes anywhere.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# The package itself imports this module last, when all of these names exist.
from linkwright import (
    Cluster,
    ClusterJob,
    ClusterRun,
    __version__,
    read_cluster_scenario,
    read_mapping,
)
from linkwright.clusters import load_cluster, load_program, trace_of
from linkwright.documents import write_json
from linkwright.errors import printable
from linkwright.files import (
    decode,
    portable,
    read_bytes,
    read_named,
    read_text,
    sha256,
    staged,
)

__all__ = [
    "MAPPINGS",
    "Replay",
    "is_cluster_scenario",
    "replay_scenario",
    "replay_trace",
    "write_replay",
]

MAPPINGS = ("linear", "random")

Progress = Callable[[int, int, float], object]


@dataclass(frozen=True)
class Replay:
    """Jobs that were played on a cluster.

    Attributes:
        name: What was played, for headings: a program's name or a scenario's.
        cluster: Where.
        jobs: The jobs.
        run: What became of them and of the network.
        manifest: What repeats the replay: the version, the settings, the hash of every input.
    """

    name: str
    cluster: Cluster
    jobs: Sequence[ClusterJob]
    run: ClusterRun
    manifest: Mapping[str, object] = field(repr=False)


def replay_trace(
    trace: str | Path,
    machine: str | Path = "fat-tree",
    *,
    ranks: int | None = None,
    parameters: Mapping[str, object] | None = None,
    iterations: int = 1,
    computation_scale: float = 1.0,
    mapping: str | Path = "linear",
    seed: int = 0,
    timeline: int = 0,
    progress: Progress | None = None,
    **settings: object,
) -> Replay:
    """Plays one recorded trace, or one application, on a cluster.

    Args:
        trace: An OTF2 archive (its folder or its anchor file), a file of GOAL text, or one of
            `applications`.
        machine: One of `interconnect_names`, or the file of a network.
        ranks: How many ranks an application has.
        parameters: An application's own.
        iterations: How often the main loop runs.
        computation_scale: What times of computation are multiplied by.
        mapping: `linear`, `random`, or a file with the GPU of each rank.
        seed: Of routing by chance and of random mappings.
        timeline: How many intervals of computation, and as many messages, the run keeps.
        progress: Called about every 100 ms with operations done, operations in all, and
            simulated seconds.
        settings: Of the cluster, as for `Cluster`.

    Raises:
        FileError: If a file is not there or cannot be read.
        InputError: If a file or a setting is not what it should be.
        SimulationError: If the job does not fit or does not come to an end.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    cluster = load_cluster(machine, seed=seed, **settings)
    program = load_program(trace, ranks=ranks, **(parameters or {}))
    inputs = [*_network_files(machine, settings), *_trace_files(trace)]
    gpus: str | list[int] = str(mapping)
    if gpus not in MAPPINGS:
        text = read_text(mapping)
        file = printable(str(mapping))
        [gpus] = read_mapping(text, [program.ranks], cluster.gpus, file)
        inputs.append(Path(mapping))
    job = ClusterJob(
        program, iterations=iterations, computation_scale=computation_scale, mapping=gpus
    )
    run = cluster.replay([job], timeline=timeline, progress=progress)
    manifest: dict[str, object] = {
        "linkwright": __version__,
        "trace": portable(str(trace)),
        "machine": portable(str(machine)),
        "ranks": program.ranks,
        "parameters": dict(parameters or {}),
        "iterations": iterations,
        "computation_scale": computation_scale,
        "mapping": portable(str(mapping)),
        "seed": seed,
        "settings": dict(settings),
        "inputs": [_hashed(path.name, read_bytes(path)) for path in inputs],
    }
    return Replay(job.name, cluster, [job], run, manifest)


def is_cluster_scenario(text: str) -> bool:
    """Whether a TOML text is a scenario of a cluster: it has a network, or jobs that play there.

    A text that is no TOML is none, so that who reads scenarios of one server says what is wrong.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return "network" in document or "job" in document


def replay_scenario(
    path: str | Path, *, timeline: int = 0, progress: Progress | None = None
) -> Replay:
    """Reads a scenario of a cluster and plays its jobs.

    Args:
        path: The scenario's TOML file; the files that it names are relative to it.
        timeline: How many intervals of computation, and as many messages, the run keeps.
        progress: Called about every 100 ms with operations done, operations in all, and
            simulated seconds.

    Raises:
        FileError: If the scenario cannot be read.
        InputError: If it or a file that it names is not what it should be, with its place.
        SimulationError: If the jobs do not come to an end.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    path = Path(path)
    content = read_bytes(path)
    file = printable(str(path))
    scenario = read_cluster_scenario(decode(str(path), content), file)
    files: dict[str, bytes] = {}
    for name, line, column in scenario.files:
        files[name] = read_named(path, (line, column), name)
    cluster, jobs = scenario.build(files)
    run = cluster.replay(jobs, timeline=timeline, progress=progress)
    manifest: dict[str, object] = {
        "linkwright": __version__,
        "scenario": path.name,
        "seed": scenario.seed,
        "inputs": [
            _hashed(path.name, content),
            *(_hashed(portable(name), held) for name, held in sorted(files.items())),
        ],
    }
    return Replay(scenario.name or path.stem, cluster, jobs, run, manifest)


def _network_files(machine: str | Path, settings: Mapping[str, object]) -> list[Path]:
    table = settings.get("routing_table")
    files = [Path(machine)] if Path(machine).is_file() else []
    return [*files, *([Path(str(table))] if table else [])]


def _trace_files(trace: str | Path) -> list[Path]:
    """The files of a trace, in the order of their names; none for an application."""
    first = trace_of(trace)
    if first is None:
        return []
    stem = first.with_suffix("")
    return [
        first,
        *sorted(
            file
            for file in [first.with_suffix(".def"), *stem.glob("*")]
            if first.suffix == ".otf2" and file.is_file()
        ),
    ]


def _hashed(name: str, content: bytes) -> dict[str, str]:
    return {"file": name, "sha256": sha256(content)}


def write_replay(replay: Replay, directory: str | Path) -> list[Path]:
    """Writes a replay's tables (Parquet), `summary.json`, `manifest.json` and `report.html`.

    A replay that kept a timeline has a `timeline.json`, too. All are written aside and renamed
    when they are whole.

    Args:
        replay: The replay.
        directory: Where to; made if it is not there.

    Returns:
        The files.

    Raises:
        FileError: If the directory cannot be written to.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from linkwright.replay_report import write_replay_report
    from linkwright.replay_summary import replay_summary
    from linkwright.timeline import write_timeline

    run = replay.run
    tables = {"jobs": run.jobs, "ranks": run.ranks, "links": run.links, "latencies": run.latencies}
    with staged(Path(directory)) as (aside, written):
        for name, table in tables.items():
            pq.write_table(pa.table(table()), aside / f"{name}.parquet")
        write_json(aside / "summary.json", replay_summary(replay))
        write_json(aside / "manifest.json", replay.manifest)
        if run.computation().num_rows or run.messages().num_rows:
            write_timeline(replay, aside / "timeline.json")
        write_replay_report(aside / "report.html", replay)
    return written
