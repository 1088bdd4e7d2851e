"""Splits the slowdown of jobs, and adds up the loads of links, as runs show them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from commands import linkwright

from linkwright.scenario import play_mix, write_run
from linkwright.errors import SimulationError
from linkwright.plots.fabric import fabric_map
from linkwright.runs.cluster.play import play_programs
from linkwright.runs.comparison import compare
from linkwright.runs.server.run import ScenarioRun
from linkwright.specification import chart_specification
from linkwright.summaries.attribution import PARTS, attribution_rows, gains, slowdown_parts
from linkwright.summaries.links import LinkLoads

DAY = """\
name = "a day of four servers"
seed = 3
fidelity = "fluid"
[system]
server = "pcie-tree-4"
servers = 4
network = { kind = "fat-tree", levels = 2, radix = 4, leaves = 4, bandwidth = "100 Gb/s" }
[jobs]
run_time = "played"
generate = { count = 10, max_gpus = 7, mean_interarrival = "20 s", iterations = 20 }
[allocation]
policies = ["preserve"]
servers = "pack"
[collectives]
planner = "nccl-ring"
[compare]
reference = "preserve"
[compare.first-fit]
allocation.servers = "first-fit"
"""


def written(folder: Path, text: str = DAY) -> Path:
    path = folder / "day.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_parts_multiply_and_stand_in_tables_json_and_report(tmp_path: Path) -> None:
    scenario = written(tmp_path)
    result = linkwright("run", scenario, "--attribute", "--json", "--output", tmp_path / "out")
    assert result.exit_code == 0, result.output
    [told] = json.loads(result.stdout)["attribution"]
    for parts in (told, *told["of_jobs"]):
        product = parts["waiting"] * parts["placement"] * parts["neighbours"]
        assert product == pytest.approx(parts["slowdown"], rel=1e-9)
    rows = pq.read_table(tmp_path / "out" / "attribution.parquet").to_pylist()
    assert [row["job"] for row in rows] == [row["job"] for row in told["of_jobs"]]
    assert all(row["placement"] >= 1 and len(row["best_gpus"]) == row["gpu_count"] for row in rows)
    costs = pq.read_table(tmp_path / "out" / "neighbours.parquet").to_pylist()
    slowed = {row["job"] for row in rows if row["neighbours"] > 1 + 1e-9}
    assert {row["job"] for row in costs} <= slowed
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for words in ("Who suffered", "Slowdown by cause", "Slowdown by size", "suffered most under"):
        assert words in page
    # Nobody plays jobs alone where nobody asks.
    assert attribution_rows(play_mix(scenario).results[0]) == []


def test_a_comparison_tells_where_gains_come_from(tmp_path: Path) -> None:
    run = compare(written(tmp_path), attribute=True)
    assert isinstance(run, ScenarioRun)
    told = [parts for result in run.results if (parts := slowdown_parts(result)) is not None]
    reference, other = gains(told, "as-written")
    assert reference.whole == 1
    assert other.ideal == pytest.approx(1, rel=1e-9)
    product = other.waiting * other.placement * other.neighbours
    assert product == pytest.approx(told[0].slowdown / told[1].slowdown, rel=1e-9)
    assert "Where the gain over as-written comes from" in [sheet.title for sheet in run.sheets()]
    with pytest.raises(SimulationError, match="of one seed"):
        compare(written(tmp_path), attribute=True, seeds=2)


@pytest.mark.parametrize(
    "network",
    [
        'kind = "fat-tree", levels = 2, radix = 4, leaves = 4',
        'kind = "fat-tree", levels = 2, radix = 4, leaves = 4, tapering = 3',
        'kind = "torus", dimensions = [4, 2], nodes_per_switch = 1',
    ],
)
@pytest.mark.parametrize("fidelity", ["fluid", "flow"])
def test_interfaces_leaves_and_spines_pass_on_what_they_get(
    network: str, fidelity: str, tmp_path: Path
) -> None:
    text = DAY.replace('kind = "fat-tree", levels = 2, radix = 4, leaves = 4', network)
    text = text.replace('fidelity = "fluid"', f'fidelity = "{fidelity}"')
    # Jobs of four servers cross leaves.
    text = text.replace("max_gpus = 7", "max_gpus = 16")
    run = play_mix(written(tmp_path, text))
    write_run(run, tmp_path / "out")
    devices = pq.read_table(tmp_path / "out" / "devices.parquet").to_pylist()
    links = pq.read_table(tmp_path / "out" / "links.parquet").to_pylist()
    for row in devices:
        if row["kind"] != "nvswitch":
            assert abs(row["received"] - row["sent"]) <= len(links)
    carried = {
        level: sum(row["data"] for row in links if row["level"] == level)
        for level in {row["level"] for row in links}
    }
    assert carried["injection"] == pytest.approx(carried["ejection"], abs=len(links))
    assert sum(row["data"] for row in links if row["kind"] == "switch") > 0
    times = pq.read_table(tmp_path / "out" / "link_times.parquet").to_pylist()
    assert sum(row["data"] for row in times) == sum(row["data"] for row in links)
    [told] = json.loads(json.dumps(run.summary()["links"]))
    assert told["busiest_links"]
    found = fabric_map(LinkLoads.of_day(run.results[0], run.system), title="The network")
    assert found is not None
    assert len(chart_specification(found)["layer"]) == 2


def test_what_is_not_counted_is_blank(tmp_path: Path) -> None:
    network = 'kind = "dragonfly", nodes_per_switch = 1, switches_per_group = 4'
    text = DAY.replace('kind = "fat-tree", levels = 2, radix = 4, leaves = 4', network)
    run = play_mix(written(tmp_path, text))
    rows = list(run.results[0].links(run.system))
    assert {row["data"] for row in rows if row["kind"] == "switch"} == {None}
    assert all(row["data"] is not None for row in rows if row["kind"] != "switch")
    devices = list(run.results[0].device_loads(run.system))
    assert {row["received"] for row in devices if row["kind"] == "network-switch"} == {None}
    loads = LinkLoads.of_day(run.results[0], run.system)
    found = fabric_map(loads, title="The network")
    assert found is not None
    assert len(chart_specification(found)["layer"]) == 3


def test_programs_are_played_alone_too() -> None:
    path = Path(__file__).parents[2] / "examples" / "cluster-mix.toml"
    run = play_programs(path, attribute=True)
    assert run.slowdowns is not None
    for row in run.slowdowns.rows:
        product = 1.0
        for part in PARTS:
            product *= row[part]
        assert product == pytest.approx(row["slowdown"], rel=1e-9)
        assert row["placement"] >= 1
    assert set(run.tables()) >= {"attribution", "neighbours", "devices", "link_times"}
