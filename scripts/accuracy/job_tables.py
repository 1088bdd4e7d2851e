"""Writes the tables of measured steps of language models: on the page, and in the guide."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from statistics import median

from accuracy.job_guide import measured_jobs_table, questions_table
from accuracy.jobs import LEFT_OUT, Job, jobs, stored
from accuracy.ladders import GUESSES, Ladder, ladders, order, share_within
from accuracy.markdown import share, signed, table
from accuracy.scores import scores

# Why a row is no question that more than one layout fits.
SEVERAL = re.compile(r"is fit by \d+ configurations")


def of_subject(subject: str) -> dict[str, str]:
    """Gives the table of every row of a subject that was asked."""
    return {f"{subject}: rows": rows_table([job for job in jobs() if job.subject == subject])}


def of_page() -> dict[str, str]:
    """Gives the tables of all steps together."""
    found = ladders(jobs(), stored())
    return {
        "steps: scores": scores_table(found),
        "steps: ladders": ladders_table(found),
        "steps: guesses": guesses_table(found),
        "steps: others": others_table(),
        "steps: questions": questions_table(),
        "steps: no questions": no_questions_table(),
        "steps: several": several_table(),
    }


def of_guide() -> dict[str, str]:
    """Gives the tables of the guide."""
    return {"measured jobs": measured_jobs_table(), "questions": questions_table()}


def rows_table(chosen: Sequence[Job]) -> str:
    """Gives a row to each job that is asked, the worst first."""
    answers = stored()
    rows = []
    for job in chosen:
        predicted = answers[job.name].seconds
        if job.seconds is None or job.unasked:
            continue
        error = None if predicted is None else predicted / job.seconds - 1
        cells = [
            job.name,
            f"{what(job)}, {job.gpus} {job.system}",
            how(job),
            seconds(job.seconds),
            answers[job.name].refusal if predicted is None else seconds(predicted),
            signed(error),
        ]
        if job.subject == LEFT_OUT:
            cells.append(job.left_out)
        rows.append((2.0 if error is None else abs(error), cells))
    rows.sort(key=worst_of)
    heads = ["row", "what", "asked as", "measured", "Linkwright", "error"]
    if any(len(cells) > len(heads) for _, cells in rows):
        heads.append("left out, as it")
    return table(heads, [cells for _, cells in rows])


def worst_of(row: tuple[float, list[str]]) -> float:
    """Sorts the largest error first."""
    error, _ = row
    return -error


def what(job: Job) -> str:
    """Names a model, and how it is trained where it is tuned."""
    return job.model if job.stage == "pre-training" else f"{job.model} {job.stage}"


def how(job: Job) -> str:
    """Says how a job is asked, in a few words."""
    options = job.options
    again = options.get("recompute")
    words = [
        str(options["layout"]).replace(",", " "),
        f"{options['tokens']:,} tokens",
        f"{options['batch']:,} by {options['micro_batch']}",
        job.precision,
        *([f"again: {again}"] if again else []),
    ]
    return ", ".join(words)


def seconds(value: float) -> str:
    """Shows a time of four digits."""
    return f"{value:,.0f} s" if value >= 1000 else f"{value:.4g} s"


def scores_table(found: Sequence[Ladder]) -> str:
    """Gives a row to each score."""
    rows = [
        [each.name, f"{each.figure:.1%}", each.held_to, "yes" if each.holds else "no"]
        for each in scores(jobs(), stored(), found)
    ]
    return table(["score", "is", "held to", "holds"], rows)


def ladders_table(found: Sequence[Ladder]) -> str:
    """Gives a row to each ladder, the worst first."""
    rows = [
        [
            f"{each.small.name} and {each.large.name}",
            f"{what(each.small)}, {each.small.gpus} to {each.large.gpus} {each.small.system}",
            points(each.measured),
            points(each.predicted),
            points(each.predicted - each.measured),
        ]
        for each in found
    ]
    return table(["rows", "what", "measured loss", "Linkwright's", "difference"], rows)


def guesses_table(found: Sequence[Ladder]) -> str:
    """Holds the ladders against guesses."""
    pairs, right = order(found)
    rows = [["Linkwright", f"{share_within(found):.0%}", f"{right} of {pairs}"]]
    for name, guess in GUESSES.items():
        rows.append([name, f"{share_within(found, guess):.0%}", f"0 of {pairs}"])
    return table(["by", "ladders within 6 points", "pairs in the right order"], rows)


def others_table() -> str:
    """Compares with another simulator on the rows that it was asked about."""
    answers = stored()
    rows = []
    kinds = dict.fromkeys(job.kind for job in jobs() if job.other_seconds)
    for kind in kinds:
        own = [job for job in jobs() if job.kind == kind and job.other_seconds]
        own = [job for job in own if answers[job.name].seconds]
        by: dict[str, Callable[[Job], float | None]] = {
            "Linkwright": lambda job: answers[job.name].seconds,
            own[0].source: lambda job: job.other_seconds,
        }
        for name, predicted in by.items():
            off = [(predicted(job) or 0.0) / (job.seconds or 1.0) - 1 for job in own]
            sizes = sorted(abs(each) for each in off)
            cells = [kind, name, str(len(own)), share(median(sizes)), signed(median(off))]
            rows.append([*cells, share(sizes[-1])])
    return table(["kind", "by", "rows", "median error", "signed", "largest"], rows)


def no_questions_table() -> str:
    """Counts the rows that cannot be asked, by why."""
    counts: dict[tuple[str, str, str], int] = {}
    for job in jobs():
        if job.unasked:
            kind = "measured" if job.seconds else "not measured"
            key = (job.source, job.unasked, kind)
            counts[key] = counts.get(key, 0) + 1
    rows = [[*key, str(count)] for key, count in sorted(counts.items())]
    return table(["source", "a row", "is", "rows"], rows)


def several_table() -> str:
    """Lists the rows that several configurations fit."""
    rows = [
        [job.name, f"{what(job)}, {job.gpus} {job.system}", job.page, seconds(job.seconds)]
        for job in jobs()
        if job.seconds and SEVERAL.fullmatch(job.unasked)
    ]
    return table(["row", "what", "source", "measured"], rows)


def points(value: float) -> str:
    """Shows a difference of percents."""
    return f"{value:+.1f} points"
