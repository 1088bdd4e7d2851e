"""The page of the model's errors says what is stored, and so does the model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accuracy import __main__ as program
from accuracy.page import in_page, in_readme, readme
from accuracy.results import stored
from accuracy.rows import Row, Series, errors_of, subject_of


def test_a_sample_of_the_rows_the_page_and_the_readme_are_what_is_stored() -> None:
    assert [*program.differences()] == []


def test_a_change_of_the_model_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def moved() -> list[Series]:
        first, *others = before
        [row, *rows] = first.ask()
        assert row.expected is not None
        other = replace(row, expected=row.expected * 1.001)
        return [replace(first, ask=lambda: [other, *rows]), *others]

    before = program.every_series()
    monkeypatch.setattr(program, "every_series", moved)
    [found] = program.differences(sample=len(before))
    assert before[0].name in found
    monkeypatch.setattr(program, "every_series", lambda: before[1:])
    assert "not those of the stored" in next(program.differences(sample=len(before)))


def test_errors_are_of_what_was_asked_and_count_what_was_not() -> None:
    facets = {"GPUs": "two"}
    rows = [
        Row(measured=1.0, expected=1.1, facets=facets, bar=0.2),
        Row(measured=1.0, expected=0.5, facets=facets, bar=0.2),
        Row(measured=2.0, expected=2.6, facets=facets),
        Row(measured=1.0, expected=None, facets={"GPUs": "three"}, refusal="no such server"),
    ]
    found = errors_of(rows)
    assert (found.rows, found.asked, found.barred, found.inside) == (4, 3, 2, 1)
    assert (found.median, found.signed, found.ninetieth, found.largest) == (0.3, 0.1, 0.5, 0.5)
    subject = subject_of("all", [Series("all", "one", lambda: rows)])
    assert subject.refusals == {"no such server": 1}
    assert list(subject.facets["GPUs"]) == ["two", "three"]
    assert subject.series["one"] == (4, 3, -0.0333333)
    names = ("summary", "cannot be asked", "all")
    blank = "".join(f"<!-- {name} -->\n<!-- end of {name} -->\n" for name in names)
    shown = in_page([subject], blank)
    assert "| all | 4 | 3 | 30.0% | 50.0% | 50% | two: 30.0% |" in shown
    assert "| all | no such server | 1 |" in shown
    assert "| three | 1 | 0 |" in shown
    with pytest.raises(ValueError, match="not found"):
        in_page([replace(subject, name="other")], blank)


def test_the_readme_takes_the_table_between_its_marks() -> None:
    subjects = stored()
    assert in_readme(subjects, "no marks") == "no marks"
    old = "before\n<!-- accuracy -->\n| old |\n<!-- end of accuracy -->\nafter"
    made = in_readme(subjects, old)
    assert made == old.replace("| old |", readme(subjects))
    assert in_readme(subjects, made) == made
    rows = readme(subjects).splitlines()[2:]
    assert 1 <= len(rows) <= 8
    assert all(len(row.split("|")) == 6 for row in rows)
