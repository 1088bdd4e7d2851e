"""Sends Ctrl-C in tests for certain, hears it for certain, and measures its cost as work.

How long a computer takes to hear Ctrl-C is also a matter of who else uses it. The processor's time
that passes is not. So work is compared. After Ctrl-C no more may be done than before it, where the
whole would have been many times as much.

A process that was started with Ctrl-C ignored, as under `nohup`, hands that on to its children.
Both helpers set the handler that a terminal's program has.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["PATIENCE", "interrupt", "interrupted", "running"]

PATIENCE = 120
"""Seconds after which a process that should have ended is given up, and ended."""

LEAST = 1.0
"""Seconds of processor time that hearing Ctrl-C may always take: a start-up or two."""


@contextmanager
def interrupted(after: float = 0.5) -> Iterator[list[float]]:
    """The block is interrupted once it has worked for some seconds of processor time.

    It has to end by it, with no more work than before; the list holds both in the end.
    """
    done = threading.Event()
    work: list[float] = []
    begun = time.process_time()

    def send() -> None:
        while not done.wait(0.005):
            if (worked := time.process_time() - begun) >= after:
                work.append(worked)
                os.kill(os.getpid(), signal.SIGINT)
                return

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sender = threading.Thread(target=send)
    heard = False
    try:
        sender.start()
        yield work
    except KeyboardInterrupt:
        heard = True
    finally:
        done.set()
        sender.join()
        signal.signal(signal.SIGINT, before)
    assert work, "the work was to be long"
    assert heard, "it ended by itself"
    work.append(time.process_time() - begun - work[0])
    assert work[1] <= max(work[0], LEAST), f"{work[1]} s of work after {work[0]} s"


@contextmanager
def running(*words: object, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process that hears Ctrl-C as in a terminal, and ends with the block at the latest."""
    process = subprocess.Popen(
        [str(word) for word in words],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def worked(process: int) -> float:
    """The processor time that a process has used, in seconds."""
    stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    user, system = stat.rpartition(") ")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def interrupt(
    process: subprocess.Popen[bytes], sign: Path | None = None, after: float = 0.5
) -> tuple[bytes, bytes]:
    """Interrupts the process once it gave its sign and worked; returns output and remarks.

    It has to end by it, with no more work than before.
    """
    while process.poll() is None:
        if (sign is None or sign.exists()) and worked(process.pid) >= after:
            break
        time.sleep(0.02)
    assert process.poll() is None, "the work was to be long"
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    before = worked(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    all_of_it = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = all_of_it.ru_utime + all_of_it.ru_stime - others.ru_utime - others.ru_stime - before
    assert used <= max(before, LEAST), f"{used} s of work after {before} s"
    return out, err
