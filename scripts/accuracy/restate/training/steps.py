"""Writes every published step of a language model as one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from accuracy.restate.training import bridge, mlperf, open_source, own
from accuracy.restate.training.question import Question
from accuracy.tables import STORED, table, write_table

NAME = "training-jobs.csv"
ABOUT = """\
Published steps of language models. `asked` follows `linkwright train`; `seconds` were measured for
one step, `other_seconds` are another simulator's. Nobody measured rows without `seconds`. `unasked`
says why a row is no question, `left_out` why it counts in no score, `fitted` what it set."""
# Twins further apart count in no score.
FURTHEST = 1.15


def steps(folder: Path) -> None:
    """Writes a row for each step and each recipe; `fitted` stays as the table had it."""
    path = STORED / NAME
    fitted = {row["job"]: row["fitted"] for row in table(path)} if path.exists() else {}
    numbers: dict[str, Iterator[int]] = {}
    rows = []
    for each in without_twins(list(every_question(folder / "training"))):
        kind = f"{each.source} recipe" if each.release == "recipes" else each.source
        name = f"{kind} {next(numbers.setdefault(kind, count(1)))}"
        rows.append(each.line(name, fitted.get(name, "")))
    write_table(NAME, ABOUT, rows)


def every_question(folder: Path) -> Iterator[Question]:
    """Lists the steps of all sources."""
    yield from open_source.torchtitan(folder)
    yield from open_source.foundry(folder)
    yield from open_source.simumax(folder)
    yield from bridge.measured(folder)
    yield from mlperf.mlperf(folder)
    yield from bridge.recipes(folder)
    yield from own.runs()
    yield from own.larger()


def without_twins(questions: Sequence[Question]) -> list[Question]:
    """Lets each configuration count once a source: in the release that has most rows, or nowhere.

    Twins are asked alike. Of releases with as many rows the newest counts.
    """
    sizes = Counter((each.source, each.release) for each in questions)
    twins: dict[tuple[str, str], list[Question]] = {}
    for each in questions:
        if is_counted(each):
            twins.setdefault((each.source, each.asked), []).append(each)

    def judged(each: Question) -> Question:
        if not is_counted(each):
            return each
        own = twins[each.source, each.asked]
        times = [twin.seconds for twin in own if twin.seconds is not None]
        apart = max(times) / min(times)
        if apart > FURTHEST:
            return replace(each, left_out=f"its twins differ by {apart - 1:.0%}")
        chosen = max(own, key=lambda it: (sizes[it.source, it.release], it.release)).release
        if each.release != chosen:
            return replace(each, left_out=f"counts in release {chosen}")
        return each

    return [judged(each) for each in questions]


def is_counted(each: Question) -> bool:
    """Whether a question was measured, and nobody holds it to be wrong."""
    return bool(each.asked) and each.seconds is not None and not each.left_out
