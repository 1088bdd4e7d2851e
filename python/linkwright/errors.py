"""The exceptions of Linkwright: each names the thing, the value and what would work.

``LinkwrightError`` is the root, so that one ``except`` catches all of them. Below it stands one
class for unreadable input, one for files, and one for each layer of the model.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Sequence

__all__ = [
    "AllocationError",
    "ApplicationError",
    "ArgumentError",
    "CollectiveError",
    "ContractError",
    "FileError",
    "InputError",
    "LinkwrightError",
    "MachineError",
    "OutOfMemoryError",
    "ScheduleError",
    "SimulationError",
    "SweepError",
    "SweepInterruptedError",
    "TimeLimitError",
    "brief",
    "did_you_mean",
    "given",
    "neither",
    "printable",
]

# An error shows this much of a pasted text: characters of its first line.
LONGEST_START = 60
# By such a note PyO3 names the argument that it could not take.
NAMED = re.compile(r"while processing '(\w+)'")
# A quoted value that is longer than any name or path which people write, or has several lines.
LONG = re.compile(r"`([^`/]{200,}|[^`]{400,}|[^`\n]*\n[^`]*)(?:`|$)")


def brief(text: str) -> str:
    """The start of a text's first line; the whole text where that is no more."""
    line = next((line for line in text.splitlines() if line.strip()), "").strip()
    start = line[:LONGEST_START].rstrip()
    return text if start == text else f"{start}…"


def printable(text: str) -> str:
    """The text with every character that would act on a terminal, or is none, escaped."""
    return "".join(
        character
        if character.isprintable()
        else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )


class LinkwrightError(Exception):
    """Any failure that Linkwright reports; its text is the problem and the remedy.

    Attributes:
        problem: The fault, in words.
        remedy: The advice that would work; None where nothing is known.

    Examples:
        >>> from linkwright import LinkwrightError, Pattern
        >>> try:
        ...     Pattern("rings", 4)
        ... except LinkwrightError as error:
        ...     print(error.problem)
        there is no pattern `rings`
    """

    problem: str
    remedy: str | None

    def __init__(self, problem: str = "", remedy: str | None = None) -> None:
        # A name that was pasted is told by its start.
        problem = LONG.sub(lambda found: f"`{brief(found[1])}`", problem)
        # The arguments stay as given, so that the error survives pickling between processes.
        super().__init__(problem, remedy)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        remedy = "" if self.remedy is None else f"; {self.remedy}"
        # A quoted text, such as a job's name, may hold codes that move a terminal's cursor.
        return printable(f"{self._what()}{remedy}")

    def _what(self) -> str:
        """Returns the text before the remedy."""
        return self.problem


class ArgumentError(LinkwrightError, TypeError):
    """An argument of a type that a call does not take; the message names it and what would do.

    Attributes:
        argument: The argument's name, and the place in it, as `gpus[1]`.
    """

    argument: str
    remedy: str

    def __init__(self, was: str = "", remedy: str = "", argument: str = "") -> None:
        self._was, self.argument = was, argument
        super().__init__(self._told(), remedy)
        # All of them, for pickling.
        self.args = (was, remedy, argument)

    def _told(self) -> str:
        return f"`{self.argument}` is {self._was}" if self.argument else f"it is {self._was}"

    def add_note(self, note: str) -> None:
        """Takes the argument's name from the note by which the extension tells it."""
        named = NAMED.fullmatch(note)
        if named is None:
            super().add_note(note)
            return
        # The place in the argument is there already.
        self.argument = f"{named[1]}{self.argument}"
        self.problem = self._told()
        self.args = (self._was, self.remedy, self.argument)


class InputError(LinkwrightError, ValueError):
    """Says that Linkwright cannot accept a text, and gives the remedy.

    Attributes:
        file: The file's name as the caller gave it, or ``<text>``.
        line: The line of the offending value, from one.
        column: Its column in characters, from one.
        problem: The fault, in words, without the value.
        value: The offending value, shortened, without control characters; may be empty.
        remedy: The advice that would work.
    """

    remedy: str

    def __init__(
        self, file: str, line: int, column: int, problem: str, value: str, remedy: str
    ) -> None:
        super().__init__(problem, remedy)
        # All of them, for pickling.
        self.args = (file, line, column, problem, value, remedy)
        self.file = file
        self.line = line
        self.column = column
        self.value = value

    def _what(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}"
        # A problem that ends with the value's name has said it.
        said = not self.value or self.problem.endswith("`{}`".format(self.value.strip('"')))
        value = "" if said else f": `{self.value}`"
        return f"{place}: {self.problem}{value}"


class FileError(LinkwrightError, OSError):
    """Says that a file is not there, cannot be read or cannot be written, and gives the remedy."""


class MachineError(LinkwrightError):
    """Devices and links that make no machine, or a machine that does not exist."""


class AllocationError(LinkwrightError):
    """A request for GPUs that no policy can meet or that names no policy."""


class ContractError(LinkwrightError):
    """A class in the place of a policy or a rule that breaks a promise of its contract.

    `linkwright.contracts` says what each kind of class promises.
    """


class CollectiveError(LinkwrightError):
    """A collective that cannot be planned, timed, run or exported as asked for."""


class ScheduleError(CollectiveError):
    """A schedule that does not bring about its collective; the message names the step."""


class SimulationError(LinkwrightError):
    """A scenario that cannot run."""


class TimeLimitError(SimulationError):
    """Kernels that had not ended when their simulated time was up, such as one that spins."""


class OutOfMemoryError(SimulationError):
    """A step of training that takes more memory than a GPU has."""


class ApplicationError(SimulationError):
    """Parameters or a number of ranks that an application cannot have."""


class SweepError(LinkwrightError):
    """A sweep that cannot be performed, or a run of it that failed."""


class SweepInterruptedError(KeyboardInterrupt):
    """Ctrl-C during a sweep; the message says what is kept and how to go on."""


def given(value: object) -> str:
    """A value as an error shows it: its start, and its type."""
    shown = repr(brief(value)) if isinstance(value, str) else brief(reprlib.repr(value))
    kind = type(value).__name__
    return "None" if value is None else f"{shown}, {'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def did_you_mean(given: str, names: Sequence[str], *, most: int = 1) -> str:
    """Asks for one of at most `most` names that are near `given`; returns nothing where none is."""
    # Imported where it is needed: it takes longer than reading a machine.
    from difflib import get_close_matches

    # Names that go on where the given one ends are meant, however much longer they are.
    longer = [name for name in names if name.startswith(f"{given}-")]
    found = longer or get_close_matches(given, names, n=most, cutoff=0.62)
    close = " or ".join(f"`{name}`" for name in found)
    return f"did you mean {close}? " if close else ""


def neither(what: str, given: str, names: Sequence[str], known: str, *, most: int = 1) -> FileError:
    """Refuses a text that is neither a name nor a file, and gives at most `most` near names."""
    advice = did_you_mean(given, names, most=most)
    return FileError(f"there is neither {what} nor a file `{brief(given)}`", f"{advice}{known}")


def __dir__() -> list[str]:
    return sorted(__all__)
