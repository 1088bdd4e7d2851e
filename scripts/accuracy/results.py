"""Stores what the model's errors came to, in `validation/accuracy/results.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from accuracy.rows import Errors, Series, Subject, subject_of
from accuracy.tables import STORED

PATH = STORED / "results.json"


def asked(series: list[Series]) -> list[Subject]:
    """Asks about every series, subject by subject."""
    names = dict.fromkeys(each.subject for each in series)
    return [subject_of(name, [it for it in series if it.subject == name]) for name in names]


def text_of(subjects: list[Subject]) -> str:
    """Writes the subjects as they are stored."""
    text = json.dumps([asdict(each) for each in subjects], indent=1, ensure_ascii=False)
    # A list of numbers stands on one line.
    return (
        re.sub(r"\[\s+([^\[\]{}\"]*?)\s+\]", lambda it: f"[{' '.join(it[1].split())}]", text) + "\n"
    )


def stored() -> list[Subject]:
    """Reads the stored subjects."""
    return [_subject(each) for each in json.loads(PATH.read_text(encoding="utf-8"))]


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
