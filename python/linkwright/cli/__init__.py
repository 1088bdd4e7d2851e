"""The command line: it parses, calls the public API and prints; it models nothing.

Each file holds one group of commands, and `commands` puts them together. `program` holds how
they end: the exit code and the one line on standard error.
"""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Gives the program `linkwright`."""
    from linkwright.cli import interruption

    # Nothing here asks numpy's library of linear algebra for more, and each thread takes memory.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A thread that gives memory back; where none may start, Arrow says so in a line of its own.
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
    # Ctrl-C may come while the commands are still being loaded, before any of them can catch it.
    try:
        interruption.obey_termination()
        from linkwright.cli.commands import app
        from linkwright.cli.program import LimitReached
        from linkwright.limits import check_before_numpy
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(interruption.code())
    check_before_numpy()
    try:
        app(prog_name="linkwright")
    except LimitReached as end:
        sys.stderr.flush()
        os._exit(end.code if isinstance(end.code, int) else 1)
