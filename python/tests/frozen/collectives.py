"""Collectives: what is planned, how fast it could be, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow

from frozen.captured import Captured, Case
from frozen.machines import CLUSTERS, cluster
from frozen.names import ALGORITHMS, COLLECTIVES, PRESETS
from frozen.tables import ROOT, digest, of_rows, of_table
from linkwright import LinkwrightError, System, expect, plan
from linkwright.collectives import Schedule, algorithm_protocols, planning_seconds
from linkwright.names import CollectiveName, LinksName

__all__ = ["cases"]

SIZES = (1 << 10, 1 << 16, 1 << 20, 1 << 24)
# The GPUs of the jobs that plans are made for, where a preset has them; more are for clusters.
JOBS: tuple[tuple[int, ...], ...] = (
    (0, 1),
    (0, 2, 3),
    (1, 4, 5),
    (1, 4, 6),
    tuple(range(8)),
    tuple(range(16)),
)
LARGE = 16
# What is planned for so many GPUs, or more.
LINKS: tuple[LinksName, ...] = ("nvlink", "xgmi", "pcie", "hybrid")
ROOTS: tuple[tuple[CollectiveName, int | None], ...] = (("all-reduce", None), ("broadcast", 2))
FEW: tuple[CollectiveName, ...] = ("broadcast", "all-reduce", "all-to-all")
PLAN = (
    "planning_seconds links rate optimum optimum_of chunks shards input_shards channels protocol"
    " trees depths shares steps steps_digest longest_chain sent sizes chunk_sizes pieces times"
)


def cases() -> list[Case]:
    """Every preset and cluster."""
    found = []
    for name in PRESETS:
        command = f"plan(System({name!r}), gpus, collective, algorithm=algorithm)"
        found.append(Case(f"collectives/{name}", command, partial(_of_preset, name)))
    for preset, count, bandwidth in CLUSTERS:
        machine = f"System({preset!r}).cluster({count}, {bandwidth!r})"
        command = f"plan({machine}, gpus, collective, algorithm=algorithm)"
        name = f"collectives/{count}x-{preset}"
        found.append(Case(name, command, partial(_of_cluster, preset, count, bandwidth)))
    command = "the same with links, sizes, roots, protocols and chunks of one's own"
    found.append(Case("collectives/with-choices", command, _choices))
    command = "Schedule.from_msccl_xml(examples/collectives/*.xml).time(size, machine=machine)"
    return [*found, Case("collectives/read", command, _read)]


def _of_preset(name: str) -> Iterator[Captured]:
    machine = System(name)
    most = min(machine.gpu_count, LARGE if machine.gpu_count <= LARGE else LARGE - 1)
    return _tables(machine, [gpus for gpus in JOBS if max(gpus) < most])


def _of_cluster(preset: str, count: int, bandwidth: str) -> Iterator[Captured]:
    machine = cluster(preset, count, bandwidth)
    each = machine.gpu_count // count
    uneven = (0, 1, 2, each, each + 3)
    return _tables(machine, [(0, each), uneven, tuple(range(machine.gpu_count))])


def _tables(machine: System, jobs: Sequence[tuple[int, ...]]) -> Iterator[Captured]:
    plans: list[list[Any]] = []
    refused: list[list[Any]] = []
    for gpus in jobs:
        for collective in COLLECTIVES if len(gpus) < LARGE else FEW:
            for algorithm in ALGORITHMS:
                if algorithm == "blink" and len(gpus) > LARGE:
                    continue
                key = [len(gpus), collective, algorithm]
                try:
                    schedule = plan(machine, gpus, collective, algorithm=algorithm)
                except LinkwrightError:
                    refused.append(key)
                else:
                    seconds = planning_seconds(machine, gpus, collective, algorithm=algorithm)
                    plans.append([*key, seconds, *_plan(schedule), *_times(schedule)])
    yield of_rows("plans", f"gpus collective algorithm {PLAN}", plans)
    yield of_rows("refused", "gpus collective algorithm", refused)
    yield of_rows(
        "expected",
        "gpus collective times algorithms protocols",
        [row for gpus in jobs for row in _expected(machine, gpus)],
    )


def _plan(schedule: Schedule) -> list[Any]:
    report = schedule.check()
    return [
        schedule.links,
        schedule.rate,
        schedule.optimum,
        schedule.optimum_of,
        schedule.chunks,
        schedule.shards,
        sum(schedule.input_shards),
        schedule.channels,
        schedule.protocol,
        len(schedule.trees),
        sum(tree.depth for tree in schedule.trees),
        sum(tree.share for tree in schedule.trees),
        schedule.step_count,
        _digest_of_steps(schedule),
        report.longest_chain,
        sum(report.sent_chunks),
    ]


def _digest_of_steps(schedule: Schedule) -> str:
    """Of all columns but the operations' names, which `times` and `sent_chunks` speak of."""
    steps = pyarrow.table(schedule.steps())
    return digest(steps[name].to_pylist() for name in steps.column_names if name != "operation")


def _times(schedule: Schedule) -> list[Any]:
    """For each size the chunk, the pieces and the time; a size divides into shards."""
    sizes = SIZES[2:] if len(schedule.gpus) >= LARGE else SIZES
    whole = [max(size // schedule.shards, 1) * schedule.shards for size in sizes]
    timings = [schedule.time(size) for size in whole]
    return [
        whole,
        [timing.chunk for timing in timings],
        [timing.pieces for timing in timings],
        [timing.time for timing in timings],
    ]


def _expected(machine: System, gpus: tuple[int, ...]) -> Iterator[list[Any]]:
    for collective in COLLECTIVES:
        try:
            rows = list(expect(machine, gpus, collective, SIZES))
        except LinkwrightError:
            continue
        cells = [[row[name] for row in rows] for name in ("time", "algorithm", "protocol")]
        yield [len(gpus), collective, *cells]


def _choices() -> Iterator[Captured]:
    """What a planner and a timer are asked for besides their defaults."""
    gpus = (0, 1, 2, 3)
    rows = []
    for name in ("dgx1-v100", "mi300x-8", "4x-l40s-pcie", "summit-node"):
        machine = System(name)
        for links in LINKS:
            for size in (1 << 20, 1 << 28):
                for collective, root in ROOTS:
                    try:
                        made = plan(
                            machine,
                            gpus,
                            collective,
                            algorithm="packing",
                            root=root,
                            links=links,
                            size=size,
                        )
                    except LinkwrightError:
                        continue
                    key = [name, collective, root, links, size]
                    rows.append([*key, None, *_plan(made), *_times(made)])
    yield of_rows("links and sizes", f"machine collective root wanted size {PLAN}", rows)
    machine = System("dgx1-v100")
    timed: list[list[Any]] = []
    tables: list[Captured] = []
    for algorithm in ALGORITHMS:
        # Three phases are for several servers.
        of = machine if algorithm != "three-phase" else cluster("dgx1-v100", 2, "100 Gb/s")
        among = gpus if of is machine else (0, 1, 8, 9)
        schedule = plan(of, among, "all-reduce", algorithm=algorithm)
        trees = [(tree.root, tree.edges, tree.depth, tree.share) for tree in schedule.trees]
        tables.append(of_rows(f"trees of {algorithm}", "root edges depth share", trees))
        size = schedule.shards << 16
        for protocol in algorithm_protocols(algorithm):
            for chunk in (1 << 12, 1 << 18):
                timing = schedule.time(size, chunk=chunk, protocol=protocol)
                timed.append([algorithm, protocol, chunk, timing.pieces, timing.time])
        timing = schedule.time(size)
        tables.append(of_rows(f"trials of {algorithm}", "chunk rate", timing.chunk_trials))
        tables.append(of_table(f"links of {algorithm}", timing.links()))
    yield of_rows("protocols and chunks", "algorithm protocol chunk pieces time", timed)
    yield from tables


def _read() -> Iterator[Captured]:
    rows = []
    for file in sorted((ROOT / "examples" / "collectives").glob("*.xml")):
        schedule = Schedule.from_msccl_xml(file.read_text(encoding="utf-8"), file.name)
        report = schedule.check()
        facts = [file.name, schedule.step_count, schedule.shards, report.longest_chain]
        for name in ("dgx1-v100", "hgx-h100", "pcie-tree-4"):
            times = [
                schedule.time(schedule.shards * size, system=System(name)).time
                for size in (1 << 10, 1 << 20)
            ]
            rows.append([*facts, sum(report.sent_chunks), name, times])
    yield of_rows("algorithms", "file steps shards longest_chain sent machine times", rows)
