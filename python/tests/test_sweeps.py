"""Sweeps: every run once, in order, whoever is killed; nothing lost and nothing twice."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import sweep_runs
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupts import running
from sweep_runs import fail, kill_always, kill_once, note, performed, slowly
from typer.testing import CliRunner

from linkwright.cli.program import Program
from linkwright.errors import FileError, InputError, SweepError, SweepInterruptedError
from linkwright.sweeps import (
    Sweep,
    SweepResult,
    Workers,
    dask_cluster,
    given_executor,
    local_processes,
    local_threads,
    play_sweep,
    scaling,
)
from linkwright.sweeps.pace import Forecast, spoken
from linkwright.sweeps.perform import perform

# A sweep of ten runs, in a process of its own that the tests kill.
SCRIPT = """
import sys
import sweep_runs
from linkwright.sweeps import Sweep, local_processes, play_sweep
if __name__ == "__main__":
    runs = [{"number": number, "folder": sys.argv[1]} for number in range(10)]
    play_sweep(Sweep(sweep_runs.slowly, runs), local_processes(2), checkpoint=sys.argv[2])
"""


def sweep(folder: Path, count: int = 10, **more: object) -> Sweep:
    """Runs that note themselves in the folder."""
    return Sweep(note, [{"number": at, "folder": str(folder), **more} for at in range(count)])


def expected(count: int) -> list[dict[str, object]]:
    """Returns the results of those runs."""
    return [{"pair": [number, number / 7], "number": number} for number in range(count)]


def records(file: Path) -> list[dict[str, Any]]:
    """The runs that a checkpoint holds."""
    return [json.loads(line) for line in file.read_bytes().splitlines()[1:]]


def children(process: int) -> list[int]:
    """The processes that this one has started."""
    listed = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    return [int(child) for child in listed.split()]


def is_alive(process: int) -> bool:
    """Whether it runs still, and is no zombie."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(") ")[2][0] not in "ZX"


def wait_until(there: Callable[[], bool]) -> None:
    """Waits for something to be so. If it never is, the test ends, and not only the waiting."""
    for _ in range(12_000):
        if there():
            return
        time.sleep(0.01)
    raise AssertionError("it was never so")


@settings(max_examples=25)
@given(
    delays=st.lists(st.sampled_from([0.0, 0.001, 0.003]), min_size=1, max_size=9),
    workers=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    share=st.floats(0, 1),
)
def test_a_sweep_cut_anywhere_goes_on_and_repeats_nothing(
    delays: list[float], workers: tuple[int, int], share: float
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = [
            {"number": number, "folder": name, "delay": delay}
            for number, delay in enumerate(delays)
        ]
        file = folder / "sweep.jsonl"
        first = play_sweep(Sweep(note, runs), local_threads(workers[0]), checkpoint=file)
        assert first.results == expected(len(runs))
        assert performed(folder) == dict.fromkeys(range(len(runs)), 1)
        # A process that is killed leaves a beginning of the file, cut at any byte.
        content = file.read_bytes()
        cut = round(share * len(content))
        file.write_bytes(content[:cut])
        kept = [json.loads(line)["parameters"]["number"] for line in _whole(content[:cut])]
        second = play_sweep(Sweep(note, runs), local_threads(workers[1]), checkpoint=file)
        assert json.dumps(second.results) == json.dumps(first.results)
        assert second.resumed == len(kept)
        torn = cut > content.index(b"\n") and content[cut - 1 : cut] != b"\n"
        assert bool(second.notes) == torn
        assert performed(folder) == {at: 1 if at in kept else 2 for at in range(len(runs))}
        assert sorted(record["result"]["number"] for record in records(file)) == [*range(len(runs))]


def _whole(content: bytes) -> list[bytes]:
    return content[: content.rfind(b"\n") + 1].splitlines()[1:]


@settings(max_examples=15)
@given(stop=st.integers(0, 9), workers=st.integers(1, 3))
def test_a_sweep_interrupted_after_some_results_keeps_them(stop: int, workers: int) -> None:
    def interrupt(_what: str, done: int, _total: int) -> None:
        if done >= stop:
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "sweep.jsonl"
        with pytest.raises(SweepInterruptedError, match=r"of 10 runs are finished and kept in"):
            play_sweep(sweep(folder), local_threads(workers), checkpoint=file, progress=interrupt)
        # Threads finish what they have begun, and that is kept, too.
        begun = performed(folder)
        assert len(records(file)) == len(begun) >= stop
        result = play_sweep(sweep(folder), local_threads(workers), checkpoint=file)
        assert result.results == expected(10)
        assert result.resumed == len(begun)
        assert performed(folder) == dict.fromkeys(range(10), 1)


@pytest.mark.parametrize("make", [local_processes, local_threads])
def test_results_are_the_same_wherever_they_come_from(
    make: Callable[[int], Workers], tmp_path: Path
) -> None:
    result = play_sweep(sweep(tmp_path), make(2))
    assert result.results == expected(10)
    assert (result.resumed, result.notes) == (0, ())
    assert result.cpu_seconds > 0


def test_any_executor_will_do_and_stays_open(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as executor:
        assert play_sweep(sweep(tmp_path), executor).results == expected(10)
        assert executor.submit(len, "open").result() == 4


def test_an_executor_that_stays_open_begins_nothing_after_an_error(tmp_path: Path) -> None:
    def fail_at_two(_what: str, done: int, _total: int) -> None:
        if done >= 2:
            raise LookupError

    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(LookupError):
            play_sweep(
                sweep(tmp_path, 12, delay=0.02), given_executor(executor, 6), progress=fail_at_two
            )
        assert executor.submit(len, "next").result() == 4
    assert len(performed(tmp_path)) <= 4


def test_equal_runs_are_performed_once(tmp_path: Path) -> None:
    runs = [{"number": number, "folder": str(tmp_path)} for number in (4, 2, 4)]
    result = play_sweep(Sweep(note, runs), local_threads(2))
    assert [each["number"] for each in result.results] == [4, 2, 4]
    assert performed(tmp_path) == {4: 1, 2: 1}


def test_a_sweep_of_no_runs_gives_nothing(tmp_path: Path) -> None:
    nothing = play_sweep(Sweep(note, []), checkpoint=tmp_path / "none.jsonl")
    assert nothing == SweepResult([], 0, 0, ())


def test_progress_counts_from_what_was_kept_and_tells_the_pace(tmp_path: Path) -> None:
    file = tmp_path / "sweep.jsonl"
    play_sweep(sweep(tmp_path), local_threads(1), checkpoint=file)
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:7]))
    seen: list[tuple[str, int, int]] = []
    play_sweep(
        sweep(tmp_path),
        local_threads(1),
        checkpoint=file,
        progress=lambda *at: seen.append(at),
        what="mixes",
    )
    assert seen[0] == ("mixes", 6, 10)
    assert seen[-1][1:] == (10, 10)
    assert "/s, 0 s left" in seen[-1][0]


def test_a_forecast_is_told_once_when_the_first_parts_are_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    told: list[tuple[float, int, int]] = []
    ahead = Forecast(lambda *of: told.append(of), 4)
    # Three were kept in a checkpoint; of the other 27 each takes two seconds.
    for done in range(3, 31):
        ahead.show(done, 30)
        now += 2.0
    assert told == [(54.0, 4, 27)]
    # Where nothing is left, nothing is told.
    ahead = Forecast(lambda *of: told.append(of), 1)
    ahead.show(0, 1)
    ahead.show(1, 1)
    assert len(told) == 1


def test_spans_are_told_in_the_units_that_matter() -> None:
    assert [spoken(span) for span in (0.4, 59.6, 61, 3599, 7322)] == [
        "0 s",
        "1 min 0 s",
        "1 min 1 s",
        "59 min 59 s",
        "2 h 2 min",
    ]


def test_a_run_that_raises_stops_the_sweep_and_the_others_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "sweep.jsonl"
    folder = str(tmp_path)
    runs = [{"number": number, "folder": folder, "bad": [5, 6]} for number in range(40)]
    with pytest.raises(SweepError, match=r'"number": 5.* failed.*: ValueError: no 5 at all; ') as e:
        play_sweep(Sweep(fail, runs), local_processes(1), checkpoint=file)
    assert "in fail" in e.value.__notes__[0]
    begun = performed(tmp_path)
    assert len(records(file)) == len(begun) < 39
    assert set(range(5)) <= set(begun)
    with pytest.raises(SweepError, match="runs are finished and lost; a checkpoint would"):
        play_sweep(Sweep(fail, runs[:6]), local_threads(1))


def test_a_worker_killed_midway_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    file = tmp_path / "sweep.jsonl"
    runs = [{"number": number, "folder": str(tmp_path), "bad": 5} for number in range(10)]
    result = play_sweep(Sweep(kill_once, runs), local_processes(2), checkpoint=file)
    assert (tmp_path / "killed").exists()
    assert result.results == expected(10)
    assert sorted(record["result"]["number"] for record in records(file)) == [*range(10)]


def test_a_run_that_always_kills_its_worker_is_blamed_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "sweep.jsonl"
    runs = [{"number": number, "folder": str(tmp_path), "bad": 2} for number in range(8)]
    with pytest.raises(SweepError, match='"number": 2} lost its worker 3 times'):
        play_sweep(Sweep(kill_always, runs), local_processes(2), checkpoint=file)
    assert {record["result"]["number"] for record in records(file)} >= {0, 1}


def test_an_executor_that_is_broken_ends_the_sweep(tmp_path: Path) -> None:
    runs = [{"number": number, "folder": str(tmp_path), "bad": 0} for number in range(3)]
    with ProcessPoolExecutor(1) as executor, pytest.raises(SweepError, match="lost its worker"):
        play_sweep(Sweep(kill_once, runs), executor)


@pytest.fixture
def killable(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts the script, and gives it when it has two workers and finished some runs.

    It hears Ctrl-C where this process ignores it, as under nohup, and ends with the test.
    """
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(Path(sweep_runs.__file__).parent)}
    with ExitStack() as started:

        def start() -> subprocess.Popen[bytes]:
            process = started.enter_context(
                running(
                    sys.executable,
                    script,
                    tmp_path,
                    tmp_path / "sweep.jsonl",
                    env=environment,
                    stdout=None,
                    start_new_session=True,
                )
            )
            wait_until(lambda: len(performed(tmp_path)) >= 3)
            return process

        yield start


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_sweep_killed_midway_resumes_and_leaves_no_process(
    sent: signal.Signals, killable: Callable[[], subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    process = killable()
    workers = children(process.pid)
    assert len(workers) >= 2
    # Nothing moves between the count and the signal, however busy the computer is.
    os.killpg(process.pid, signal.SIGSTOP)
    started = sum(performed(tmp_path).values()) + len(workers)
    if sent == signal.SIGINT:
        # A terminal sends it to all.
        os.killpg(process.pid, sent)
    else:
        process.send_signal(sent)
    os.killpg(process.pid, signal.SIGCONT)
    process.wait()
    wait_until(lambda: not any(map(is_alive, workers)))
    # Runs under way may end; between here and there a worker may have begun one more.
    assert sum(performed(tmp_path).values()) <= started + len(workers)
    assert process.stderr is not None
    said = process.stderr.read().decode()
    assert "Exception in thread" not in said
    process.stderr.close()
    kept = len(records(tmp_path / "sweep.jsonl"))
    if sent == signal.SIGINT:
        assert f"SweepInterruptedError: {kept} of 10 runs are finished and kept in" in said
    assert 0 < kept < 10
    before = performed(tmp_path)
    runs = [{"number": number, "folder": str(tmp_path)} for number in range(10)]
    result = play_sweep(
        Sweep(slowly, runs), local_processes(2), checkpoint=tmp_path / "sweep.jsonl"
    )
    assert result.results == expected(10)
    assert result.resumed == kept
    # Two were under way and may have noted themselves without being kept.
    after = performed(tmp_path)
    assert sum(after.values()) - sum(before.values()) == 10 - kept


def test_a_dask_worker_killed_midway_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    from distributed import LocalCluster

    file = tmp_path / "sweep.jsonl"
    runs = [{"number": number, "folder": str(tmp_path)} for number in range(16)]
    with LocalCluster(
        processes=True, n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        victim = cluster.workers[0].pid

        def kill(_what: str, done: int, _total: int) -> None:
            if done >= 4 and is_alive(victim):
                os.kill(victim, signal.SIGKILL)

        result = play_sweep(
            Sweep(slowly, runs),
            dask_cluster(cluster.scheduler_address),
            checkpoint=file,
            progress=kill,
        )
    assert not is_alive(victim)
    assert result.results == expected(16)
    assert sorted(record["result"]["number"] for record in records(file)) == [*range(16)]
    assert set(performed(tmp_path)) == set(range(16))


def test_a_cluster_that_is_not_there_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    from linkwright.sweeps import workers

    monkeypatch.setattr(workers, "PATIENCE", 1)
    with pytest.raises(SweepError, match="no Dask scheduler answers at `tcp:"):
        play_sweep(Sweep(note, [{"number": 1, "folder": ""}]), dask_cluster("tcp://127.0.0.1:1"))
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SweepError, match=r"pip install 'linkwright\[dask\]'"):
        dask_cluster("tcp://127.0.0.1:1")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("linkwright", "0.0.9", "its version of linkwright is 0.0.9, not "),
        ("function", "other:one", "its function is other:one, not sweep_runs:note"),
        ("seed", 3, "its seed is 3, not None"),
        ("runs", 11, "its number of runs is 11, not 10"),
        ("parameters_sha256", "0", "its runs have other parameters or another order"),
        ("code_sha256", "0", "the code of its function or of Linkwright's core has changed"),
        ("inputs_sha256", "0", "the files that its runs read have changed"),
        ("format", "linkwright sweep 0", "this file is not a checkpoint of a sweep"),
    ],
)
def test_a_checkpoint_of_another_sweep_is_refused(
    field: str, value: object, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "sweep.jsonl"
    play_sweep(sweep(tmp_path), local_threads(2), checkpoint=file)
    first, rest = file.read_bytes().split(b"\n", 1)
    changed = json.dumps(json.loads(first) | {field: value}).encode() + b"\n" + rest
    file.write_bytes(changed)
    with pytest.raises(InputError, match=said) as error:
        play_sweep(sweep(tmp_path), local_threads(2), checkpoint=file)
    assert (error.value.line, error.value.column) == (1, 1)
    assert "give another file" in error.value.remedy
    assert file.read_bytes() == changed


def test_inputs_that_change_between_runs_are_never_mixed(tmp_path: Path) -> None:
    checkpoint, folder = tmp_path / "sweep.jsonl", tmp_path / "inputs"
    folder.mkdir()
    (folder / "a.toml").write_text("one", encoding="utf-8")
    (folder / "b.toml").write_text("two", encoding="utf-8")
    file = tmp_path / "scenario.toml"
    file.write_text("three", encoding="utf-8")
    whole = Sweep(note, sweep(tmp_path).runs, inputs=[file, folder])
    play_sweep(whole, local_threads(2), checkpoint=checkpoint)
    assert play_sweep(whole, local_threads(2), checkpoint=checkpoint).resumed == 10

    def refused() -> None:
        with pytest.raises(InputError, match="the files that its runs read have changed"):
            play_sweep(whole, local_threads(2), checkpoint=checkpoint)

    file.write_text("four", encoding="utf-8")
    refused()
    file.write_text("three", encoding="utf-8")
    (folder / "b.toml").rename(folder / "c.toml")
    refused()
    (folder / "c.toml").rename(folder / "b.toml")
    assert play_sweep(whole, local_threads(2), checkpoint=checkpoint).resumed == 10
    file.unlink()
    with pytest.raises(FileError, match="there is no file"):
        play_sweep(whole, local_threads(2), checkpoint=checkpoint)


def test_a_function_that_changed_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint, module = tmp_path / "sweep.jsonl", tmp_path / "changing.py"
    source = Path(sweep_runs.__file__).read_text(encoding="utf-8")
    module.write_text(source, encoding="utf-8")
    monkeypatch.setattr(sweep_runs, "__file__", str(module))
    play_sweep(sweep(tmp_path), local_threads(2), checkpoint=checkpoint)
    module.write_text(source + "\nDELAY = 2\n", encoding="utf-8")
    with pytest.raises(InputError, match="the code of its function"):
        play_sweep(sweep(tmp_path), local_threads(2), checkpoint=checkpoint)


def test_a_checkpoint_of_other_parameters_names_one(tmp_path: Path) -> None:
    file = tmp_path / "sweep.jsonl"
    play_sweep(sweep(tmp_path, delay=0.001), local_threads(2), checkpoint=file)
    with pytest.raises(InputError, match=r'its run {"delay": 0.001, .*} is none of these'):
        play_sweep(sweep(tmp_path), local_threads(2), checkpoint=file)


@pytest.mark.parametrize(
    ("damage", "line", "problem"),
    [
        (lambda lines: [lines[0], b"{,", *lines[2:]], 2, "is not JSON"),
        (lambda lines: [lines[0], lines[1], b"[]", *lines[2:]], 3, "is not a JSON object"),
        (lambda lines: [lines[0], b'{"key":"a"}', *lines[1:]], 2, "must have `key`"),
        (
            lambda lines: [*lines, b'{"key":"a","result":1,"cpu_seconds":1}'],
            6,
            "does not belong to the sweep",
        ),
        (lambda _: [b"name,age", b"x,3"], 1, "is not JSON"),
        (lambda _: [b"\xff\xfe"], 1, "is not JSON"),
    ],
)
def test_a_damaged_checkpoint_is_refused_with_its_line(
    damage: Callable[[list[bytes]], list[bytes]], line: int, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "sweep.jsonl"
    play_sweep(sweep(tmp_path, 4), local_threads(2), checkpoint=file)
    content = b"\n".join(damage(file.read_bytes().splitlines())) + b"\n"
    file.write_bytes(content)
    with pytest.raises(InputError, match=problem) as error:
        play_sweep(sweep(tmp_path, 4), local_threads(2), checkpoint=file)
    assert error.value.line == line
    assert file.read_bytes() == content


def test_a_file_that_is_no_checkpoint_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("no line's end", encoding="utf-8")
    with pytest.raises(InputError, match="is not JSON"):
        play_sweep(sweep(tmp_path), local_threads(2), checkpoint=file)
    assert file.read_text(encoding="utf-8") == "no line's end"
    for other in (tmp_path, Path("/dev/zero")):
        with pytest.raises(FileError, match="is no plain file"):
            play_sweep(sweep(tmp_path), local_threads(2), checkpoint=other)
    with pytest.raises(FileError, match="cannot write"):
        play_sweep(sweep(tmp_path), local_threads(2), checkpoint=tmp_path / "no" / "file")


def test_two_sweeps_cannot_share_a_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "sweep.jsonl"

    def again(_what: str, _done: int, _total: int) -> None:
        with pytest.raises(FileError, match="another sweep is writing"):
            play_sweep(sweep(tmp_path), local_threads(1), checkpoint=file)

    play_sweep(sweep(tmp_path), local_threads(1), checkpoint=file, progress=again)


@pytest.mark.parametrize("room", [10, 400, 900])
def test_a_checkpoint_without_room_ends_the_sweep_and_goes_on_later(
    room: int, tmp_path: Path
) -> None:
    file = tmp_path / "sweep.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        with pytest.raises(FileError, match="cannot write"):
            play_sweep(sweep(tmp_path), local_threads(1), checkpoint=file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.stat().st_size == room
    assert play_sweep(sweep(tmp_path), local_threads(1), checkpoint=file).results == expected(10)


def nan() -> float:
    """Returns a number that JSON cannot hold."""
    return float("nan")


def test_what_cannot_be_a_sweep_is_refused() -> None:
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: play_sweep(Sweep(note, [{"number": {1}}])), "parameters of run 1: Object of type"),
        (lambda: play_sweep(Sweep(note, [{"number": float("inf")}])), "parameters of run 1"),
        (lambda: play_sweep(Sweep(lambda: 1, [{}]), local_processes(1)), "put it at the top level"),
        (lambda: play_sweep(Sweep(nan, [{}]), local_threads(1)), "not JSON compliant"),
        (lambda: play_sweep(Sweep(note, [{"x": 1}]), local_threads(1)), "TypeError: note"),
        (lambda: local_processes(0), "there are 0 workers; give at least 1"),
    ]
    for do, said in cases:
        with pytest.raises(SweepError, match=said):
            do()
    assert play_sweep(Sweep(lambda: 1, [{}]), local_threads(1)).results == [1]


def test_a_worker_of_another_version_performs_nothing(tmp_path: Path) -> None:
    outcome = perform(note, json.dumps({"number": 1, "folder": str(tmp_path)}), "0.0.9")
    assert outcome.failure is not None
    assert "the sweep is of 0.0.9" in outcome.failure.message
    assert performed(tmp_path) == {}


def test_the_program_says_what_an_interrupted_sweep_keeps() -> None:
    app = typer.Typer(cls=Program)

    @app.command()
    def one() -> None:
        raise SweepInterruptedError("3 of 10 runs are finished")

    @app.command()
    def two() -> None:
        pass

    result = CliRunner().invoke(app, ["one"])
    assert result.exit_code == 130
    assert result.stderr == "error: interrupted: 3 of 10 runs are finished\n"


def test_the_scaling_of_workers_is_measured_by_clock_and_by_processor_time() -> None:
    (measured,) = scaling.measure(workers=2, runs=2, rounds=1, jobs=100)
    assert measured.together_seconds > 0
    assert measured.together_cpu_seconds > 0
    known = scaling.Round(2, 4.0, 3.8, 2.5, 4.0)
    assert known.speedup == pytest.approx(1.6)
    assert known.cpu_speedup == pytest.approx(1.9)
    assert known.alone_share == pytest.approx(0.95)
    assert known.together_share == pytest.approx(0.8)
