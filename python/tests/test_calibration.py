"""The page of the clock's errors says what the terms give."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent.parent


def test_the_page_has_the_errors_of_the_terms() -> None:
    calibrate = runpy.run_path(str(ROOT / "scripts" / "calibrate.py"))
    measured, text = calibrate["rows"](), calibrate["TERMS"].read_text()
    assert len(measured) == 84
    off = calibrate["errors"](measured, text)
    page = calibrate["PAGE"].read_text()
    shown = page[page.index("| group |") : page.index("| left out of the fit |")]
    for group in {row.machine.group for row in measured}:
        own = [abs(off[row]) for row in measured if row.machine.group == group]
        found = re.search(rf"^\| {group} \| \d+ \| (.*) \| (.*) \|$", shown, re.MULTILINE)
        assert found is not None, group
        assert found.groups() == (f"{median(own):.1%}", f"{max(own):.1%}"), group
    assert median(map(abs, off.values())) < 0.05
