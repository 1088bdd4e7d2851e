"""The frozen numbers come out again: every row, in its order, to the last digit.

`UPDATE_GOLDEN=1 pytest python/tests/frozen` captures anew what is meant to change, as do
`test_study_mapa.py` and `test_study_blink.py` for theirs; a column or a word that only has another
name is told in `data/renamed.toml` instead.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from frozen import (
    allocations,
    collectives,
    fabrics,
    files,
    machines,
    programs,
    replays,
    servers,
    studies,
)
from frozen.captured import DATA, Captured, Case, Renamed, differences, holds, parse, to_text
from linkwright.studies.network.jobs import mixes
from linkwright.studies.network.measured import read_times
from linkwright.studies.network.runs import perform, plan

FAMILIES = (
    machines,
    fabrics,
    files,
    allocations,
    collectives,
    programs,
    servers,
    replays,
    studies,
)
CASES = [case for family in FAMILIES for case in family.cases()]
ONE = Captured("one", ["name", "time"], [["a", 0.1], ["b", 1.5], ["b", 2]])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_numbers_are_those_that_were_captured(case: Case) -> None:
    holds(case)


@pytest.mark.skipif("EVERY_RUN" not in os.environ, reason="EVERY_RUN=1 runs it: ten minutes")
def test_every_run_of_the_quick_network_study_comes_out_again() -> None:
    performed = perform(mixes(), plan(mixes(), quick=True))
    assert list(performed.times) == read_times(studies.TIMES)


def test_every_file_is_of_one_case() -> None:
    of_studies = (studies.QUICK_MAPA, studies.QUICK_BLINK, studies.QUICK_NETWORK)
    names = [case.name for case in (*CASES, *of_studies)]
    assert len(names) == len(set(names))
    files = {str(file.relative_to(DATA)).removesuffix(".jsonl") for file in DATA.rglob("*.jsonl")}
    assert files == set(names)


def in_one(cell: object) -> list[Captured]:
    return [replace(ONE, rows=[*ONE.rows[:1], ["b", cell], *ONE.rows[2:]])]


def test_equal_tables_do_not_differ_and_survive_their_text() -> None:
    assert parse(to_text("anything", [ONE, ONE])) == [ONE, ONE]
    assert differences([ONE], in_one(1.5)) == []


@pytest.mark.parametrize("cell", [math.nextafter(1.5, 2), 1.4999999999999998, 2, None, "1.5"])
def test_another_last_digit_differs(cell: object) -> None:
    [told] = differences([ONE], in_one(cell))
    assert told.startswith("one, row 1, time: ")
    assert told.endswith("stored is 1.5")


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[:-1],
        lambda rows: [*rows, rows[-1]],
        lambda rows: rows[:0],
        lambda rows: rows[::-1],
        lambda rows: [rows[1], rows[0], rows[2]],
    ],
    ids=["last dropped", "one more", "none", "reversed", "two exchanged"],
)
def test_rows_and_their_order_count(change: Callable[[Any], Any]) -> None:
    assert differences([ONE], [replace(ONE, rows=change(ONE.rows))])


def test_tables_count() -> None:
    assert differences([ONE], [])
    assert differences([ONE], [ONE, ONE]) == ["2 tables, stored are 1"]


def test_columns_are_found_by_name_and_may_be_renamed() -> None:
    turned = Captured("two", ["new", "time", "name"], [[0, time, name] for name, time in ONE.rows])
    assert differences([ONE], [turned]) == []
    other = replace(ONE, columns=["name", "seconds"])
    assert differences([ONE], [other]) == ["one: no column `time`"]
    assert differences([ONE], [other], Renamed(columns={"time": "seconds"})) == []
    moved = replace(other, rows=[["a", 0.1], ["b", 1.25], ["b", 2]])
    assert len(differences([ONE], [moved], Renamed(columns={"time": "seconds"}))) == 1
    worded = replace(ONE, rows=[["a", 0.1], ["c", 1.5], ["c", 2]])
    assert len(differences([ONE], [worded])) == 2
    assert differences([ONE], [worded], Renamed(words={"b": "c"})) == []


def test_many_differences_are_counted_and_words_apart() -> None:
    many = replace(ONE, rows=[["a", float(number)] for number in range(20)])
    other = replace(ONE, rows=[["b", float(number // 10)] for number in range(20)])
    told = differences([many], [other])
    assert told[-1] == "in all 39 differences, 20 of them in words only"
    assert len(told) < 20


def test_of_equal_columns_each_has_its_own() -> None:
    twice = Captured("twice", ["a", "a"], [[1, 2]])
    assert differences([twice], [replace(twice, rows=[[1, 3]])])
    assert differences([twice], [replace(twice, rows=[[2, 1]])])


@pytest.mark.parametrize("file", sorted(DATA.rglob("*.jsonl")), ids=lambda file: file.stem)
def test_each_stored_table_would_notice_a_change(file: Any) -> None:
    """Of each file one number, taken by chance, moves by its last digit, and one row goes."""
    tables = parse(file.read_text(encoding="utf-8"))
    assert differences(tables, tables) == []
    chance = random.Random(file.stem)
    places = [
        (at, row, column)
        for at, table in enumerate(tables)
        for row, cells in enumerate(table.rows)
        for column, cell in enumerate(cells)
        if isinstance(cell, int | float) and not isinstance(cell, bool)
    ]
    at, row, column = chance.choice(places)
    table = tables[at]
    rows = [list(cells) for cells in table.rows]
    number = rows[row][column]
    rows[row][column] = number + 1 if isinstance(number, int) else math.nextafter(number, math.inf)
    assert (
        len(differences(tables, [*tables[:at], replace(table, rows=rows), *tables[at + 1 :]])) == 1
    )
    fewer = replace(table, rows=[*table.rows[:row], *table.rows[row + 1 :]])
    assert len(differences(tables, [*tables[:at], fewer, *tables[at + 1 :]])) == 1
