"""Tests `linkwright replay`, and `linkwright run` of a cluster's scenario."""

from __future__ import annotations

import gzip
import html
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from commands import fails, linkwright, parsed
from interrupts import interrupt, running

from linkwright import System
from linkwright.cli import output, runs
from linkwright.cli.settings import describe
from linkwright.errors import FileError, InputError, SimulationError
from linkwright.network import Program
from linkwright.runs.cluster.play import play_trace
from linkwright.runs.scenarios import read_trace_files

ROOT = Path(__file__).resolve().parents[2]
STENCIL = ROOT / "examples" / "traces" / "stencil4d-32"
MIX = ROOT / "examples" / "cluster-mix.toml"
SMALL = ["--set", "levels=2", "--set", "leaves=4", "--set", "radix=8"]
FOUR = [*SMALL, "--set", "gpus_per_node=4"]
PAIR = "num_ranks 2\nrank 0 {\nsend 100000b to 1 tag 3\n}\nrank 1 {\nrecv 100000b from 0 tag 3\n}\n"

LINE = """[defaults]
bandwidth = "1 GB/s"
latency = "10 ns"
[[switch]]
nodes = 1
names = ["a", "b"]
[[link]]
between = [["a", "b"]]
"""


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    file = tmp_path / "pair.goal"
    file.write_text(PAIR, encoding="utf-8")
    return file


def test_a_trace_is_replayed_from_its_folder_or_its_anchor() -> None:
    first = parsed("replay", STENCIL, *FOUR)
    second = parsed("replay", STENCIL / "traces.otf2", *FOUR)
    assert first.pop("wall_clock")["packet_hops_per_second"] > 0
    second.pop("wall_clock")
    assert first == second
    [job] = first["jobs"]
    assert (job["name"], job["ranks"]) == ("stencil4d-32", 32)
    assert 0 < job["computing"] + job["communicating"] <= 1.001
    assert first["system"]["gpus_per_server"] == [4]
    assert first["busiest_links"][0]["utilisation"] > 0


def test_what_people_read() -> None:
    result = linkwright("replay", "stencil4d", "--ranks", 16, *SMALL)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    for words in ("stencil4d on fat-tree", "computing", "p99", "busiest links", "packet hops a"):
        assert words in result.stdout


def test_settings_reach_the_cluster() -> None:
    slow = parsed("replay", "stencil4d", "--ranks", 16, *SMALL, "--set", "bandwidth_scale=x/4")
    fast = parsed("replay", "stencil4d", "--ranks", 16, *SMALL, "--set", "bandwidth_scale=2x")
    assert slow["makespan"] > 2 * fast["makespan"]
    fixed = parsed("replay", "stencil4d", "--ranks", 16, *SMALL, "--set", "bandwidth=23.8 GB/s")
    assert fixed["makespan"] == fast["makespan"]
    for words in (
        ["--set", "nic=rr-4"],
        ["--routing", "adaptive"],
        ["--fidelity", "flow"],
        ["--set", "packet_size=1024 B"],
        ["--set", "buffer_packets=2"],
        ["--set", "arbitration=age"],
        ["--mapping", "random", "--seed", 3],
        ["--set", "protocol.eager_limit='1 KiB'"],
        ["--iterations", 2],
        ["--set", "computation_scale=0.1"],
        ["--set", "parameters.message='64 KiB'"],
    ):
        assert parsed("replay", "stencil4d", "--ranks", 16, *SMALL, *words)["makespan"] > 0
    flow = parsed("replay", "stencil4d", "--ranks", 16, *SMALL, "--fidelity", "flow")
    assert (flow["system"]["fidelity"], flow["packet_hops"]) == ("flow", 0)


ONE_GPU = (
    "one to eight iterations of the six applications on 32 to 256 ranks, and of three on 512, each "
    "alone on a fat-tree and a dragonfly with one GPU per node"
)
SEVERAL_GPUS = (
    "one to eight iterations of four applications on 64 and 256 ranks, and of three on 512, each "
    "alone on a fat-tree and a dragonfly with four and eight GPUs per node"
)
ELSEWHERE = (
    "one to eight iterations of four applications on 64 and 256 ranks, each alone on a torus and "
    "on Quartz with one GPU per node"
)


@pytest.mark.parametrize(
    ("options", "least", "most", "programs"),
    [
        ([*SMALL, "--set", "nic=rr"], -0.05, 0.34, ONE_GPU),
        ([*SMALL, "--set", "nic=fcfs"], -0.20, 0.38, ONE_GPU),
        ([*SMALL, "--set", "nic=rr-4"], -0.20, 0.38, ONE_GPU),
        (FOUR, -0.22, 0.62, SEVERAL_GPUS),
        (["--network", "torus"], -0.27, 0.14, ELSEWHERE),
    ],
)
def test_a_flow_result_says_how_far_it_may_be_off(
    options: list[object], least: float, most: float, programs: str, tmp_path: Path
) -> None:
    words = ["replay", "stencil4d", "--ranks", 16, *options]
    assert parsed(*words)["known_error"] is None
    assert "known error" not in linkwright(*words).stdout
    flow = [*words, "--fidelity", "flow"]
    models = {"model": "flow", "exact": "packet"}
    known = {**models, "least": least, "most": most, "programs": programs}
    known |= {"median": None, "half_width": None}
    assert parsed(*flow)["known_error"] == known
    result = linkwright(*flow, "--output", tmp_path / "out")
    said = (
        f"known error of the flow model: times of jobs {least:+.0%} to {most:+.0%} of the packet "
        f"model's, for {programs}"
    )
    assert said in " ".join(result.stdout.split())
    assert said in html.unescape((tmp_path / "out" / "report.html").read_text("utf-8"))
    kept = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert kept["known_error"] == known


def test_detours_within_groups_are_a_setting_everywhere(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"groups": 2, "switches_per_group": 16}
    job = ["replay", "stencil4d", "--ranks", 64]
    keys = [word for key, value in sizes.items() for word in ("--set", f"{key}={value}")]
    asked = ["--set", "intra_group_detours=true"]
    with_detours = parsed(*job, "--network", "dragonfly", *keys, *asked)["makespan"]
    network = "\n".join(f"{key.replace('_', '-')} = {value}" for key, value in sizes.items())
    file = tmp_path / "direct.toml"
    file.write_text(f'kind = "dragonfly"\nintra-group-detours = false\n{network}\n', "utf-8")
    scenario = tmp_path / "direct-scenario.toml"
    table = "\n".join(f"{key} = {value}" for key, value in sizes.items())
    scenario.write_text(
        f'[network]\nkind = "dragonfly"\nintra_group_detours = false\n{table}\n'
        '[[job]]\nprogram = "stencil4d"\nranks = 64\n',
        "utf-8",
    )
    dragonfly: dict[str, object] = {"kind": "dragonfly", "intra_group_detours": False, **sizes}
    found = {
        parsed(*job, "--network", "dragonfly", *keys, "--set", "intra_group_detours=false")[
            "makespan"
        ],
        parsed(*job, "--network", "dragonfly", *keys)["makespan"],
        parsed(*job, "--network", file)["makespan"],
        parsed("run", scenario)["makespan"],
        play_trace("stencil4d", System(network=dragonfly), ranks=64).run.makespan,
    }
    assert len(found) == 1
    assert found.pop() > 1.2 * with_detours
    said = fails(2, *job, "--network", "fat-tree", "--set", "intra_group_detours=false")
    assert "intra-group-detours" in said


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("kineto.json", b'{"schemaVersion": 1, "traceEvents": [{"ph": "X"}]}', "a Kineto trace"),
        ("chrome.json", b'[{"ph": "X", "ts": 1, "dur": 2}]', "a Kineto trace"),
        ("kineto.json.gz", gzip.compress(b'{"traceEvents": []}', mtime=0), "a Kineto trace"),
        ("nodes.json", b'{"nodes": [{"id": 1, "ctrl_deps": 2}]}', "an execution trace of PyTorch"),
        ("rank.0.et", b"\x08\x0a\x06\x30", "a Chakra execution trace"),
    ],
)
def test_traces_of_other_tools_are_named(
    name: str, content: bytes, said: str, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    error = fails(2, "replay", file)
    assert f"{name}` is {said}" in error
    assert error.endswith(
        "OTF2 archives, as Score-P and TAU write them, and GOAL text, as LogGOPSim's tools write it"
    )


def test_a_scenario_s_trace_of_another_tool_is_named_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "kineto.json").write_text('{"traceEvents": []}', encoding="utf-8")
    scenario = tmp_path / "one.toml"
    scenario.write_text('[network]\nlevels = 2\n[[job]]\ngoal = "kineto.json"\n', "utf-8")
    said = fails(2, "run", scenario)
    assert "one.toml:4:8: " in said
    assert "is a Kineto trace" in said
    assert said.endswith("GOAL text, as LogGOPSim's tools write it")


def test_what_a_trace_left_out_is_said_with_the_error_that_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting = Program.from_goal("num_ranks 2\nrank 0 {\nrecv 8b from 1 tag 3\n}\nrank 1 {\n}\n")
    note = "5 MPI events of 1 further threads are left out; only the first thread is played"
    read = "linkwright.runs.cluster.play.read_program_with_notes"
    monkeypatch.setattr(read, lambda *_, **__: (waiting, [note]))
    small = System(network={"kind": "fat-tree", "levels": 2, "leaves": 4, "radix": 8})
    with pytest.raises(SimulationError) as caught:
        play_trace(STENCIL, small)
    assert str(caught.value).endswith(f"and tag; of the trace was left out: {note}")
    monkeypatch.setattr(read, lambda *_, **__: (waiting, []))
    with pytest.raises(SimulationError, match=r"communicator and tag$"):
        play_trace(STENCIL, small)


def test_large_sends_head_to_head_name_the_limit_that_would_help(tmp_path: Path) -> None:
    both = "\n".join(
        f"rank {me} {{\na: send 100000b to {1 - me} tag 0\nb: recv 100000b from {1 - me} tag 0\n"
        "b requires a\n}"
        for me in range(2)
    )
    file = tmp_path / "both.goal"
    file.write_text(f"num_ranks 2\n{both}\n", "utf-8")
    said = fails(1, "replay", file, *SMALL)
    assert "2 sends wait for one another in a circle" in said
    assert "rank 0 sends 100 kB to rank 1" in said
    assert said.endswith("raise `protocol.eager_limit` to 100 kB")
    assert parsed("replay", file, *SMALL, "--set", "protocol.eager_limit=100 kB")["makespan"] > 0
    assert (
        parsed(
            "replay",
            file,
            *SMALL,
            "--set",
            "protocol.eager_limit=100 kB",
            "--set",
            "bandwidth=8 GiB/s",
        )["makespan"]
        > 0
    )


def test_a_network_from_a_file(tmp_path: Path, pair: Path) -> None:
    graph = tmp_path / "line.toml"
    graph.write_text(LINE, encoding="utf-8")
    result = linkwright("replay", pair, "--network", graph)
    assert result.exit_code == 0, result.output
    assert "pair on line.toml\n" in result.stdout
    assert "2 switches" in result.stdout
    assert str(tmp_path) not in result.stdout
    graph.write_text(LINE.replace("nodes", "nods"), encoding="utf-8")
    assert "line.toml:5:" in fails(2, "replay", pair, "--network", graph)


def test_a_mapping_file_says_where_ranks_are(tmp_path: Path, pair: Path) -> None:
    file = tmp_path / "gpus.txt"
    file.write_text("0\n1\n", encoding="utf-8")
    near = parsed("replay", pair, *FOUR, "--mapping", file)
    assert [row["within_node"] for row in near["latencies"]] == [True]
    file.write_text("0\n4  # another node\n", encoding="utf-8")
    far = parsed("replay", pair, *FOUR, "--mapping", file)
    assert [row["within_node"] for row in far["latencies"]] == [False]
    file.write_text("0\n0\n", encoding="utf-8")
    said = fails(2, "replay", pair, *FOUR, "--mapping", file)
    assert "gpus.txt:2:1: rank 1 of job 0 gets a GPU that rank 0 of job 0 has from line 1" in said
    file.write_text("0\n", encoding="utf-8")
    assert "gpus.txt:2:1: the file ends before" in fails(2, "replay", pair, "--mapping", file)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stencil5d"], "did you mean `stencil4d`?"),
        (["stencil4d"], "`stencil4d` needs a number of ranks"),
        (["stencil4d", "--ranks", 16, "--machine", "fat-tre"], "did you mean `fat-tree`?"),
        (["stencil4d", "--ranks", 16, "--set", "nic=rrr"], "rrr"),
        (["stencil4d", "--ranks", 16, "--set", "nic=rr4"], "did you mean `rr-4`?"),
        (["stencil4d", "--ranks", 16, "--set", "nic=fifo"], "did you mean `fcfs`?"),
        (["stencil4d", "--ranks", 16, "--routing", "ugal-l"], "did you mean `ugal`?"),
        (["stencil4d", "--ranks", 16, "--fidelity", "packets"], "did you mean `packet`?"),
        (["stencil4d", "--ranks", 16, "--mapping", "randon"], "did you mean `random`?"),
        (["stencil4d", "--ranks", 16, "--set", "switching=cut-thru"], "did you mean `cut-thr"),
        (["stencil4d", "--ranks", 16, "--set", "packet_size=0"], "packet_size: `0` is not a size"),
        (["stencil4d", "--ranks", 16, "--set", "latency=10"], "latency: `10` is not a time"),
        (["stencil4d", "--ranks", 16, "--routing", "adaptiv"], "did you mean `adaptive`?"),
        (["stencil4d", "--ranks", 16, "--set", "arbitration=ag"], "did you mean `age`?"),
        (["stencil4d", "--ranks", 16, "--set", "bandwidth=fast"], "fast"),
        (["stencil4d", "--ranks", 16, "--set", "podz=4"], "did you mean `pods`?"),
        (["stencil4d", "--ranks", 16, "--set", "pods"], "write key=value"),
        (
            ["stencil4d", "--ranks", 16, "--fidelity", "packet", "--set", "fidelity=flow"],
            "is set twice",
        ),
        (["stencil4d", "--ranks", 16, "--set", "parameters.mesage=1"], "mesage"),
        (
            ["stencil4d", "--ranks", 16, "--mapping", "nowhere"],
            "there is neither a mapping nor a file `nowhere`",
        ),
        (["stencil4d", "--ranks", 16, "--plot", "links.pdf"], "is no chart's file"),
        (["stencil4d", "--ranks", 16, "--timeline", "no/such/file.json"], "make it first"),
        ([STENCIL, "--ranks", 16], "is a trace"),
        ([STENCIL.parent], "is not an OTF2 archive"),
    ],
)
def test_mistakes_are_one_line(words: list[object], said: str) -> None:
    line = fails(2, "replay", *words)
    assert said in line
    assert "<settings>" not in line


def test_a_cut_archive_names_the_file(tmp_path: Path) -> None:
    copy = tmp_path / "cut"
    shutil.copytree(STENCIL, copy)
    file = copy / "traces" / "7.evt"
    file.write_bytes(file.read_bytes()[:100])
    assert f"{copy}/traces/7.evt:1:" in fails(2, "replay", copy, *FOUR)
    scenario = tmp_path / "cut.toml"
    scenario.write_text('[[job]]\ntrace = "cut/traces.otf2"\n', encoding="utf-8")
    assert ": cut/traces/7.evt:1:" in fails(2, "run", scenario)
    file.unlink()
    assert "7.evt" in fails(2, "replay", copy, *FOUR)


@pytest.mark.parametrize("member", ["traces.otf2", "traces.def", "traces/7.def", "traces/7.evt"])
def test_a_member_that_is_no_plain_file_is_not_opened(member: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(STENCIL, copy)
    scenario = tmp_path / "copy.toml"
    scenario.write_text('[[job]]\ntrace = "copy/traces.otf2"\n', encoding="utf-8")
    file = copy / member

    def refused(said: str) -> None:
        for words in (["replay", copy], ["replay", copy / "traces.otf2"], ["run", scenario]):
            line = fails(2, *words)
            assert member in line
            assert said in line
        with pytest.raises(InputError, match=said):
            Program.from_otf2(copy / "traces.otf2")

    file.unlink()
    file.symlink_to("/dev/zero")
    refused("no plain file")
    file.unlink()
    os.mkfifo(file)
    refused("no plain file")
    file.unlink()
    with file.open("wb") as stream:
        stream.truncate(64 * 2**20 + 1)
    refused("more than 64 MiB")


def test_an_archive_has_a_most_size(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(STENCIL, copy)
    for rank in range(32):
        with (copy / "traces" / f"{rank}.evt").open("r+b") as stream:
            stream.truncate(60 * 2**20)
    # 17 of them are 1,020 MiB, and nothing of them is held.
    said = r"the archive's files up to `.*evt` have more than 1,024 MiB"
    with pytest.raises(FileError, match=said):
        read_trace_files(copy / "traces.otf2")


def test_a_send_without_a_receive_says_who_and_when(pair: Path) -> None:
    text = pair.read_text(encoding="utf-8").replace("recv 100000b from 0 tag 3", "calc 5")
    pair.write_text(text, encoding="utf-8")
    said = fails(1, "replay", pair, *SMALL)
    for word in ("rank 0", "tag 3", "1"):
        assert word in said


def test_more_ranks_than_gpus() -> None:
    said = fails(1, "replay", STENCIL, *SMALL)
    assert "32 ranks" in said
    assert "16 GPUs" in said


FILES = [
    "devices.parquet",
    "jobs.parquet",
    "latencies.parquet",
    "link_times.parquet",
    "links.parquet",
    "manifest.json",
    "ranks.parquet",
    "report.html",
    "summary.json",
    "timeline.json",
]


def test_a_scenario_of_several_jobs_and_its_files(tmp_path: Path) -> None:
    for name in ("first", "second"):
        result = linkwright("run", MIX, "--output", tmp_path / name)
        assert result.exit_code == 0, result.output
        assert sorted(path.name for path in (tmp_path / name).iterdir()) == FILES
    for words in ("three jobs on", "stencil", "all-to-all", "sweep"):
        assert words in result.stdout
    for name in FILES:
        first, second = (tmp_path / run / name for run in ("first", "second"))
        assert first.read_bytes() == second.read_bytes(), name
        if name.endswith(".json"):
            assert str(tmp_path) not in first.read_text(encoding="utf-8")
    folder = tmp_path / "first"
    assert pq.read_table(folder / "ranks.parquet").num_rows == 128
    assert pq.read_table(folder / "jobs.parquet")["name"].to_pylist() == [
        "stencil",
        "all-to-all",
        "sweep",
    ]
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["seed"] == 7
    names = [held["file"] for held in manifest["files"]]
    assert "traces/stencil4d-32/traces/31.evt" in names
    assert len({held["sha256"] for held in manifest["files"]}) > 40
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert len(summary["jobs"]) == 3
    assert summary["makespan"] == max(job["start"] + job["time"] for job in summary["jobs"])
    page = (folder / "report.html").read_text(encoding="utf-8")
    for words in ("three jobs", "How long messages took", "Load of the links", "busiest links"):
        assert words in page


def test_a_scenario_s_mistakes_are_placed(tmp_path: Path) -> None:
    file = tmp_path / "mix.toml"
    text = MIX.read_text(encoding="utf-8")
    file.write_text(text.replace('"rr-4"', '"rrr"'), encoding="utf-8")
    assert "mix.toml:15:7:" in fails(2, "run", file)
    file.write_text(text, encoding="utf-8")
    assert "mix.toml:19:9: there is no file" in fails(2, "run", file)
    assert "leave out --policy" in fails(2, "run", MIX, "--policy", "greedy")


def test_the_files_of_a_replay(tmp_path: Path) -> None:
    files = [tmp_path / "out", tmp_path / "when.json", tmp_path / "links.svg"]
    words = ["--output", files[0], "--timeline", files[1], "--plot", files[2]]
    result = linkwright("replay", STENCIL, *FOUR, *words)
    assert result.exit_code == 0, result.output
    assert all(f"wrote {file}" in result.stderr for file in files)
    assert (files[0] / "timeline.json").read_bytes() == files[1].read_bytes()
    assert files[2].read_text(encoding="utf-8").startswith("<svg")
    manifest = json.loads((files[0] / "manifest.json").read_text(encoding="utf-8"))
    assert len(manifest["files"]) == 66
    assert str(ROOT) not in json.dumps(manifest)


def test_a_timeline_that_is_cut_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SPANS", 5)
    result = linkwright("replay", STENCIL, *FOUR, "--timeline", tmp_path / "when.json")
    assert "the timeline holds the first 5" in result.stderr


def test_a_run_that_kept_a_part_says_of_how_much() -> None:
    played = {kept: play_trace("kripke", ranks=4, timeline=kept) for kept in (0, 3, 1 << 20)}
    spans, messages, _ = played[3].run.timeline_counts
    [note] = [note for note in played[3].notes if "timeline" in note]
    assert f"3 of {spans:,} spans" in note
    assert f"3 of {messages:,} messages" in note
    assert f"3 of {messages} messages kept" in repr(played[3].run)
    for kept in (0, 1 << 20):
        assert not any("timeline" in note for note in played[kept].notes)
        assert "kept" not in repr(played[kept].run)


def test_progress_shows_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    clock = SimpleNamespace(monotonic=iter([100.0, 102.0, 102.5, 103.0]).__next__)
    monkeypatch.setattr(runs, "time", clock)
    with runs.watched() as watch:
        watch.progress("job", 10, 100, 0.002, 1_000_000)
        # The bar has a clock of its own, by which it guesses what is left.
        time.sleep(0.1)
        watch.progress("job", 40, 100, 0.004, 4_000_000)
    shown = capsys.readouterr().err
    assert "4.000 ms simulated" in shown
    assert "4.0 million events, " in shown
    # There are three million in half a second; events before the first report count for nothing.
    [rate] = re.findall(r"events, ([0-9.]+) million/s", shown)
    assert float(rate) == 6
    assert re.search(r"\d:\d\d\x1b\[0m left", shown), shown
    assert watch.seconds == 3


LONG = """[network]
gpus_per_node = 4
fidelity = "{fidelity}"
[[job]]
program = "subcomm3d"
ranks = 2048
iterations = 100000
"""


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to another process")
@pytest.mark.parametrize("fidelity", ["packet", "flow"])
@pytest.mark.parametrize("command", ["replay", "run"])
def test_ctrl_c_ends_a_long_replay_at_once_and_leaves_nothing(
    command: str, fidelity: str, tmp_path: Path
) -> None:
    sign = tmp_path / "sign-of-life"
    # The program as it is, but for a file that appears when the replay itself first reports.
    code = f"""
import pathlib
from contextlib import contextmanager
from linkwright.cli import runs
def telling(*at):
    pathlib.Path({str(sign)!r}).touch()
before = runs.watched
@contextmanager
def watched():
    with before() as watch:
        watch.progress = telling
        yield watch
runs.watched = watched
from linkwright.cli import main
main()
"""
    words = ["replay", "subcomm3d", "--ranks", "2048", "--iterations", "100000"]
    words += ["--set", "gpus_per_node=4", "--fidelity", fidelity]
    if command == "run":
        scenario = tmp_path / "long.toml"
        scenario.write_text(LONG.format(fidelity=fidelity), encoding="utf-8")
        words = ["run", str(scenario)]
    words += ["--output", str(tmp_path / "out")]
    with running(sys.executable, "-c", code, *words) as process:
        out, err = interrupt(process, sign)
    assert (process.returncode, out) == (130, b"")
    assert err.decode().strip() == "error: interrupted"
    assert {path.name for path in tmp_path.iterdir()} <= {"sign-of-life", "long.toml"}


# Each with a machine that has it; in none of them is what the help names unknown.
@pytest.mark.parametrize(
    ("name", "machine"),
    list(
        zip(
            describe("system.network.routing").names,
            ["fat-tree", "fat-tree", *["dragonfly"] * 4, "torus", "quartz", "quartz"],
            strict=True,
        )
    ),
)
def test_every_routing_that_the_help_names_is_one(name: str, machine: str, pair: Path) -> None:
    found = parsed("replay", pair, "--network", machine, "--routing", name)
    assert found["system"]["routing"] == name


def test_what_a_trace_does_not_say_is_told(tmp_path: Path) -> None:
    shutil.copytree(STENCIL, tmp_path / "measured")
    scenario = tmp_path / "two.toml"
    scenario.write_text(
        "[network]\nlevels = 2\nleaves = 4\nradix = 8\ngpus_per_node = 8\n"
        '[[job]]\ntrace = "measured/traces.otf2"\n[[job]]\ntrace = "measured/traces.otf2"\n',
        encoding="utf-8",
    )
    played = parsed("run", scenario)
    jobs = [(job["name"], job["program"]) for job in played["jobs"]]
    assert jobs == [("measured", "measured"), ("measured-2", "measured")]
    # One archive is read once, whatever the number of its jobs.
    note, assumed = played["notes"]
    assert note.startswith("measured: calls that record no message are left out")
    alone, _ = parsed("replay", STENCIL, *FOUR)["notes"]
    assert f"measured: {alone}" == note
    assert assumed.startswith("nothing says how fast the nodes' interfaces are")
    result = linkwright("run", scenario, "--output", tmp_path / "out")
    assert "Notes:\n- measured: calls that record no message" in result.stdout
    assert "Assumptions" in (tmp_path / "out" / "report.html").read_text("utf-8")
    told = linkwright("replay", "stencil4d", "--ranks", 16, *FOUR, "--set", "bandwidth=100Gb/s")
    assert "notes" not in told.stdout.lower()


def test_servers_are_joined_by_a_network() -> None:
    job = ("replay", STENCIL, "--machine", "dgx1-v100")
    found = parsed(*job, "--servers", "4", "--network", "fat-tree")
    system = found["system"]
    assert (system["servers"], system["gpus"], system["gpus_per_server"]) == (4, 32, [8])
    levels = {level["level"] for level in found["levels"]}
    assert {"nvlink2", "pcie3", "injection", "leaf to aggregate"} <= levels
    # As many servers as the job needs, on a fat-tree that has their ports, is the same system.
    assert parsed(*job)["makespan"] == found["makespan"]
    one_switch = parsed(*job, "--network", "100Gb/s")
    assert one_switch["system"]["switches"] == 1
    assert "switches" not in {level["level"] for level in one_switch["levels"]}


def test_a_lone_server_has_no_network() -> None:
    found = parsed("replay", "laghos", "--ranks", 8, "--machine", "dgx1-v100")
    assert (found["system"]["servers"], found["system"]["switches"]) == (1, 0)
    levels = {level["level"] for level in found["levels"]}
    assert levels >= {"nvlink2", "pcie3"}
    assert not levels & {"injection", "ejection"}


def test_a_machine_may_be_a_file_or_the_input(tmp_path: Path) -> None:
    text = System("dgx1-v100").to_toml()
    file = tmp_path / "mine.toml"
    file.write_text(text)
    by_name = parsed("replay", STENCIL, "--machine", "dgx1-v100", "--servers", 4)
    by_file = parsed("replay", STENCIL, "--machine", file, "--servers", 4)
    by_input = parsed("replay", STENCIL, "--machine", "-", "--servers", 4, stdin=text)
    assert by_file["makespan"] == by_input["makespan"] == by_name["makespan"]


def test_a_network_in_the_machines_place_is_read_with_a_note() -> None:
    named = parsed("replay", STENCIL, "--machine", "fat-tree")
    assert named["makespan"] == parsed("replay", STENCIL, "--network", "fat-tree")["makespan"]
    assert "`fat-tree` is a network: name it with --network" in named["notes"]
    said = fails(2, "replay", STENCIL, "--machine", "fat-tree", "--network", "torus")
    assert "a machine is a server" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--servers", "4"], "give --machine"),
        (["--machine", "dgx1-v10"], "`dgx1-v100`"),
        (["--machine", "dgx1-v100", "--set", "gpus_per_node=2"], "gpus_per_node"),
        (["--machine", "dgx1-v100", "--servers", "2", "--network", "fat-tre"], "`fat-tree`"),
        (
            [
                "--machine",
                "dgx1-v100",
                "--network",
                "fat-tree",
                "--set",
                "radix=4",
                "--set",
                "pods=1",
            ],
            "fewer than the 16",
        ),
        (["--machine", "dgx1-v100", "--servers", "2"], "32 ranks"),
    ],
)
def test_servers_that_cannot_be_are_told(words: list[str], says: str) -> None:
    result = linkwright("replay", STENCIL, *words)
    assert result.exit_code in (1, 2)
    assert says in result.output


def test_a_scenarios_servers_are_told(tmp_path: Path) -> None:
    job = '\n[[job]]\nprogram = "laghos"\nranks = 8\n'
    scenario = tmp_path / "s.toml"
    scenario.write_text(f'[network]\nmachine = "dgx1-v10"\n{job}')
    said = fails(2, "run", scenario)
    assert "s.toml:2:11" in said
    assert "did you mean `dgx1-v100`?" in said
    text = System("pcie-tree-4").to_toml()
    (tmp_path / "bare.toml").write_text(text)
    scenario.write_text(f'[network]\nkind = "fat-tree"\nmachine = "bare.toml"\nservers = 2\n{job}')
    notes = parsed("run", scenario)["notes"]
    assert any("lists no network interface" in note for note in notes)
    alone = linkwright("replay", "laghos", "--ranks", 8, "--machine", "dgx1-v100")
    assert "no network, packet model" in alone.output


def test_brackets_are_refused_by_their_head(tmp_path: Path) -> None:
    trace = tmp_path / "deep.goal"
    trace.write_bytes(b"[" * (1 << 20))
    assert "`" + str(trace) + "` is JSON, which is not read" in fails(2, "replay", trace)
