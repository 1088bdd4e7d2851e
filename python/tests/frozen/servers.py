"""Jobs on a shared server: when each ran, where, and what it felt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from frozen.captured import Captured, Case
from frozen.names import POLICIES
from frozen.tables import ROOT, of_rows, of_table
from linkwright import System
from linkwright.scenario import Job, SimulationResult, generate_jobs, play_mix, play_jobs

__all__ = ["cases", "tables_of_results"]

MIX = "examples/dgx1-v100-mix.toml"
# The machine, the largest job, and what else differs from the defaults.
SERVERS: list[tuple[str, int, dict[str, Any]]] = [
    ("dgx1-v100", 5, {"bandwidth_model": "published", "ties": "published"}),
    ("dgx1-v100", 6, {"discipline": "backfill", "unhealthy": [3]}),
    ("dgx1-p100", 5, {"bandwidth_profile": "mapa"}),
    ("dgx2", 8, {}),
    ("dgx-a100", 5, {"discipline": "backfill"}),
    ("mi300x-8", 5, {}),
    ("summit-node", 5, {"bandwidth_profile": "data-sheet"}),
    ("torus2d-16", 6, {}),
    ("cubemesh-16", 6, {"bandwidth_model": "published", "discipline": "backfill"}),
    ("4x-l40s-pcie", 4, {}),
    ("pcie-tree-4", 4, {}),
]
# What the jobs bring along, which is the same under every policy.
GIVEN = ("workload", "gpu_count", "pattern", "sensitive", "arrival")


def cases() -> list[Case]:
    """The example's scenario, and a small mix on other servers."""
    found = [Case("servers/dgx1-v100-mix", f"linkwright run {MIX}", _of_example)]
    for place, (machine, largest, options) in enumerate(SERVERS):
        words = "".join(f", {key}={value!r}" for key, value in options.items())
        name = f"servers/{place:02}-{machine}"
        jobs = f"generate_jobs({place}, 30, {largest}, mean_interarrival=60.0)"
        command = f"play_jobs(System({machine!r}), {jobs}, policy{words})"
        found.append(Case(name, command, partial(_of_server, place)))
    return found


def _of_example() -> Iterator[Captured]:
    run = play_mix(ROOT / MIX)
    return tables_of_results(run.jobs, run.results)


def _of_server(place: int) -> Iterator[Captured]:
    machine, largest, options = SERVERS[place]
    server = System(machine)
    jobs = generate_jobs(place, 30, largest, mean_interarrival=60.0)
    results = [play_jobs(server, jobs, policy, **options) for policy in POLICIES]
    return tables_of_results(jobs, results)


def tables_of_results(
    jobs: Sequence[Job], results: Sequence[SimulationResult]
) -> Iterator[Captured]:
    """What each job was and, under each policy, what it felt."""
    given = [
        (job.name, job.workload, job.gpus, job.pattern, job.sensitive, job.arrival, job.iterations)
        for job in jobs
    ]
    columns = "name workload gpus pattern sensitive arrival iterations"
    yield of_rows("jobs", columns, given)
    for result in results:
        yield of_rows("makespan", "policy makespan", [(result.policy, result.makespan)])
        yield of_table(result.policy, result.jobs(), without=GIVEN)
