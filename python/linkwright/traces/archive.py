"""Records as the files of an OTF2 archive, by the format's own library."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linkwright import __version__
from linkwright.errors import FileError, LinkwrightError
from linkwright.network import Program
from linkwright.traces.events import Record

__all__ = ["write_archive"]

UNDEFINED = 2**32 - 1
TICKS_PER_SECOND = 10**12
CHUNK_SIZE = 256 * 1024
# Ids of groups: all locations, and behind it one for each communicator.
ALL_LOCATIONS, FIRST_GROUP = 0, 1


def write_archive(program: Program, records: Sequence[Sequence[Record]], path: Path) -> None:
    """Writes the records of each rank.

    Raises:
        FileError: If the path does not end in `.otf2`, there is an archive already, or it cannot
            be written.
        LinkwrightError: If the package `otf2` is not installed.
    """
    try:
        library = importlib.import_module("_otf2")
        enums = importlib.import_module("otf2.enums")
    except ImportError as error:
        raise LinkwrightError(
            "to write OTF2 takes the package `otf2`",
            "install it with `pip install 'linkwright[otf2]'`",
        ) from error
    if path.suffix != ".otf2":
        raise FileError(f"`{path}` cannot be the name of an archive", "end it in .otf2")
    for part in (path, path.with_suffix(".def"), path.with_suffix("")):
        if part.exists():
            raise FileError(f"`{part}` is there already", "name another archive or delete it")
    if not path.parent.is_dir():
        raise FileError(f"there is no folder `{path.parent}`", "make it first")
    writer = ArchiveWriter(library, enums, program)
    try:
        writer.write(records, path)
    except library.Error as error:
        raise FileError(f"`{path}` cannot be written: {error}", "look at the folder") from error


class ArchiveWriter:
    """Calls the library of the package `otf2`, which has no types."""

    def __init__(self, library: Any, enums: Any, program: Program) -> None:
        self.library = library
        self.enums = enums
        self.program = program
        self.strings: dict[str, int] = {}
        self.regions: dict[str, int] = {}
        self.definitions: Any = None

    def write(self, records: Sequence[Sequence[Record]], path: Path) -> None:
        """Writes all files."""
        library, enums = self.library, self.enums
        options = enums.FileSubstrate.POSIX, enums.Compression.NONE
        opened = str(path.parent), path.stem, enums.FileMode.WRITE, CHUNK_SIZE, CHUNK_SIZE
        archive = library.Archive_Open(*opened, *options)

        def flush(*_: object) -> Any:
            return enums.FlushType.FLUSH

        # The library keeps no reference to the callbacks: they live as long as this call.
        callbacks = library.FlushCallbacks(pre_flush=flush, post_flush=None)
        library.Archive_SetFlushCallbacks(archive, callbacks, None)
        library.Archive_SetSerialCollectiveCallbacks(archive)
        library.Archive_SetCreator(archive, f"Linkwright {__version__}")
        library.Archive_OpenEvtFiles(archive)
        for name in dict.fromkeys(self.region_names(records)):
            self.regions[name] = len(self.regions)
        for rank, events in enumerate(records):
            self.write_events(archive, rank, events)
        library.Archive_CloseEvtFiles(archive)
        library.Archive_OpenDefFiles(archive)
        for rank in range(len(records)):
            local = library.Archive_GetDefWriter(archive, rank)
            library.Archive_CloseDefWriter(archive, local)
        library.Archive_CloseDefFiles(archive)
        self.write_definitions(archive, records)
        library.Archive_Close(archive)

    def region_names(self, records: Sequence[Sequence[Record]]) -> list[str]:
        """Returns the regions of the program, and other regions that the records enter."""
        entered = (
            event.fields[0]
            for events in records
            for event in events
            if event.kind in ("Enter", "Leave")
        )
        return [*self.program.regions, *entered]

    def write_events(self, archive: Any, rank: int, events: Sequence[Record]) -> None:
        """Writes the events of a rank."""
        writer = self.library.Archive_GetEvtWriter(archive, rank)
        for time, kind, fields in events:
            plain = list(fields)
            if kind in ("Enter", "Leave"):
                plain[0] = self.regions[fields[0]]
            elif kind in ("MpiCollectiveEnd", "NonBlockingCollectiveComplete"):
                plain[0] = getattr(self.enums.CollectiveOp, fields[0])
            elif kind == "MeasurementOnOff":
                plain[0] = getattr(self.enums.MeasurementMode, fields[0])
            getattr(self.library, f"EvtWriter_{kind}")(writer, None, time, *plain)
        self.library.Archive_CloseEvtWriter(archive, writer)

    def define(self, what: str, *fields: Any) -> None:
        """Writes a definition."""
        getattr(self.library, f"GlobalDefWriter_Write{what}")(self.definitions, *fields)

    def string(self, text: str) -> int:
        """Returns the id of a text."""
        if text not in self.strings:
            self.strings[text] = len(self.strings)
            self.define("String", self.strings[text], text)
        return self.strings[text]

    def write_definitions(self, archive: Any, records: Sequence[Sequence[Record]]) -> None:
        """Writes the global definitions."""
        enums = self.enums
        self.definitions = self.library.Archive_GetGlobalDefWriter(archive)
        last = max((events[-1].time for events in records), default=0)
        self.define("ClockProperties", TICKS_PER_SECOND, 0, last, UNDEFINED)
        self.string("")
        names = self.string("machine"), self.string("node")
        self.define("SystemTreeNode", 0, *names, UNDEFINED)
        for rank, events in enumerate(records):
            process = enums.LocationGroupType.PROCESS
            text = self.string(f"MPI Rank {rank}")
            self.define("LocationGroup", rank, text, process, 0, UNDEFINED)
            thread = enums.LocationType.CPU_THREAD
            self.define("Location", rank, self.string("Master thread"), thread, len(events), rank)
        for name, region in self.regions.items():
            self.define_region(region, name)
        self.define_communicators()
        self.library.Archive_CloseGlobalDefWriter(archive, self.definitions)

    def define_region(self, region: int, name: str) -> None:
        """Writes a region down as the call of MPI with its name, or as the author's own."""
        enums, text, none = self.enums, self.string(name), self.string("")
        mpi = name.startswith("MPI_") and name not in self.program.regions
        paradigm = enums.Paradigm.MPI if mpi else enums.Paradigm.USER
        role = enums.RegionRole.FUNCTION if mpi else enums.RegionRole.CODE
        flag = enums.RegionFlag.NONE
        self.define("Region", region, text, text, none, role, paradigm, flag, none, 0, 0)

    def define_communicators(self) -> None:
        """Defines the groups of ranks and their communicators, which both have ids."""
        enums = self.enums
        mpi, none, kinds = enums.Paradigm.MPI, enums.GroupFlag.NONE, enums.GroupType
        everyone = list(range(self.program.ranks))
        empty = self.string("")
        self.define("Group", ALL_LOCATIONS, empty, kinds.COMM_LOCATIONS, mpi, none, everyone)
        for index, members in enumerate(self.program.communicators):
            group, flag = FIRST_GROUP + index, enums.CommFlag.NONE
            self.define("Group", group, empty, kinds.COMM_GROUP, mpi, none, members)
            name = self.string("MPI_COMM_WORLD" if index == 0 else f"communicator {index}")
            self.define("Comm", index, name, group, UNDEFINED if index == 0 else 0, flag)
