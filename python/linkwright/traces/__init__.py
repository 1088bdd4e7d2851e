"""Programs as traces of MPI programs: OTF2 archives, for tools that read them.

The archive is what a recorder would have written if the program had run on a machine whose
messages take no time: computation takes its time, and MPI calls take none. Reading it back gives
the program again (see `Program.from_otf2`), but for computations in a row, which become one.

A location of a trace is one thread, which does one thing after another. Operations are therefore
written in their order, and whatever one waits for is waited for just before it: of a program
whose computations and messages overlap without such an order, as GOAL can say it, one order is
kept. What a rank has not waited for at its end is waited for there.
"""

from __future__ import annotations

from linkwright.network import Program
from linkwright.files import PathOrName, path_of
from linkwright.traces.archive import write_archive
from linkwright.traces.events import records_of

__all__ = ["write_otf2"]


def write_otf2(program: Program, path: PathOrName) -> None:
    """Writes one iteration of a program as an OTF2 archive.

    Needs the package `otf2`, which `pip install 'linkwright[otf2]'` brings.

    Args:
        program: The program.
        path: The anchor file, which ends in `.otf2`; the other files are written beside it.

    Raises:
        FileError: If the path does not end in `.otf2`, there is an archive already, or it cannot
            be written.
        LinkwrightError: If the package `otf2` is not installed.
        SimulationError: If a rank receives from any sender, or with any tag: a trace records what
            came.
    """
    records = [records_of(program, rank) for rank in range(program.ranks)]
    write_archive(program, records, path_of("path", path))
