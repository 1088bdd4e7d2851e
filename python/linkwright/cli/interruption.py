"""SIGTERM, by which schedulers and `kill` end programs: it ends a command as Ctrl-C does.

So what a command has begun is undone, and nothing that it wrote aside stays behind. Python by
itself would die on the spot.
"""

from __future__ import annotations

import signal
from types import FrameType

__all__ = ["INTERRUPTED", "TERMINATED", "TerminatedError", "code", "obey_termination"]

# The codes that a shell gives for a program that died of the signal: 128 and its number.
INTERRUPTED, TERMINATED = 130, 143


class TerminatedError(KeyboardInterrupt):
    """SIGTERM ends the command."""


# Says which signal came to this process; a command line library keeps only that one did.
_received: list[int] = []


def obey_termination() -> None:
    """From now on SIGTERM raises TerminatedError, unless whoever started the process ignores it."""
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def code() -> int:
    """The exit code of a command that was interrupted."""
    return TERMINATED if signal.SIGTERM in _received else INTERRUPTED


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    _received.append(number)
    raise TerminatedError
