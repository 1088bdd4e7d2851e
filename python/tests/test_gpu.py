"""Tests kernels inside GPUs, from Python and from the shell."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from commands import linkwright
from interrupts import PATIENCE, interrupted, running

from linkwright import GpuSystem, names
from linkwright.errors import MachineError, SimulationError, TimeLimitError
from linkwright.gpu import GpuKernel, GpuModel, GpuRun, gpu_benchmarks, gpu_litmus, gpu_litmus_tests
from linkwright.scenario import choice_names


def test_a_run_tells_its_time_its_traffic_and_its_answer() -> None:
    run = GpuSystem("r9-nano", gpus=4, memory="rdma").play("relu", 65_536)
    assert run.correct is True
    assert run.mismatch is None
    steps = pa.table(run.steps()).to_pylist()
    assert [row["step"] for row in steps] == ["copy in", "kernel", "write back", "copy out"]
    assert run.time == pytest.approx(sum(row["time"] for row in steps))
    assert run.kernel_time == steps[1]["time"]
    # Every line is another's in three of four cases.
    assert run.remote_accesses == 2 * 65_536 * 4 // 64 * 3 // 4
    misses = [row["misses"] for row in run.caches() if row["cache"] == "L1 vector"]
    assert (len(misses), sum(misses)) == (256, 8192)
    assert sum(row["copied_in"] for row in run.channels()) == 4096
    assert all(0 < row["utilisation"] <= 1 for row in run.links())


def test_buffers_hold_what_the_kernel_wrote() -> None:
    run = GpuSystem().play("relu", 1024)
    assert run.buffers == ["input", "output"]
    before = np.frombuffer(run.buffer("input"), np.float32)
    after = np.frombuffer(run.buffer("output"), np.float32)
    assert np.array_equal(after, np.maximum(before, 0))
    with pytest.raises(KeyError):
        run.buffer("nothing")


def test_buffers_lie_in_another_gpu_s_memory_where_they_are_asked_to() -> None:
    system = GpuSystem(gpus=2, distribution="first", remote=["input"])
    run = system.play("relu", 4096)
    lines = 4096 * 4 // 64
    assert (run.correct, run.remote_accesses, system.remote) == (True, lines, ["input"])
    carried = {row["link"]: row["messages"] for row in run.links()}
    # Requests go out, and the data that is read comes back; a copy of four pages comes in.
    assert carried["GPU0 to switch0"] >= lines
    for options, problem in (
        ({"remote": ["input"]}, "no buffer is remote to all GPUs"),
        ({"distribution": "first", "remote": ["input"]}, "with one GPU, no buffer"),
    ):
        with pytest.raises(SimulationError, match=problem):
            GpuSystem(**options)
    with pytest.raises(SimulationError, match="no buffer `inptu`; did you mean `input`"):
        GpuSystem(gpus=2, distribution="first", remote=["inptu"]).play("relu", 1024)
    result = linkwright(
        *("gpu", "run", "relu", "--size", "4096", "--gpus", "2", "--set", "distribution=first"),
        *("--set", "remote=input,output", "--json"),
    )
    assert result.exit_code == 0, result.output
    fields = json.loads(result.stdout)
    assert (fields["remote"], fields["remote_accesses"]) == (["input", "output"], 2 * lines)


def test_without_data_the_time_is_the_same_and_no_answer_is_known() -> None:
    system = GpuSystem(gpus=2, memory="tsm-wt-c-rc")
    timed = system.play("fir", 1024, data=False)
    assert timed.time == system.play("fir", 1024).time
    assert timed.correct is None
    with pytest.raises(SimulationError, match="the run had no data; run with data=True"):
        timed.buffer("output")


def test_ctrl_c_ends_a_run_at_once() -> None:
    with interrupted():
        GpuSystem(gpus=4).play("mm", 2048, data=False)


def test_ctrl_c_ends_the_making_of_a_graph_at_once() -> None:
    with interrupted(after=0.1):
        GpuSystem(gpus=4).play("bfs", 2**24, data=False)


def test_numbers_that_cannot_be_are_named_as_they_were_given() -> None:
    for options, problem in (
        ({"gpus": -1}, "a run cannot have -1 GPUs; use 1 to 32"),
        ({"gpus": 2**70}, "use 1 to 32"),
        (
            {"write_lease": -1},
            "the write lease cannot be -1, since no copy could be read; give 1 or more",
        ),
        ({"read_lease": 2**40}, f"the read lease is {2**40}, which a timestamp cannot hold"),
        ({"timestamp_bits": -3}, "a timestamp cannot have -3 bits; use 2 to 16 bits"),
    ):
        with pytest.raises(SimulationError, match=problem):
            GpuSystem(**options)  # type: ignore[arg-type]
    with pytest.raises(SimulationError, match="a size of -64 is too small for relu; use a"):
        GpuSystem().play("relu", -64)


def test_a_latency_is_the_mean_of_what_was_answered() -> None:
    # Banks of the second level send reads on to the homes of their lines.
    options = ("--size", "4096", "--gpus", "3", "--memory", "hmg")
    result = linkwright("gpu", "run", "relu", *options, "--json")
    assert result.exit_code == 0, result.output
    told = {row["cache"]: row["latency"] for row in json.loads(result.stdout)["caches"]}
    run = GpuSystem(gpus=3, memory="hmg").play("relu", 4096)
    rows = [row for row in run.caches() if row["cache"] == "L2"]
    assert any(row["misses"] and not row["answers"] for row in rows)
    assert all((row["answers"] == 0) == math.isnan(row["latency"]) for row in rows)
    spent = sum(row["answers"] * row["latency"] for row in rows if row["answers"])
    assert told["L2"] == pytest.approx(spent / sum(row["answers"] for row in rows))


def test_a_system_says_what_it_heeds() -> None:
    assert GpuSystem(memory="g-tsc").heeds == ["read_lease", "timestamp_bits"]
    assert GpuSystem(memory="rdma").heeds == []
    assert GpuSystem(memory="g-tsc").is_coherent
    assert not GpuSystem(memory="rdma").is_coherent


def test_a_wrong_answer_under_a_coherent_memory_is_the_kernel_s(tmp_path: Path) -> None:
    file = tmp_path / "own.kernel"
    file.write_text("buffer a 256 inout\n0 store a 4 = 3\nexpect a 4 = 4\n")
    for memory, said in (("rdma", "take a coherent memory"), ("hmg", "its memory is coherent")):
        result = linkwright("gpu", "run", str(file), "--memory", memory)
        assert result.exit_code == 1
        assert said in result.stderr


def test_a_benchmark_that_is_named_twice_is_compared_once() -> None:
    words = ["relu", "relu", "--memory", "rdma", "--memory", "rdma"]
    result = linkwright("gpu", "compare", *words, "--json")
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)) == 1


def test_ctrl_c_ends_the_filling_of_buffers_at_once() -> None:
    with interrupted(after=0.1):
        GpuSystem(gpus=4).play("relu", 2**27)


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_a_terminal_is_shown_how_fast_a_run_goes() -> None:
    import pty

    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "linkwright", "gpu", "run", "mm", "--size", "1024"]
    with running(*words, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65_536):
                shown += piece
                if process.returncode is None and b"cycles/s" in shown:
                    process.send_signal(signal.SIGINT)
                    process.wait(timeout=PATIENCE)
        except OSError:
            pass
        assert process.wait(timeout=PATIENCE) == 130
    os.close(ours)
    text = shown.decode()
    assert re.search(r"mm, [0-9.]+ .s simulated, [0-9,]+ cycles/s", text)
    assert "error: interrupted" in text


def test_a_timeline_holds_what_happened_when(tmp_path: Path) -> None:
    system = GpuSystem(gpus=2, memory="tsm-wt-c-rc")
    plain, run = system.play("mt", 256), system.play("mt", 256, timeline=10)
    assert (plain.time, plain.events) == (run.time, run.events)
    assert (len(plain.groups()), len(plain.samples()), plain.group_count) == (0, 0, 0)
    # Tiles of 64 by 64.
    assert (len(run.groups()), run.group_count) == (10, 16)
    assert "10 of 16 work-groups kept" in repr(run)
    assert "kept" not in repr(plain)
    assert {row["gpu"] for row in run.groups()} == {0, 1}
    assert all(0 <= row["start"] < row["end"] <= run.time for row in run.groups())
    shares = [row["value"] for row in run.samples() if row["what"] == "busy"]
    assert 0 < max(shares) <= 1
    file = tmp_path / "timeline.json"
    options = ("--size", "256", "--gpus", "2", "--memory", "tsm-wt-c-rc", "--timeline", file)
    assert linkwright("gpu", "run", "mt", *options).exit_code == 0
    found = json.loads(file.read_text())
    assert found["otherData"]["work-groups_kept"] == found["otherData"]["work-groups"] == 16
    events = found["traceEvents"]
    processes = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert processes == ["host", "GPU 0", "GPU 1", "links", "shared memory"]
    slices = [event["name"] for event in events if event["ph"] == "X"]
    assert slices[0] == "kernel transpose"
    assert {f"transpose group {group}" for group in range(16)} == set(slices[1:])
    counted = {(event["pid"], event["name"]) for event in events if event["ph"] == "C"}
    assert {(4, "read by caches"), (4, "written by caches")} < counted
    assert (3, "GPU1 L2 bank 7 to switch, busy") in counted
    result = linkwright("gpu", "run", "mt", "--timeline", tmp_path / "none" / "timeline.json")
    assert result.exit_code == 2
    assert "there is no directory" in result.stderr


def test_the_parts_of_a_timeline_are_the_whole() -> None:
    system = GpuSystem(gpus=4)
    run = system.play("relu", 65_536, timeline=1)
    lines = sum(row["reads"] for row in run.channels())
    starts = sorted({row["start"] for row in run.samples()})
    ends = [*starts[1:], run.time]
    spans = {start: end - start for start, end in zip(starts, ends, strict=True)}
    read = sum(row["value"] * spans[row["start"]] for row in run.samples() if row["what"] == "read")
    assert read == pytest.approx(64 * lines)


def test_a_wrong_answer_is_a_fact_in_python_and_an_error_in_the_shell() -> None:
    run = GpuSystem(gpus=4).play("xtreme2")
    assert run.correct is False
    assert run.mismatch is not None
    assert run.mismatch.startswith("element 256 of c is")
    # A compute unit adds vectors of the neighbour that it works for, too.
    assert run.mismatch.endswith(", by what compute unit 1 of GPU 0 read")
    result = linkwright("gpu", "run", "xtreme2")
    assert result.exit_code == 1
    assert "the answer is wrong: element 256 of c is" in result.stderr
    assert "the answer is WRONG" in result.stdout


def test_a_comparison_says_where_answers_are_wrong_or_never_come() -> None:
    kinds = ("rdma", "tsm-wt-nc-rc", "tsm-wt-c-rc")
    options = [word for kind in kinds for word in ("--memory", kind)]
    result = linkwright("gpu", "compare", "message", *options, "--set", "limit=0.001", "--json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert [row["correct"] for row in rows] == [False, None, True]
    assert rows[1]["time"] is None
    assert "has not ended after 1 ms" in rows[1]["problem"]
    assert rows[0]["speedup"] == 1.0


def test_litmus_tests_tell_memory_systems_apart() -> None:
    assert [row["name"] for row in gpu_litmus_tests()] == choice_names()["litmus_test"]
    incoherent = GpuSystem(gpus=4, memory="tsm-wt-nc-rc")
    found = list(gpu_litmus(incoherent, "spinning", seeds=4, warm=True))
    assert found[0] == {"outcome": "", "verdict": "never ends", "count": 3, "seed": 1}
    assert sum(row["count"] for row in found) == 4
    # A seed's start comes again.
    (again,) = gpu_litmus(incoherent, "spinning", seeds=1, first_seed=1, warm=True)
    assert again == found[0] | {"count": 1}
    with pytest.raises(
        SimulationError, match="there is no litmus test `none`; use one of message-"
    ):
        gpu_litmus(incoherent, "none")  # type: ignore[arg-type]
    with pytest.raises(SimulationError, match="seeds is 0; give 1 to 4294967296"):
        gpu_litmus(incoherent, "spinning", seeds=0)


def test_the_shell_says_which_seed_went_wrong_first() -> None:
    line = ["message-passing-leased", "--memory", "rdma", "--seeds", "16"]
    result = linkwright("gpu", "litmus", *line)
    assert result.exit_code == 0, result.output
    cold = next(text for text in result.stdout.splitlines() if " cold " in text)
    assert cold.split() == [
        "message-passing-leased",
        "rdma",
        "cold",
        *["5", "1", "0", "15", "1:", "x=0", "y=1", "x=0"],
    ]


def test_a_kernel_that_never_ends_is_an_error_of_its_own() -> None:
    with pytest.raises(TimeLimitError, match="message has not ended after 1 ms: wavefront 0"):
        GpuSystem(gpus=4, memory="tsm-wt-nc-rc").play("message", limit=1e-3)


def _triad() -> GpuKernel:
    """Two groups of two wavefronts: loads, arithmetic and stores of every kind."""
    kernel = GpuKernel("triad")
    kernel.buffer("a", 4096, "inout", data=np.arange(1024, dtype=np.uint32).tobytes())
    kernel.buffer("b", 4096, "out")
    kernel.launch("first", lds=256)
    for group in range(2):
        for wavefront in range(2):
            place = (group, wavefront)
            kernel.load(place, "a", 1024 * group, width=16, record="x")
            kernel.load(place, "a", offsets=[0, None, 64], record="some")
            kernel.load_scalar(place, "a", 128, width=16)
            kernel.wait(place)
            kernel.compute(place, 10)
            kernel.lds(place, 2)
            kernel.barrier(place)
            kernel.store(place, "b", 512 * (2 * group + wavefront), width=8, values=range(128))
    kernel.launch("second")
    kernel.atomic(7, "add", "a", 4, values=[5, -1], lanes=2, record="before")
    kernel.fence(7)
    kernel.spin(7, "a", 4, value=6)
    kernel.store(7, "b", values=1.5, stride=256, lanes=3)
    kernel.expect("a", [6, 1], offset=4)
    return kernel


def test_one_s_own_kernel_is_the_same_built_and_read() -> None:
    kernel = _triad()
    again = GpuKernel.from_text(kernel.to_text())
    assert again == kernel
    assert kernel.operations == 4 * 8 + 4
    for memory in ("rdma", "tsm-wt-c-sc"):
        system = GpuSystem(gpus=2, memory=memory)
        run, read = system.play(kernel), system.play(again)
        assert (run.time, run.events) == (read.time, read.events)
        assert (run.benchmark, run.size, run.correct) == ("triad", None, True)
        assert list(run.loads()) == list(read.loads())
        before = [row["value"] for row in run.loads() if row["load"] == "before"]
        assert before == [1, 2]
        words = np.frombuffer(run.buffer("b"), np.uint32)
        assert list(words[1:4]) == [1, 2, 3]
        assert np.frombuffer(run.buffer("b"), np.float32)[64] == 1.5
        assert [row["of"] for row in run.steps() if row["step"] == "kernel"] == ["first", "second"]


def test_a_kernel_that_cannot_be_is_refused_where_it_is_built() -> None:
    kernel = GpuKernel("small")
    kernel.buffer("a", 64)
    with pytest.raises(SimulationError, match="there is no buffer `b`; use a"):
        kernel.load(0, "b")
    with pytest.raises(SimulationError, match="4 bytes from byte 64 on do not fit in `a`"):
        kernel.load(0, "a")
    with pytest.raises(SimulationError, match="a work-group is -1; give 0 to 1048575"):
        kernel.wait(-1)
    with pytest.raises(SimulationError, match="3 values are listed for 2 words"):
        kernel.store(0, "a", lanes=2, values=[1, 2, 3])
    with pytest.raises(SimulationError, match="4294967296 is no value of 4 bytes"):
        kernel.spin(0, "a", value=1 << 32)
    with pytest.raises(SimulationError, match="there is no direction of copies `input`"):
        kernel.buffer("c", 64, "input")
    with pytest.raises(SimulationError, match="a kernel of one's own has no size"):
        GpuSystem().play(kernel, 64)
    assert kernel.operations == 0


def test_a_trace_of_one_s_own_runs_from_the_shell(tmp_path: Path) -> None:
    file = tmp_path / "own.kernel"
    file.write_text(
        "buffer a 256 inout\n0 store a 256 = 3\n0 fence\n0 load a 8 as x\nexpect a 4 = 3\n"
    )
    result = linkwright("gpu", "run", str(file), "--gpus", "1", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["benchmark"], found["size"], found["correct"]) == ("kernel", None, True)
    assert [(row["lane"], row["value"]) for row in found["loads"]] == [(0, 3), (1, 3)]
    result = linkwright("gpu", "run", "-", stdin=file.read_text().replace("a 4 = 3", "a+8 4 = 4"))
    assert result.exit_code == 1
    assert "the answer is wrong: element 2 of a is 3, not 4" in result.stderr
    assert result.stdout.splitlines()[-1].split() == ["x", "0", "0.0", "0", "17", "3", "3"]
    file.write_text("buffer a 256 in\n0 loads a 4\n")
    result = linkwright("gpu", "run", str(file))
    assert result.exit_code == 2
    assert f"{file}:2:3: unknown operation: `loads`; did you mean `load`?" in result.stderr
    result = linkwright("gpu", "run", str(file), "--size", "64")
    assert result.exit_code == 2


# The second work-group, on another GPU, has an old copy of what the first stores, and reads again.
STALE = """
buffer data 256 in
buffer got 256 out
0 compute 500
0 store data 256 = 7
0 fence
1 load data 256 as before
1 wait
1 compute 5000
1 fence
1 load data 256 as after
expect data 256 = 7
"""


@pytest.mark.parametrize("memory", ["rdma", "tsm-wb-nc-rc"])
def test_a_verdict_tells_what_was_read_from_what_memory_holds(memory: str, tmp_path: Path) -> None:
    file = tmp_path / "stale.kernel"

    def ran(more: str) -> tuple[int, str, str]:
        file.write_text(STALE + more)
        found = linkwright("gpu", "run", str(file), "--gpus", "2", "--memory", memory)
        return found.exit_code, found.stdout.splitlines()[0], found.stderr

    code, verdict, _ = ran("")
    assert (code, verdict.split("; ")[1]) == (0, "memory at the end is right")
    code, verdict, error = ran("expect after = 7\n")
    assert (code, verdict.split("; ")[1]) == (1, "the answer is WRONG")
    read = "the answer is wrong: `after` of wavefront 1.0 on GPU 1 read 0, not 7, in word 0 of"
    assert read in error
    # Memory that it stores that in is wrong, too.
    code, verdict, error = ran("1 store got 256 = after\nexpect got 256 = 7\n")
    assert (code, verdict.split("; ")[1]) == (1, "the answer is WRONG")
    assert "the answer is wrong: element 0 of got is 0, not 7" in error


def test_what_loads_bring_is_expected_and_stored_from_python() -> None:
    kernel = GpuKernel("own")
    kernel.buffer("a", 256, data=range(64))
    kernel.buffer("b", 256, "out")
    kernel.load(0, "a", record="x")
    kernel.store_loaded(0, "x", "b")
    kernel.expect("b", [*range(64)])
    assert GpuSystem(gpus=1).play(kernel).checked == "answer"
    kernel.expect_loaded("x", 3)
    assert GpuKernel.from_text(kernel.to_text()) == kernel
    run = GpuSystem(gpus=1).play(kernel)
    assert (run.correct, run.checked) == (False, "answer")
    assert run.mismatch == "`x` of wavefront 0.0 on GPU 0 read 0, not 3, in word 0 of work-item 0"
    assert GpuSystem(gpus=1).play(kernel, data=False).checked is None
    with pytest.raises(SimulationError, match="no earlier load keeps words as `y`; use x"):
        kernel.expect_loaded("y", 3)
    with pytest.raises(
        SimulationError, match="no earlier load keeps words as `x`; load words `as`"
    ):
        kernel.store_loaded(1, "x", "b")


def test_every_choice_can_be_named() -> None:
    names = choice_names()
    assert [row["name"] for row in gpu_benchmarks()] == names["benchmark"]
    for memory in names["memory_system"]:
        assert GpuSystem(memory=memory).play("mt", 64).correct  # type: ignore[arg-type]


def test_leases_decide_when_copies_are_read_anew() -> None:
    def run(**leases: int) -> GpuRun:
        system = GpuSystem(gpus=4, memory="tsm-wt-c-rc", **leases)  # type: ignore[arg-type]
        return system.play("xtreme1", 192, data=False)

    default = run()
    assert run(read_lease=10, write_lease=5, timestamp_bits=16).time == default.time
    assert run(read_lease=1000).time < default.time < run(read_lease=1).time
    # A write that leases for longer moves time on, past the leases of what was read.
    assert run(write_lease=50).time > default.time
    # The answer is right when timestamps overflow all the time, too.
    tight = GpuSystem(gpus=4, memory="tsm-wt-c-rc", read_lease=3, write_lease=2, timestamp_bits=3)
    assert tight.play("xtreme3", 192).correct
    options = "--set read_lease=1 --set data=false --memory tsm-wt-c-rc --json"
    told = linkwright("gpu", "run", "xtreme1", *options.split())
    assert json.loads(told.stdout)["time"] == run(read_lease=1).time


def test_coherence_costs_what_its_fields_take() -> None:
    def costs(memory: str, column: str) -> dict[str, int]:
        rows = GpuSystem(memory=memory).costs()  # type: ignore[arg-type]
        return {row["what"]: row[column] for row in rows}

    assert costs("tsm-wt-c-rc-printed", "added")["lines of a bank of L2"] == 16 << 10
    assert costs("tsm-wt-c-rc", "bytes")["read request"] == 15
    assert set(costs("rdma", "added").values()) == {0}


def test_one_s_own_gpu_runs(tmp_path: Path) -> None:
    text = GpuModel.find("r9-nano").to_toml().replace('name = "r9-nano"', 'name = "mine"')
    file = tmp_path / "mine.toml"
    # Half the compute units, each twice as far from its caches.
    file.write_text(text.replace("bank = 20", "bank = 40"))
    slow = GpuSystem(GpuModel.from_text(file.read_text()))
    assert slow.play("fir", 4096).time > GpuSystem().play("fir", 4096).time
    result = linkwright("gpu", "run", "relu", "--size", "64", "--gpu", str(file))
    assert result.exit_code == 0, result.output
    assert "(mine)" in result.stdout


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run relu --size 100", "use a multiple of 64 up to 4294967296, such as 64"),
        ("run relu --gpus 33", "33 is not from 1 to 32"),
        ("run relu --memory tsm", "`tsm`; did you mean `tsm-wb-nc-rc` or `tsm-wt-nc-rc` or"),
        ("run relu --size -1", "a size of -1 is too small for relu; use a multiple of 64 up to"),
        ("run relu --gpu r9", "there is no GPU model `r9`; use r9-nano"),
        (
            "run relu --set shared_bandwidth=64",
            "shared_bandwidth changes nothing under rdma; leave",
        ),
        ("run relu --memory mesi --set read_lease=9", "read_lease changes nothing under mesi"),
        ("run relu --memory g-tsc --set write_lease=9", "write_lease changes nothing under g-tsc"),
        (
            "compare relu --memory rdma --memory hmg --set timestamp_bits=8",
            "timestamp_bits changes nothing under rdma, hmg; leave it",
        ),
        ("litmus spinning --memory rdma --set read_lease=9", "read_lease changes nothing"),
        ("run mesage", "did you mean `message`?"),
        ("run relu --gpu t4", "the GPU model `t4` has no section [hierarchy]"),
        ("run relu --gpu none.toml", "there is no file `none.toml`"),
        ("run relu --set shared_bandwidth=0", "a bandwidth of 0 GB/s is not possible; more than 0"),
        (
            "run relu --set read_lease=0",
            "the read lease cannot be 0, since no copy could be read; give 1 or more",
        ),
        (
            "compare relu --set write_lease=0",
            "the write lease cannot be 0, since no copy could be read",
        ),
        ("run relu --set timestamp_bits=0", "a timestamp cannot have 0 bits; use 2 to 16 bits"),
        ("run relu --set timestamp_bits=3", "the read lease is 10, which a timestamp cannot hold"),
        (
            "run relu --set write_lease=99999",
            "the write lease is 99999, which a timestamp cannot hold; use at most 65535",
        ),
        (
            "run relu --size 1073741824 --gpus 1",
            "the buffers take 8 GiB, 4 GiB more than the memory of 4 GiB",
        ),
        ("compare none", "there is no benchmark or file `none`"),
    ],
)
def test_what_cannot_run_is_told(line: str, said: str) -> None:
    result = linkwright("gpu", *line.split())
    assert result.exit_code in (1, 2)
    assert said in result.stderr


def test_a_hierarchy_that_cannot_be_is_refused_by_its_line() -> None:
    text = GpuModel.find("r9-nano").to_toml()
    broken = text.replace('interleaving = "4 KiB"', 'interleaving = "3 KiB"')
    with pytest.raises(ValueError, match='3072 is no power of two: `"3 KiB"`; the next is 4096'):
        GpuModel.from_text(broken)
    with pytest.raises(ValueError, match="4097 is not from 1 to 4096"):
        GpuModel.from_text(text.replace("mshrs = 64", "mshrs = 4097"))
    with pytest.raises(ValueError, match="0 is not from 1 to 65536"):
        GpuModel.from_text(text.replace("depth = 256", "depth = 0"))
    with pytest.raises(ValueError, match='unknown name: `"often"`; use one of never, seq'):
        GpuModel.from_text(text.replace('merging = "sequential"', 'merging = "often"'))
    with pytest.raises(MachineError, match=r"`t4` has no section \[hierarchy\]"):
        GpuSystem("t4")


def _wired(text: str) -> GpuModel:
    """Gives the GPUs of Table 3.1 a wiring of these keys."""
    return GpuModel.from_text(f"{GpuModel.find('r9-nano').to_toml()}\n[hierarchy.wiring]\n{text}\n")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('shape = "star"\nlink = 70', 'unknown name: `"star"`; use one of switch, crossbar'),
        ('shape = "ring"\nlink = 0', "0 is not from 1 to 1000000"),
        ('shape = "ring"', "no key `link`: `[hierarchy.wiring]`; add `link`"),
        ('shape = "ring"\nlink = 7\nbandwidth = "0 GB/s"', "give a value above 0"),
        ('shape = "clos"\nlink = 7\nmiddle = 0', "0 is not from 1 to 256"),
        ('shape = "interposers"\nlink = 7\nbetween = 0', "give a value above 0"),
        ('shape = "ring"\nlink = 7\nmiddle = 2', "`middle` changes nothing where the shape is `ri"),
        ('shape = "crossbar"\nlink = 7\nbandwidth = "8 GB/s"', "`bandwidth` changes nothing where"),
        (
            'shape = "clos"\nlink = 7\nbetween = 2',
            "`between` changes nothing where the shape is `c",
        ),
    ],
)
def test_a_wiring_that_cannot_be_is_refused_in_a_line(keys: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as refused:
        _wired(keys)
    assert "\n" not in str(refused.value)


def test_a_wiring_comes_back_and_its_links_are_named() -> None:
    ring = _wired('shape = "ring"\nlink = 70\nbandwidth = "8 GB/s"')
    assert GpuModel.from_text(ring.to_toml()) == ring
    run = GpuSystem(ring, 4, "tsm-wt-c-rc").play("relu", 65_536)
    assert run.correct
    assert {"GPU0 L2 bank 3 to router 0", "router 0 to router 3"} <= {
        row["link"] for row in run.links()
    }
    # A switch of twice 70 cycles is what a file without a wiring has.
    switch = _wired('shape = "switch"\nlink = 70')
    times = [
        GpuSystem(of, 4, "tsm-wt-c-rc").play("relu", 65_536).time for of in (switch, "r9-nano")
    ]
    assert times[0] == times[1]
    assert times[0] < run.time


def test_timestamps_that_a_small_storage_unit_forgets_are_counted() -> None:
    text = GpuModel.find("r9-nano").to_toml().replace("ways = 8", "ways = 8\nentries = 64")
    small = GpuModel.from_text(text)

    def forgotten(model: GpuModel | str, memory: names.MemorySystemName) -> int:
        run = GpuSystem(model, 4, memory).play("relu", 65_536, data=False)
        return sum(row["timestamp_evictions"] for row in run.channels())

    # 8,192 lines are read and written, and there are 256 entries.
    assert forgotten(small, "tsm-wt-c-rc") >= 8192 - 256
    assert forgotten("r9-nano", "tsm-wt-c-rc") == 0
    assert forgotten(small, "tsm-wb-nc-rc") == 0
