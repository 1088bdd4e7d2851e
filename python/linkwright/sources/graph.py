"""Gives the application graph of a source: the union of what its calls join."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from linkwright.errors import FileError, InputError, SimulationError, printable
from linkwright.files import PathOrName, path_of, read_bytes
from linkwright.sources import LANGUAGES, c_family, is_source, py_family
from linkwright.sources.calls import CALLS
from linkwright.sources.changes import Changes
from linkwright.sources.follow import Follower
from linkwright.sources.tree import parse
from linkwright.sources.union import SourceEdge, SourceGraph, SourceNote, Union

__all__ = ["SourceEdge", "SourceGraph", "SourceNote", "load_source"]

# A source has at most this many bytes, whose tree takes 100 MB.
LARGEST_SOURCE = 1 << 19
MOST_RANKS = 128
# Says what a source is followed with while nobody has said of how many GPUs it is.
PROBED = 2

REMEDY = "write who talks to whom as a file for --pattern, a line per pair"


def load_source(path: PathOrName, *, gpus: int | None = None) -> SourceGraph:
    """Gives who talks to whom in a program, from its source in C, C++, CUDA or Python.

    The calls of NCCL, cudaMemcpyPeer, MPI and torch.distributed count. Each GPU is a rank, and each
    rank is followed through the source with its own number.

    Args:
        path: The file; its name tells the language.
        gpus: How many GPUs run it; the source's where absent.

    Raises:
        FileError: If there is no such file, it is no source, or it has more than 512 KiB.
        InputError: If it does not parse, calls nothing that moves data between GPUs, or is of
            another number of GPUs; with its place.
        SimulationError: If nobody says of how many GPUs it is.
    """
    path = path_of("path", path)
    if not is_source(path):
        known = ", ".join(LANGUAGES)
        raise FileError(f"`{printable(str(path))}` is no source", f"sources end in {known}")
    try:
        content = read_bytes(path, LARGEST_SOURCE)
    except FileError as error:
        if not path.is_file() or path.stat().st_size <= LARGEST_SOURCE:
            raise
        raise FileError(error.problem, f"take the part that communicates, or {REMEDY}") from error
    try:
        return _Reading(path, content).graph(gpus)
    except RecursionError as error:
        problem = "the source is nested too deeply"
        raise InputError(printable(str(path)), 1, 1, problem, "", REMEDY) from error


class _Reading:
    """Holds one source as statements."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path, self.file = path, printable(str(path))
        self.is_python = LANGUAGES[path.suffix] == "Python"
        root = parse(path, content)
        # A source that names no such call needs not be followed.
        named = set(re.findall(rb"\w+", content))
        if not any(name.rpartition(".")[2].encode() in named for name in CALLS):
            raise self._without_calls()
        family = py_family if self.is_python else c_family
        self.statements = family.statements_of(root, content)

    def graph(self, gpus: int | None) -> SourceGraph:
        """The union of all ranks."""
        ranks = self._size() if gpus is None else gpus
        if not 1 <= ranks <= MOST_RANKS:
            raise SimulationError(f"{ranks} GPUs cannot be placed", f"take 1 to {MOST_RANKS}")
        found = Union(self.file, ranks, self.is_python)
        self._follow(range(ranks), ranks, found)
        found.settle()
        if not found.calls:
            raise self._without_calls()
        return found.graph()

    def _without_calls(self) -> InputError:
        problem = "no call moves data between GPUs"
        remedy = f"those of NCCL, cudaMemcpyPeer, MPI and torch.distributed count; or {REMEDY}"
        return InputError(self.file, 1, 1, problem, self.path.name, remedy)

    def _follow(self, followed: Iterable[int], ranks: int, found: Union) -> None:
        changes: dict[int, Changes] = {}
        followers = []
        for rank in followed:
            meet = partial(found.meet, rank)
            followers.append(Follower(self.statements, rank, ranks, self.is_python, meet, changes))
        for follower in followers:
            follower.run()
        # A function that one rank calls is not one that nobody calls.
        entered = set().union(*(follower.entered for follower in followers))
        for follower in followers:
            follower.run_rest(entered)

    def _size(self) -> int:
        """How many GPUs the source is of, by its own words."""
        probe = Union(self.file, PROBED, self.is_python, is_probe=True)
        self._follow([0], PROBED, probe)
        if probe.said is not None:
            return probe.said[0]
        if probe.largest is not None:
            return probe.largest + 1
        raise SimulationError(
            f"`{self.file}` does not say on how many GPUs it runs", "give it as --gpus"
        )
