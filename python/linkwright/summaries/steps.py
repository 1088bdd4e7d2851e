"""What steps of training come to: parts of their time, in the mean over GPUs, and speed-ups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from linkwright import ClusterRun

__all__ = ["Collectives", "Parts", "Scaled", "collectives_of", "parts_of"]

Span = tuple[float, float]


@dataclass(frozen=True)
class Parts:
    """A step's time in seconds, in the mean over its GPUs.

    Attributes:
        framework: The framework's work on the host before the step.
        computing: Kernels of layers and of updates.
        communication: In which data moves, to the GPU or from it, beside what it computes or not.
        exposed: Of this, what no computation hides.
        idle: In which a GPU does none of these.
    """

    framework: float
    computing: float
    communication: float
    exposed: float
    idle: float


@dataclass(frozen=True)
class Collectives:
    """Holds the seconds that a step's collectives take, in the mean over its GPUs.

    Attributes:
        running: In which one runs.
        exposed: Of this, what no computation hides.
    """

    running: float
    exposed: float


@dataclass(frozen=True)
class Scaled:
    """A step on fewer GPUs, or on one batch for each.

    Attributes:
        kind: `strong`, the same batch on more GPUs, or `weak`, the same batch for each GPU.
        communication: How data moved.
        gpus: How many.
        batch: Samples of the step.
        time: Seconds of the step.
        speed_up: Samples a second over those of one GPU.
    """

    kind: str
    communication: str
    gpus: int
    batch: int
    time: float
    speed_up: float

    @property
    def efficiency(self) -> float:
        """The speed-up for each GPU."""
        return self.speed_up / self.gpus

    @property
    def facts(self) -> dict[str, object]:
        """The row of tables and JSON."""
        return asdict(self) | {"efficiency": self.efficiency}


def parts_of(run: ClusterRun, stands_for: Sequence[int] | None = None) -> Parts:
    """The parts of a run of one step that kept all of its spans.

    Args:
        run: What was played.
        stands_for: For how many GPUs of the step each rank of the run stands; one where absent.
    """
    weights = [1] * run.ranks().num_rows if stands_for is None else stands_for
    frameworks, computing, moving = (defaultdict[int, list[Span]](list) for _ in range(3))
    for row in run.regions():
        if row["region"] == "framework":
            frameworks[row["rank"]].append((row["start"], row["end"]))
    for row in run.computation():
        computing[row["rank"]].append((row["start"], row["end"]))
    for table in (run.kernels(), run.copies()):
        for row in table:
            moving[row["rank"]].append((row["start"], row["end"]))
    for row in run.messages():
        for rank in (row["source"], row["destination"]):
            # What carries nothing tells another rank that something is done.
            if row["size"] > 0:
                moving[rank].append((row["sent"], row["delivered"]))
    sums = [0.0] * 5
    for rank, weight in enumerate(weights):
        host = _union(frameworks[rank])
        kernels = _less(_union(computing[rank]), host)
        data = _union(moving[rank])
        hidden = _less(data, [*host, *kernels])
        spent = _length(host), _length(kernels), _length(data), _length(hidden)
        idle = run.makespan - spent[0] - spent[1] - spent[3]
        sums = [total + weight * part for total, part in zip(sums, (*spent, idle), strict=True)]
    return Parts(*(max(0.0, total) / max(sum(weights), 1) for total in sums))


def collectives_of(run: ClusterRun) -> Collectives:
    """Counts what the collectives of a step took that kept all of its spans.

    Copies of samples and messages between two GPUs are no collectives.
    """
    computing, moving = defaultdict[int, list[Span]](list), defaultdict[int, list[Span]](list)
    for table, spans in ((run.computation(), computing), (run.kernels(), moving)):
        for row in table:
            spans[row["rank"]].append((row["start"], row["end"]))
    ranks = max(run.ranks().num_rows, 1)
    runs = [_union(spans) for spans in moving.values()]
    exposed = [_less(_union(spans), computing[rank]) for rank, spans in moving.items()]
    running, bare = (sum(map(_length, each)) / ranks for each in (runs, exposed))
    return Collectives(running, bare)


def _union(spans: Iterable[Span]) -> list[Span]:
    """The same times as spans that do not meet, in their order."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        elif end > start:
            joined.append((start, end))
    return joined


def _less(spans: Sequence[Span], taken: Iterable[Span]) -> list[Span]:
    """What of spans that do not meet is in none of the others."""
    others = _union(taken)
    left: list[Span] = []
    at = 0
    for start, end in spans:
        while at < len(others) and others[at][1] <= start:
            at += 1
        here, begin = at, start
        while here < len(others) and others[here][0] < end:
            if others[here][0] > begin:
                left.append((begin, others[here][0]))
            begin = max(begin, others[here][1])
            here += 1
        if begin < end:
            left.append((begin, end))
    return left


def _length(spans: Iterable[Span]) -> float:
    return sum(end - start for start, end in spans)
