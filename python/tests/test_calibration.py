"""The page of the clock's errors says what the terms give."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parent.parent.parent


def test_the_page_has_the_errors_of_the_terms() -> None:
    calibrate = runpy.run_path(str(ROOT / "scripts" / "calibrate.py"))
    measured, text = calibrate["rows"](), calibrate["TERMS"].read_text()
    assert len(measured) == 75
    off = calibrate["errors"](measured, text)
    page = calibrate["PAGE"].read_text()
    shown = page[page.index("| group |") : page.index("| left out of the fit |")]
    for group in {row.machine.group for row in measured}:
        own = [abs(off[row]) for row in measured if row.machine.group == group]
        found = re.search(rf"^\| {group} \| \d+ \| (.*) \| (.*) \|$", shown, re.MULTILINE)
        assert found is not None, group
        assert found.groups() == (f"{median(own):.1%}", f"{max(own):.1%}"), group
    assert median(map(abs, off.values())) < 0.05


def test_the_error_bars_are_those_of_the_rows() -> None:
    calibrate = runpy.run_path(str(ROOT / "scripts" / "calibrate.py"))
    measured, text = calibrate["rows"](), calibrate["TERMS"].read_text()
    off = calibrate["errors"](measured, text)
    shipped = tomllib.loads(calibrate["ERRORS"].read_text())
    gone = calibrate["gone"]()
    links = {calibrate["JOINED"][group][0] for group in gone}
    made = [kind for kind in tomllib.loads(calibrate["bars"](off, {}))["kind"] if "error" in kind]
    assert made == [kind for kind in shipped["kind"] if kind["link"] not in links]
    count = sum(error["rows"] for kind in shipped["kind"] for error in kind["error"])
    assert count == len(measured) + sum(gone.values()) == 84
    unfitted = [row for row in measured if row.machine.group in calibrate["UNFITTED"]]
    predicted = calibrate["errors"](unfitted, text, as_counted=True)
    largest = {row["from"]: row["largest"] for row in shipped["left_out"] if row["is_rccl"]}
    rccl = [abs(error) for row, error in predicted.items() if row.machine.group == "MI300X"]
    assert max(largest.values()) == round(max(rccl), 3)


def test_what_rows_that_are_gone_had_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    calibrate = runpy.run_path(str(ROOT / "scripts" / "calibrate.py"))
    assert calibrate["gone"]() == {"B200": 9}
    assert all(row.machine.group != "B200" for row in calibrate["rows"]())
    page = calibrate["PAGE"].read_text()
    assert "**Nine rows are gone.**" in page
    # The lines that they had set are still there, and nothing writes them anew.
    assert "| B200 | 9 | 10.9% | 28.0% |" in page
    files = [calibrate[name] for name in ("TERMS", "PAGE", "ERRORS")]
    before = [file.read_bytes() for file in files]
    for options in ([], ["--check"]):
        monkeypatch.setattr("sys.argv", ["calibrate.py", *options])
        with pytest.raises(
            SystemExit, match="9 rows of B200, which the terms were fitted to, are gone"
        ):
            calibrate["main"]()
    assert [file.read_bytes() for file in files] == before
