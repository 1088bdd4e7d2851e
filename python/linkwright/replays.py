"""Jobs played on a cluster: from their inputs to a run that can be repeated.

The manifest names the version, the settings and the hash of every input, and holds no clock and
no folder, so that the same inputs give the same bytes anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path

from linkwright import (
    ClusterJob,
    __version__,
    interconnect_names,
    read_mapping,
)
from linkwright.clusters import load_cluster, read_trace_files, run_cluster_scenario
from linkwright.documents import write_json
from linkwright.errors import FileError, SimulationError, printable
from linkwright.files import portable_name, read_bytes, read_text, sha256
from linkwright.programs import read_program, trace_of, with_notes
from linkwright.replay_summary import Replay, replay_summary
from linkwright.writing import staged

__all__ = [
    "MAPPINGS",
    "Replay",
    "replay_scenario",
    "replay_trace",
    "write_replay",
]

MAPPINGS = ("linear", "random")

# Of how many ports the switches of a default network may be; where the largest is too small, the
# network is that of the study, which `fat-tree` is by name.
PORTS = (4, 8, 16)

# The settings that say which fat-tree, or which network, it is.
SHAPE = {"kind", "preset", "file", "levels", "radix", "pods", "leaves", "tapering"} | {
    "leaves_per_pod",
    "nodes_per_leaf",
    "uplinks",
    "cores",
}

SIZED = (
    "no network was named, so that the job had a fat-tree of its size, of {nodes:,} nodes; "
    "the one that is named `fat-tree` has 2,048"
)

Progress = Callable[[int, int, float, int], object]


def replay_trace(
    trace: str | Path,
    machine: str | Path | None = None,
    *,
    ranks: int | None = None,
    parameters: Mapping[str, object] | None = None,
    iterations: int = 1,
    computation_scale: float = 1.0,
    mapping: str | Path = "linear",
    routing_table: str | Path | None = None,
    seed: int = 0,
    timeline: int = 0,
    progress: Progress | None = None,
    **settings: object,
) -> Replay:
    """Plays one recorded trace, or one application, on a cluster.

    Args:
        trace: An OTF2 archive (its folder or its anchor file), a file of GOAL text, or one of
            `applications`.
        machine: One of `interconnect_names`, or the file of a network; where absent, a
            fat-tree of the job's size: the smallest of switches of 4, 8 or 16 ports that holds
            it, or that of 2,048 nodes that `fat-tree` is by name. What says otherwise which
            network it is, a file of mappings too, leaves that one.
        ranks: How many ranks an application has.
        parameters: An application's own.
        iterations: How often the main loop runs.
        computation_scale: What times of computation are multiplied by.
        mapping: `linear`, `random`, or a file with the GPU of each rank.
        routing_table: A file of routing tables, for the network of a file.
        seed: Of routing by chance and of random mappings.
        timeline: How many intervals of computation, as many messages and as many stays in
            regions the run keeps.
        progress: Called about every 100 ms with operations done, operations in all, simulated
            seconds, and events of the network.
        settings: Of the cluster, as for `Cluster`.

    Raises:
        FileError: If a file is not there or cannot be read.
        InputError: If a file or a setting is not what it should be.
        SimulationError: If the job does not fit or does not come to an end.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    # What an application cannot fit on is refused before it is made; a trace tells its ranks.
    read = None if ranks else read_program(trace, ranks=ranks, **(parameters or {}))
    fitted: dict[str, object] = {}
    if machine is None:
        machine = "fat-tree"
        if routing_table is None and str(mapping) in MAPPINGS:
            fitted = _fat_tree_for(ranks or (read[0].ranks if read else 1), settings)
    settings = {**settings, **fitted}
    cluster = load_cluster(machine, routing_table=routing_table, seed=seed, **settings)
    if ranks is not None and ranks > cluster.gpus:
        # A program of so many ranks takes long to make, and would be refused for its size.
        raise SimulationError(
            f"the jobs have {ranks} ranks in all, and the cluster has {cluster.gpus} GPUs; "
            "take fewer or smaller jobs, or a larger cluster"
        )
    program, notes = read or read_program(trace, ranks=ranks, **(parameters or {}))
    if fitted:
        notes = [*notes, SIZED.format(nodes=cluster.nodes)]
    # A list, since two inputs may have one name in two folders.
    inputs = [("trace", name, content) for name, content in _trace_files(trace).items()]
    if machine not in interconnect_names():
        inputs.append(("machine", Path(machine).name, read_bytes(Path(machine))))
    if routing_table is not None:
        table = Path(routing_table)
        inputs.append(("routing table", table.name, read_bytes(table)))
    gpus: str | list[int] = str(mapping)
    if gpus not in MAPPINGS:
        text = _mapping_text(mapping)
        file = printable(str(mapping))
        [gpus] = read_mapping(text, [program.ranks], cluster.gpus, file)
        inputs.append(("mapping", Path(mapping).name, text.encode()))
    job = ClusterJob(
        program, iterations=iterations, computation_scale=computation_scale, mapping=gpus
    )
    try:
        run = cluster.replay([job], timeline=timeline, progress=progress)
    except SimulationError as error:
        raise with_notes(error, notes) from error
    manifest: dict[str, object] = {
        "linkwright": __version__,
        "trace": portable_name(str(trace)),
        "machine": portable_name(str(machine)),
        "ranks": program.ranks,
        "parameters": dict(parameters or {}),
        "iterations": iterations,
        "computation_scale": computation_scale,
        "mapping": portable_name(str(mapping)),
        "seed": seed,
        "settings": dict(settings),
        "files": [
            {"input": of, "file": name, "sha256": sha256(content)} for of, name, content in inputs
        ],
    }
    return Replay(job.name, cluster, [job], run, manifest, notes)


def replay_scenario(
    path: str | Path, *, timeline: int = 0, progress: Progress | None = None
) -> Replay:
    """Reads a scenario of a cluster and plays its jobs.

    Args:
        path: The scenario's TOML file; the files that it names are relative to it.
        timeline: How many intervals of computation, as many messages and as many stays in
            regions the run keeps.
        progress: Called about every 100 ms with operations done, operations in all, simulated
            seconds, and events of the network.

    Raises:
        FileError: If the scenario cannot be read.
        InputError: If it or a file that it names is not what it should be, with its place.
        SimulationError: If the jobs do not come to an end.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    played = run_cluster_scenario(path, timeline=timeline, progress=progress)
    name = played.scenario.name or played.path.stem
    return Replay(
        name, played.cluster, played.jobs, played.run, played.manifest, tuple(played.notes)
    )


def _mapping_text(mapping: str | Path) -> str:
    if not Path(mapping).exists():
        close = get_close_matches(str(mapping), MAPPINGS, n=1, cutoff=0.5)
        advice = f"did you mean `{close[0]}`? " if close else ""
        raise FileError(
            f"there is neither a mapping nor a file `{mapping}`; {advice}"
            f"the mappings are {', '.join(MAPPINGS)}"
        )
    return read_text(mapping)


def _fat_tree_for(ranks: int, settings: Mapping[str, object]) -> dict[str, object]:
    """The settings of the smallest full fat-tree of three levels that holds so many ranks.

    Empty where the settings say a size themselves, or no such tree is large enough.
    """
    per_node = settings.get("gpus_per_node") or 1
    if settings.keys() & SHAPE or not isinstance(per_node, int):
        return {}
    nodes = -(-ranks // max(per_node, 1))
    # A pod of switches of p ports has (p/2)^2 nodes, and there are p pods.
    fitting = next((ports for ports in PORTS if ports**3 // 4 >= nodes), None)
    return {} if fitting is None else {"radix": fitting, "pods": fitting}


def _trace_files(trace: str | Path) -> dict[str, bytes]:
    """What a trace's files hold, by their names; nothing for an application."""
    first = trace_of(trace)
    if first is None:
        return {}
    return read_trace_files(first) if first.suffix == ".otf2" else {first.name: read_bytes(first)}


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
