"""What a captured table is, how it is stored as text, and how a new one is compared with it.

A file has a line of JSON for the command that gave it, then for each table a line with its title
and its columns, and a line for each row. Floats stand as Python's shortest text that reads back
to the same float, so that equal text is equal to the last digit. A simulated time is a whole
number of picoseconds, told in seconds: below 2 hours no two of them are the same float.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = [
    "DATA",
    "Captured",
    "Case",
    "Renamed",
    "differences",
    "holds",
    "parse",
    "renamed",
    "to_text",
]

DATA = Path(__file__).with_name("data")
# Enough to see what happened; a change of the model moves thousands of cells.
SHOWN = 12


@dataclass(frozen=True)
class Captured:
    """A table: its title, its columns, and its rows of plain values."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Case:
    """A file of captured tables.

    Attributes:
        name: The file below `data`, without suffix.
        command: What gives the tables, for people.
        tables: Computes them.
    """

    name: str
    command: str
    tables: Callable[[], Iterable[Captured]]

    @property
    def file(self) -> Path:
        """Where the tables are stored."""
        return DATA / f"{self.name}.jsonl"


@dataclass(frozen=True)
class Renamed:
    """What has another name now: numbers stay frozen while names change.

    Attributes:
        columns: The present name of each captured column that was renamed.
        words: The present word for each captured cell of text that was.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)


def renamed() -> Renamed:
    """What `data/renamed.toml` says."""
    return Renamed(**tomllib.loads((DATA / "renamed.toml").read_text(encoding="utf-8")))


def to_text(command: str, tables: Iterable[Captured]) -> str:
    """Tables as they are stored."""
    return "".join(f"{line}\n" for line in _lines(command, tables))


def _lines(command: str, tables: Iterable[Captured]) -> Iterator[str]:
    yield _json({"command": command})
    for table in tables:
        yield _json({"table": table.title, "columns": list(table.columns)})
        yield from (_json(list(row)) for row in table.rows)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def parse(text: str) -> list[Captured]:
    """The tables of a stored text."""
    tables: list[Captured] = []
    rows: list[list[Any]] = []
    for line in map(json.loads, text.splitlines()[1:]):
        if isinstance(line, dict):
            rows = []
            tables.append(Captured(line["table"], line["columns"], rows))
        else:
            rows.append(line)
    return tables


def differences(
    stored: Sequence[Captured], found: Sequence[Captured], names: Renamed | None = None
) -> list[str]:
    """Where tables found now differ from the stored ones, in sentences; none if nowhere.

    Tables are paired in their order, rows in theirs, columns by name. A column that is new is
    no difference, and neither is a title.
    """
    names = names or Renamed()
    if len(stored) != len(found):
        return [f"{len(found)} tables, stored are {len(stored)}"]
    told = [
        each for old, new in zip(stored, found, strict=True) for each in _of_table(old, new, names)
    ]
    if len(told) <= SHOWN:
        return [each for each, _ in told]
    words = sum(in_words for _, in_words in told)
    shown = [each for each, _ in told[:SHOWN]]
    return [*shown, f"in all {len(told)} differences, {words} of them in words only"]


def _of_table(old: Captured, new: Captured, names: Renamed) -> Iterator[tuple[str, bool]]:
    """Each difference, and whether it is one of words only."""
    if len(old.rows) != len(new.rows):
        yield f"{old.title}: {len(new.rows)} rows, stored are {len(old.rows)}", False
        return
    places = list(_places(old, new, names))
    for column, place in zip(old.columns, places, strict=True):
        if place is None:
            yield f"{old.title}: no column `{column}`", True
    for number, (before, after) in enumerate(zip(old.rows, new.rows, strict=True)):
        for column, place, cell in zip(old.columns, places, before, strict=True):
            if place is None:
                continue
            wanted, got = _json(_reworded(cell, names)), _json(after[place])
            if wanted != got:
                in_words = isinstance(cell, str) and isinstance(after[place], str)
                yield f"{old.title}, row {number}, {column}: {got}, stored is {wanted}", in_words


def _places(old: Captured, new: Captured, names: Renamed) -> Iterator[int | None]:
    """For each stored column where it stands now; of equal names the first takes the first."""
    free = list(enumerate(new.columns))
    for column in old.columns:
        name = names.columns.get(column, column)
        found = next((each for each in free if each[1] == name), None)
        if found is not None:
            free.remove(found)
        yield None if found is None else found[0]


def _reworded(cell: Any, names: Renamed) -> Any:
    if isinstance(cell, list):
        return [_reworded(each, names) for each in cell]
    return names.words.get(cell, cell) if isinstance(cell, str) else cell


def holds(case: Case) -> None:
    """Asserts that a case's tables come out again; with `UPDATE_GOLDEN` set they are captured."""
    found = to_text(case.command, case.tables())
    if os.environ.get("UPDATE_GOLDEN"):
        case.file.parent.mkdir(parents=True, exist_ok=True)
        case.file.write_text(found, encoding="utf-8")
    assert case.file.exists(), "UPDATE_GOLDEN=1 captures it"
    stored = parse(case.file.read_text(encoding="utf-8"))
    assert stored, case.file
    assert differences(stored, parse(found), renamed()) == [], case.command
