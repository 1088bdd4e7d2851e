"""Writes tables of commands as Parquet."""

from __future__ import annotations

import io
from pathlib import Path

from linkwright.scenario import Table
from linkwright.errors import FileError
from linkwright.writing import replace_file

__all__ = ["write_parquet"]


def write_parquet(table: Table, path: Path) -> None:
    """Writes a table, which appears whole or not at all.

    Raises:
        FileError: If the file cannot be written.
    """
    import pyarrow
    import pyarrow.parquet

    content = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(table), content)
    try:
        replace_file(path, content.getvalue())
    except OSError as error:
        raise FileError(f"cannot write `{path}`: {error.strerror or error}") from error
