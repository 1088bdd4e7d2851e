"""Programs: what the ranks of each application and of the recorded trace do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from frozen.captured import Captured, Case
from frozen.names import APPLICATIONS
from frozen.tables import ROOT, digest, of_rows, rows_of
from linkwright.network import Program, applications, read_program
from linkwright.scenario import random_mixes

__all__ = ["cases"]

RANKS = (16, 24, 32)
# Names of kinds of operations and of collectives apart.
NUMBERS = ("duration", "peer", "tag", "size", "communicator", "region", "in_loop")


def cases() -> list[Case]:
    """All programs in one file."""
    command = "read_program(application, ranks=ranks).operations_of(rank)"
    return [Case("programs/programs", command, _tables)]


def _tables() -> Iterator[Captured]:
    programs = [read_program(name, ranks=ranks) for name in APPLICATIONS for ranks in RANKS]
    programs.append(read_program(ROOT / "examples" / "traces" / "stencil4d-32"))
    columns = "program ranks operations communicators regions rank digests"
    yield of_rows("programs", columns, [row for each in programs for row in _rows(each)])
    speeds = [(name, speed) for name, _, speed in applications() if name in APPLICATIONS]
    yield of_rows("applications", "application speed_up", speeds)
    mixes = [(seed, digest(mix)) for seed in range(3) for mix in random_mixes(seed)]
    yield of_rows("mixes", "seed digest", mixes)


def _rows(program: Program) -> Iterator[list[Any]]:
    facts = [program.name, program.ranks, program.operations]
    facts += [len(program.communicators), len(program.regions)]
    for rank in (0, program.ranks // 2, program.ranks - 1):
        operations = program.operations_of(rank)
        yield [*facts, rank, [digest(rows_of(operations, [name])) for name in NUMBERS]]
