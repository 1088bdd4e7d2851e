"""Holds the functions that the tested sweeps run; small, since every worker imports it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

__all__ = ["fail", "kill_always", "kill_once", "note", "performed", "slowly"]


def note(number: int, folder: str, delay: float = 0.0) -> dict[str, object]:
    """Writes down that it was performed, and gives what JSON changes: a pair and a float."""
    time.sleep(delay)
    with (Path(folder) / f"run-{number}").open("a") as log:
        log.write("x")
    return {"pair": (number, number / 7), "number": number}


def slowly(number: int, folder: str) -> dict[str, object]:
    """Does as `note`, in long enough for something to happen meanwhile."""
    return note(number, folder, 0.1)


def fail(number: int, folder: str, bad: list[int]) -> dict[str, object]:
    """Does as `note`, but for the bad numbers."""
    if number in bad:
        raise ValueError(f"no {number}\nat all")
    return note(number, folder)


def kill_once(number: int, folder: str, bad: int) -> dict[str, object]:
    """Does as `note`; the bad one kills its worker the first time."""
    if number == bad:
        mark = Path(folder) / "killed"
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return note(number, folder)


def kill_always(number: int, folder: str, bad: int) -> dict[str, object]:
    """Does as `note`; the bad one kills its worker each time."""
    if number == bad:
        os.kill(os.getpid(), signal.SIGKILL)
    return note(number, folder, 0.02)


def performed(folder: Path) -> dict[int, int]:
    """How often each run was performed to its end."""
    logs = folder.glob("run-*")
    return {int(log.name.removeprefix("run-")): log.stat().st_size for log in logs}
