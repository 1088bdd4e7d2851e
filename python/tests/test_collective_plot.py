"""Charts of collectives: what they hold, and the picture that the documentation shows."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

import altair as alt
import pyarrow
import pytest

from linkwright import System, plan
from linkwright.collectives import Schedule, time_sweep
from linkwright.collective_plot import bandwidth_by_algorithm, bandwidth_by_size, packed_trees
from linkwright.plot import save_chart
from linkwright.specification import chart_specification

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "dgx1-v100-all-reduce-trees.svg"
DGX1 = System("dgx1-v100")


def rows_of(chart: alt.TopLevelMixin) -> list[dict[str, Any]]:
    """The data of a chart."""
    (rows,) = chart_specification(chart)["datasets"].values()
    return list(rows)


def test_the_documentation_s_picture_is_what_the_example_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "collectives.py"), run_name="__main__")
    drawn = (tmp_path / "all-reduce-trees.svg").read_text(encoding="utf-8")
    if os.environ.get("UPDATE_GOLDEN"):
        PICTURE.write_text(drawn, encoding="utf-8", newline="\n")
    assert PICTURE.read_text(encoding="utf-8") == drawn, "UPDATE_GOLDEN=1 rewrites it"


@pytest.mark.parametrize(
    ("machine", "gpus"),
    [("dgx1-v100", [1, 4, 5, 6]), ("dgx1-p100", [0, 3]), ("dgx2", [0, 5, 9]), ("titan-z", [0, 1])],
)
def test_each_tree_is_one_picture_with_all_its_edges(
    machine: str, gpus: list[int], tmp_path: Path
) -> None:
    whole = System(machine)
    schedule = plan(whole, gpus, "all-reduce", algorithm="packing")
    chart = packed_trees(schedule, whole)
    pictures = chart_specification(chart)["concat"]
    assert len(pictures) == len(schedule.trees)
    save_chart(chart, tmp_path / "trees.svg")


def test_a_schedule_without_trees_has_no_picture() -> None:
    text = (ROOT / "examples" / "collectives" / "tree-all-reduce-4.xml").read_text("utf-8")
    with pytest.raises(ValueError, match="no trees to draw"):
        packed_trees(Schedule.from_msccl_xml(text), DGX1)


def test_bandwidths_are_drawn_by_size_and_by_algorithm(tmp_path: Path) -> None:
    schedule = plan(DGX1, [0, 1, 2], "all-reduce")
    rows = pyarrow.table(time_sweep(schedule, DGX1, [64, 1 << 20])).to_pylist()
    sweep = bandwidth_by_size({"packing": rows}, "all-reduce")
    assert [row["size"] for row in rows_of(sweep)] == [64, 1 << 20]
    row = {"algorithm": "nccl-x", "links": "nvlink", "time": 1e-3, "bus_bandwidth": 30.0}
    bars = bandwidth_by_algorithm([row, row | {"algorithm": "packing"}], "all-reduce of 1 MiB")
    assert [bar["baseline"] for bar in rows_of(bars)] == [True, False]
    for name, chart in (("sweep", sweep), ("bars", bars)):
        save_chart(chart, tmp_path / f"{name}.svg")
