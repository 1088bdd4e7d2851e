"""What is given to a command instead of a file."""

from __future__ import annotations

import sys

import typer

__all__ = ["standard_input"]


def standard_input() -> str:
    """All of standard input; what is not UTF-8 is replaced and left to the parser."""
    # A terminal waits for a paste, and should say so.
    if sys.stdin.isatty():
        typer.echo("paste the text, then press Ctrl-D on a line of its own", err=True)
    return sys.stdin.buffer.read().decode("utf-8", errors="replace")
