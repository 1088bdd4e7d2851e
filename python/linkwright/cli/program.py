"""How every command ends: its exit code, and one line on standard error if it failed."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from linkwright import LinkwrightError
from linkwright.errors import FileError, InputError, SweepInterruptedError
from linkwright.cli.interruption import INTERRUPTED, TERMINATED
from linkwright.cli.interruption import code as interruption_code
from linkwright.cli.streams import ReaderLeftError, guarded, keep_quiet
from linkwright.errors import printable
from linkwright.extras import advice
from linkwright.files import reading_once
from linkwright.limits import limit_of

__all__ = [
    "EPILOG",
    "EXIT_CODES",
    "FAILED",
    "GIVEN_BY",
    "NO_VERDICT",
    "BusyError",
    "LimitReached",
    "NotNowError",
    "Program",
]

# The numbers are an interface: scripts test them.
FAILED, MISUSED, NOT_NOW, NO_VERDICT, BUSY, UNREAD = 1, 2, 3, 4, 5, 141

EXIT_CODES = {
    0: "done",
    FAILED: "what was asked for cannot be done; doctor: a cause is found",
    MISUSED: "bad usage, or a file that cannot be read or written",
    NOT_NOW: "it cannot be met now: too few GPUs are free",
    NO_VERDICT: "the files allow no verdict",
    BUSY: "another program keeps the state locked; nothing is changed",
    INTERRUPTED: "interrupted by Ctrl-C",
    UNREAD: "the reader of standard output left early, as head does",
    TERMINATED: "ended by SIGTERM, as by a scheduler or kill",
}

# The commands that give a code, where not every command does.
GIVEN_BY = {
    NOT_NOW: ["allocate"],
    NO_VERDICT: ["collective doctor"],
    BUSY: [
        "allocate",
        "state release",
        "state reconcile",
        "state mark-lost",
        "state mark-unhealthy",
        "state mark-healthy",
    ],
}

# What shows where a fault of the program's own arose.
TRACEBACK = "LINKWRIGHT_TRACEBACK"

# Python says this of bytes that are no UTF-8, where they stand for a text.
SURROGATES = "surrogates not allowed"

# The most characters of an unforeseen error's own words that are shown.
MOST_TOLD = 200

# The mark keeps each code on a line of its own.
EPILOG = "\b\nExit codes:\n" + "\n".join(f"  {code:<5}{what}" for code, what in EXIT_CODES.items())


class NotNowError(LinkwrightError):
    """A request that could be met at another time."""


class BusyError(LinkwrightError):
    """A change of what another program keeps locked for too long."""


class _StoppedError(LinkwrightError):
    """An interruption that says what is kept of the work."""


class LimitReached(SystemExit):
    """Ends a command that a limit of the shell stopped.

    Libraries that are half loaded may crash when the interpreter takes them down. The process ends
    without that.
    """


class Program(TyperGroup):
    """The root command, which turns every failure into one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Calls the command."""
        try:
            return super().invoke(ctx)
        except SweepInterruptedError as error:
            # Of an interruption Typer lets only the code through.
            raise _StoppedError(str(error)) from error

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Runs one command line and exits with its code."""
        del standalone_mode
        # The streams are guarded to the end: the error's own line may meet a closed one.
        with guarded(), reading_once():
            try:
                code = super().main(
                    args,
                    prog_name,
                    complete_var,
                    standalone_mode=False,
                    windows_expand_args=windows_expand_args,
                    **extra,
                )
            except ReaderLeftError:
                code = UNREAD
            except (KeyboardInterrupt, typer.Abort):
                code = INTERRUPTED
            except typer.TyperException as error:
                code = _misused(error)
            except _StoppedError as error:
                sys.exit(_fail(f"interrupted: {error}", interruption_code()))
            except NotNowError as error:
                code = _fail(str(error), NOT_NOW)
            except BusyError as error:
                code = _fail(str(error), BUSY)
            except (InputError, FileError) as error:
                limit = limit_of(error)
                code = _fail(f"{error}; {limit}" if limit else str(error), MISUSED)
                _leave_at_a_limit(error, code)
            except LinkwrightError as error:
                code = _fail(str(error), FAILED)
                _leave_at_a_limit(error, code)
            except ModuleNotFoundError as error:
                missing = advice(error)
                code = _fault(error) if missing is None else _fail(missing, FAILED)
            except (SystemExit, GeneratorExit):
                raise
            except BaseException as error:
                code = _unforeseen(error)
                _leave_at_a_limit(error, code)
            if code == INTERRUPTED:
                # Typer gives this code for whatever interrupts it.
                code = _fail("interrupted", interruption_code())
        sys.exit(code if isinstance(code, int) else 0)


def _leave_at_a_limit(error: BaseException, code: int) -> None:
    if limit_of(error) is not None:
        raise LimitReached(code) from error


def _misused(error: typer.TyperException) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        # A group without a command: its help is the message.
        typer.echo(error.format_message(), err=True)
        return MISUSED
    return _fail(error.format_message(), error.exit_code)


def _unforeseen(error: BaseException) -> int:
    limit = limit_of(error)
    if limit is not None:
        return _fail(str(limit), FAILED)
    if isinstance(error, OSError):
        return _fail(f"{error.filename or 'a file'}: {error.strerror or error}", MISUSED)
    if isinstance(error, UnicodeEncodeError) and SURROGATES in error.reason:
        # The system hands on as it is what was typed.
        return _fail(f"`{error.object[:MOST_TOLD]}` is no UTF-8; type it in UTF-8", MISUSED)
    # A panic of the core is no Exception; what reaches this line is a mistake of ours.
    return _fault(error)


def _fault(error: BaseException) -> int:
    """The last resort: what nobody foresaw is one line, too."""
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
        return _fail("this is a fault of Linkwright; please report it with the lines above", FAILED)
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" ({Path(frame.filename).name}:{frame.lineno})" for frame in last)
    what = f"{type(error).__name__}: {error}".removesuffix(": ")
    if len(what) > MOST_TOLD:
        what = f"{what[:MOST_TOLD]}…"
    advice = f"{TRACEBACK}=1 in the environment shows the traceback; please report it"
    return _fail(f"this is a fault of Linkwright: {what}{where}; {advice}", FAILED)


def _fail(message: str, code: int) -> int:
    # What people typed and what files hold may move a terminal's cursor.
    line = printable(" ".join(message.split("\n")))
    # An error is no remark.
    keep_quiet(False)
    typer.echo(f"error: {line}", err=True)
    return code
