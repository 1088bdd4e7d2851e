"""Limits that a shell, a container or a scheduler sets: named in one line, and nobody's fault.

Whoever meets one has printed no answer before it. A limit of processes holds for no superuser:
there the test gives the right to be above it away.
"""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import fails, surroundings, write_scenario

from linkwright import LinkwrightError
from linkwright.cli import machine
from linkwright.limits import check_room, limit_of

if sys.platform == "win32":
    pytest.skip("no such limits", allow_module_level=True)

import resource

# Linux numbers the rights to be above limits so, and the call that gives one away.
RIGHTS, GIVE_AWAY = (21, 24), 24
NOBODY = 65534
MIB = 2**20
# One size of rings, which takes no time to plan.
TIMED = (
    *("collective", "time", "all-reduce", "-m", "dgx1-v100", "--algorithm", "nccl-ring"),
    *("-b", "1M", "-e", "1M"),
)


def no_processes() -> None:
    """Lets this process make no other, and no thread."""
    if os.geteuid() == 0:
        system = ctypes.CDLL(None)
        for right in RIGHTS:
            system.prctl(GIVE_AWAY, right, 0, 0, 0)
        os.setresuid(NOBODY, 0, 0)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))


def ended(limit: Callable[[], None], *words: object) -> tuple[int, str, str]:
    """Runs a command under a limit; gives its exit code and both its texts."""
    done = subprocess.run(
        [sys.executable, "-m", "linkwright", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=limit,
        # A panic would be told with where it arose.
        env={key: value for key, value in surroundings().items() if key != "RUST_BACKTRACE"},
    )
    return done.returncode, done.stdout, done.stderr


def refused(limit: Callable[[], None], *words: object) -> str:
    """The one line of a command that a limit ends before it prints anything."""
    code, out, said = ended(limit, *words)
    assert (code, out) == (1, ""), said
    assert len(said.splitlines()) == 1, said
    assert said.startswith("error: ")
    assert "a fault of Linkwright" not in said
    return said


def limited(kind: int, most: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (most, most))


@pytest.mark.skipif(sys.platform != "linux", reason="no such rights")
def test_where_no_thread_may_be_made_it_is_done_without(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    at = ["-m", "dgx1-v100", "--state", state]
    # The packing rate beside the answer is sought in a thread.
    code, out, said = ended(no_processes, "allocate", *at, "-k", 4, "--job", "a")
    assert (code, out.splitlines()[0]) == (0, "CUDA_VISIBLE_DEVICES=0,3,2,1")
    assert "packing" in said
    # One that is planned and timed, and one that plays with a look at progress now and then.
    code, out, said = ended(no_processes, *TIMED)
    assert (code, said) == (0, "")
    code, out, said = ended(no_processes, "replay", "kripke", "--ranks", "8", "--json")
    assert (code, said) == (0, "")
    said = refused(
        no_processes, "collective", "run", "all-reduce", "-m", "dgx1-v100", "--on", "0,3"
    )
    assert "the thread of rank 0 did not start" in said
    assert "ulimit -u" in said


@pytest.mark.skipif(sys.platform != "linux", reason="no such rights")
def test_a_report_under_a_limit_names_it_and_writes_nothing(tmp_path: Path) -> None:
    scenario, out = write_scenario(tmp_path), tmp_path / "out"
    words = ("run", scenario, "-o", out)
    said = refused(limited(resource.RLIMIT_NOFILE, 8), *words)
    assert "only 8 files may be open at once; raise the limit, such as by `ulimit -n 1024`" in said
    # Half loaded, a library crashed where the interpreter took it down.
    for space in (325, 400):
        said = refused(limited(resource.RLIMIT_AS, space * MIB), *words)
        assert f"its address space is limited to {space} MiB; " in said
        assert "ulimit -v" in said
    plot = (*TIMED, "--plot", tmp_path / "plot.svg")
    assert "ulimit -v" in refused(limited(resource.RLIMIT_AS, 2**32), *plot)
    assert "this user may have 1; raise the limit (ulimit -u" in refused(no_processes, *plot)
    assert [path.name for path in tmp_path.iterdir()] == [scenario.name]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "this computer has too little memory for it; use a smaller size"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "too little memory"),
        (ImportError("a.so: failed to map segment from shared object"), "too little memory"),
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (ImportError("a.so: cannot open shared object file: Too many open files"), "ulimit -n"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "ulimit -u"),
    ],
)
def test_a_limit_is_told_by_whatever_error(
    error: BaseException, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def preset_names() -> object:
        raise error

    monkeypatch.setattr(machine, "preset_names", preset_names)
    line = fails(1, "machine", "list")
    assert said in line
    assert "a fault of Linkwright" not in line


def test_what_is_no_limit_is_none() -> None:
    itself = ValueError("raised from itself")
    itself.__cause__ = itself
    assert limit_of(itself) is None
    assert limit_of(ValueError("too many values")) is None
    # A pipe that nobody empties gives the same number as a process that may not be made.
    told = LinkwrightError("cannot write")
    told.__cause__ = BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
    assert limit_of(told) is None
    check_room(files=4, threads=2, space=MIB)
