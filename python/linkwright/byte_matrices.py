"""Reads how many bytes each rank has for each other: a table of numbers, or NumPy's file."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import Any

from linkwright.errors import InputError, brief, printable
from linkwright.files import LARGEST_INPUT, decode, read_bytes

__all__ = ["MOST_BYTES", "byte_matrix", "read_byte_matrix"]

# One rank has no more for another.
MOST_BYTES = 2**50
# More ranks are not played; it keeps what a file can ask for small.
MOST_RANKS = 16_384
# Files of NumPy begin with it.
NUMPY_MAGIC = b"\x93NUMPY"
CELL = re.compile(r"[^,;\s]+")
WHOLE = re.compile(r"\+?\d{1,20}(\.0*)?")
REMEDY = f"give whole numbers of bytes, from 0 to 2^50 ({MOST_BYTES:,})"


def read_byte_matrix(path: str | Path) -> list[list[int]]:
    """Gives the square of bytes that a file has: a row for each sender, a column for each receiver.

    Args:
        path: Text with a line for each row and commas, semicolons or blanks between numbers; lines
            that begin with `#` are left out. Or an array that NumPy saved (`.npy`).

    Raises:
        FileError: If the file cannot be read.
        InputError: If it is no square of whole numbers from 0 to 2^50, with line, column and value.
    """
    content, name = read_bytes(Path(path), LARGEST_INPUT), printable(str(path))
    if content.startswith(NUMPY_MAGIC):
        return _of_numpy(content, name)
    return byte_matrix(decode(name, content), name)


def byte_matrix(text: str, file: str = "<text>") -> list[list[int]]:
    """Gives the square of bytes in a text, as `read_byte_matrix` does.

    Raises:
        InputError: As `read_byte_matrix`.
    """
    rows: list[list[int]] = []
    lines: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        cells = list(CELL.finditer(line.rstrip("\r")))
        if not cells or line.lstrip().startswith("#"):
            continue
        if len(cells) > MOST_RANKS or len(rows) >= MOST_RANKS:
            problem = f"more than {MOST_RANKS:,} ranks"
            raise InputError(file, number, 1, problem, "", "give one row for each GPU of the job")
        rows.append([_bytes(cell, file, number) for cell in cells])
        lines.append(number)
    if not rows:
        raise InputError(file, 1, 1, "the text has no row", "", "give a row for each GPU")
    for row, number in zip(rows, lines, strict=True):
        if len(row) != len(rows):
            problem = (
                f"a row of {_count(len(row), 'value')} in a matrix of {_count(len(rows), 'row')}"
            )
            remedy = "give a square: one row and one column for each GPU of the job"
            raise InputError(file, number, 1, problem, "", remedy)
    return rows


def _bytes(cell: re.Match[str], file: str, line: int) -> int:
    """The number in a cell; a whole one may be written as NumPy's `savetxt` writes it."""
    text, place = cell[0], (file, line, cell.start() + 1)
    shown = printable(brief(text))
    if WHOLE.fullmatch(text):
        value = int(text.partition(".")[0])
    else:
        try:
            number = float(text)
        except ValueError:
            raise InputError(*place, "it is not a number of bytes", shown, REMEDY) from None
        if number != number or number in (float("inf"), float("-inf")):
            raise InputError(*place, "it is not a finite number of bytes", shown, REMEDY)
        if number < 0:
            raise InputError(*place, "it is below 0 bytes", shown, REMEDY)
        if number != int(number):
            raise InputError(*place, "it is not a whole number of bytes", shown, REMEDY)
        value = int(number)
    if value > MOST_BYTES:
        raise InputError(*place, "it is above 2^50 bytes", shown, REMEDY)
    return value


def _of_numpy(content: bytes, file: str) -> list[list[int]]:
    """Reads the square that NumPy saved; its header counts as far as there are bytes for it."""
    import numpy

    def refused(problem: str, value: str = "", place: tuple[int, int] = (1, 1)) -> InputError:
        remedy = "save a square array of whole numbers by numpy.save"
        return InputError(file, *place, problem, printable(brief(value)), remedy)

    stream = BytesIO(content)
    try:
        version = numpy.lib.format.read_magic(stream)
        read_header: Any = {
            (1, 0): numpy.lib.format.read_array_header_1_0,
            (2, 0): numpy.lib.format.read_array_header_2_0,
        }.get(version)
        if read_header is None:
            raise refused("the NumPy file has an unknown version", str(version))
        shape, in_columns, kind = read_header(stream)
    except InputError:
        raise
    # A header is a literal of Python's, which fails in many ways.
    except Exception as error:
        raise refused("the NumPy file's header cannot be read", str(error)) from error
    if len(shape) != 2 or shape[0] != shape[1] or not 0 < shape[0] <= MOST_RANKS:
        raise refused("the array is not a square matrix", str(shape))
    if kind.kind not in "iuf":
        raise refused("the array holds no numbers", str(kind))
    held = content[stream.tell() :]
    if len(held) != shape[0] * shape[1] * kind.itemsize:
        raise refused("the NumPy file's length does not match its header")
    array = numpy.frombuffer(held, kind).reshape(shape, order="F" if in_columns else "C")
    bad = ~(numpy.isfinite(array) & (array >= 0) & (array <= MOST_BYTES) & (array == array // 1))
    if bad.any():
        row, column = (int(at) for at in numpy.argwhere(bad)[0])
        # An array has no lines: a row counts as one.
        place = (row + 1, column + 1)
        value = str(array[row, column])
        raise InputError(file, *place, "it is not a number of bytes", value, REMEDY)
    return [[int(value) for value in row] for row in array]


def _count(number: int, of: str) -> str:
    return f"{number} {of}{'' if number == 1 else 's'}"
