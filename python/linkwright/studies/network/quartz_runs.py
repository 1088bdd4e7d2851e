"""The runs of Fig. 3: three mixes on Quartz, and on standard trees of as many nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

from linkwright import System
from linkwright.scenario import random_mixes
from linkwright.studies.network.jobs import SEED, MixJob, cluster_job
from linkwright.studies.network.published import published
from linkwright.studies.network.quartz_measured import QuartzTime
from linkwright.sweeps import Sweep, SweepResult, Workers, play_sweep

__all__ = [
    "PLACES",
    "SPAN",
    "TREES",
    "iterations_of",
    "perform_quartz",
    "quartz_mixes",
    "replay_on_tree",
    "tree",
]

Job = tuple[str, int]

# Kripke and Laghos take 26 to 33 ms for one iteration on CPUs: so long all jobs run.
SPAN = 30e-3

# Two and a full tree of the least whole pods that have as many nodes, 32 to a leaf as Quartz has.
TREES: dict[str, dict[str, Any]] = {
    "quartz": {"kind": "quartz"},
    "tapered": {"kind": "fat-tree", "radix": 48, "tapering": 2, "pods": 4},
    "full": {"kind": "fat-tree", "radix": 64, "pods": 3},
}
# On which tree, and in which order jobs take its nodes.
PLACES = (
    ("quartz", "linear"),
    ("quartz", "scattered"),
    ("tapered", "linear"),
    ("full", "linear"),
)


def quartz_mixes() -> dict[int, list[Job]]:
    """The three mixes, by number: the study's own, of four applications, the first that fit.

    They are drawn with six applications, of which two are left out. What the text says of the jobs
    of all three is kept: Subcomm3d of 128 twice, and those that it names at all.
    """
    entry = published()["validation"]
    named = {(name, ranks) for name, ranks in entry["beyond_15_percent"]}
    drawn = [[job for job in mix if job[0] in entry["applications"]] for mix in random_mixes(SEED)]

    def fits(chosen: Sequence[int]) -> bool:
        count = Counter(job for mix in chosen for job in drawn[mix])
        twice = count["subcomm3d", 128] == entry["subcomm3d_128_occurrences"]
        return twice and named <= set(count)

    chosen = next(filter(fits, combinations(range(len(drawn)), entry["workloads"])))
    return {mix: drawn[mix] for mix in chosen}


@cache
def tree(name: str) -> System:
    """A tree as a simulation, a node with one process at each port."""
    machine = published()["machine"]
    network = {
        **TREES[name],
        "bandwidth": machine["link_bandwidth"],
        "packet_size": machine["packet_size"],
        "buffer_packets": machine["buffer_packets"],
        # Of those that there are, the one that any tree takes: only the wiring differs.
        "routing": "shortest-path",
    }
    return System({"gpus": 1}, network=network)


@cache
def iterations_of(application: str, ranks: int) -> int:
    """How often the main loop runs in about the span, alone on Quartz; once at least."""
    once = cluster_job(MixJob(application, ranks, 1), scaled=False)
    return max(round(SPAN / tree("quartz").play([once]).makespan), 1)


def perform_quartz(
    *,
    workers: Workers | None = None,
    checkpoint: Path | None = None,
    progress: Callable[[str, int, int], object] | None = None,
) -> tuple[list[QuartzTime], SweepResult]:
    """Every mix on every tree, and every job of it alone; those that the checkpoint has not.

    Args:
        workers: Where; processes on this computer where absent.
        checkpoint: A file that keeps every finished run.
        progress: Called with what is done, the runs done, and the runs in all.
    """
    mixes = {
        mix: [MixJob(*job, iterations_of(*job)) for job in jobs]
        for mix, jobs in quartz_mixes().items()
    }
    keys = [(place, mix) for place in PLACES for mix in mixes]
    runs = [
        {"name": name, "placement": placement, "jobs": [asdict(job) for job in mixes[mix]]}
        | {"only": only}
        for (name, placement), mix in keys
        for only in (None, *range(len(mixes[mix])))
    ]
    done = play_sweep(
        Sweep(replay_on_tree, runs, SEED),
        workers,
        checkpoint=checkpoint,
        progress=progress,
        what="mixes on Quartz",
    )
    results = iter(done.results)
    times = []
    for (name, placement), mix in keys:
        together = next(results)
        for at, job in enumerate(mixes[mix]):
            [alone] = next(results)
            what = job.application, job.ranks, job.iterations
            times.append(QuartzTime(name, placement, mix, at, *what, together[at], alone))
    return times, done


def replay_on_tree(
    name: str, placement: str, jobs: Sequence[Mapping[str, Any]], only: int | None
) -> list[float]:
    """One run: how long the jobs of a mix take, in seconds, or one of them alone.

    Args:
        name: A name of `TREES`.
        placement: How jobs take nodes.
        jobs: The fields of each `MixJob`, in the order in which they take nodes.
        only: The place of the job that is played alone, on the nodes that it has in the mix.
    """
    system = tree(name)
    nodes = list(range(system.gpu_count))
    if placement == "scattered":
        Random(SEED).shuffle(nodes)
    placed, first = [], 0
    for fields_of_job in jobs:
        job = MixJob(**fields_of_job)
        placed.append(cluster_job(job, scaled=False, nodes=nodes[first : first + job.ranks]))
        first += job.ranks
    return system.play(placed if only is None else [placed[only]]).times
