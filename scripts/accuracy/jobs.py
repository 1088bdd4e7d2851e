"""Holds steps of language models against published times."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from typing import Any

from accuracy.rows import Row, Series, rounded
from accuracy.tables import ROOT, STORED, table, write_table
from linkwright import train_model
from linkwright.training import ModelRun
from linkwright.errors import LinkwrightError

JOBS = "steps of language models"
DENSE = f"{JOBS}: dense, 16 and 8 bits"
EXPERTS = f"{JOBS}: experts, 16 and 8 bits"
BLOCKS = f"{JOBS}: MXFP8 and NVFP4"
LEFT_OUT = f"{JOBS}: left out of the scores"

TABLE = STORED / "training-jobs.csv"
ANSWERS = "training-answers.csv"
# Numbers whose blocks have scales of their own.
SCALED_BLOCKS = ("mxfp8", "nvfp4")
# A question is refused for the memory that it needs, or for another reason.
DOES_NOT_FIT = "it does not fit the GPUs' memory, by the model"


@dataclass(frozen=True)
class Job:
    """Holds a published step: the question, the measured time, and why it counts or does not."""

    name: str
    source: str
    release: str
    system: str
    gpus: int
    model: str
    kind: str
    stage: str
    precision: str
    asked: str
    seconds: float | None
    other_seconds: float | None
    reserved: float | None
    unasked: str
    left_out: str
    fitted: str
    page: str

    @property
    def subject(self) -> str:
        """Names what it counts in."""
        if self.left_out:
            return LEFT_OUT
        if self.precision in SCALED_BLOCKS:
            return BLOCKS
        return EXPERTS if self.kind == "experts" else DENSE

    @property
    def options(self) -> dict[str, Any]:
        """Gives what is asked by the names of options; `model` is the first word."""
        model, *words = self.asked.split()
        found: dict[str, Any] = {"model": model}
        for at, word in enumerate(words):
            if word.startswith("--"):
                value = words[at + 1] if words[at + 1 :] else "--"
                name = word.removeprefix("--").replace("-", "_")
                found[name] = True if value.startswith("--") else number(value)
        return found


@dataclass(frozen=True)
class Answer:
    """Holds what the model says of a job: seconds of a step, or why it refuses.

    `low` and `high` are the seconds that the step's time is printed between; None where none are.
    `reserved` are the GiB that the allocator holds.
    """

    seconds: float | None = None
    low: float | None = None
    high: float | None = None
    reserved: float | None = None
    refusal: str = ""


def number(text: str) -> int | str:
    """Reads a whole number; other words stay as they are."""
    return int(text) if text.isdigit() else text


@cache
def jobs() -> tuple[Job, ...]:
    """Reads every published step, and the recipes that nobody measured."""
    return tuple(
        Job(
            name=row["job"],
            source=row["source"],
            release=row["release"],
            system=row["system"],
            gpus=int(row["gpus"]),
            model=row["model"],
            kind=row["kind"],
            stage=row["stage"],
            precision=row["precision"],
            asked=row["asked"],
            seconds=figure(row["seconds"]),
            other_seconds=figure(row["other_seconds"]),
            reserved=figure(row["reserved_gib"]),
            unasked=row["unasked"],
            left_out=row["left_out"],
            fitted=row["fitted"],
            page=row["page"],
        )
        for row in table(TABLE)
    )


def figure(text: str) -> float | None:
    """Reads a figure; None where there is none."""
    return float(text) if text else None


def measured_jobs() -> list[Job]:
    """Lists the jobs that were measured."""
    return [job for job in jobs() if job.seconds is not None]


def series() -> list[Series]:
    """Lists every measured job."""
    return [Series(job.subject, job.name, partial(rows_of, job)) for job in measured_jobs()]


def rows_of(job: Job) -> list[Row]:
    """Asks about a job."""
    assert job.seconds is not None
    answer = fresh(job)
    return [
        Row(
            measured=job.seconds,
            expected=answer.seconds,
            facets=facets(job),
            refusal=answer.refusal,
            low=answer.low,
            high=answer.high,
        )
    ]


def facets(job: Job) -> dict[str, str]:
    """Names the groups that a job counts in."""
    if job.left_out:
        return {"source": job.source, "why": job.left_out}
    return {
        "source": job.source,
        "system": f"{job.gpus} {job.system}",
        "model": f"{job.model}, {job.stage}, {job.precision or 'precision not stated'}",
        "set a constant": job.fitted or "none",
    }


def fresh(job: Job) -> Answer:
    """Plays a job once in this process."""
    if job.name not in _PLAYED:
        _PLAYED[job.name] = answer_to(job)
    return _PLAYED[job.name]


# Answers of this process, by the names of jobs.
_PLAYED: dict[str, Answer] = {}


def play(chosen: Sequence[Job]) -> None:
    """Plays jobs in processes of their own, one for each core."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        found = pool.map(answer_to, chosen, chunksize=4)
        _PLAYED.update(zip((job.name for job in chosen), found, strict=True))


def answer_to(job: Job) -> Answer:
    """Asks as `linkwright train` does."""
    if job.unasked:
        return Answer(refusal=job.unasked)
    options = job.options
    model = options.pop("model")
    try:
        run = train_model(ROOT / model if model.endswith(".json") else model, **options)
    except LinkwrightError as error:
        fits = "GiB" not in error.problem
        return Answer(refusal=error.problem.split(": ")[0] if fits else DOES_NOT_FIT)
    if run.time is None:
        return Answer(refusal=run.untimed)
    low, high = between(run)
    return Answer(rounded(run.time), low, high, reserved=rounded(run.reserved / 2**30))


def between(run: ModelRun) -> tuple[float | None, float | None]:
    """Gives the seconds that a step's time is printed between."""
    if run.interval is None:
        return None, None
    low, high = run.interval
    return rounded(low), rounded(high)


@cache
def stored() -> dict[str, Answer]:
    """Reads what all jobs came to."""
    return {
        row["job"]: Answer(
            figure(row["seconds"]),
            figure(row["low"]),
            figure(row["high"]),
            figure(row["reserved_gib"]),
            row["refusal"],
        )
        for row in table(STORED / ANSWERS)
    }


def store() -> None:
    """Writes what all jobs come to."""
    answers = {job.name: fresh(job) for job in jobs()}
    write_table(
        ANSWERS,
        "Linkwright's answer to each row of training-jobs.csv: seconds of a step.",
        [
            {
                "job": job.name,
                "seconds": told(answers[job.name].seconds),
                "low": told(answers[job.name].low),
                "high": told(answers[job.name].high),
                "reserved_gib": told(answers[job.name].reserved),
                "refusal": answers[job.name].refusal,
            }
            for job in jobs()
        ],
    )
    stored.cache_clear()


def told(value: float | None) -> str:
    """Writes a figure; nothing where there is none."""
    return "" if value is None else f"{value:g}"
