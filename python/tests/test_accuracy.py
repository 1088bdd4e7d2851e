"""The page of the model's errors says what is stored, and so does the model."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from accuracy import __main__ as program
from accuracy import runs
from accuracy.kernels import Kernel
from accuracy.page import LEGEND, in_legend, in_page, in_readme, readme
from accuracy.results import asked, stored
from accuracy.rows import Row, Series, errors_of
from accuracy.tables import STORED, table
from linkwright.cli.error_bars import print_legend
from linkwright.errors import SimulationError


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
    [found] = program.differences(sample=1)
    assert before[0].name in found
    monkeypatch.setattr(program, "every_series", lambda: before[1:])
    assert "not those of the stored" in next(program.differences(sample=1))


def test_errors_are_of_what_was_asked_and_count_what_was_not() -> None:
    facets = {"GPUs": "two"}
    rows = [
        Row(measured=1.0, expected=1.1, facets=facets, bar=0.2, basis="measured"),
        Row(measured=1.0, expected=0.5, facets=facets, bar=0.2, basis="measured"),
        Row(measured=2.0, expected=2.6, facets=facets),
        Row(measured=1.0, expected=None, facets={"GPUs": "three"}, refusal="no such server"),
    ]
    found = errors_of(rows)
    assert (found.rows, found.asked, found.barred, found.inside) == (4, 3, 2, 1)
    assert (found.median, found.signed, found.ninetieth, found.largest) == (0.3, 0.1, 0.5, 0.5)
    results = asked([Series("all", "one", lambda: rows)])
    [subject] = results.subjects
    assert subject.refusals == {"no such server": 1}
    assert list(subject.facets["GPUs"]) == ["two", "three"]
    assert subject.series["one"] == (4, 3, -0.0333333)
    names = ("summary", "bars", "cannot be asked", "all")
    blank = "".join(f"<!-- {name} -->\n<!-- end of {name} -->\n" for name in names)
    shown = in_page(results, blank)
    assert "| all | 4 | 3 | 30.0% | 50.0% | 50% | two: 30.0% |" in shown
    assert "| all | no such server | 1 |" in shown
    assert "| measured | 2 | 30.0% | 20.0% | 1 | 50% |" in shown
    assert "| others, which cannot be asked | 1 | 0 |" in shown
    with pytest.raises(ValueError, match="not found"):
        in_page(replace(results, subjects=[replace(subject, name="other")]), blank)


def test_costly_runs_are_read_where_they_were_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"good": {"figure": "1.5", "refusal": ""}, "bad": {"figure": "", "refusal": "no room"}}
    monkeypatch.setattr(runs, "_stored", lambda: kept)
    assert runs.stored_run("good") == 1.5
    with pytest.raises(SimulationError, match="no room"):
        runs.stored_run("bad")


def test_the_sample_of_kernels_is_of_the_groups_that_were_asked_whole() -> None:
    groups = {row["kernel"]: int(row["rows"]) for row in table(STORED / "kernels-groups.csv")}
    assert sum(groups.values()) == 47_713
    sampled = Counter(
        kernel.facets["kernel"] for kernel in map(Kernel.of, table(STORED / "kernels-sample.csv"))
    )
    assert sampled.keys() <= groups.keys()
    assert all(count <= groups[name] // 8 for name, count in sampled.items())


def test_the_readme_takes_the_table_between_its_marks() -> None:
    results = stored()
    assert in_readme(results, "no marks") == "no marks"
    old = "before\n<!-- accuracy -->\n| old |\n<!-- end of accuracy -->\nafter"
    made = in_readme(results, old)
    assert made == old.replace("| old |", readme(results))
    assert in_readme(results, made) == made
    rows = readme(results).splitlines()[2:]
    assert 1 <= len(rows) <= 10
    assert all(len(row.split("|")) == 6 for row in rows)


def test_the_legend_of_error_bars_has_the_shares_of_the_stored_results(
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = stored()
    text = LEGEND.read_text(encoding="utf-8")
    assert in_legend(results, text) == text
    other = replace(results.bars["measured"], inside=0)
    moved = replace(results, bars={**results.bars, "measured": other})
    assert '"measured": "0%"' in in_legend(moved, text)
    for basis, errors in results.bars.items():
        assert errors.share_inside is not None
        print_legend([{"basis": basis}])
        said = " ".join(capsys.readouterr().out.split())
        assert f"{errors.share_inside:.0%} lay inside such a bar." in said


def test_bars_hold_on_systems_that_set_none_of_them() -> None:
    inside: dict[str, list[int]] = {}
    for subject in stored().subjects:
        for system, errors in subject.facets.get("GPUs", {}).items():
            own = inside.setdefault(system, [0, 0])
            own[0] += errors.inside
            own[1] += errors.barred
    shares = {system: held / rows for system, (held, rows) in inside.items() if rows}
    assert 0.85 <= sum(shares.values()) / len(shares) <= 0.97
    # Eight L40S share a host that no preset has.
    low = {system for system, share in shares.items() if share < 0.6 and inside[system][1] >= 20}
    assert low == {"8 L40S"}
