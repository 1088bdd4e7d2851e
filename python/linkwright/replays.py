"""Jobs played on a cluster, from their inputs to their results on disk.

A replay is repeatable: its manifest names the version, the seed and the hash of every input, and
holds no clock and no folder, so that the same inputs give the same bytes anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# The package itself imports this module last, when all of these names exist.
from linkwright import Cluster, ClusterJob, ClusterRun, __version__, read_mapping
from linkwright.clusters import load_cluster, load_program, trace_of
from linkwright.errors import printable
from linkwright.files import read_text

__all__ = ["Replay", "replay_trace"]

Progress = Callable[[int, int, float], object]

# Intervals of computation, and as many messages: some 100 MB of JSON, which viewers still open.
TIMELINE = 500_000


@dataclass(frozen=True)
class Replay:
    """Jobs that were played on a cluster.

    Attributes:
        name: What was played, for headings: a trace's name or a scenario's file.
        cluster: Where they ran.
        jobs: The jobs.
        run: What became of them and of the network.
        seed: Of all that is left to chance.
        manifest: What repeats the replay: the version, the settings, the hash of every input.
    """

    name: str
    cluster: Cluster
    jobs: Sequence[ClusterJob]
    run: ClusterRun
    seed: int
    manifest: dict[str, object] = field(repr=False)


def replay_trace(
    trace: str | Path,
    machine: str | Path = "fat-tree",
    *,
    ranks: int | None = None,
    parameters: Mapping[str, object] | None = None,
    iterations: int = 1,
    computation_scale: float = 1.0,
    mapping: str | Path = "linear",
    timeline: int = 0,
    progress: Progress | None = None,
    **settings: object,
) -> Replay:
    """Plays one recorded trace, or one application, on a cluster.

    Args:
        trace: An OTF2 archive, a file of GOAL text, or one of `applications`.
        machine: One of `interconnect_names`, or the file of a network.
        ranks: How many ranks an application has.
        parameters: Of the application.
        iterations: How often the main loop runs.
        computation_scale: What times of computation are multiplied by.
        mapping: `linear`, `random`, or a mapping file.
        timeline: How many intervals of computation, and as many messages, to keep.
        progress: Called about every 100 ms with operations done, operations in all, and
            simulated seconds.
        settings: Of the cluster, as for `Cluster`.

    Raises:
        FileError: If a file is not there or cannot be read.
        InputError: If a file or a setting is not what it should be.
        SimulationError: If the job does not fit or does not come to an end.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    cluster = load_cluster(machine, **settings)
    program = load_program(trace, ranks=ranks, **(parameters or {}))
    gpus: str | list[int] = str(mapping)
    if mapping not in ("linear", "random"):
        [gpus] = read_mapping(
            read_text(mapping), [program.ranks], cluster.gpus, printable(str(mapping))
        )
    job = ClusterJob(
        program, iterations=iterations, computation_scale=computation_scale, mapping=gpus
    )
    run = cluster.replay([job], timeline=timeline, progress=progress)
    seed = settings.get("seed", 0)
    assert isinstance(seed, int)
    manifest: dict[str, object] = {"linkwright": __version__}
    return Replay(program.name, cluster, [job], run, seed, manifest)
