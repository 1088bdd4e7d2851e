"""Raw events: steps of packets, messages, queues over time and accesses, as far as limits allow."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from commands import fails, linkwright, parsed

from linkwright import ClusterJob, GpuSystem, LinkwrightError, Program, System

REPLAY = ("replay", "stencil4d", "--ranks", "64", "--network", "fat-tree")


def _jobs() -> list[ClusterJob]:
    return [ClusterJob(Program.skeleton("synthetic", 16))]


def test_events_change_nothing_and_add_up() -> None:
    system = System({"gpus": 1}, network="single-switch")
    plain = system.replay(_jobs())
    run = system.replay(_jobs(), packets=1_000_000, queues=1_000_000, queue_window=1e-6)
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
    assert all(row["most"] <= links[row["place"]]["longest_queue"] for row in queues)


def test_a_limit_keeps_the_first_and_counts_all() -> None:
    system = System({"gpus": 1}, network="single-switch")
    run = system.replay(_jobs(), packets=10)
    assert len(run.packets()) == 10
    assert run.packet_steps > 10
    with pytest.raises(LinkwrightError, match="there is no link"):
        system.replay(_jobs(), packets=10, packets_link="leaf9 to node1")


@pytest.mark.parametrize("what", ["packets", "messages", "queues"])
def test_the_command_says_how_many_are_left_out(what: str, tmp_path: Path) -> None:
    file = tmp_path / "events.parquet"
    done = linkwright(*REPLAY, "--trace", what, "--events", file, "--trace-limit", "5")
    assert "holds the first 5 of" in done.stderr
    assert "are left out" in done.stderr
    assert pyarrow.parquet.read_table(file).num_rows == 5


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "events.parquet"
    assert "give both" in fails(2, *REPLAY, "--trace", "packets")
    messages = ("--trace", "messages", "--events", file)
    assert "packets or queues" in fails(2, *REPLAY, *messages, "--trace-link", "a to b")
    assert "of --trace queues" in fails(2, *REPLAY, *messages, "--trace-window", "1e-6")


def test_accesses_are_those_that_caches_answer(tmp_path: Path) -> None:
    system = GpuSystem("r9-nano", 2, "rdma")
    plain = system.run("relu", 4096)
    run = system.run("relu", 4096, accesses=1_000_000)
    assert run.time == plain.time
    rows = pyarrow.table(run.accesses()).to_pylist()
    assert len(rows) == run.access_count
    caches = pyarrow.table(run.caches()).to_pylist()
    answers = sum(row["answers"] for row in caches if row["cache"] in ("L1 vector", "L1 scalar"))
    assert len(rows) == answers
    assert {row["kind"] for row in rows} == {"read", "write"}
    file = tmp_path / "accesses.parquet"
    words = ("gpu", "run", "relu", "--size", "4096", "--gpus", "2")
    done = linkwright(*words, "--trace", "accesses", "--events", file, "--trace-limit", "7")
    assert "holds the first 7 of" in done.stderr
    assert pyarrow.parquet.read_table(file).num_rows == 7


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
    [alone] = system.replay([stencil]).times
    beside = system.replay([stencil, background])
    assert beside.times[0] > alone
    assert pyarrow.table(beside.jobs()).to_pylist()[1]["messages"] == 800
