"""Standard output and standard error, for as long as a command runs.

A command has done its work only when its answer is printed. A saved state gives a job its GPUs,
but the job must be told which. So a standard output that fails is an error of its own,
which a command can meet before it saves anything. Remarks on standard error are not worth a
failure.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

from linkwright.errors import FileError, LinkwrightError
from linkwright.files import cause_of

__all__ = ["ReaderLeftError", "guarded", "is_quiet", "is_wide", "keep_quiet", "print_wide"]


class ReaderLeftError(LinkwrightError):
    """Standard output was closed by its reader, as `head` does when it has enough."""


class _Stream(ABC):
    """A text stream that answers for its own failures."""

    def __init__(self, stream: TextIO | None) -> None:
        # A stream that was closed before the start is None in Python.
        self._open = stream is not None
        self._stream: TextIO = io.StringIO() if stream is None else stream

    def write(self, text: str) -> int:
        """Writes the text, or fails in the stream's own way."""
        try:
            if not self._open:
                raise OSError(0, "it is closed")
            # Libraries probe a stream with an empty text and ignore the outcome. A full device
            # refuses even that text. The failure must wait for a text that matters.
            if text != "":
                self._write(text)
            return len(text)
        except OSError as error:
            self._failed(error)
            return len(text)

    def _write(self, text: str) -> None:
        """Writes all of the text."""
        raw = getattr(self._stream, "buffer", None)
        if not isinstance(raw, io.RawIOBase):
            self._stream.write(text)
            return
        # Unbuffered (PYTHONUNBUFFERED, python -u) Python takes one write of a part for success.
        lines = text.replace("\n", os.linesep)
        left = memoryview(lines.encode(self._stream.encoding, self._stream.errors or "strict"))
        while left:
            written = raw.write(left)
            if written is None:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            left = left[written:]

    def flush(self) -> None:
        """Passes on what is held back, or fails in the stream's own way."""
        try:
            self._stream.flush()
        except OSError as error:
            self._failed(error)

    @abstractmethod
    def _failed(self, error: OSError) -> None:
        """Says how this stream deals with its failure."""

    def _discard(self) -> None:
        """Sends the rest nowhere, so that the interpreter does not fail on it at its end."""
        try:
            descriptor = self._stream.fileno()
        except (OSError, ValueError):
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Output(_Stream):
    wide = False

    def _failed(self, error: OSError) -> None:
        self._discard()
        if isinstance(error, BrokenPipeError):
            raise ReaderLeftError("nobody reads standard output") from error
        raise FileError(f"cannot write to standard output: {cause_of(error)}") from error


class _Remarks(_Stream):
    quiet = False

    def write(self, text: str) -> int:
        return len(text) if self.quiet else super().write(text)

    def isatty(self) -> bool:
        # Nobody watches what is not said: no bar is drawn.
        return not self.quiet and self._stream.isatty()

    def _failed(self, error: OSError) -> None:
        del error
        self._discard()


def keep_quiet(wanted: bool = True) -> None:
    """Says nothing more on standard error, or goes on to, while it is guarded."""
    if isinstance(sys.stderr, _Remarks):
        sys.stderr.quiet = wanted


def is_quiet() -> bool:
    """Whether nothing is to be said on standard error."""
    return isinstance(sys.stderr, _Remarks) and sys.stderr.quiet


def print_wide() -> None:
    """Has tables printed whole, whatever the terminal's width, while output is guarded."""
    if isinstance(sys.stdout, _Output):
        sys.stdout.wide = True


def is_wide() -> bool:
    """Whether tables are to be printed whole."""
    return isinstance(sys.stdout, _Output) and sys.stdout.wide


@contextmanager
def guarded() -> Iterator[None]:
    """While it lasts, printing on standard output raises FileError or ReaderLeftError."""
    output = cast(TextIO, _Output(sys.stdout))
    remarks = cast(TextIO, _Remarks(sys.stderr))
    with redirect_stdout(output), redirect_stderr(remarks):
        yield
