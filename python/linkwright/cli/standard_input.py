"""What is given to a command instead of a file."""

from __future__ import annotations

import sys

import typer

from linkwright import FileError, Machine, load_machine
from linkwright.cli import output
from linkwright.files import LARGEST_TEXT, cause_of, decode, read_stream

__all__ = ["given_machine", "standard_input"]

# What stands for standard input where a file is named.
DASH = "-"


def standard_input(most: int = LARGEST_TEXT) -> str:
    """All of standard input as text, of at most so many bytes.

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
        content = read_stream("<stdin>", sys.stdin.buffer, most)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot read standard input: {cause_of(error)}") from error
    return decode("<stdin>", content)


def given_machine(name: str, *, warn: bool = True) -> Machine:
    """The machine of a preset, a file, or standard input, which is written `-`.

    Where `warn`, what probably makes its description wrong is said on standard error, before
    any answer.

    Raises:
        FileError: If there is no such preset or file, or standard input cannot be read.
        InputError: If the text describes no machine, with line and column.
    """
    machine = (
        Machine.import_text(standard_input(), "<stdin>") if name == DASH else load_machine(name)
    )
    if warn:
        output.notes("Warning", machine.warnings, stderr=True)
    return machine
