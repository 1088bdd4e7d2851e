"""The runs of the study: every pair of workloads under every policy, on a layout."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import pyarrow

from linkwright import System
from linkwright.network import ClusterJob, ClusterRun, Program
from linkwright.studies.pcie.kernels import Kernels, preset, size_of
from linkwright.studies.pcie.layouts import POLICIES, Layout, system
from linkwright.studies.pcie.published import published

__all__ = [
    "SPANS",
    "Alone",
    "Pair",
    "Progress",
    "Task",
    "alone",
    "done_within",
    "pairs",
    "perform",
    "workload_names",
]

Progress = Callable[[str, int, int], object]

# This number of spans of a run is kept; no run here has more.
SPANS = 1 << 20


@dataclass(frozen=True)
class Alone:
    """Holds the results of a workload on one GPU, with the bus to itself.

    Attributes:
        name: Its abbreviation in Table 1.
        size: Bytes that an iteration copies.
        kernel: Microseconds that it computes.
        iteration: Seconds that it takes.
        copy: Seconds that its copy takes.
        rate: Bytes that copies reach in a second.
    """

    name: str
    size: int
    kernel: float
    iteration: float
    copy: float
    rate: float

    @property
    def demand(self) -> float:
        """Returns a GPU's demand of a link, as a share of the rate that copies reach."""
        return self.size / self.iteration / self.rate


@dataclass(frozen=True)
class Task:
    """Holds the results of a task of a pair in the window, under one policy.

    Attributes:
        alone: The workload.
        iterations: How many iterations its GPUs did together; of the last ones, the parts that fell
            into the window.
        throughput: The same, over what one GPU does alone.
        idle: The share of the window in which its GPUs did not compute.
        in_time: The share of its copies that met three times their time alone.
    """

    alone: Alone
    iterations: float
    throughput: float
    idle: float
    in_time: float


@dataclass(frozen=True)
class Pair:
    """Two tasks on a layout: by policy, the one that copies less first."""

    layout: Layout
    by_policy: dict[str, tuple[Task, Task]]

    @property
    def demand(self) -> float:
        """Returns both tasks' demand of the link that their GPUs share, over its capacity."""
        tasks = self.by_policy["round-robin"]
        shares = zip(tasks, self.layout.sharing, strict=True)
        return sum(task.alone.demand * gpus for task, gpus in shares)

    def throughput(self, policy: str) -> float:
        """Returns the throughput of both tasks, over the throughput under round-robin."""
        return _both(self.by_policy[policy]) / _both(self.by_policy["round-robin"])

    def gain(self, policy: str, task: int) -> float:
        """Returns the throughput of one task, over its throughput under round-robin."""
        reference = self.by_policy["round-robin"][task].iterations
        return self.by_policy[policy][task].iterations / reference


def _both(tasks: tuple[Task, Task]) -> float:
    return tasks[0].throughput + tasks[1].throughput


def workload_names() -> list[str]:
    """Table 1's abbreviations, from the least to the most that is copied."""
    sizes = {name: size for name, size in published()["workloads"].items() if _is_number(size)}
    return sorted(sizes, key=lambda name: sizes[name])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def pairs() -> list[tuple[str, str]]:
    """All pairs, the one that copies less first."""
    return list(combinations(workload_names(), 2))


def _job(name: str, kernel: float, gpus: Sequence[int], iterations: int) -> ClusterJob:
    copied, computed = f"{size_of(name)} B", f"{kernel} us"
    program = Program.skeleton("copy-execute", len(gpus), input=copied, kernel=computed)
    return ClusterJob(program, name=name, iterations=iterations, mapping=list(gpus))


def alone(layout: Layout, name: str, kernel: float) -> Alone:
    """Plays a workload on one GPU of a layout.

    Args:
        layout: It.
        name: Its abbreviation.
        kernel: Microseconds that it computes.
    """
    run = system(layout, "round-robin").play([_job(name, kernel, [0], 8)], timeline=SPANS)
    copies = pyarrow.table(run.copies())
    [first, *_] = [end - start for start, end in _spans(copies)]
    return Alone(name, size_of(name), kernel, run.makespan / 8, first, layout.rate)


def done_within(window: float, start: float, ends: Sequence[float]) -> float:
    """How many iterations a GPU did in a window; of the last one, the part that fell into it.

    Args:
        window: Its end, in seconds.
        start: When the first iteration began.
        ends: When each one ended, in order; the last of them after the window.
    """
    bounds = [start, *ends]
    at = max(index for index, end in enumerate(bounds) if end <= window)
    return at + (window - bounds[at]) / (bounds[at + 1] - bounds[at])


def _spans(table: pyarrow.Table) -> list[tuple[float, float]]:
    return [(row["start"], row["end"]) for row in table.to_pylist()]


def perform(
    layout: Layout,
    window: float,
    *,
    kernels: Kernels | None = None,
    chosen: Sequence[tuple[str, str]] | None = None,
    policies: Sequence[str] = tuple(POLICIES),
    progress: Progress | None = None,
    stage: str = "pairs on a bus",
) -> list[Pair]:
    """Plays every pair under every policy.

    Args:
        layout: The links that the tasks share.
        window: Seconds in which iterations are counted.
        kernels: How long kernels take; the preset times where absent.
        chosen: Which pairs; all where absent.
        policies: Which policies, serving in turn among them.
        progress: Called with the stage, the pairs done, and the pairs in all.
        stage: The name of the work.
    """
    times = preset() if kernels is None else kernels
    played = pairs() if chosen is None else chosen
    names = dict.fromkeys(name for pair in played for name in pair)
    by_name = {name: alone(layout, name, times[name]) for name in names}
    systems = {policy: system(layout, policy) for policy in policies}
    found = []
    for done, (small, large) in enumerate(played, 1):
        both = by_name[small], by_name[large]
        by_policy = {policy: _play(on, layout, both, window) for policy, on in systems.items()}
        found.append(Pair(layout, by_policy))
        if progress is not None:
            progress(stage, done, len(played))
    return found


def _play(
    on: System, layout: Layout, both: tuple[Alone, Alone], window: float
) -> tuple[Task, Task]:
    jobs = [
        # None is faster than alone: all still run at the end of the window.
        _job(each.name, each.kernel, gpus, math.ceil(window / each.iteration) + 2)
        for each, gpus in zip(both, layout.mappings, strict=True)
    ]
    run = on.play(jobs, timeline=SPANS)
    return _task(run, 0, both[0], layout, window), _task(run, 1, both[1], layout, window)


def _task(run: ClusterRun, job: int, of: Alone, layout: Layout, window: float) -> Task:
    iterations = computing = 0.0
    computation, copies = pyarrow.table(run.computation()), pyarrow.table(run.copies())
    for rank in range(layout.gpus):
        spans = _spans(_of(computation, job, rank))
        iterations += done_within(window, 0.0, [end for _, end in spans])
        computing += sum(max(0.0, min(end, window) - start) for start, end in spans)
    made = [
        end - start
        for rank in range(layout.gpus)
        for start, end in _spans(_of(copies, job, rank))
        if start < window
    ]
    most = published()["deadline"]["times_alone"] * of.copy
    in_time = sum(length <= most for length in made) / len(made)
    idle = 1.0 - computing / window / layout.gpus
    return Task(of, iterations, iterations * of.iteration / window, idle, in_time)


def _of(table: pyarrow.Table, job: int, rank: int) -> pyarrow.Table:
    jobs, ranks = table["job"].to_pylist(), table["rank"].to_pylist()
    return table.take(
        [at for at, place in enumerate(zip(jobs, ranks, strict=True)) if place == (job, rank)]
    )
