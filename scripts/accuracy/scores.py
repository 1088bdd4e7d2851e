"""Scores steps of language models: sources weigh alike, however many rows each has."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from accuracy.jobs import DENSE, EXPERTS, Answer, Job
from accuracy.ladders import Ladder, order, share_within

# Each score is held to this, in the words of the page.
HELD = {
    "dense, median": 0.12,
    "dense, 90th percentile": 0.25,
    "dense, median of each source": 0.18,
    "experts, median": 0.20,
    "questions with an answer": 0.90,
    "ladders within 6 points": 0.90,
    "pairs of ladders in order": 0.80,
}
# Shares of rows inside what is printed that are neither too few nor too many.
INSIDE = (0.80, 0.95)


@dataclass(frozen=True)
class Score:
    """Holds a figure, what it is held to, and whether it holds."""

    name: str
    figure: float
    held_to: str
    holds: bool


def errors(jobs: Sequence[Job], answers: Mapping[str, Answer]) -> dict[str, list[float]]:
    """Gives the sizes of errors by source, as parts of the measured times."""
    found: dict[str, list[float]] = {}
    for job in jobs:
        predicted = answers[job.name].seconds
        if predicted is not None and job.seconds is not None and not job.left_out:
            found.setdefault(job.source, []).append(abs(predicted / job.seconds - 1))
    return found


def quantile(by_source: Mapping[str, Sequence[float]], share: float) -> float:
    """Gives the error that this share of rows stays within, where sources weigh alike."""
    weighted = sorted(
        (error, 1 / (len(own) * len(by_source))) for own in by_source.values() for error in own
    )
    reached = 0.0
    for error, weight in weighted:
        reached += weight
        if reached >= share or math.isclose(reached, share):
            return error
    return weighted[-1][0]


def answered(jobs: Sequence[Job], answers: Mapping[str, Answer]) -> tuple[int, int]:
    """Counts the rows that can be asked, and those of them that get an answer."""
    asked = [answers[job.name] for job in jobs if not job.unasked]
    return len(asked), sum(answer.seconds is not None for answer in asked)


def scores(
    jobs: Sequence[Job], answers: Mapping[str, Answer], found: Sequence[Ladder]
) -> list[Score]:
    """Gives every score."""
    dense, experts = (
        errors([job for job in jobs if job.subject == subject], answers)
        for subject in (DENSE, EXPERTS)
    )
    asked, with_answer = answered(jobs, answers)
    pairs, right = order(found)
    made = [
        at_most("dense, median", quantile(dense, 0.5)),
        at_most("dense, 90th percentile", quantile(dense, 0.9)),
        *(
            at_most("dense, median of each source", median(own), source)
            for source, own in dense.items()
        ),
        at_most("experts, median", quantile(experts, 0.5)),
        at_least("questions with an answer", with_answer / asked),
        at_least("ladders within 6 points", share_within(found)),
        at_least("pairs of ladders in order", right / pairs),
    ]
    share = share_inside(jobs, answers)
    if share is not None:
        low, high = INSIDE
        held = f"{low:.0%} to {high:.0%}"
        made.append(Score("rows inside what is printed", share, held, low <= share <= high))
    return made


def at_most(name: str, figure: float, of: str = "") -> Score:
    """Gives a score that a figure holds by staying low."""
    return Score(f"{name}: {of}" if of else name, figure, f"{HELD[name]:.0%}", figure <= HELD[name])


def at_least(name: str, figure: float) -> Score:
    """Gives a score that a figure holds by reaching it."""
    return Score(name, figure, f"{HELD[name]:.0%} or more", figure >= HELD[name])


def share_inside(jobs: Sequence[Job], answers: Mapping[str, Answer]) -> float | None:
    """Gives the share of rows between what is printed; None where nothing is."""

    def is_inside(job: Job, answer: Answer) -> bool | None:
        if answer.low is None or answer.high is None or job.seconds is None or job.left_out:
            return None
        return answer.low <= job.seconds <= answer.high

    told = [is_inside(job, answers[job.name]) for job in jobs]
    inside = [each for each in told if each is not None]
    return sum(inside) / len(inside) if inside else None
