"""Runs commands in forked children and kills each child at one step of its work.

A step is a call of the system by which the program opens, changes, locks or closes files, or
prints. A child dies by SIGKILL just before its n-th one. The modules are imported once, before the
first fork, so that hundreds of kills take seconds.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Ended", "run_until"]

STEPS = [
    *("open", "fdopen", "fsync", "replace", "rename", "unlink", "rmdir", "mkdir"),
    *("close", "fchmod", "fchown", "scandir", "fstat"),
]


@dataclass(frozen=True)
class Ended:
    """Says how a child ended.

    Attributes:
        killed: Whether it was killed at the step; else it had fewer, and ended by itself.
        code: Its exit code, if it ended by itself.
        out: The text that it had printed.
    """

    killed: bool
    code: int
    out: str


def run_until(step: int, work: Callable[[], object]) -> Ended:
    """Does the work in a forked child, killed before its step of this number, counted from one."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _work(step, work, writer)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as stream:
        out = stream.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return Ended(True, -1, out)
    return Ended(False, os.WEXITSTATUS(status), out)


def _work(step: int, work: Callable[[], object], writer: int) -> None:
    code = 70
    try:
        os.dup2(writer, 1)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        _count(step)
        work()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    finally:
        os._exit(code)


def _count(deadly: int) -> None:
    """Has this process die just before its step of this number."""
    done = 0

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*words: Any, **options: Any) -> Any:
            nonlocal done
            done += 1
            if done == deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*words, **options)

        return step

    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))
    fcntl.flock = counted(fcntl.flock)
    sys.stdout.write = counted(sys.stdout.write)  # type: ignore[method-assign]
    sys.stdout.flush = counted(sys.stdout.flush)  # type: ignore[method-assign]
