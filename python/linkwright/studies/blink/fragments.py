"""Counts the fragments that a day of jobs leaves on servers of eight GPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from linkwright import System
from linkwright.names import ServerChoiceName
from linkwright.scenario import SimulationResult, generate_jobs, play_jobs
from linkwright.studies.blink.allocations import MACHINES
from linkwright.studies.blink.measure import OF_ITS_TIME, Progress, timed
from linkwright.studies.blink.published import published
from linkwright.studies.tables import Cell, Section, StudyTable
from linkwright.summaries.fragments import fragments
from linkwright.summaries.policies import job_rows

__all__ = ["day_of_jobs", "fragments_of_a_day"]

MACHINE = MACHINES[0]
SERVERS = 8
JOBS, QUICK_JOBS = 300, 60
SEED = 1
LARGEST = 8
# Seconds between arrivals in the mean: the servers are nearly full.
INTERARRIVAL = 30.0
CHOICES: tuple[ServerChoiceName, ...] = ("first-fit", "pack", "spread")


def day_of_jobs(choice: ServerChoiceName, count: int) -> tuple[System, SimulationResult]:
    """Plays jobs of up to eight GPUs on servers of as many, which take the lowest free ids."""
    system = System(MACHINE, SERVERS, network="fat-tree")
    jobs = generate_jobs(SEED, count, LARGEST, mean_interarrival=INTERARRIVAL)
    result = play_jobs(
        system,
        jobs,
        "baseline",
        servers=choice,
        run_time="played",
        planner="nccl-ring",
        fidelity="fluid",
    )
    return system, result


def fragments_of_a_day(*, quick: bool = False, progress: Progress | None = None) -> Section:
    """Makes the section on fragments.

    Args:
        quick: Fewer jobs and choices of servers.
        progress: Called with the stage, the choices done, and those in all.
    """
    choices = CHOICES[:2] if quick else CHOICES
    count = QUICK_JOBS if quick else JOBS
    results = {}
    for done, choice in enumerate(choices, 1):
        results[choice] = day_of_jobs(choice, count)
        if progress is not None:
            progress("fragments", done, len(choices))
    said = published()["fragments"]
    return Section(
        title="Fragments that a day of jobs leaves on a server",
        text=[
            f"{count} jobs of one to {LARGEST} GPUs, uniform over the catalogue of workloads, run "
            f"on {SERVERS} `{MACHINE}` on a fat-tree. One arrives every {INTERARRIVAL:g} s in the "
            "mean. A policy takes the lowest free ids. `first-fit` takes the first server that "
            "has room for all of a job. `pack` and `spread` take GPUs of several where none has "
            "room. `linkwright run` leaves this table in a run's folder as `fragments.parquet`.",
            f"The paper publishes only a figure, of {said['jobs']:,} jobs of several GPUs on "
            f"servers of eight. Its examples are a job of eight GPUs as {said['examples'][0]} and "
            f"one as {said['examples'][1]}.",
        ],
        tables=[_histogram(results), _shapes(results)],
    )


_Results = dict[ServerChoiceName, tuple[System, SimulationResult]]


def _histogram(results: _Results) -> StudyTable:
    counts = {
        choice: {row.gpu_count: row for row in fragments(result)}
        for choice, (_, result) in results.items()
    }
    rows: list[tuple[Cell, ...]] = []
    for gpus in range(1, LARGEST + 1):
        cells: list[Cell] = []
        for found in counts.values():
            row = found.get(gpus)
            cells += [0, 0, 0.0] if row is None else [row.whole, row.parts, row.share]
        rows.append((gpus, *cells))
    heads = [
        f"{choice}, {what}"
        for choice in counts
        for what in ("whole jobs", "parts of jobs", "share")
    ]
    return StudyTable(
        title="GPUs that jobs of two or more hold in a server, reproduced",
        columns=("GPUs in a server", *heads),
        rows=tuple(rows),
        formats=("", *("", "", ".1%") * len(counts)),
    )


def _shapes(results: _Results) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for choice, (system, result) in results.items():
        held = [_by_server(system, row["gpus"]) for row in job_rows(result)]
        of_eight = Counter(
            " + ".join(map(str, sorted(map(len, sets))))
            for sets in held
            if sum(map(len, sets)) == LARGEST
        )
        several = [gpus for sets in held for gpus in sets if len(gpus) > 2]
        ringless = sum(map(_has_no_ring, several))
        split = [(parts, count) for parts, count in of_eight.most_common() if "+" in parts][:4]
        told = ", ".join(f"{parts} ({count})" for parts, count in split)
        share = ringless / len(several) if several else None
        rows.append((choice, len(several), share, of_eight[str(LARGEST)], told or "none"))
    return StudyTable(
        title="Sets without a ring, and jobs of eight GPUs, reproduced",
        columns=(
            "choice of servers",
            "sets of three or more GPUs in a server",
            f"of these over PCIe by {OF_ITS_TIME}",
            "jobs of eight GPUs in one server",
            "in several, the most frequent",
        ),
        rows=tuple(rows),
        formats=("", "", ".0%", "", ""),
        note=(
            f"`{OF_ITS_TIME}` reduces over PCIe where no ring of NVLinks joins a set. There "
            "Blink's trees help. The figure's jobs are those of a cloud. Ours are uniform, so "
            "sizes other than powers of two are frequent from the outset."
        ),
    )


def _by_server(system: System, gpus: Sequence[int]) -> list[tuple[int, ...]]:
    """Gives a job's GPUs in each of its servers, by their ids there."""
    first = [sum(system.gpus_per_server[:server]) for server in range(system.server_count)]
    found: dict[int, list[int]] = {}
    for gpu in gpus:
        server = system.server_of(gpu)
        found.setdefault(server, []).append(gpu - first[server])
    return [tuple(ids) for ids in found.values()]


def _has_no_ring(gpus: tuple[int, ...]) -> bool:
    [found] = timed(System(MACHINE), gpus, "all-reduce", OF_ITS_TIME)
    return found.links == "pcie"
