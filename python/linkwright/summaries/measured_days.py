"""The errors of fluids and flows against packets say where those of other days are expected.

`scripts/measure_days.py` plays small random days on many systems by every fidelity. Nine of ten
jobs of another day are expected where nine of ten of those like them were. They are alike on one
server or several, with the same planner, of about as many GPUs. Every system counts alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import get_type_hints

from linkwright.names import FidelityName

__all__ = ["HEADER", "Interval", "JobKind", "MeasuredJob", "interval", "measured_jobs"]

# The part of the jobs alike that lies below an interval, and as many above.
TAIL = 0.03
# As few jobs as an interval is made of, and on how many systems.
FEWEST_JOBS, FEWEST_SYSTEMS = 25, 4


@dataclass(frozen=True)
class MeasuredJob:
    """A job of several GPUs, as every fidelity has it.

    It ran on `servers` of the kind `server`. The network between them is of the kind `fabric`, and
    each of its links carries `gigabits` Gb/s. `planner` planned the all-reduces, `policy` chose
    GPUs, and `choice` the servers where a job looked for them. `mix` is the seed of the mix.

    It is a job that trained `workload` on `gpus` GPUs in `spanned` servers. Its `iterations` took
    `fluid`, `flow` or `packet` milliseconds.
    """

    server: str
    servers: int
    fabric: str
    gigabits: int
    planner: str
    policy: str
    choice: str
    mix: int
    workload: str
    gpus: int
    spanned: int
    iterations: int
    fluid: float
    flow: float
    packet: float

    @property
    def system(self) -> tuple[str, int, str]:
        """Tells the system that it ran on."""
        return self.server, self.servers, self.fabric

    def error(self, model: str) -> float:
        """How far a model is off, as part of the packets' time."""
        return float(getattr(self, model)) / self.packet - 1


HEADER = ",".join(field.name for field in fields(MeasuredJob))


@cache
def measured_jobs() -> Sequence[MeasuredJob]:
    """All that were measured."""
    types = get_type_hints(MeasuredJob)
    lines = files(__package__).joinpath("days.csv").read_text("utf-8").splitlines()
    header, *rows = [line.split(",") for line in lines if not line.startswith("#")]
    return [
        MeasuredJob(**{name: types[name](cell) for name, cell in zip(header, row, strict=True)})
        for row in rows
    ]


@dataclass(frozen=True)
class JobKind:
    """A job of several GPUs, as far as it is told how far models are off of it.

    Attributes:
        fabric: The kind of network between servers; none on one.
        planner: The planner of its all-reduces.
        gpus: How many GPUs it has.
    """

    fabric: str
    planner: str
    gpus: int

    def likeness(self, job: MeasuredJob) -> Sequence[bool]:
        """In what a measured job is like it, what counts most first."""
        return (
            bool(self.fabric) == bool(job.fabric),
            self.planner == job.planner,
            self.gpus / 2 <= job.gpus <= self.gpus * 2,
        )


@dataclass(frozen=True)
class Interval:
    """An interval that holds nine of ten errors, as parts of the packets' time.

    `median` is the median size of the errors. They were measured for `jobs` jobs on `systems`
    systems.
    """

    least: float
    most: float
    median: float
    jobs: int
    systems: int

    @property
    def half_width(self) -> float:
        """Half of what lies between its ends."""
        return (self.most - self.least) / 2


def interval(
    kind: JobKind, model: FidelityName, jobs: Iterable[MeasuredJob] | None = None
) -> Interval | str:
    """Where a job's error is expected; in words what is unlike all that was measured, if it is.

    Args:
        kind: The job.
        model: `fluid` or `flow`.
        jobs: The measured jobs; all if not given.
    """
    known = list(measured_jobs() if jobs is None else jobs)
    unlike = _unlike(kind, known)
    if unlike is not None:
        return unlike
    alike = known
    for place in range(len(kind.likeness(known[0]))):
        narrower = [job for job in alike if kind.likeness(job)[place]]
        if place == 0 or _is_enough(narrower):
            alike = narrower
    weights = {system: 1 / count for system, count in Counter(it.system for it in alike).items()}
    errors = sorted((job.error(model), weights[job.system]) for job in alike)
    sizes = sorted((abs(error), weight) for error, weight in errors)
    return Interval(
        least=_quantile(errors, TAIL),
        most=_quantile(errors, 1 - TAIL),
        median=_quantile(sizes, 0.5),
        jobs=len(alike),
        systems=len(weights),
    )


def _unlike(kind: JobKind, jobs: Sequence[MeasuredJob]) -> str | None:
    of_fabric = [job for job in jobs if job.fabric == kind.fabric]
    if not of_fabric:
        fabrics = ", ".join(sorted({job.fabric for job in jobs if job.fabric}))
        return f"days over a {kind.fabric}: measured were days over {fabrics}"
    planners = sorted({job.planner for job in jobs})
    if kind.planner not in planners:
        return f"all-reduces planned by {kind.planner}: measured were {', '.join(planners)}"
    most = max(job.gpus for job in jobs if bool(job.fabric) == bool(kind.fabric))
    if kind.gpus > 2 * most:
        return f"jobs of {kind.gpus} GPUs: measured were jobs of {most} at most"
    return None


def _is_enough(jobs: Sequence[MeasuredJob]) -> bool:
    return len(jobs) >= FEWEST_JOBS and len({job.system for job in jobs}) >= FEWEST_SYSTEMS


def _quantile(weighted: Sequence[tuple[float, float]], part: float) -> float:
    """The value below which lies that part of the weights; values ascend."""
    sought = part * sum(weight for _, weight in weighted)
    for value, weight in weighted:
        sought -= weight
        if sought <= 0:
            return value
    return weighted[-1][0]
