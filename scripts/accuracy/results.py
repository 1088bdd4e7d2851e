"""Stores what the model's errors came to, in `validation/accuracy/results.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from accuracy.collectives import SEVERAL, one_server
from accuracy.insides import INSIDE
from accuracy.jobs import BLOCKS, DENSE, EXPERTS
from accuracy.packets import PACKETS
from accuracy.pcie import COPIES
from accuracy.rows import Errors, Row, Series, Subject, errors_of, subject_of
from accuracy.tables import STORED
from accuracy.training import TRAINING

PATH = STORED / "results.json"

# The README has these rows, at most ten: each sums up one subject, or several together.
SHORT: Mapping[str, Sequence[str]] = {
    "NCCL on one server: all-reduce": [one_server("all-reduce")],
    "all-gather, reduce-scatter, broadcast, reduce": [
        one_server(each) for each in ("all-gather", "reduce-scatter", "broadcast", "reduce")
    ],
    "all-to-all": [one_server("all-to-all")],
    "NCCL on several servers": [SEVERAL],
    "steps of dense language models": [DENSE],
    "steps with experts, MXFP8 or NVFP4": [EXPERTS, BLOCKS],
    "steps of other networks": [TRAINING],
    "kernels inside GPUs": [INSIDE],
    "PCIe copies": [COPIES],
    "packets against TraceR": [PACKETS],
}


@dataclass(frozen=True)
class Results:
    """Holds the errors by subject, as the README sums them up, and by what their bars come from."""

    subjects: list[Subject]
    short: Mapping[str, Errors]
    bars: Mapping[str, Errors]


def asked(series: Sequence[Series]) -> Results:
    """Asks about every series."""
    rows: dict[str, dict[str, list[Row]]] = {}
    for each in series:
        own = rows.setdefault(each.subject, {})
        assert each.name not in own, f"two series of {each.subject} are called {each.name}"
        own[each.name] = each.ask()
    short = {
        words: errors_of([row for name in chosen for own in rows[name].values() for row in own])
        for words, chosen in SHORT.items()
        if rows.keys() >= {*chosen}
    }
    barred = [row for own in rows.values() for each in own.values() for row in each if row.basis]
    bars = {
        basis: errors_of([row for row in barred if row.basis == basis])
        for basis in sorted({row.basis for row in barred})
    }
    return Results([subject_of(name, own) for name, own in rows.items()], short, bars)


def with_others(now: Results, before: Results) -> Results:
    """Gives what was asked now, and all else as it was before.

    Raises:
        ValueError: If rows of now have bars, which only all rows together give shares for.
    """
    if now.bars:
        raise ValueError(f"bars of {', '.join(now.bars)} need all rows; ask about everything")
    fresh = {subject.name: subject for subject in now.subjects}
    subjects = [fresh.pop(subject.name, subject) for subject in before.subjects]
    return Results([*subjects, *fresh.values()], {**before.short, **now.short}, before.bars)


def text_of(results: Results) -> str:
    """Writes the results as they are stored."""
    text = json.dumps(asdict(results), indent=1, ensure_ascii=False)
    # A list of numbers stands on one line.
    line = re.compile(r"\[\s+([^\[\]{}\"]*?)\s+\]")
    return line.sub(lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


def stored() -> Results:
    """Reads the stored results."""
    found = json.loads(PATH.read_text(encoding="utf-8"))
    short, bars = (
        {name: Errors(**errors) for name, errors in found[which].items()}
        for which in ("short", "bars")
    )
    return Results([_subject(each) for each in found["subjects"]], short, bars)


def _subject(found: Mapping[str, Any]) -> Subject:
    return Subject(
        name=found["name"],
        errors=Errors(**found["errors"]),
        facets={
            facet: {group: Errors(**errors) for group, errors in groups.items()}
            for facet, groups in found["facets"].items()
        },
        refusals=found["refusals"],
        series={name: (rows, own, mean) for name, (rows, own, mean) in found["series"].items()},
    )
