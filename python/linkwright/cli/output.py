"""Prints tables for people, JSON for programs, and progress on a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import typer

from linkwright.cli.streams import is_quiet, is_wide
from linkwright.cli.tables import Table, fitted, plain_lines, rich_table
from linkwright.documents import json_text
from linkwright.errors import FileError, printable
from linkwright.texts import counted
from linkwright.writing import replace_file

if TYPE_CHECKING:
    import rich.console

__all__ = [
    "Printer",
    "check_writable",
    "console",
    "document",
    "notes",
    "print_json",
    "print_table",
    "progress_bar",
    "rich_console",
    "save",
    "say",
    "table",
    "working",
]

# Nobody reads a pipe by its columns: a line stays whole there, however long.
PIPE_WIDTH = 1000

# A command that ends within it needs no bar, which would only flicker; in seconds.
PATIENCE = 0.5


class Printer(Protocol):
    """Where texts are printed."""

    def print(self, text: str = "", /, *, style: str | None = None) -> None:
        """Prints a text and ends its line."""


class _Pipe:
    """A file or another program: it has no width, and no style."""

    def __init__(self, stderr: bool) -> None:
        self._stderr = stderr

    def print(self, text: str = "", /, *, style: str | None = None) -> None:
        """Prints a text and ends its line."""
        del style
        say(text, stderr=self._stderr)


class _Terminal:
    """A terminal, which has a width and styles, and obeys what it is sent."""

    def __init__(self, stderr: bool) -> None:
        self._console = rich_console(stderr=stderr)

    def print(self, text: str = "", /, *, style: str | None = None) -> None:
        """Prints a text and ends its line."""
        self._console.print(printable(text), style=style)


def console(*, stderr: bool = False) -> Printer:
    """Gives where to print lines: as wide as the terminal, and never folding them in a pipe.

    A name of a machine, a job or a file may hold codes that move a terminal's cursor, or a line
    break that begins a line like ours. Such a name is printed with escapes.
    """
    return _Pipe(stderr) if _is_piped(stderr) else _Terminal(stderr)


def rich_console(*, stderr: bool = False, at_least: int = 0) -> rich.console.Console:
    """The same for what only Rich prints.

    Args:
        stderr: Whether on standard error.
        at_least: A width below which what is printed cannot be read.
    """
    from rich.console import Console

    # Names come from files, and a `[` in one is no markup.
    made = Console(
        stderr=stderr,
        width=PIPE_WIDTH if _is_piped(stderr) else None,
        highlight=False,
        markup=False,
        emoji=False,
    )
    if made.width < at_least:
        made.width = at_least
    return made


def _is_piped(stderr: bool) -> bool:
    """Whether nobody's terminal, real or pretended, is at the other end."""
    stream = sys.stderr if stderr else sys.stdout
    return not (stream.isatty() or "COLUMNS" in os.environ or "FORCE_COLOR" in os.environ)


def table(
    columns: Sequence[str],
    *,
    left: Sequence[str] = (),
    whole: Sequence[str] = (),
    kept: Sequence[str] = (),
) -> Table:
    """Gives an empty table; the columns named in `left` hold words, the others numbers."""
    return Table(columns, left, whole, kept)


def print_table(made: Table, *, stderr: bool = False) -> None:
    """Prints a table: on a terminal within its width, unless all of it is asked for.

    Numbers stay whole. Columns without room are left out, which a line below says.
    """
    if stderr and is_quiet():
        return
    if _is_piped(stderr):
        typer.echo("\n".join(plain_lines(made)), err=stderr)
        return
    where = rich_console(stderr=stderr)
    shown, left_out = (made, []) if is_wide() else fitted(made, where.width)
    drawn, width = rich_table(shown, None if is_wide() else where.width)
    rich_console(stderr=stderr, at_least=width).print(drawn)
    if left_out:
        columns = counted(len(left_out), "column is", "columns are")
        where.print(f"{columns} left out (--wide): {'; '.join(left_out)}.", style="dim")


def say(line: str, *, stderr: bool = False) -> None:
    """Prints one line, whatever the names in it hold."""
    typer.echo(printable(line), err=stderr)


def document(text: str) -> None:
    """Prints a text in a format of its own: exactly, but on a terminal, which would obey it."""
    if sys.stdout.isatty():
        text = "".join(it if it in "\n\t" else printable(it) for it in text)
    typer.echo(text, nl=False)


def print_json(value: object) -> None:
    """Prints a value as JSON, which alone is then on standard output."""
    document(json_text(value))


def notes(title: str, lines: Sequence[str], *, stderr: bool = False) -> None:
    """Prints a list of remarks, each folded below its own start; nothing if there are none."""
    if not lines:
        return
    if stderr and is_quiet():
        return
    if _is_piped(stderr):
        typer.echo(
            "\n".join([f"{title}:", *(f"- {printable(line)}" for line in lines)]), err=stderr
        )
        return
    from rich.text import Text

    where = rich_console(stderr=stderr)
    where.print(f"{title}:", style="bold")
    for line in lines:
        mark = "- "
        # A table's cells would end in blanks.
        for part in Text(printable(line)).wrap(where, where.width - len(mark)):
            part.rstrip()
            where.print(Text.assemble(mark, part))
            mark = " " * len(mark)


def save(path: Path, text: str) -> None:
    """Writes a text whole or not at all.

    Raises:
        FileError: If the folder does not exist or cannot be written to.
    """
    if path.is_dir():
        raise FileError(f"`{path}` is a directory", "name a file in it")
    if not path.parent.is_dir():
        raise FileError(f"there is no directory `{path.parent}`", "make it first")
    try:
        replace_file(path, text.encode())
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot write `{path}`: {error.strerror or error}") from error


def check_writable(directory: Path) -> None:
    """Refuses, before a long run, a directory that could not be written after it.

    Raises:
        FileError: If it is no directory, or read-only.
    """
    nearest = directory.absolute()
    while not nearest.exists():
        nearest = nearest.parent
    if not nearest.is_dir():
        raise FileError(f"cannot write into `{directory}`: `{nearest}` is no directory")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise FileError(f"cannot write into `{directory}`: `{nearest}` is read-only")


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None] | None]:
    """A function that shows what is being done, and how much of it; None off a terminal.

    The bar appears when half a second is over. A total of zero is one that nobody knows.
    """
    if not sys.stderr.isatty():
        yield None
        return
    # Its import takes longer than most commands, which show none.
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    bar = Progress(*columns, console=rich_console(stderr=True), transient=True)
    task = bar.add_task("", total=None)
    begun = time.monotonic()

    def show(what: str, done: int, total: int) -> None:
        bar.update(task, description=what, completed=done, total=total or None)
        if time.monotonic() - begun > PATIENCE:
            bar.start()

    try:
        yield show
    finally:
        bar.stop()


@contextmanager
def working(what: str) -> Iterator[None]:
    """While it lasts, a terminal shows that something is being done; nothing else does."""
    if not sys.stderr.isatty():
        yield
        return
    with rich_console(stderr=True).status(what):
        yield
