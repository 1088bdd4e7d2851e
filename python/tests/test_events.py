"""Raw events: steps of packets, messages, queues over time and accesses, as far as limits allow."""

from __future__ import annotations

import inspect
import json
from itertools import pairwise
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from commands import fails, linkwright, parsed

from linkwright import GpuSystem, LinkwrightError, System
from linkwright.gpu import GpuKernel
from linkwright.network import (
    ClusterJob,
    Program,
    ProgramBuilder,
    play_trace,
    read_program,
)
from linkwright.runs.rank_timeline import QUEUE_WINDOW
from linkwright.scenario import play_programs

REPLAY = ("replay", "stencil4d", "--ranks", "64", "--network", "fat-tree")


def _jobs() -> list[ClusterJob]:
    return [ClusterJob(Program.skeleton("synthetic", 16))]


def test_a_window_is_as_long_in_a_timeline_as_in_the_core() -> None:
    parameters = inspect.signature(System.play).parameters
    assert parameters["queue_window"].default == QUEUE_WINDOW


def test_events_change_nothing_and_add_up() -> None:
    system = System({"gpus": 1}, network="single-switch")
    plain = system.play(_jobs())
    run = system.play(_jobs(), packets=1_000_000, queues=1_000_000, queue_window=1e-6)
    assert run.times == plain.times
    assert (len(plain.packets()), plain.packet_steps, len(plain.queues())) == (0, 0, 0)
    packets = pyarrow.table(run.packets()).to_pylist()
    assert len(packets) == run.packet_steps
    crossed = [row for row in packets if row["kind"] == "cross"]
    links = {f"{row['from']} to {row['to']}": row for row in pyarrow.table(run.links()).to_pylist()}
    for place, link in links.items():
        of = [row for row in crossed if row["place"] == place]
        assert len(of) == link["packets"]
        assert sum(row["size"] for row in of) == link["data"]
    queues = pyarrow.table(run.queues()).to_pylist()
    assert queues
    assert all(0 < row["mean"] <= row["most"] for row in queues)
    # An interface's link has the packets, too, that are yet to be made.
    of_switches = [row for row in queues if not row["place"].startswith("node")]
    assert all(row["most"] <= links[row["place"]]["longest_queue"] for row in of_switches)


def test_an_interface_s_queue_has_what_is_left_of_a_message() -> None:
    builder = ProgramBuilder(2)
    builder.send(0, 1, 40960)
    builder.receive(1, 0, 40960)
    system = System({"gpus": 1}, network="single-switch")
    run = system.play([ClusterJob(builder.build())], queues=1000, queue_window=1e-3)
    rows = {row["place"]: row for row in pyarrow.table(run.queues()).to_pylist()}
    # Of ten packets the first goes at once.
    assert rows["node0 to switch0"]["most"] == 9


def test_a_limit_keeps_the_first_and_counts_all() -> None:
    system = System({"gpus": 1}, network="single-switch")
    run = system.play(_jobs(), packets=10)
    assert len(run.packets()) == 10
    assert run.packet_steps > 10
    with pytest.raises(LinkwrightError, match="there is no link"):
        system.play(_jobs(), packets=10, packets_link="leaf9 to node1")


@pytest.mark.parametrize("what", ["packets", "messages", "queues"])
def test_the_command_says_how_many_are_left_out(what: str, tmp_path: Path) -> None:
    file = tmp_path / "events.parquet"
    done = linkwright(*REPLAY, "--trace", what, "--events", file, "--trace-only", "limit=5")
    assert "holds the first 5 of" in done.stderr
    assert "are left out" in done.stderr
    assert pyarrow.parquet.read_table(file).num_rows == 5


def test_a_folder_of_results_has_the_events_and_its_timeline_counts_queues(tmp_path: Path) -> None:
    file, to = tmp_path / "events.parquet", tmp_path / "results"
    window = ("--trace-only", "window=10us")
    words = ("replay", "synthetic", "--ranks", "16", "--network", "fat-tree", "--trace", "queues")
    linkwright(*words, "--events", file, *window)
    done = linkwright(*words, "--output", to, *window)
    assert "queues.parquet holds all" in done.stderr
    table = pyarrow.parquet.read_table(file)
    assert pyarrow.parquet.read_table(to / "queues.parquet").equals(table)
    rows = table.to_pylist()
    events = json.loads((to / "timeline.json").read_text(encoding="utf-8"))["traceEvents"]
    counters = [event for event in events if event["ph"] == "C"]
    assert {event["name"] for event in counters} == {row["place"] for row in rows}
    for place in {row["place"] for row in rows}:
        of_link = [event for event in counters if event["name"] == place]
        times = [event["ts"] for event in of_link]
        assert times == sorted(set(times))
        # The area below the counter is that of the windows.
        levels = [event["args"]["packets"] for event in of_link]
        lasted = [later - earlier for earlier, later in pairwise(times)]
        area = sum(level * time for level, time in zip(levels, lasted, strict=False))
        windows = [row["mean"] * 10 for row in rows if row["place"] == place]
        assert levels[-1] == 0
        assert area == pytest.approx(sum(windows))


def test_a_timeline_has_as_many_windows_of_queues_as_the_limit(tmp_path: Path) -> None:
    words = (*REPLAY, "--trace", "queues", "--trace-only", "limit=5", "--output", tmp_path)
    assert "the first 5 of" in linkwright(*words).stderr
    assert pyarrow.parquet.read_table(tmp_path / "queues.parquet").num_rows == 5
    timeline = json.loads((tmp_path / "timeline.json").read_text(encoding="utf-8"))
    assert timeline["otherData"]["windows_kept"] == 5
    assert timeline["otherData"]["windows"] > 5
    # A window has its mean and, unless another follows at once, an end.
    assert 5 < sum(event["ph"] == "C" for event in timeline["traceEvents"]) <= 10


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "events.parquet"
    assert "give both" in fails(2, *REPLAY, "--trace", "packets")
    messages = ("--trace", "messages", "--events", file)
    assert "packets or queues" in fails(2, *REPLAY, *messages, "--trace-only", "link=a to b")
    assert "which events" in fails(2, *REPLAY, "--trace-only", "from=1e-6")
    assert "of --trace queues" in fails(2, *REPLAY, *messages, "--trace-only", "window=1e-6")


def test_messages_are_those_of_a_span(tmp_path: Path) -> None:
    everything, some = tmp_path / "all.parquet", tmp_path / "some.parquet"
    words = ("replay", "synthetic", "--ranks", "16", "--network", "fat-tree", "--trace", "messages")
    linkwright(*words, "--events", everything)
    rows = pyarrow.parquet.read_table(everything).to_pylist()
    since, until = sorted(row["sent"] for row in rows)[400:1200:799]
    span = ("--trace-only", f"from={since!r},until={until!r}")
    done = linkwright(*words, "--events", some, *span)
    expected = [row for row in rows if since <= row["sent"] <= until]
    assert pyarrow.parquet.read_table(some).to_pylist() == expected
    assert f"holds all {len(expected)} messages" in done.stderr


def test_accesses_are_those_that_caches_answer(tmp_path: Path) -> None:
    system = GpuSystem("r9-nano", 2, "rdma")
    plain = system.play("relu", 4096)
    run = system.play("relu", 4096, accesses=1_000_000)
    assert run.time == plain.time
    rows = pyarrow.table(run.accesses()).to_pylist()
    assert len(rows) == run.access_count
    caches = pyarrow.table(run.caches()).to_pylist()
    answers = sum(row["answers"] for row in caches if row["cache"] in ("L1 vector", "L1 scalar"))
    assert len(rows) == answers
    assert {row["kind"] for row in rows} == {"read", "write"}
    # Nothing is read twice, so that no first level has it.
    assert {row["level"] for row in rows} == {"L2", "memory", "remote"}
    assert all(row["hops"] == 0 for row in rows if row["level"] in ("L1", "L2"))
    file = tmp_path / "accesses.parquet"
    words = ("gpu", "run", "relu", "--size", "4096", "--gpus", "2")
    done = linkwright(*words, "--trace", "accesses", "--events", file, "--trace-only", "limit=7")
    assert "holds the first 7 of" in done.stderr
    assert pyarrow.parquet.read_table(file).num_rows == 7


def test_loads_under_a_name_are_timed_by_where_they_find_their_line() -> None:
    file = Path(__file__).resolve().parents[2] / "examples" / "kernels" / "latency.kernel"
    kernel = GpuKernel.from_text(file.read_text(encoding="utf-8"))
    system = GpuSystem("r9-nano", 2, "rdma")
    run, bare = (system.play(kernel, data=data) for data in (True, False))
    rows = pyarrow.table(run.timed_loads()).to_pylist()
    assert rows == pyarrow.table(bare.timed_loads()).to_pylist()
    cycles = {row["load"]: row["cycles"] for row in rows}
    assert cycles["L2"] < cycles["memory"] < cycles["walk"] < cycles["far"]
    accesses = pyarrow.table(system.play(kernel, accesses=99).accesses()).to_pylist()
    levels = [row["level"] for row in accesses]
    assert levels == ["memory", "L1", "memory", "memory", "L2", "remote", "remote"]
    assert all(row["latency"] == pytest.approx(row["cycles"] * run.system.cycle) for row in rows)
    printed = linkwright("gpu", "run", file, "--gpus", "2", "--memory", "rdma").stdout
    assert any(
        line.split()[:5] == ["L1", "0", "0.0", "0", str(cycles["L1"])]
        for line in printed.splitlines()
    )


def test_comparisons_take_kernels_of_ones_own() -> None:
    kernel = Path(__file__).resolve().parents[2] / "examples" / "kernels" / "message.kernel"
    rows = parsed("gpu", "compare", kernel, "--memory", "rdma", "--memory", "tsm-wt-c-rc", "--json")
    assert [(row["benchmark"], row["memory"]) for row in rows] == [
        (str(kernel), "rdma"),
        (str(kernel), "tsm-wt-c-rc"),
    ]
    assert rows[1]["correct"] is not False
    assert "there is no benchmark or file" in fails(2, "gpu", "compare", "messages")


def test_synthetic_traffic_is_a_job_beside_others() -> None:
    system = System({"gpus": 1}, network="dragonfly")
    load = {"load": 0.9, "message": "64 KiB", "messages": 50}
    background = ClusterJob(
        Program.skeleton("synthetic", 16, **load), mapping=list(range(1, 32, 2))
    )
    stencil = ClusterJob(Program.skeleton("stencil4d", 16), mapping=list(range(0, 32, 2)))
    [alone] = system.play([stencil]).times
    beside = system.play([stencil, background])
    assert beside.times[0] > alone
    assert pyarrow.table(beside.jobs()).to_pylist()[1]["messages"] == 800


def test_synthetic_traffic_is_replayed_and_warms_up() -> None:
    load = {"in_flight": 2, "messages": 20}
    system = System({"gpus": 1}, network="single-switch")
    alone = system.play([ClusterJob(Program.skeleton("synthetic", 8, **load))])
    warmed = Program.skeleton("synthetic", 8, warm_up=10, **load)
    run = system.play([ClusterJob(warmed)], timeline=1000)
    assert run.times[0] > 1.2 * alone.times[0]
    # Messages, and their answers.
    assert pyarrow.table(run.jobs()).to_pylist()[0]["messages"] == 8 * 30 * 2
    regions = {row["region"] for row in pyarrow.table(run.regions()).to_pylist()}
    assert regions == {"warm-up", "window"}


def test_more_in_flight_carries_more() -> None:
    system = System({"gpus": 1}, network="single-switch")
    times = [
        system.play([ClusterJob(Program.skeleton("synthetic", 8, in_flight=count))]).times[0]
        for count in (1, 2, 8)
    ]
    assert times == sorted(times, reverse=True)
    assert times[0] > 1.5 * times[1]


DRAGONFLY: dict[str, object] = {
    "kind": "dragonfly",
    "nodes_per_switch": 2,
    "switches_per_group": 4,
    "global_links_per_switch": 2,
    "groups": 9,
    "routing": "minimal",
}


def test_replays_place_adversarial_traffic_as_it_is_measured() -> None:
    system = System({"gpus": 1}, network=DRAGONFLY)
    parameters = {"pattern": "adversarial", "in_flight": 8, "messages": 100}
    for mapping in ("linear", "random"):
        played = play_trace(
            "synthetic", system, ranks=72, parameters=parameters, mapping=mapping, seed=3
        )
        # With all nodes taken, each rank's node sends to the same place of the next group.
        node = played.run.mapping[0]
        program = system.skeleton("synthetic", 72, mapping=mapping, seed=3, parameters=parameters)
        assert program == played.jobs[0].program
        for rank in range(72):
            rows = [row for row in program.operations_of(rank) if row["kind"] == "send"]
            peers = {row["peer"] for row in rows if row["size"] == 4096}
            assert [node[peer] for peer in peers] == [(node[rank] + 8) % 72]
    # A closed loop over the one link between groups: eight nodes share it.
    sent = 72 * 100 * 4096
    [taken] = played.run.times
    accepted = sent / taken / (72 * 12.5e9)
    [measured] = system.traffic("adversarial", in_flight=[8])
    assert measured["accepted"] == pytest.approx(1 / 8, rel=0.02)
    assert accepted == pytest.approx(measured["accepted"], rel=0.1)


def test_adversarial_traffic_needs_places_in_a_network() -> None:
    words = ("replay", "synthetic", "--ranks", "8", "--set", "parameters.pattern=adversarial")
    linkwright(*words)
    assert "there is no network" in fails(2, *words, "--machine", "dgx1-v100")
    with pytest.raises(LinkwrightError, match="which nobody says"):
        Program.skeleton("synthetic", 8, pattern="adversarial")
    with pytest.raises(LinkwrightError, match="which nobody says"):
        read_program("synthetic", ranks=8, pattern="adversarial")
    alone = System({"gpus": 1}, network="single-switch")
    with pytest.raises(LinkwrightError, match="cluster has"):
        alone.skeleton("synthetic", 4096, parameters={"pattern": "adversarial"})
    stencil = alone.skeleton("stencil4d", 16, parameters={"message": "4 KiB"})
    assert stencil == Program.skeleton("stencil4d", 16, message="4 KiB")


def test_adversarial_traffic_goes_by_the_mapping(tmp_path: Path) -> None:
    text = """
[system.network]
kind = "dragonfly"
nodes_per_switch = 2
switches_per_group = 4
global_links_per_switch = 2
groups = 9
routing = "minimal"
[[job]]
program = "synthetic"
ranks = 72
mapping = "linear"
parameters = { pattern = "PATTERN", load = 1.0, messages = 40 }
"""
    path = tmp_path / "scenario.toml"

    def time(pattern: str) -> float:
        path.write_text(text.replace("PATTERN", pattern), encoding="utf-8")
        [taken] = play_programs(path).run.times
        return float(taken)

    # Eight nodes share the one link to the next group.
    assert time("adversarial") > 3 * time("uniform")
    servers = '[system]\nserver = "dgx1-v100"\nservers = 9\n[system.network]'
    day = text.replace("PATTERN", "adversarial").replace("[system.network]", servers)
    path.write_text(day.replace('ranks = 72\nmapping = "linear"', "gpus = 72"), encoding="utf-8")
    assert "yet to choose" in fails(2, "run", path)
