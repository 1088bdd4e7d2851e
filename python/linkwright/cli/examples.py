"""`linkwright examples` writes the files that the documentation's commands name."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

import linkwright
from linkwright.cli import output
from linkwright.cli.options import Json
from linkwright.errors import FileError
from linkwright.files import cause_of
from linkwright.texts import counted

# Beside the package's modules: a link in the repository, the files themselves in what is installed.
SOURCE = Path(linkwright.__file__).with_name("examples")


def examples(
    directory: Annotated[
        Path, typer.Argument(metavar="DIRECTORY", help="Where to; made by the command.")
    ] = Path("examples"),
    json: Json = False,
) -> None:
    """Write the examples that the documentation's commands name into a new directory."""
    written = copy_examples(directory)
    if json:
        output.print_json({"directory": str(directory), "files": written})
    else:
        output.say(f"wrote {counted(len(written), 'file')} into {directory}")


def copy_examples(directory: Path) -> list[str]:
    """Copies the examples into a directory that is made for them, whole or not at all.

    Returns:
        The files, by their names below it.

    Raises:
        FileError: If it is there already, or cannot be written to.
    """
    if directory.exists():
        raise FileError(f"`{directory}` is there already", "name a directory that is not")
    try:
        with TemporaryDirectory(prefix=".part-", dir=directory.absolute().parent) as aside:
            made = Path(aside) / "examples"
            shutil.copytree(SOURCE, made, ignore=shutil.ignore_patterns("__pycache__"))
            made.rename(directory)
    except OSError as error:
        raise FileError(f"cannot write into `{directory}`: {cause_of(error)}") from error
    files = (file for file in directory.rglob("*") if file.is_file())
    return sorted(file.relative_to(directory).as_posix() for file in files)
