"""What a server's state survives: kills, links, readers that leave, and other programs."""

from __future__ import annotations

import copy
import errno
import json
import os
import pickle
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import bridged, fails, linkwright, parsed, program

from linkwright import Allocator, Pattern, System
from linkwright.allocation import Owner
from linkwright.collectives import packing_rate
from linkwright.errors import AllocationError

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such locks, links and signals")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A state's file in a folder of its own."""
    (tmp_path / "server").mkdir()
    return tmp_path / "server" / "state.json"


def at(file: Path) -> list[object]:
    """The options of a DGX-1V with its state in the file."""
    return ["-m", "dgx1-v100", "--state", file]


def held(file: Path) -> dict[str, list[int]]:
    """Who holds what."""
    found: dict[str, list[int]] = parsed("state", "show", *at(file))["held"]
    return found


def test_killed_two_hundred_times_at_every_step_no_gpu_has_two_owners(tmp_path: Path) -> None:
    words = [sys.executable, str(HERE / "kill_state.py"), str(tmp_path), "200"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
    counted = json.loads(ended.stdout.splitlines()[-1])
    assert counted["kills"] >= 200
    # Most kills come before the state is written or after the answer is; some fall between.
    assert 0 < counted["leaks"] < counted["kills"]


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_killed_once_the_answer_is_read_the_state_has_it(file: Path, sent: signal.Signals) -> None:
    told: dict[str, str] = {}
    for number in range(4):
        process = program("allocate", *at(file), "-k", 2, "--job", f"job-{number}")
        assert process.stdout is not None
        answer = process.stdout.readline().decode()
        process.send_signal(sent)
        process.communicate(timeout=60)
        told[f"job-{number}"] = answer.strip().removeprefix("CUDA_VISIBLE_DEVICES=")
    shown = {job: ",".join(map(str, gpus)) for job, gpus in held(file).items()}
    assert shown == told
    assert sorted(",".join(told.values()).split(",")) == list("01234567")


def test_the_packing_rate_is_sought_while_others_change_the_state(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (["--json"], []):
        job = f"job-{len(words)}"

        def asking(*given: object, job: str = job) -> object:
            # The program that is asked here would wait for ever for a lock that were held.
            assert job in held(file)
            process = program("state", "mark-unhealthy", 7, *at(file))
            assert process.wait(timeout=60) == 0
            process.communicate()
            return packing_rate(*given)  # type: ignore[arg-type]

        monkeypatch.setattr("linkwright.cli.worth.packing_rate", asking)
        result = linkwright("allocate", *at(file), "-k", 2, "--job", job, *words)
        assert result.exit_code == 0, result.output
    assert set(held(file)) == {"job-0", "job-1"}


def test_an_answer_that_fails_takes_back_its_own_change_alone(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> object:
        monkeypatch.undo()
        assert linkwright("allocate", *at(file), "-k", 3, "--job", "other").exit_code == 0
        raise KeyboardInterrupt

    monkeypatch.setattr("linkwright.cli.worth.packing_rate", failing)
    result = linkwright("allocate", *at(file), "-k", 2, "--job", "mine", "--json")
    assert (result.exit_code, result.stdout) == (130, "")
    assert list(held(file)) == ["other"]


def test_an_answer_that_fails_leaves_to_another_what_was_given_anew(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> object:
        monkeypatch.undo()
        assert linkwright("state", "release", "mine", *at(file)).exit_code == 0
        assert linkwright("allocate", *at(file), "-k", 4, "--job", "mine").exit_code == 0
        raise KeyboardInterrupt

    monkeypatch.setattr("linkwright.cli.worth.packing_rate", failing)
    result = linkwright("allocate", *at(file), "-k", 2, "--job", "mine", "--json")
    assert result.exit_code == 130
    assert len(held(file)["mine"]) == 4


def test_a_fresh_paste_under_another_name_is_told_how_to_keep_both(
    file: Path, tmp_path: Path
) -> None:
    paste = EXAMPLES / "topologies" / "dgx1-v100.nvidia-smi.txt"
    fresh = tmp_path / "fresh.txt"
    fresh.write_bytes(paste.read_bytes())
    parsed("allocate", "-m", paste, "--state", file, "-k", 2, "--job", "a")
    before = file.read_bytes()
    asked = ["allocate", "-k", 2, "--job", "b"]
    said = fails(2, *asked, "-m", fresh, "--state", file)
    assert "this one is `fresh`, and its GPUs and links are the same: `dgx1-v100`" in said
    assert "`machine import --name`" in said
    assert "delete" not in said
    assert file.read_bytes() == before
    # The same machine goes on under the state's name, and another has a file of its own.
    named = tmp_path / "named.toml"
    assert linkwright("machine", "import", fresh, "--name", "dgx1-v100", "-o", named).exit_code == 0
    parsed(*asked, "-m", named, "--state", file)
    parsed(*asked, "-m", fresh, "--state", tmp_path / "fresh.json")
    assert set(parsed("state", "show", "-m", paste, "--state", file)["held"]) == {"a", "b"}
    fresh.write_text(fresh.read_text().replace("NV2", "NV1"))
    renewed = tmp_path / "dgx1-v100.txt"
    fresh.rename(renewed)
    said = fails(2, *asked, "-m", renewed, "--state", file)
    assert "GPUs 1 and 2 are joined by 2 of nvlink2 (50 GB/s) and the host" in said
    assert "in the state, by 1 of nvlink2 (25 GB/s) and the host" in said


def test_a_state_is_one_state_by_whatever_link(file: Path, tmp_path: Path) -> None:
    link, folder = tmp_path / "link.json", tmp_path / "folder"
    link.symlink_to(file)
    folder.symlink_to(file.parent)
    names = [link, file, folder / "state.json", link]
    started = [
        program("allocate", *at(name), "--json", "-k", 2, "--job", f"job-{number}")
        for number, name in enumerate(names)
    ]
    given = [json.loads(process.communicate(timeout=120)[0])["gpus"] for process in started]
    assert sorted(gpu for gpus in given for gpu in gpus) == list(range(8))
    assert link.is_symlink()
    assert held(link) == held(file)
    assert len(held(file)) == 4


def test_a_private_state_stays_private(file: Path) -> None:
    parsed("allocate", *at(file), "-k", 1, "--job", "a")
    file.chmod(0o600)
    parsed("allocate", *at(file), "-k", 1, "--job", "b")
    parsed("state", "release", "a", *at(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_state_of_two_hard_names_or_none_to_be_replaced_is_refused(file: Path) -> None:
    parsed("allocate", *at(file), "-k", 1, "--job", "a")
    other = file.with_name("other.json")
    os.link(file, other)
    assert "has 2 names (hard links)" in fails(2, "state", "release", "a", *at(other))
    other.unlink()
    os.mkfifo(other)
    assert "is no plain file" in fails(2, "allocate", *at(other), "-k", 1, "--job", "a")
    assert "is a directory" in fails(2, "allocate", *at(file.parent), "-k", 1, "--job", "a")


def test_a_program_that_waits_for_its_turn_can_be_ended(file: Path, tmp_path: Path) -> None:
    import fcntl

    edges = tmp_path / "edges"
    os.mkfifo(edges)
    handle = os.open(file.parent, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    process = program("allocate", *at(file), "--edges", edges, "--job", "a")
    with edges.open("wb") as stream:
        stream.write(b"0 1\n")
    process.terminate()
    out, err = process.communicate(timeout=60)
    os.close(handle)
    assert (process.returncode, out, err) == (143, b"", b"error: interrupted\n")
    assert list(file.parent.iterdir()) == []


def test_who_waits_for_a_lock_says_so_and_gives_up_with_a_code_of_its_own(file: Path) -> None:
    import fcntl

    put(file, a=None)
    before = file.read_bytes()
    handle = os.open(file.parent, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    given_up = f"error: another program has kept `{file}` locked for {{}}; nothing is changed; "
    commands: list[list[object]] = [
        ["allocate", "-k", 1, "--job", "b"],
        ["state", "release", "a"],
        ["state", "reconcile", "--none"],
        ["state", "mark-unhealthy", 7],
        ["state", "mark-healthy", 7],
        ["state", "mark-lost", 7],
    ]
    for words in commands:
        assert fails(5, *words, *at(file), "--wait", "0s").startswith(given_up.format("0s"))
    result = linkwright("state", "release", "a", *at(file), "--wait", "2s")
    assert (result.exit_code, result.stdout) == (5, "")
    told, error = result.stderr.splitlines()
    assert told == (
        f"waiting for `{file}`, which another program keeps locked; --wait gives up after 2s"
    )
    assert error.startswith(given_up.format("2s"))
    # Looking needs no lock.
    assert held(file) == {"a": [0]}
    assert file.read_bytes() == before
    os.close(handle)
    assert parsed("state", "release", "a", *at(file), "--wait", "0s")["released"] == [0]
    assert "--wait needs --state" in fails(2, "allocate", "-m", "dgx2", "-k", 1, "--wait", "2s")
    assert "is no span of time" in fails(2, "state", "release", "a", *at(file), "--wait", "5")


def test_a_job_s_owner_is_recorded_and_shown(file: Path) -> None:
    begun = time.time()
    process = program("allocate", *at(file), "-k", 2, "--job", "a", "--lease", "1h30m")
    process.communicate(timeout=60)
    owner = parsed("state", "show", *at(file))["owners"]["a"]
    # The process that asked is the one that started the command.
    assert owner["pid"] == os.getpid()
    assert owner["host"] == os.uname().nodename
    assert begun - 1 <= owner["time"] <= time.time() + 1
    assert owner["lease"] == 5400
    shown = linkwright("state", "show", *at(file)).stdout
    assert f"process {os.getpid()} on " in shown
    assert "lease of 1h30m" in shown
    assert "lease of 1h30m is over" not in shown


def put(file: Path, **jobs: Owner | None) -> None:
    """A state in which jobs of one GPU hold theirs."""
    allocator = Allocator(System("dgx1-v100"), "baseline")
    for job, owner in jobs.items():
        assert allocator.allocate(job, Pattern("ring", 1), owner=owner) is not None
    file.write_text(allocator.save(), encoding="utf-8")


def test_jobs_that_do_not_live_are_released(file: Path) -> None:
    put(file, a=Owner(1, "here", 5.0), b=Owner(1, "here", 6.0), old=None)
    words = ("state", "reconcile", *at(file))
    before = file.read_bytes()
    found = parsed(*words, "--dry-run", stdin="b\n")
    assert (found["released"], found["dry_run"]) == ({"a": [0], "old": [2]}, True)
    assert file.read_bytes() == before
    found = parsed(*words, stdin="\n  b  \nelsewhere\n")
    assert found["released"] == {"a": [0], "old": [2]}
    assert held(file) == {"b": [1]}
    assert linkwright(*words, stdin="b\n").stdout == "released nothing\n"
    assert "names no job" in fails(2, *words, stdin="\n")
    assert held(file) == {"b": [1]}
    said = linkwright(*words, "--none").stdout
    assert said == "released job b: 1 (process 1 on here, 1970-01-01 00:00:06 UTC)\n"
    assert held(file) == {}


def test_a_list_from_a_scheduler_that_failed_releases_nothing(file: Path) -> None:
    put(file, a=None, b=Owner(1, "here", 5.0))
    before = file.read_bytes()
    words = ("state", "reconcile", *at(file))
    error = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
    for listed, line in ((error, 1), (f"a\n\n{error}\n", 3), ("a\n\x1b[31mb\n", 2), ("\ta 7\n", 1)):
        for more in ((), ("--dry-run",), ("--grace", "1d")):
            said = fails(2, *words, *more, stdin=listed)
            assert said.startswith(f"error: <stdin>:{line}:1: this is no job's name: `")
            assert "nothing is released" in said
            assert "--none" in said
    assert file.read_bytes() == before


def test_a_list_may_name_a_job_with_blanks_that_is_known(file: Path) -> None:
    parsed("allocate", *at(file), "-k", 2, "--job", "my training")
    parsed("allocate", *at(file), "-k", 2, "--job", "other")
    words = ("state", "reconcile", *at(file))
    # As `squeue -o %20j` pads it.
    assert list(parsed(*words, stdin="  my training   \r\n17\n")["released"]) == ["other"]
    assert list(held(file)) == ["my training"]


def test_a_job_that_may_be_younger_than_the_list_stays(file: Path) -> None:
    now = time.time()
    put(file, young=Owner(1, "here", now - 30), future=Owner(1, "here", now + 600))
    words = ("state", "reconcile", *at(file))
    assert parsed(*words, "--grace", "1min", stdin="other\n")["released"] == {}
    assert parsed(*words, stdin="other\n")["released"] == {"young": [0]}
    assert held(file) == {"future": [1]}


def test_a_lease_that_is_over_is_shown_and_ends_no_living_job(file: Path) -> None:
    now = time.time()
    put(file, over=Owner(1, "here", now - 100, 50.0), runs=Owner(1, "here", now - 100, 5000.0))
    assert "lease of 50s is over" in linkwright("state", "show", *at(file)).stdout
    words = ("state", "reconcile", *at(file))
    result = linkwright(*words, stdin="over\nruns\n")
    assert (result.exit_code, result.stdout) == (0, "released nothing\n")
    assert "warning: job over lives on (process 1 on here" in result.stderr
    assert parsed(*words, "--expired")["released"] == {"over": [0]}
    assert held(file) == {"runs": [1]}


def test_what_cannot_be_reconciled_is_said(file: Path) -> None:
    assert "there is no state" in fails(2, "state", "reconcile", "--none", *at(file))
    put(file, a=None)
    words = ("state", "reconcile", "--state", file)
    assert "give one" in fails(2, *words, "-m", "dgx1-v100", "--none", "--expired")
    assert "names the living jobs" in fails(2, *words, "-m", "-", stdin="a\n")
    for span in ("x", "", "5", "2w", "9999999h", "-1h"):
        wrong = fails(2, *words, "-m", "dgx1-v100", "--grace", span, stdin="a\n")
        assert "is no span of time" in wrong
    assert "--lease needs --state" in fails(2, "allocate", "-m", "dgx2", "-k", 1, "--lease", "2h")


@pytest.mark.parametrize(
    ("number", "code"), [(errno.EIO, 2), (errno.ENOSPC, 2), (errno.EINVAL, 0), (errno.ENOTSUP, 0)]
)
def test_a_disk_that_fails_once_the_state_is_written_is_no_success(
    file: Path, number: int, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync
    refused: list[int] = []

    def failing(descriptor: int) -> None:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            return fsync(descriptor)
        refused.append(descriptor)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", failing)
    words = ("allocate", *at(file), "-q", "-k", 2, "--job", "a")
    if code:
        said = fails(code, *words)
        assert said.startswith(f"error: cannot put the folder of `{file}` on the disk: ")
        assert os.strerror(number)[1:] in said
        assert "the state may or may not hold the job" in said
        # No second write, which might succeed and prove nothing.
        assert len(refused) == 1
    else:
        result = linkwright(*words)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.startswith("CUDA_VISIBLE_DEVICES=2,3\n")
    monkeypatch.undo()
    assert held(file) == {"a": [2, 3]}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_reconciliation_of_which_nobody_was_told_is_taken_back(file: Path) -> None:
    put(file, a=None)
    before = file.read_bytes()
    with Path("/dev/full").open("wb") as full:
        process = program("state", "reconcile", "--none", *at(file), stdout=full)
        process.communicate(timeout=60)
    assert process.returncode == 2
    assert file.read_bytes() == before


def test_an_owner_is_a_value() -> None:
    owner = Owner(7, "node", 1795313410.123456, 60)
    assert (owner.pid, owner.host, owner.time, owner.lease) == (7, "node", 1795313410.123456, 60)
    assert pickle.loads(pickle.dumps(owner)) == owner == copy.deepcopy(owner)
    assert owner != Owner(7, "node", 1795313410.123457, 60)
    assert (owner.is_over(1795313470.0), owner.is_over(1795313471.0)) == (False, True)
    for pid, moment in ((-1, 0.0), (2**32, 0.0), (1, -1.0), (1, float("nan")), (1, 1e12)):
        with pytest.raises(AllocationError):
            Owner(pid, "node", moment)


def lose(text: str, lost: int) -> str:
    """What `nvidia-smi topo -m` prints when a GPU has vanished: the others are counted anew."""
    table, legend = text.split("\n\n", 1)
    rows = [[cell.strip() for cell in line.split("\t")] for line in table.splitlines()]
    gone = rows[0].index(f"GPU{lost}")
    del rows[gone]
    for row in rows:
        del row[gone]
    table = "\n".join("\t".join(row) for row in rows)
    for gpu in range(lost + 1, 8):
        table = table.replace(f"GPU{gpu}", f"GPU{gpu - 1}")
    return f"{table}\n\n{legend}"


@pytest.mark.parametrize("gone", [0, 1])
def test_a_machine_that_lost_a_gpu_keeps_its_jobs(tmp_path: Path, gone: int) -> None:
    text = (HERE.parents[1] / "examples/topologies/dgx1-v100.nvidia-smi-topo-m.txt").read_text()
    paste, file = tmp_path / "node.txt", tmp_path / "state.json"
    paste.write_text(text, encoding="utf-8")
    at = ("-m", paste, "--state", file)
    told = {job: parsed("allocate", *at, "-k", 2, "--job", job)["gpus"] for job in "abc"}
    whole = parsed("state", "show", *at)
    lost = whole["free"][gone]
    other = whole["free"][1 - gone]
    paste.write_text(lose(text, lost), encoding="utf-8")
    result = linkwright("state", "show", *at)
    assert result.exit_code == 0, result.stderr
    assert "warning: the machine has lost 1 GPU: " in result.stderr
    assert f"GPU {lost} is gone by the ids of the state, and marked unhealthy" in result.stderr
    now = parsed("state", "show", *at)
    assert now["lost"] == [lost]
    for job, gpus in told.items():
        assert now["held"][job] == [gpu - (gpu > lost) for gpu in gpus]
    # One is left, and it is the one that was free.
    gone_before = other > lost
    assert parsed("allocate", *at, "-k", 1, "--job", "d")["gpus"] == [other - gone_before]
    assert "none is free" in fails_with_a_warning(3, "allocate", *at, "-k", 1, "--job", "e")
    paste.write_text(text, encoding="utf-8")
    back = parsed("state", "show", *at)
    assert (back["lost"], back["unhealthy"], back["free"]) == ([], [lost], [])
    assert back["held"] == told | {"d": [other]}


def fails_with_a_warning(code: int, *words: object) -> str:
    """The last line of a command that fails after a warning."""
    result = linkwright(*words)
    assert (result.exit_code, result.stdout) == (code, "")
    return result.stderr.splitlines()[-1]


def test_where_it_is_open_which_gpu_is_lost_somebody_must_say_it(file: Path) -> None:
    machine = file.with_name("machine.toml")
    machine.write_text(bridged(4), encoding="utf-8")
    at = ("-m", machine, "--state", file)
    assert parsed("allocate", *at, "-k", 1, "--job", "a")["gpus"] == [0]
    machine.write_text(bridged(3), encoding="utf-8")
    refused = fails(2, "allocate", *at, "-k", 1, "--job", "b")
    assert "the machine has 3 of its 4 GPUs left" in refused
    assert "lost may be 0 or 1 or 2 or 3, and jobs or marks are on some" in refused
    assert "mark-lost" in refused
    marked = parsed("state", "mark-lost", 2, *at)
    assert (marked["lost"], marked["held"], marked["free"]) == ([2], {"a": [0]}, [1, 2])
    # It is said once.
    assert parsed("allocate", *at, "-k", 1, "--job", "b")["gpus"] == [1]
