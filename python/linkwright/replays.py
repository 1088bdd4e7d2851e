"""Jobs played on a cluster: from their inputs to a run that can be repeated.

The manifest names the version, the settings and the hash of every input, and holds no clock and
no folder, so that the same inputs give the same bytes anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path

from linkwright import (
    Cluster,
    ClusterJob,
    Fabric,
    Machine,
    __version__,
    interconnect_names,
    read_mapping,
)
from linkwright.clusters import load_cluster, read_trace_files, run_cluster_scenario
from linkwright.documents import write_json
from linkwright.errors import FileError, MachineError, SimulationError, printable
from linkwright.files import portable_name, read_bytes, read_text, sha256
from linkwright.machines import is_network, load_machine
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
    machine: Machine | str | Path | None = None,
    *,
    network: str | Path | None = None,
    servers: int | None = None,
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
        machine: The servers that the job runs on: a `Machine`, a preset's name, or a file that
            a machine is read from. Where absent, each port of the network has a node of
            `gpus_per_node`.
        network: What joins the servers or nodes, as for `load_cluster`. Where absent, one server
            stands alone, and others are on a fat-tree of the job's size: the smallest that has
            the ports. What says otherwise which network it is, a file of mappings too, leaves
            that of 2,048 nodes that `fat-tree` is by name.
        servers: How many servers there are; as many as the job needs where absent.
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
    server, network, told = _server_and_network(machine, network)
    # What an application cannot fit on is refused before it is made; a trace tells its ranks.
    read = None if ranks else read_program(trace, ranks=ranks, **(parameters or {}))
    size = ranks or (read[0].ranks if read else 1)
    fitted: dict[str, object] = {}
    if server is not None:
        servers = servers or -(-size // server.gpu_count)
        settings = {**settings, "servers": servers}
        if network is None and servers > 1:
            network = "fat-tree"
    elif servers is not None:
        raise MachineError("`servers` says how many of a `machine` there are; name that, too")
    elif network is None:
        network = "fat-tree"
        if routing_table is None and str(mapping) in MAPPINGS:
            fitted = _fat_tree_for(size, settings)
    settings = {**settings, **fitted}
    cluster = load_cluster(
        network, machine=server, routing_table=routing_table, seed=seed, **settings
    )
    if ranks is not None and ranks > cluster.gpus:
        # A program of so many ranks takes long to make, and would be refused for its size.
        raise SimulationError(
            f"the jobs have {ranks} ranks in all, and the cluster has {cluster.gpus} GPUs; "
            "take fewer or smaller jobs, or a larger cluster"
        )
    program, notes = read or read_program(trace, ranks=ranks, **(parameters or {}))
    notes = [*told, *notes, *_of_servers(server, cluster)]
    if fitted:
        notes = [*notes, SIZED.format(nodes=cluster.nodes)]
    # A list, since two inputs may have one name in two folders.
    inputs = [("trace", name, content) for name, content in _trace_files(trace).items()]
    for what, name in (("machine", machine if server is not None else None), ("network", network)):
        if isinstance(name, str | Path) and Path(name).is_file():
            inputs.append((what, Path(name).name, read_bytes(Path(name))))
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
        "machine": None if server is None else server.name,
        "network": None if network is None else portable_name(str(network)),
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
        name,
        played.cluster,
        played.jobs,
        played.run,
        played.manifest,
        (*played.notes, *played.cluster.assumptions),
    )


def _of_servers(server: Machine | None, cluster: Cluster) -> list[str]:
    """What probably makes a machine's description wrong, and what its cluster had to assume."""
    if server is None:
        return []
    return [*server.warnings, *cluster.assumptions]


def _server_and_network(
    machine: Machine | str | Path | None, network: str | Path | None
) -> tuple[Machine | None, str | Path | None, list[str]]:
    """The servers, the network, and what is to be said of how they were named.

    A machine was a network's name or file until servers had the word; that is read for one
    release.

    Raises:
        FileError: If a machine is neither a preset nor a file, or a network beside another.
        InputError: If a file describes no machine, with line and column.
    """
    if machine is None or isinstance(machine, Machine):
        return machine, network, []
    named = str(machine) in interconnect_names()
    text = read_text(machine) if not named and Path(machine).is_file() else ""
    if not named and not is_network(text):
        try:
            return load_machine(machine), network, []
        except FileError as error:
            close = get_close_matches(str(machine), interconnect_names(), n=1, cutoff=0.6)
            if not close or Path(machine).exists():
                raise
            raise FileError(
                f"there is no machine `{machine}`; did you mean `{close[0]}`? It is a network, "
                "which --network names"
            ) from error
    if network is not None:
        raise FileError(
            f"`{machine}` is a network, and so is `{network}`; a machine is a server, such as "
            "dgx1-v100"
        )
    note = f"`{portable_name(str(machine))}` is a network: name it with --network"
    return None, machine, [note]


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
    """The settings of the fat-tree that the core has for so many ranks.

    Empty where the settings say a size themselves, and where it is the one of that name or would
    be larger.
    """
    per_node = settings.get("gpus_per_node") or 1
    if settings.keys() & SHAPE or not isinstance(per_node, int):
        return {}
    nodes = -(-ranks // max(per_node, 1))
    named = Fabric("fat-tree")
    if nodes > named.ports:
        return {}
    chosen = Fabric("fat-tree", ports=nodes).parameters
    sizes = ("radix", "pods")
    return {} if chosen == named.parameters else {size: chosen[size] for size in sizes}


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
