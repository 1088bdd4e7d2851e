"""Reading a file with an error that helps."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, TypeAlias

from linkwright.arguments import taking, whole
from linkwright.errors import ArgumentError, FileError, InputError, brief, given, printable

__all__ = [
    "LARGEST_INPUT",
    "LARGEST_TEXT",
    "PathOrName",
    "cause_of",
    "decode",
    "existing",
    "is_read_once",
    "lasting",
    "path_of",
    "portable_name",
    "read_bytes",
    "read_head",
    "read_members",
    "read_named",
    "read_stream",
    "read_text",
    "reading_once",
    "sha256",
]

# In bytes, of a trace's file or a list of jobs: twenty times the largest real input.
LARGEST_INPUT = 64 * 2**20
# This limits texts that people write, or that a tool prints of one machine or network. It is a
# hundred times the largest real one. A larger text is refused before it takes 100 MB.
LARGEST_TEXT = 16 * 2**20
# Of all files of an archive: more than 64 KiB of each of 16,384 ranks.
LARGEST_ARCHIVE = 2**30

# Contents of pipes and the like, by the device and number of each.
_kept: ContextVar[dict[tuple[int, int], bytes] | None] = ContextVar("_kept", default=None)

# People name a file so, or something that has a name of its own.
PathOrName: TypeAlias = str | os.PathLike[str]


def path_of(argument: str, value: object, reader: str | None = None) -> Path:
    """The path that an argument is.

    Args:
        argument: Its name.
        value: The value that was given.
        reader: The function that reads a text that was pasted in place of a path.

    Raises:
        ArgumentError: If it is neither a text nor a path.
        FileError: If no file has such a name: it is a pasted text, holds a NUL, or is too long.
            Also if the system does not say whether it is there.
    """
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(path, str):
        raise ArgumentError(given(value), "give a path, as a str or a pathlib.Path", argument)
    if "\n" in path or "\r" in path:
        raise _no_name("a path cannot have several lines", path, reader)
    if "\0" in path:
        raise FileError(f"no file has a NUL in its name: `{brief(path)}`", "look at the path")
    try:
        # Whether it is there does not matter, but a name may be too long to look for.
        Path(path).exists()
    except OSError as error:
        raise _no_name(f"no file is there: {cause_of(error)}", path, reader) from error
    return Path(path)


def existing(argument: str, value: object, reader: str | None = None) -> Path | None:
    """The path that an argument is; None where nothing is there.

    Raises:
        ArgumentError: If it is neither a text nor a path.
        FileError: If no file has such a name, or the system does not say whether it is there.
    """
    path = path_of(argument, value, reader)
    return path if path.exists() else None


def _no_name(problem: str, path: str, reader: str | None) -> FileError:
    remedy = "name a file" if reader is None else f"name a file; {reader} reads a text"
    return FileError(f"{problem}: `{brief(path)}`", remedy)


@taking(most=whole)
def read_text(path: PathOrName, most: int = LARGEST_TEXT) -> str:
    """Returns the text of a UTF-8 file of at most `most` bytes.

    Raises:
        FileError: If there is no such file, it cannot be read or is larger than that.
        InputError: If it is not UTF-8, with the place of the first bad byte.
    """
    path = path_of("path", path)
    return decode(str(path), read_bytes(path, most))


def read_bytes(path: Path, most: int = LARGEST_INPUT) -> bytes:
    """Reads a file of at most `most` bytes.

    Raises:
        FileError: If there is no such file, it cannot be read or is larger than that.
    """
    kept = _kept.get()
    try:
        status = path.stat() if kept is not None else None
        if kept is None or status is None or stat.S_ISREG(status.st_mode):
            with path.open("rb") as stream:
                return read_stream(str(path), stream, most)
        key = (status.st_dev, status.st_ino)
        if key not in kept:
            with path.open("rb") as stream:
                kept[key] = read_stream(str(path), stream, most)
        return kept[key]
    except FileError:
        raise
    except FileNotFoundError as error:
        raise FileError(f"there is no file `{path}`", "look at the path") from error
    except IsADirectoryError as error:
        raise FileError(f"`{path}` is a directory", "name a file in it") from error
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read `{path}`: {cause_of(error)}") from error


def read_head(path: Path, count: int) -> bytes:
    """Reads the first bytes of a file, at most `count`.

    Raises:
        OSError: If there is no such file, or it cannot be read.
    """
    if is_read_once(path):
        return read_bytes(path)[:count]
    with path.open("rb") as stream:
        return stream.read(count)


@contextmanager
def reading_once() -> Iterator[None]:
    """While it lasts, what can be read only once, such as a pipe, is read once and kept.

    So whoever looks at a file's format first, and reads it then, may be given `<(...)`.
    """
    token = _kept.set({}) if _kept.get() is None else None
    try:
        yield
    finally:
        if token is not None:
            _kept.reset(token)


def is_read_once(path: Path) -> bool:
    """Whether a pipe or a device is there, which gives what it holds only once."""
    with suppress(OSError):
        return not (stat.S_ISREG(mode := path.stat().st_mode) or stat.S_ISDIR(mode))
    return False


@contextmanager
def lasting(path: Path, content: bytes) -> Iterator[Path]:
    """A file with the content that other processes can read: the path's, or a copy of a pipe."""
    if not is_read_once(path):
        yield path.absolute()
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="linkwright-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(content)
        yield copy


def read_members(paths: Sequence[Path]) -> list[bytes]:
    """The contents of an archive's files; all are looked at before the first is read.

    Raises:
        FileError: If one cannot be read, is no plain file, or is larger than `LARGEST_INPUT`; or if
            all are larger than `LARGEST_ARCHIVE`.
    """
    whole = 0
    for path in paths:
        if is_read_once(path):
            # A pipe would wait for its writer, and a device has no end.
            raise FileError(f"`{path}` is no plain file", "copy the archive's own file there")
        # Reading it says why there is no size.
        size_of = path.stat().st_size if path.exists() else 0
        whole += size_of
        for size, most, what in (
            (size_of, LARGEST_INPUT, f"`{path}` has"),
            (whole, LARGEST_ARCHIVE, f"the archive's files up to `{path}` have"),
        ):
            if size > most:
                raise FileError(
                    f"{what} more than {most // 2**20:,} MiB",
                    "record fewer iterations or fewer calls",
                )
    return [read_bytes(path) for path in paths]


def read_stream(file: str, stream: BinaryIO, most: int) -> bytes:
    """Returns all bytes of a stream of at most `most` bytes; `file` names it in errors.

    Raises:
        FileError: If it holds more than that.
        OSError: If it cannot be read.
    """
    mebibytes = f"{most / 2**20:g}"
    # Not at once, since a device such as /dev/zero never ends.
    pieces = []
    held = 0
    while piece := stream.read(min(2**20, most + 1 - held)):
        pieces.append(piece)
        held += len(piece)
        if held > most:
            raise FileError(
                f"`{file}` holds more than {mebibytes} MiB",
                "name a text of a machine, a scenario, jobs or a state",
            )
    return b"".join(pieces)


def decode(file: str, content: bytes) -> str:
    """The content as UTF-8 text, without a byte order mark; `file` names it in errors.

    Raises:
        InputError: If it is not UTF-8, with the place of the first bad byte.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", errors="replace")
        line = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
        value = f"byte 0x{content[error.start]:02x}"
        remedy = "save the file as UTF-8"
        if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
            remedy = "save the file as UTF-8; it looks like UTF-16, which PowerShell's `>` writes"
        raise InputError(file, line, column, "the text is not UTF-8", value, remedy) from error


def cause_of(error: Exception) -> str:
    """Says why the system refused, for the end of a sentence."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:]
    return str(error)


def read_named(
    scenario: Path, position: tuple[int, int], name: str, most: int = LARGEST_INPUT
) -> bytes:
    """Reads a file of at most a given number of bytes that a scenario names.

    Where it cannot be read, the error is the scenario's.

    Raises:
        InputError: If it cannot be read, with the place where it is named.
    """
    try:
        return read_bytes(scenario.parent / name, most)
    except FileError as error:
        problem, remedy = error.problem, error.remedy or "let it be read"
        raise InputError(printable(str(scenario)), *position, problem, name, remedy) from error


def sha256(content: bytes) -> str:
    """The hash that a manifest gives for an input."""
    return hashlib.sha256(content).hexdigest()


def portable_name(path: str) -> str:
    """The path as written, unless it says where on this computer the file lies."""
    return os.path.basename(path) if Path(path).is_absolute() else path  # noqa: PTH119
