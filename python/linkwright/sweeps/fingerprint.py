"""Computes hashes of the inputs and the code, which decide a sweep's results beside its parameters.

A checkpoint that was made of other bytes than these must not be gone on from. Half of its results
would be of one thing and half of another. A version is too coarse for that, since files change and
extensions are built anew under the same one.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from linkwright.files import PathOrName, read_bytes

__all__ = ["code_sha256", "inputs_sha256"]


def inputs_sha256(inputs: Sequence[PathOrName]) -> str:
    """The hash of the contents of files, in their order; their names do not matter.

    A folder counts with all files in it, by their names below it.

    Raises:
        FileError: If one cannot be read.
    """
    whole = hashlib.sha256()
    for path in map(Path, inputs):
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else []
        for file in files or [path]:
            name = file.relative_to(path).as_posix().encode()
            whole.update(hashlib.sha256(name).digest())
            whole.update(hashlib.sha256(read_bytes(file)).digest())
    return whole.hexdigest()


def code_sha256(function: Callable[..., Any]) -> str:
    """The hash of the module that a function is of, where that is a file, and of the core."""
    file = getattr(sys.modules.get(function.__module__), "__file__", None)
    # A function that people type at a prompt is in no file.
    module = b"" if file is None or not Path(file).is_file() else read_bytes(Path(file))
    return hashlib.sha256(hashlib.sha256(module).digest() + _core_sha256()).hexdigest()


@cache
def _core_sha256() -> bytes:
    # As it was when it was first looked at, which is near to what this process runs.
    core = find_spec("linkwright._core")
    file = None if core is None else core.origin
    if file is None:
        return hashlib.sha256(b"").digest()
    # It is no input: one built for debugging is larger than any of those may be.
    with Path(file).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
