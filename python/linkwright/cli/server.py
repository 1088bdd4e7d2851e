"""A server's state in a file: read, changed and rewritten as one step."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from linkwright import Allocator, FileError, Machine, read_text
from linkwright.cli import output
from linkwright.errors import printable

__all__ = ["Stored", "describe", "open_state", "stored"]


@dataclass(frozen=True)
class Stored:
    """A server's state while no other program may change it.

    Attributes:
        allocator: The state, to be changed.
        file: Where it is kept.
    """

    allocator: Allocator
    file: Path

    @contextmanager
    def saved(self) -> Iterator[None]:
        """Saves the state when the block has ended well.

        In the block stands what tells the user of the change: a state must not say that a job
        holds GPUs of which nobody was told.

        Raises:
            FileError: If the file cannot be written.
        """
        with output.saving(self.file, self.allocator.save()):
            yield


@contextmanager
def stored(
    file: Path,
    machine: Machine,
    *,
    policy: str = "preserve",
    bandwidth_model: str = "sound",
    bandwidth_profile: str = "mapa",
) -> Iterator[Stored]:
    """The allocator in the file's state, or idle if there is no file, to be saved in the block.

    Two programs that do this at once take turns.

    Raises:
        FileError: If the file cannot be read.
        InputError: If it is not a saved state.
        AllocationError: If it is the state of another machine.
    """
    if not file.parent.is_dir():
        raise FileError(f"there is no directory `{file.parent}`; make it first")
    with _turn(file.parent):
        allocator = open_state(
            file,
            machine,
            policy=policy,
            bandwidth_model=bandwidth_model,
            bandwidth_profile=bandwidth_profile,
        )
        yield Stored(allocator, file)


def open_state(
    file: Path,
    machine: Machine,
    *,
    policy: str = "preserve",
    bandwidth_model: str = "sound",
    bandwidth_profile: str = "mapa",
) -> Allocator:
    """The allocator in the file's state, or idle if there is no file."""
    return Allocator(
        machine,
        policy,
        bandwidth_model=bandwidth_model,
        bandwidth_profile=bandwidth_profile,
        state=read_text(file) if file.exists() else None,
        state_file=printable(str(file)),
    )


def describe(allocator: Allocator) -> dict[str, object]:
    """The state as data."""
    return {
        "free": allocator.free,
        "unhealthy": allocator.unhealthy,
        "held": allocator.held,
    }


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Keeps other programs from changing a state in this folder meanwhile."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    # The folder itself is locked: the state's file is replaced, and a lock file would stay.
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
