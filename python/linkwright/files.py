"""Reading a file with an error that helps; writing a file whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from linkwright.errors import FileError, InputError

__all__ = ["cause_of", "decode", "read_bytes", "read_text", "replace_file"]


def replace_file(path: Path, content: bytes) -> None:
    """Writes the content beside the path and renames it, so that no reader sees half of it.

    Raises:
        OSError: If the folder does not exist or cannot be written to.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_text(path: str | Path) -> str:
    """The text of a UTF-8 file.

    Raises:
        FileError: If there is no such file or it cannot be read.
        InputError: If it is not UTF-8, with the place of the first bad byte.
    """
    return decode(str(path), read_bytes(Path(path)))


def read_bytes(path: Path) -> bytes:
    """What a file holds.

    Raises:
        FileError: If there is no such file or it cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise FileError(f"there is no file `{path}`; look at the path") from error
    except IsADirectoryError as error:
        raise FileError(f"`{path}` is a directory; name a file in it") from error
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read `{path}`: {cause_of(error)}") from error


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
    """Why the system refused, for the end of a sentence."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:]
    return str(error)
