"""Compares what steps of language models lose with more GPUs, as measured and as predicted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from accuracy.jobs import Answer, Job

# Ladders whose losses lie within as many points are right.
POINTS = 6.0
# Two ladders are told apart where their measured losses differ by more points.
APART = 2.0
# Guesses that say nothing of a ladder.
GUESSES = {"no loss": 0.0, "always 3 %": 3.0}


@dataclass(frozen=True)
class Ladder:
    """Holds two jobs that differ in their count of GPUs alone, the smaller first.

    Losses are percent of the smaller job's tokens a second of a GPU.
    """

    small: Job
    large: Job
    measured: float
    predicted: float


def ladders(jobs: Sequence[Job], answers: Mapping[str, Answer]) -> list[Ladder]:
    """Finds the least and the most GPUs of jobs whose GPUs each compute the same."""
    rungs: dict[tuple[str, ...], list[Job]] = {}
    for job in jobs:
        if job.seconds and not job.left_out and answers[job.name].seconds:
            rungs.setdefault(rung_of(job), []).append(job)
    found = []
    for own in rungs.values():
        small, large = (choose(own, key=lambda job: job.gpus) for choose in (min, max))
        if small.gpus < large.gpus:
            found.append(
                Ladder(
                    small,
                    large,
                    loss(small.seconds, large.seconds),
                    loss(answers[small.name].seconds, answers[large.name].seconds),
                )
            )
    return sorted(found, key=lambda it: -abs(it.predicted - it.measured))


def rung_of(job: Job) -> tuple[str, ...]:
    """Names all of a question but its replicas, with the samples of one GPU."""
    options = dict(job.options)
    layout = re.sub(r"\b(dp|fsdp)=\d+", r"\1", options.pop("layout"))
    samples = options.pop("batch") / job.gpus
    others = (f"{name}={value}" for name, value in sorted(options.items()))
    return (job.source, job.release, layout, f"{samples:g}", *others)


def loss(small: float | None, large: float | None) -> float:
    """Gives the percent that each GPU gets done less, from the times of steps."""
    assert small is not None
    assert large is not None
    return 100.0 * (1.0 - small / large)


def share_within(found: Sequence[Ladder], guess: float | None = None) -> float:
    """Gives the share of ladders whose loss is right, as predicted or as guessed."""
    within = [
        abs((each.predicted if guess is None else guess) - each.measured) <= POINTS
        for each in found
    ]
    return sum(within) / len(within)


def order(found: Sequence[Ladder]) -> tuple[int, int]:
    """Counts the pairs of ladders that are told apart, and those of them in the right order."""
    pairs = [
        (one, other)
        for one, other in combinations(found, 2)
        if abs(one.measured - other.measured) > APART
    ]
    right = sum(
        (one.measured - other.measured) * (one.predicted - other.predicted) > 0
        for one, other in pairs
    )
    return len(pairs), right
