"""What is given to a command instead of a file."""

from __future__ import annotations

import sys

import typer

from linkwright import FileError
from linkwright.files import cause_of, decode, read_stream

__all__ = ["standard_input"]


def standard_input() -> str:
    """All of standard input as text.

    Raises:
        FileError: If it is closed, cannot be read, or holds more than a file may.
        InputError: If it is not UTF-8, with the place of the first bad byte.
    """
    if sys.stdin is None:
        raise FileError("standard input is closed; name a file")
    # A terminal waits for a paste, and should say so.
    if sys.stdin.isatty():
        typer.echo("paste the text, then press Ctrl-D on a line of its own", err=True)
    try:
        content = read_stream("<stdin>", sys.stdin.buffer)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot read standard input: {cause_of(error)}") from error
    return decode("<stdin>", content)
