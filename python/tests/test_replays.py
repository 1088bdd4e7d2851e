"""Tests replays from Python: their timelines, charts and numbers."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from linkwright import System
from linkwright.errors import InputError
from linkwright.network import Replay, play_trace, read_system
from linkwright.plot import save_chart
from linkwright.plots.network import (
    job_times,
    link_heat_map,
    link_loads,
    message_latencies,
)
from linkwright.runs.timeline import _microseconds, timeline_text
from linkwright.scenario import play_programs, write_run
from linkwright.specification import chart_specification
from linkwright.summaries.links import LinkLoads
from linkwright.summaries.programs import busiest_links, job_summaries

ROOT = Path(__file__).resolve().parents[2]
STENCIL = ROOT / "examples" / "traces" / "stencil4d-32"
SMALL = System({"gpus": 4}, network={"kind": "fat-tree", "levels": 2, "leaves": 4, "radix": 8})
# Nothing orders two things that one rank computes: they follow one another.
BESIDE = """num_ranks 2
rank 0 {
a: calc 1000
b: calc 4000
c: calc 2000
c requires a
d: send 64b to 1
d requires b
}
rank 1 {
recv 64b from 0
}
"""


@pytest.fixture(scope="module")
def stencil() -> Replay:
    return play_trace(STENCIL, SMALL, timeline=100_000)


@pytest.fixture(scope="module")
def mix() -> Replay:
    return play_programs(ROOT / "examples" / "cluster-mix.toml", timeline=100_000)


def document_of(replay: Replay) -> dict[str, Any]:
    timeline = replay.timeline()
    assert timeline is not None
    document: dict[str, Any] = json.loads(timeline_text(timeline))
    return document


def events(replay: Replay) -> list[dict[str, Any]]:
    document = document_of(replay)
    assert document["displayTimeUnit"] == "ns"
    found: list[dict[str, Any]] = document["traceEvents"]
    return found


def check_events(found: list[dict[str, Any]]) -> None:
    """That viewers can read them: fields by phase, slices that nest, arrows with two ends."""
    threads = defaultdict(list)
    arrows: dict[int, dict[str, dict[str, Any]]] = defaultdict(dict)
    for event in found:
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert event["name"]
        match event["ph"]:
            case "M":
                known = ("process_name", "process_sort_index", "thread_name", "thread_sort_index")
                assert event["name"] in known
            case "X":
                assert event["ts"] >= 0
                assert event["dur"] >= 0
                threads[event["pid"], event["tid"]].append(event)
            case "s" | "f" as phase:
                assert phase not in arrows[event["id"]]
                arrows[event["id"]][phase] = event
            case phase:
                pytest.fail(f"no event of phase {phase} was meant")
    # Perfetto's importer counts whole nanoseconds; older versions of it cut off what newer round.
    for whole in (int, round):
        for slices in threads.values():
            check_nesting(slices, whole)
        check_arrows(arrows.values(), threads, whole)
    named = {(event["pid"], event["tid"]) for event in found if event["name"] == "thread_name"}
    assert named == set(threads)


def check_nesting(slices: list[dict[str, Any]], whole: Callable[[float], int]) -> None:
    """That the importer drops none of them: one that ends behind its parent is dropped."""
    around: list[tuple[int, int]] = []
    for piece in sorted(slices, key=lambda it: whole(it["ts"] * 1000)):
        start, length = whole(piece["ts"] * 1000), whole(piece["dur"] * 1000)
        while around and (
            around[-1][1] < start
            or (around[-1][1] == start and (length or around[-1][0] < around[-1][1]))
        ):
            around.pop()
        assert not around or start + length <= around[-1][1], piece
        around.append((start, start + length))


def check_arrows(
    arrows: Iterable[dict[str, dict[str, Any]]],
    threads: Mapping[tuple[int, int], list[dict[str, Any]]],
    whole: Callable[[float], int],
) -> None:
    """Asserts that both ends of each are within a slice. Outside of one they would not be shown."""
    spans = {
        thread: [
            (start := whole(piece["ts"] * 1000), start + whole(piece["dur"] * 1000))
            for piece in slices
        ]
        for thread, slices in threads.items()
    }
    for ends in arrows:
        assert whole(ends["s"]["ts"] * 1000) <= whole(ends["f"]["ts"] * 1000)
        for end in ends.values():
            at = whole(end["ts"] * 1000)
            assert any(start <= at <= until for start, until in spans[end["pid"], end["tid"]]), end


def test_a_timeline_of_a_recorded_run(stencil: Replay) -> None:
    found = events(stencil)
    check_events(found)
    names = [event["name"] for event in found if event["ph"] == "X"]
    assert "compute" in names
    assert "communicate" in names
    assert "main_loop" in names
    arrows = sum(event["ph"] == "s" for event in found)
    assert arrows == stencil.run.timeline_counts[1] > 0
    ranks = {event["tid"] for event in found if event["ph"] == "X"}
    assert len(ranks) == 32


def test_a_timeline_of_several_jobs(mix: Replay) -> None:
    found = events(mix)
    check_events(found)
    names = [event["args"]["name"] for event in found if event["name"] == "process_name"]
    assert names == ["stencil", "all-to-all", "sweep"]


def test_what_nothing_orders_is_computed_one_after_another(tmp_path: Path) -> None:
    file = tmp_path / "beside.goal"
    file.write_text(BESIDE, encoding="utf-8")
    replay = play_trace(file, SMALL, timeline=100)
    check_events(events(replay))
    [job] = job_summaries(replay.run)
    assert job.time >= 7e-6
    # On two processors it would take less, which no rank here has.
    file.write_text(BESIDE.replace("calc 4000", "calc 4000 cpu 1"), encoding="utf-8")
    with pytest.raises(InputError, match=r"4:18: calculates beside .*: `1`; name one `cpu`"):
        play_trace(file, SMALL)


@pytest.mark.parametrize("kept", [1, 7, 100])
def test_a_timeline_that_is_cut_is_still_one(kept: int) -> None:
    replay = play_trace(STENCIL, SMALL, timeline=kept)
    found = events(replay)
    assert sum(event["ph"] == "s" for event in found) <= kept
    assert sum(event["name"] == "compute" for event in found) == kept
    about = document_of(replay)["otherData"]
    assert about["spans_kept"] == kept < about["spans"]


def test_numbers_of_a_replay_add_up(stencil: Replay) -> None:
    [job] = job_summaries(stencil.run)
    assert job.time == stencil.run.makespan
    assert 0 < job.computing < 1
    assert 0 < job.communicating < 1
    levels = list(stencil.run.levels())
    assert sum(level["links"] for level in levels) == rows_count(stencil)
    assert [level["level"] for level in levels] == [
        "injection",
        "leaf to aggregate",
        "aggregate to leaf",
        "ejection",
    ]
    loads = [link["utilisation"] for link in busiest_links(stencil.run.links(), 5)]
    assert loads == sorted(loads, reverse=True)
    histogram = list(stencil.run.latency_histogram())
    sums = list(stencil.run.latencies())
    assert sum(row["messages"] for row in histogram) == sum(row["messages"] for row in sums)


DRAGONFLY = {"kind": "dragonfly", "groups": 5, "switches_per_group": 4, "nodes_per_switch": 2}
THREE_LEVELS = {"kind": "fat-tree", "levels": 3, "radix": 8}
# A switch that nobody calls a leaf or a spine is one all the same.
NAMELESS = """[defaults]
bandwidth = "1 GB/s"
latency = "10 ns"
[[switch]]
names = ["a", "b"]
nodes = 4
[[switch]]
names = ["c"]
[[link]]
between = [["a", "c"], ["b", "c"]]
"""


@pytest.mark.parametrize(
    ("network", "levels"),
    [
        (THREE_LEVELS, {("leaf", "aggregate"), ("aggregate", "core"), ("core", "aggregate")}),
        (DRAGONFLY, {("group", "group")}),
        ({"kind": "torus", "dimensions": [4, 4]}, {("switch", "switch")}),
    ],
)
def test_levels_follow_the_wiring(network: dict[str, Any], levels: set[tuple[str, str]]) -> None:
    run = play_trace("stencil4d", System(network=network), ranks=16, fidelity="flow").run
    shown = {row["level"] for row in run.levels()}
    assert {row["level"] for row in run.links()} == shown
    for row in run.links():
        ends = [re.sub(r"[-\d].*", "", row[end]) for end in ("from", "to")]
        groups = [re.sub(r"-.*", "", row[end]) for end in ("from", "to")]
        match row["kind"], ends:
            case ("switch", ["group", _]):
                assert row["level"] == ("local" if groups[0] == groups[1] else "global")
                assert row["at"] == f"group{row['group']}-switch{row['member']}" == row["from"]
            case ("switch", ["switch", _]):
                assert (row["level"], row["at"]) == ("between switches", row["from"])
            case ("switch", [a, b]):
                assert row["level"] == f"{a} to {b}"
                lower = (
                    row["from"]
                    if (a, b) in (("leaf", "aggregate"), ("aggregate", "core"))
                    else row["to"]
                )
                assert row["at"] == lower
                assert row["at_level"] == re.sub(r"\d", "", lower)
            case (kind, _):
                assert row["level"] == kind
    assert levels


def test_levels_need_no_names(tmp_path: Path) -> None:
    file = tmp_path / "plain.toml"
    file.write_text(NAMELESS, encoding="utf-8")
    system = read_system({"gpus": 2}, network=file)
    run = play_trace("laghos", system, ranks=16).run
    assert [row["level"] for row in run.levels()][1:-1] == ["switch to c", "c to switch"]


def test_charts_hold_what_they_say(mix: Replay, tmp_path: Path) -> None:
    loads = LinkLoads.of_programs(mix.run)
    drawn = [draw(mix.run) for draw in (job_times, message_latencies)]
    for chart in [*drawn, link_loads(loads), link_heat_map(loads)]:
        save_chart(chart, tmp_path / "chart.svg")
        assert (tmp_path / "chart.svg").read_text(encoding="utf-8").startswith("<svg")
    cells = cells_of(mix)
    assert sum(map(len, cells)) == rows_count(mix)
    for level in cells:
        corners = {(cell["left"], cell["top"]) for cell in level}
        assert len(corners) == len(level), "two links in one place"


def cells_of(replay: Replay) -> list[list[dict[str, Any]]]:
    drawn = chart_specification(link_heat_map(LinkLoads.of_programs(replay.run)))
    return [drawn["datasets"][each["data"]["name"]] for each in drawn["vconcat"]]


def rows_count(replay: Replay) -> int:
    return len(replay.run.links())


@pytest.mark.parametrize(
    ("machine", "settings"),
    [
        ("dragonfly", {"groups": 5, "switches_per_group": 4, "nodes_per_switch": 2}),
        ("torus", {"dimensions": [16, 16]}),
        ("fat-tree", {"levels": 3, "radix": 8}),
    ],
)
def test_every_network_has_a_map(machine: str, settings: dict[str, Any]) -> None:
    system = System(network={"kind": machine, **settings})
    replay = play_trace("stencil4d", system, ranks=16, fidelity="flow")
    cells = cells_of(replay)
    shown = {cell["link"] for level in cells for cell in level}
    carried = {f"{row['from']} to {row['to']}" for row in replay.run.links() if row["data"] > 0}
    assert carried <= shown
    assert sum(map(len, cells)) <= rows_count(replay)
    for level in cells:
        assert len({(cell["left"], cell["top"]) for cell in level}) == len(level)
        # Cells that are left out leave no gap.
        columns = {math.floor(cell["left"]) for cell in level}
        assert columns == set(range(len(columns)))


def test_a_map_shows_what_carried_data() -> None:
    replay = play_trace("stencil4d", System({"gpus": 4}, network="fat-tree"), ranks=32)
    levels = cells_of(replay)
    assert sum(map(len, levels)) < rows_count(replay) / 10
    assert all(any(cell["utilisation"] > 0 for cell in level) for level in levels)
    alone = play_trace("laghos", System({"gpus": 4}, network="fat-tree"), ranks=4)
    drawn = str(chart_specification(link_heat_map(LinkLoads.of_programs(alone.run))))
    assert "No link carried data." in drawn
    assert "injection" not in drawn


@pytest.mark.parametrize(
    ("gpus", "node", "servers"),
    [
        (1, {}, 16),
        (16, {}, 16),
        (17, {}, 128),
        (32, {"gpus": 4}, 16),
        (512, {"gpus": 4}, 128),
        (1024, {}, 1024),
        (1025, {}, 2048),
        (4096, {}, 2048),
    ],
)
def test_a_network_that_nobody_names_has_the_job_s_size(
    gpus: int, node: dict[str, object], servers: int
) -> None:
    assert read_system(node or None, gpus=gpus).server_count == servers


def test_the_network_of_a_replay_is_said_where_nobody_named_it(tmp_path: Path) -> None:
    fitted = play_trace("laghos", ranks=32)
    assert (fitted.machine, fitted.system.server_count) == ("fat-tree-128", 128)
    assert "a fat-tree of its own size, 128 nodes" in fitted.notes[-1]
    assert fitted.manifest["system"] == {"network": {"kind": "fat-tree", "radix": 8, "pods": 8}}
    named = play_trace("laghos", System(network="fat-tree"), ranks=32)
    assert (named.system.server_count, [*named.notes]) == (2048, [named.system.assumed_speed])
    mapping = tmp_path / "mapping"
    mapping.write_text("".join(f"{2000 + rank}\n" for rank in range(8)), encoding="utf-8")
    assert play_trace("laghos", ranks=8, mapping=mapping).system.server_count == 2048


def test_two_inputs_of_one_name_keep_both_hashes(tmp_path: Path) -> None:
    machine, table = (tmp_path / folder / "line.toml" for folder in ("machine", "table"))
    for file in (machine, table):
        file.parent.mkdir()
    machine.write_text(
        '[defaults]\nbandwidth = "1 GB/s"\nlatency = "10 ns"\n[[switch]]\n'
        'names = ["a", "b"]\nnodes = 4\n[[link]]\nbetween = [["a", "b"]]\n',
        encoding="utf-8",
    )
    table.write_text(
        '[[route]]\nat = ["a"]\nto = ["b"]\nnext = ["b"]\n'
        '[[route]]\nat = ["b"]\nto = ["a"]\nnext = ["a"]\n',
        encoding="utf-8",
    )
    system = read_system(network={"file": machine, "routing_table": table})
    held = play_trace("laghos", system, ranks=8).manifest["files"]
    assert held == [
        {"input": "system", "file": "line.toml", "sha256": sha256(file.read_bytes()).hexdigest()}
        for file in (machine, table)
    ]


def test_a_replay_without_messages_has_a_report(tmp_path: Path) -> None:
    file = tmp_path / "alone.goal"
    file.write_text("num_ranks 1\nrank 0 {\ncalc 100\n}\n", encoding="utf-8")
    replay = play_trace(file, SMALL)
    names = [path.name for path in write_run(replay, tmp_path / "out")]
    assert "timeline.json" not in names
    assert "How long messages took" not in (tmp_path / "out" / "report.html").read_text("utf-8")


@pytest.mark.parametrize("digits", range(19))
def test_every_reader_of_a_timeline_gets_the_same_nanoseconds(digits: int) -> None:
    for last in range(1000):
        nanoseconds = (10**digits + 7 * last) % 2**50
        microseconds = _microseconds(nanoseconds)
        assert int(microseconds * 1000) == round(microseconds * 1000) == nanoseconds


def test_a_map_of_links_within_servers_calls_no_device_a_switch() -> None:
    system = System("dgx1-v100", 4, network="fat-tree")
    replay = play_trace("stencil4d", system, ranks=32, fidelity="flow")
    charts = chart_specification(link_heat_map(LinkLoads.of_programs(replay.run)))["vconcat"]
    columns = {
        chart["title"]["text"]: chart["encoding"]["x"]["title"]
        for chart in charts
        if isinstance(chart["title"], dict)
    }
    assert columns["nvlink2"] == columns["pcie3"] == "device where the link starts"
    assert columns["leaf to aggregate"] == "leaf switch"
