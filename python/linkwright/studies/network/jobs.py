"""Draws the jobs: random mixes, and how often each repeats its main loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

import pyarrow

from linkwright import System
from linkwright.names import ApplicationName
from linkwright.network import ClusterJob, Program, applications
from linkwright.scenario import random_mixes
from linkwright.studies.network.published import published
from linkwright.studies.network.settings import Setting, cluster

__all__ = [
    "APPLICATIONS",
    "SEED",
    "SPAN",
    "MixJob",
    "cluster_job",
    "mixes",
    "ranks_of_jobs",
    "uses_the_network",
]

# The paper's mixes are not published; these are of this seed.
SEED = 1
# Every job runs for about this time, in seconds, if it is alone. That is long enough for one
# iteration of the slowest application. So the others are there for nearly all of a job's life, too.
SPAN = 1.2e-3

# Those that the paper names.
APPLICATIONS = ("stencil4d", "subcomm3d", "kripke", "laghos", "amg", "sw4lite")


@dataclass(frozen=True)
class MixJob:
    """Describes a job of a mix.

    Attributes:
        application: Its name.
        ranks: How many processes it has.
        iterations: How often its main loop runs, in every system alike.
    """

    application: str
    ranks: int
    iterations: int


def ranks_of_jobs() -> list[int]:
    """Returns the sizes of jobs, from the least."""
    return [int(size) for size in published()["workloads"]["sizes"]]


def mixes() -> list[list[MixJob]]:
    """Returns the mixes, each job with as many iterations as take it through the span."""
    repeats = _repeats()
    return [
        [MixJob(name, ranks, repeats[name, ranks]) for name, ranks in mix]
        for mix in random_mixes(SEED)
    ]


@cache
def _repeats() -> dict[tuple[str, int], int]:
    system = _fat_tree(1)
    repeats = {}
    for application in APPLICATIONS:
        for ranks in ranks_of_jobs():
            alone = system.play([cluster_job(MixJob(application, ranks, 1))]).makespan
            repeats[application, ranks] = max(round(SPAN / alone), 1)
    return repeats


def cluster_job(
    job: MixJob, *, scaled: bool = True, nodes: Sequence[int] | None = None
) -> ClusterJob:
    """The job as the simulation takes it.

    Args:
        job: It.
        scaled: Whether its computation is that of the paper's GPUs, or of its CPUs.
        nodes: The places of its processes; the free nodes where absent.
    """
    speedups: dict[str, float] = {name: speedup for name, _, speedup in applications()}
    return ClusterJob(
        Program.skeleton(cast(ApplicationName, job.application), job.ranks),
        iterations=job.iterations,
        computation_scale=1 / speedups[job.application] if scaled else 1.0,
        mapping=None if nodes is None else list(nodes),
    )


@cache
def uses_the_network(application: str, ranks: int, gpus_per_node: int) -> bool:
    """Whether data of such a job leaves its nodes; in every mix alike, as all jobs begin at a node.

    Args:
        application: Its name.
        ranks: How many processes it has.
        gpus_per_node: How many of them share a node.
    """
    run = _fat_tree(gpus_per_node).play(
        [cluster_job(MixJob(application, ranks, 1))], mapping="linear"
    )
    return any(pyarrow.table(run.links())["data"].to_pylist())


@cache
def _fat_tree(gpus_per_node: int) -> System:
    return cluster(Setting("fat-tree", gpus_per_node))
