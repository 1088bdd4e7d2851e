"""Programs as people name them: an application's skeleton, or a recorded trace."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from linkwright import Program, applications, read_otf2
from linkwright.errors import FileError, InputError, SimulationError, printable
from linkwright.files import read_text

__all__ = ["load_program", "read_program", "trace_of"]

# How the first file of an OTF2 archive ends.
ANCHOR = ".otf2"


def load_program(
    name_or_path: str | Path, *, ranks: int | None = None, **parameters: object
) -> Program:
    """What the ranks of a job do: an application's skeleton, or a recorded trace.

    Args:
        name_or_path: A name of `applications`, or the path of an OTF2 archive (its folder or
            its anchor file, such as `traces.otf2`) or of GOAL text. A name comes first.
        ranks: How many ranks an application has; a trace has its own.
        parameters: An application's, such as `message="64 KiB"`.

    Raises:
        FileError: If there is neither such an application nor such a file.
        InputError: If the trace is cut or damaged, or the text is no GOAL.
        SimulationError: If the application cannot run on so many ranks, or the trace records
            nothing that can be played again.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    return read_program(name_or_path, ranks=ranks, **parameters)[0]


def read_program(
    name_or_path: str | Path, *, ranks: int | None = None, **parameters: object
) -> tuple[Program, list[str]]:
    """The same, and notes: what was left out of a trace or could not be told, each a sentence."""
    names = [name for name, _, _ in applications()]
    if str(name_or_path) in names:
        if ranks is None:
            raise SimulationError(f"`{name_or_path}` needs a number of ranks; give it, such as 64")
        return Program.skeleton(str(name_or_path), ranks, **parameters), []
    trace = trace_of(name_or_path)
    if trace is None:
        raise FileError(_neither(name_or_path, names))
    if ranks is not None or parameters:
        what = (
            "a number of ranks"
            if ranks is not None
            else f"the parameter `{next(iter(parameters))}`"
        )
        raise SimulationError(
            f"`{name_or_path}` is a trace, which needs no more; leave out {what}, which is for "
            f"{', '.join(names)}"
        )
    if trace.suffix == ANCHOR:
        try:
            return read_otf2(trace)
        except InputError as error:
            # The archive knows its files from its own folder on.
            file = printable(str(trace.parent / error.file))
            place = (file, error.line, error.column)
            raise InputError(*place, error.problem, error.value, error.remedy) from error
    try:
        return Program.from_goal(read_text(trace), printable(trace.stem)), []
    except InputError as error:
        # A program has its file's name, but a mistake is looked for by the file's path.
        place = (printable(str(trace)), error.line, error.column)
        raise InputError(*place, error.problem, error.value, error.remedy) from error


def trace_of(name_or_path: str | Path) -> Path | None:
    """The file that a trace begins with; None for an application, or where there is no file.

    Raises:
        FileError: If it is a folder without an archive, or with several.
    """
    path = Path(name_or_path)
    if str(name_or_path) in (name for name, _, _ in applications()) or not path.exists():
        return None
    if not path.is_dir():
        return path
    anchors = sorted(path.glob(f"*{ANCHOR}"))
    if len(anchors) != 1:
        found = "holds none" if not anchors else f"holds {', '.join(file.name for file in anchors)}"
        raise FileError(f"`{path}` is no OTF2 archive, which has one file *{ANCHOR}: it {found}")
    return anchors[0]


def _neither(given: str | Path, known: Sequence[str]) -> str:
    close = get_close_matches(str(given), known, n=1, cutoff=0.5)
    advice = f"did you mean `{close[0]}`? " if close else ""
    return (
        f"there is neither an application nor a file `{given}`; {advice}"
        f"the applications are {', '.join(known)}"
    )
