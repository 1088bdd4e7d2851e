"""Programs as people name them: an application's skeleton, or a recorded trace."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linkwright import System
from linkwright.arguments import taking, whole
from linkwright.errors import (
    ApplicationError,
    FileError,
    InputError,
    SimulationError,
    neither,
    printable,
)
from linkwright.files import (
    LARGEST_INPUT,
    PathOrName,
    existing,
    read_head,
    read_text,
    reading_once,
)
from linkwright.network import Program, applications, read_otf2
from linkwright.scenario import choice_names

__all__ = [
    "MAPPINGS",
    "Places",
    "mapping_text",
    "read_program",
    "read_program_with_notes",
    "refuse_other_formats",
    "trace_of",
    "with_notes",
]

MAPPINGS = choice_names()["mapping"]

# How the first file of an OTF2 archive ends.
ANCHOR = ".otf2"
# How much of a file tells its format, and how a compressed one begins.
HEAD = 1 << 16
GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Places:
    """Says on which GPUs of a `system` the ranks of a job stand.

    The `mapping` is a placement or the GPU of each rank. `seed` draws random placements.
    """

    system: System
    mapping: str | list[int]
    seed: int


@taking(ranks=whole)
@reading_once()
def read_program(
    name_or_path: PathOrName, *, ranks: int | None = None, **parameters: object
) -> Program:
    """Reads the program of a job's ranks: an application's skeleton, or a recorded trace.

    Args:
        name_or_path: A name of `applications`, or a path. The path is that of an OTF2 archive (its
            folder or its anchor file, such as `traces.otf2`) or of GOAL text. A name comes first.
        ranks: How many ranks an application has; a trace has its own.
        parameters: An application's, such as `message="64 KiB"`.

    Raises:
        FileError: If there is neither such an application nor such a file.
        InputError: If the trace is cut or damaged, or the text is no GOAL.
        SimulationError: If the application cannot run on that number of ranks, or the trace records
            nothing that can be played again.
        KeyboardInterrupt: Within a second of Ctrl-C.
    """
    return read_program_with_notes(name_or_path, ranks=ranks, **parameters)[0]


def read_program_with_notes(
    name_or_path: PathOrName,
    places: Places | None = None,
    /,
    *,
    ranks: int | None = None,
    **parameters: object,
) -> tuple[Program, list[str]]:
    """Reads the same, and notes: the parts of a trace left out or not told, each a sentence.

    Messages of an application may go by the places of its ranks.
    """
    names = [name for name, _, _ in applications()]
    application = next((name for name in names if name == str(name_or_path)), None)
    if application is not None:
        if ranks is None:
            raise SimulationError(
                f"`{name_or_path}` needs a number of ranks", "give it, such as 64"
            )
        try:
            if places is None:
                return Program.skeleton(application, ranks, **parameters), []
            program = places.system.skeleton(
                application,
                ranks,
                mapping=places.mapping,
                seed=places.seed,
                parameters=parameters,
            )
            return program, []
        except SimulationError as error:
            raise ApplicationError(error.problem, error.remedy) from error
    trace = trace_of(name_or_path)
    if trace is None:
        known = f"the applications are {', '.join(names)}"
        raise neither("an application", str(name_or_path), names, known)
    if ranks is not None or parameters:
        what = (
            "a number of ranks"
            if ranks is not None
            else f"the parameter `{next(iter(parameters))}`"
        )
        raise SimulationError(
            f"`{name_or_path}` is a trace, which needs no more",
            f"leave out {what}, which is for {', '.join(names)}",
        )
    if trace.suffix == ANCHOR:
        try:
            return read_otf2(trace)
        except InputError as error:
            # The archive knows its files from its own folder on.
            file = printable(str(trace.parent / error.file))
            place = (file, error.line, error.column)
            raise InputError(*place, error.problem, error.value, error.remedy) from error
    refuse_other_formats(trace, is_trace=True)
    try:
        return Program.from_goal(read_text(trace, LARGEST_INPUT), printable(trace.stem)), []
    except InputError as error:
        # A program has its file's name, but a mistake is looked for by the file's path.
        place = (printable(str(trace)), error.line, error.column)
        raise InputError(*place, error.problem, error.value, error.remedy) from error


def trace_of(name_or_path: PathOrName) -> Path | None:
    """The file that a trace begins with; None for an application, or where there is no file.

    Raises:
        FileError: If it is a folder without an archive, or with several.
    """
    if any(name == str(name_or_path) for name, _, _ in applications()):
        return None
    path = existing("name_or_path", name_or_path, "Program.from_goal")
    if path is None or not path.is_dir():
        return path
    anchors = sorted(path.glob(f"*{ANCHOR}"))
    if len(anchors) != 1:
        found = "holds none" if not anchors else f"holds {', '.join(file.name for file in anchors)}"
        raise FileError(
            f"`{path}` is not an OTF2 archive, which has one file *{ANCHOR}: it {found}"
        )
    return anchors[0]


def refuse_other_formats(trace: Path, *, is_trace: bool = False) -> None:
    """Names the format of a trace that people have and that is not read.

    Args:
        trace: The file.
        is_trace: Whether it can be nothing else; other files may begin as JSON does.

    Raises:
        FileError: If the file is a trace of PyTorch's profiler (Kineto), one of Chakra, or, where
            it is a trace, other JSON. No more of it is read than its head, however large it is.
    """
    found = _other_format(trace, is_trace)
    if found is not None:
        raise FileError(
            f"`{printable(str(trace))}` is {found}, which is not read",
            "traces are OTF2 archives, "
            "as Score-P and TAU write them, and GOAL text, as LogGOPSim's tools write it",
        )


def _other_format(trace: Path, is_trace: bool) -> str | None:
    try:
        head = read_head(trace, HEAD)
        if head.startswith(GZIP):
            # Of a part, which is all that is needed.
            head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, HEAD)
    except (OSError, zlib.error):
        # A file that cannot be read is refused where it is read as text.
        return None
    is_json = head.lstrip()[:1] in (b"{", b"[")
    if is_json and (b'"traceEvents"' in head or (b'"ph"' in head and b'"ts"' in head)):
        return "a Kineto trace, as PyTorch's profiler writes it for Chrome's viewer"
    if is_json and b'"ctrl_deps"' in head:
        return "an execution trace of PyTorch or Chakra"
    if is_json and is_trace:
        return "JSON"
    if trace.suffix == ".et":
        return "a Chakra execution trace"
    return None


def with_notes(error: SimulationError, notes: Sequence[str]) -> SimulationError:
    """The error with what a trace's reading left out, which may be its cause."""
    left_out = f"of the trace was left out: {'; '.join(notes)}" if notes else ""
    return SimulationError(error.problem, "; ".join(filter(None, (error.remedy, left_out))))


def mapping_text(mapping: PathOrName) -> str:
    """Returns the text of a file with the GPU of each rank.

    Raises:
        FileError: If there is no such file.
    """
    if existing("mapping", mapping, "mapping_from_text") is None:
        known = f"the mappings are {', '.join(MAPPINGS)}"
        raise neither("a mapping", str(mapping), MAPPINGS, known)
    return read_text(mapping)
