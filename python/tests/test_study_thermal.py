"""The study of MGPU-TSM's package: complete, and what its page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkwright.gpu import Floorplan
from linkwright.studies.thermal import sections
from linkwright.studies.thermal.packages import HOTSPOT, changed, the_package
from linkwright.studies.thermal.published import published

ROOT = Path(__file__).resolve().parents[2]
CELLS = 16


def test_the_package_is_the_example_and_has_the_published_parts() -> None:
    text = (ROOT / "examples" / "mgpu-tsm-package.toml").read_text(encoding="utf-8")
    assert changed({}) == Floorplan.from_text(text)
    said = published()
    assert changed({}).power == pytest.approx(910.6)
    (table,) = sections.package().tables
    for row, kind in zip(table.rows, ("gpu", "cpu", "memory"), strict=False):
        assert row[1] == row[2] == said[kind]["count"]
        assert row[4] == pytest.approx(row[3], abs=0.1)
        assert row[5] == row[6]
    assert the_package()["sink"]["resistance"] == pytest.approx(
        said["hotspot"]["resistance"] * (said["hotspot"]["edge"] / 200) ** 2
    )


def test_hotspots_sink_alone_makes_136_degrees_and_its_package_more() -> None:
    (table,) = sections.readings(CELLS).tables
    lumped, hotspot, as_tap, beside = table.rows
    assert lumped[2] == pytest.approx(136.06, abs=0.01)
    assert lumped[5] == pytest.approx(0.0479, abs=1e-4)
    assert isinstance(hotspot[2], float)
    assert hotspot[2] > 136
    assert as_tap[2] == pytest.approx(99.7, abs=0.5)
    assert as_tap[5] == pytest.approx(0.0043, abs=2e-4)
    assert isinstance(beside[2], float)
    assert beside[2] > 105
    assert changed(HOTSPOT).sink == published()["hotspot"]["resistance"]


def test_statements_hold_as_the_page_says() -> None:
    (table,) = sections.statements(changed({}).solve(48)).tables
    assert [row[1] for row in table.rows] == ["yes", "yes", "no", "yes"]


def test_the_page_is_what_the_study_says() -> None:
    page = (ROOT / "docs" / "studies" / "thermal.md").read_text(encoding="utf-8")
    for title in ("The package (Table 3.4)", "How hot it becomes", "What each assumption is worth"):
        assert f"## {title}" in page
    assert sections.package().tables[0].to_markdown() in page
    for row in sections.finer((16, 32)).tables[0].to_markdown().splitlines()[2:]:
        assert row in page
