"""Tests charts: their data and how they are saved."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import altair as alt
import pytest
import vl_convert

from linkwright import System
from linkwright.allocation import policy_names
from linkwright.page import DARK
from linkwright.plot import rounded, save_chart
from linkwright.plots.jobs import (
    allocation_quality,
    bandwidth_by_workload,
    occupancy,
    run_time_by_workload,
)
from linkwright.scenario import SimulationResult, generate_jobs, play_jobs
from linkwright.specification import chart_specification
from linkwright.studies.mapa.charts import (
    DecisionTime,
    ModelPoint,
    decision_times,
    predicted_against_model,
)
from linkwright.summaries.policies import job_rows
from linkwright.zoom import interactive

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def results() -> list[SimulationResult]:
    machine = System("dgx1-v100")
    jobs = generate_jobs(1, 30)
    return [play_jobs(machine, jobs, policy) for policy in policy_names()]


CHARTS: dict[str, Callable[[list[SimulationResult]], alt.TopLevelMixin]] = {
    "bandwidth": bandwidth_by_workload,
    "sound bandwidth": lambda results: bandwidth_by_workload(results, model="sound"),
    "run time": run_time_by_workload,
    "quality": allocation_quality,
    "occupancy": lambda results: occupancy(results[0]),
    "models": lambda _: predicted_against_model([ModelPoint(3, 2, 1, 0, 57.9, 66.5)]),
    "decisions": lambda _: decision_times([DecisionTime("dgx1-v100", 3, 4.5e-7)]),
}


def axis_titles(node: Any) -> list[str]:
    """Yields the titles of all axes with numbers."""
    found: list[str] = []
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("x", "y") and isinstance(value, dict) and value["type"] == "quantitative":
                found.append(value.get("title", ""))
            found += axis_titles(value)
    if isinstance(node, list):
        found += [title for value in node for title in axis_titles(value)]
    return found


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_has_a_title_and_units(name: str, results: list[SimulationResult]) -> None:
    specification = chart_specification(CHARTS[name](results))
    assert specification["title"]["text"]
    titles = [title for title in axis_titles(specification) if title]
    assert titles
    assert all(re.search(r"\((GB/s|s|ms|h)\)|share of", title) for title in titles), titles


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_keeps_to_the_schema(name: str, results: list[SimulationResult]) -> None:
    assert CHARTS[name](results).to_dict(validate=True)


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_is_the_same_each_time(name: str, results: list[SimulationResult]) -> None:
    assert chart_specification(CHARTS[name](results)) == chart_specification(CHARTS[name](results))


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_is_drawn(name: str, results: list[SimulationResult], tmp_path: Path) -> None:
    path = tmp_path / "chart.svg"
    save_chart(CHARTS[name](results), path)
    svg = path.read_text()
    assert svg.startswith("<svg")
    assert svg.count("<path") > 3


def test_a_drawing_is_dark_where_the_screen_is(
    results: list[SimulationResult], tmp_path: Path
) -> None:
    # A path is text, too.
    save_chart(occupancy(results[0]), str(tmp_path / "chart.svg"))
    style = re.compile(
        r"^<svg [^>]*><style>[^@]*@media screen and (\(prefers-color-scheme: dark\) .*?)</"
    )
    [told] = style.findall((tmp_path / "chart.svg").read_text())
    assert told == f"(prefers-color-scheme: dark) {{ svg.marks {{ {DARK} }} }}"
    # So are those of the documentation, which were drawn before.
    drawings = {path: path.read_text("utf-8") for path in sorted((ROOT / "docs").rglob("*.svg"))}
    drawn = {path: text for path, text in drawings.items() if 'class="marks"' in text}
    assert len(drawn) > 30
    assert [path.name for path, text in drawn.items() if style.findall(text) != [told]] == []
    # A drawing by hand has colours of its own for it.
    by_hand = {path.name: text for path, text in drawings.items() if path not in drawn}
    dark = "@media screen and (prefers-color-scheme: dark)"
    assert [name for name, text in by_hand.items() if dark not in text] == []


def test_policies_keep_their_colours(results: list[SimulationResult]) -> None:
    def colours(some: list[SimulationResult]) -> dict[str, str]:
        [box] = [
            layer
            for layer in chart_specification(bandwidth_by_workload(some))["layer"]
            if layer["mark"]["type"] == "bar"
        ]
        scale = box["encoding"]["color"]["scale"]
        return dict(zip(scale["domain"], scale["range"], strict=True))

    everything, two = colours(results), colours(results[2:])
    assert len(set(everything.values())) == 4
    assert two == {policy: everything[policy] for policy in two}


def test_charts_without_jobs_are_empty(tmp_path: Path) -> None:
    empty = play_jobs(System("dgx1-v100"), [], "greedy")
    for name in ("bandwidth", "run time", "quality", "occupancy"):
        save_chart(CHARTS[name]([empty]), tmp_path / "empty.svg")


def test_more_than_five_thousand_rows_are_drawn() -> None:
    result = play_jobs(System("dgx1-v100"), generate_jobs(0, 6000), "baseline")
    [rows] = chart_specification(occupancy(result))["datasets"].values()
    assert len(rows) > 5000


def test_boxes_say_their_quartiles(results: list[SimulationResult]) -> None:
    [rows] = chart_specification(run_time_by_workload(results))["datasets"].values()
    for box in rows:
        [felt] = [
            sorted(
                row["run_time"]
                for row in job_rows(result)
                if row["workload"] == box["group"] and row["gpu_count"] > 1
            )
            for result in results
            if result.policy == box["policy"]
        ]
        assert (box["count"], box["minimum"]) == (len(felt), rounded(felt[0]))
        assert box["median"] == rounded(median(felt))


def test_charts_are_saved_by_suffix(results: list[SimulationResult], tmp_path: Path) -> None:
    chart = occupancy(results[0], System("dgx1-v100").gpu_names)
    starts = {".html": b"<!DOCTYPE html>", ".png": b"\x89PNG", ".svg": b"<svg", ".json": b"{"}
    for suffix, start in starts.items():
        path = tmp_path / f"chart{suffix}"
        save_chart(chart, path)
        assert path.read_bytes().lstrip().startswith(start)
    assert len(list(tmp_path.iterdir())) == len(starts), "no temporary file is left"
    html = (tmp_path / "chart.html").read_text()
    assert not re.search(r"<(script|link)[^>]*(src|href)=", html)
    assert json.loads((tmp_path / "chart.json").read_text())["mark"]["type"] == "bar"


def test_an_unknown_suffix_is_refused(results: list[SimulationResult], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no chart format `\.pdf`; choose \.html"):
        save_chart(occupancy(results[0]), tmp_path / "chart.pdf")
    with pytest.raises(FileNotFoundError):
        save_chart(occupancy(results[0]), tmp_path / "none" / "chart.svg")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_of_a_page_zooms_and_tells_its_numbers(
    name: str, results: list[SimulationResult]
) -> None:
    shown = interactive(chart_specification(CHARTS[name](results)))
    layers = shown.get("layer", [shown])
    assert [each["bind"] for layer in layers for each in layer.get("params", [])] == ["scales"]
    for layer in layers:
        assert layer["encoding"].get("tooltip") or layer["mark"]["tooltip"]
    # Vega-Lite warns of a zoom that it cannot do, and the tests let no warning pass.
    assert vl_convert.vegalite_to_vega(shown)["signals"]
