"""Writes the small archive beside this file, with what that of the stencil lacks.

Call it as python write.py FOLDER, with the package `otf2` of PyPI (3.2) installed.

The archive has four ranks on two inter-connected halves, one with a second thread. It has clocks
that drift apart, and dense, sparse and no mapping tables. It has a communicator of some ranks in
another order, and an inter-communicator. It has non-blocking messages and collectives, tests,
cancellations and matched probes. It has parameters, attributes, records with long lengths, and the
largest numbers. It has a region that is never left and one that is never entered. Every message is
received but those between the halves.
"""

import sys

import _otf2 as otf2
from otf2 import enums

UNDEFINED = 2**32 - 1
MPI = enums.Paradigm.MPI
USER = enums.Paradigm.USER
ROLE = enums.RegionRole
THREAD = 2**32 + 1
# The location of each rank, and the ranks of a communicator.
WORLD_LOCATIONS = [2, 0, 3, 1]
SOME = [3, 1]

# Global ids by name; some take two and more bytes.
REGIONS = {
    "main": (7, ROLE.FUNCTION, enums.Paradigm.COMPILER, enums.RegionFlag.NONE),
    "MPI_Isend": (300, ROLE.POINT2POINT, MPI, enums.RegionFlag.NONE),
    "MPI_Irecv": (301, ROLE.POINT2POINT, MPI, enums.RegionFlag.NONE),
    "MPI_Waitall": (302, ROLE.FUNCTION, MPI, enums.RegionFlag.NONE),
    "MPI_Allreduce": (70000, ROLE.COLL_ALL2ALL, MPI, enums.RegionFlag.NONE),
    "MPI_Bcast": (70001, ROLE.COLL_ONE2ALL, MPI, enums.RegionFlag.NONE),
    "iteration": (2**24, ROLE.LOOP, USER, enums.RegionFlag.DYNAMIC),
    "step": (2**32 - 2, ROLE.CODE, USER, enums.RegionFlag.PHASE),
}
WORLD, SOME_RANKS, SELF, BETWEEN = 0, 260, 1, 65536


def id_of(region):
    """Returns the global id of a region's name."""
    return REGIONS[region][0]


def pre_flush(_user_data, _file_type, _location, _caller_data, _final):
    """Lets the library write whenever it likes to."""
    return enums.FlushType.FLUSH


class Rank:
    """Writes the events of one location, with its own ids and its own clock."""

    def __init__(self, archive, location, start, tables):
        self.writer = otf2.Archive_GetEvtWriter(archive, location)
        self.location = location
        self.time = start
        self.tables = tables

    def local(self, kind, global_id):
        """Returns the id that this location's files use for a global one."""
        table = self.tables.get(kind, {})
        return next((local for local, known in table.items() if known == global_id), global_id)

    def record(self, name, *fields, after=1000, attributes=None):
        """Writes an event some ticks after the one before."""
        self.time += after
        getattr(otf2, f"EvtWriter_{name}")(self.writer, attributes, self.time, *fields)

    def enter(self, region, **options):
        """Enters a region."""
        self.record("Enter", self.local("region", id_of(region)), **options)

    def leave(self, region, **options):
        """Leaves a region."""
        self.record("Leave", self.local("region", id_of(region)), **options)

    def comm(self, global_id):
        """Returns the location's own id of a communicator."""
        return self.local("comm", global_id)


def attributes(count):
    """A list of attributes; forty are longer than one byte can say."""
    made = otf2.AttributeList_New()
    for attribute in range(count):
        otf2.AttributeList_AddUint64(made, attribute, 2**64 - 2 - attribute)
    return made


def play(rank, me):
    """Writes what one rank does."""
    right, left = (me + 1) % 4, (me + 3) % 4
    rank.record("MeasurementOnOff", enums.MeasurementMode.ON)
    rank.leave("step")  # was entered before the recording
    rank.enter("main", attributes=attributes(2))
    for iteration in range(3):
        rank.enter("iteration", after=0)
        rank.record("ParameterInt", rank.local("parameter", 5), -iteration * 2**40)
        rank.record("ParameterUnsignedInt", rank.local("parameter", 6), 2**64 - 1 - iteration)
        rank.record("ParameterString", rank.local("parameter", 700), rank.local("string", 1000))
        first = 10 * iteration + 2**63
        rank.enter("MPI_Irecv")
        rank.record("MpiIrecvRequest", first)
        rank.leave("MPI_Irecv")
        rank.enter("MPI_Isend", attributes=attributes(40))
        tag, length = 2**31 + iteration, 2 ** (20 * iteration + 1)
        rank.record("MpiIsend", right, rank.comm(WORLD), tag, length, first + 1)
        rank.leave("MPI_Isend")
        rank.record("MpiRequestTest", first + 1, after=123)
        rank.enter("MPI_Waitall")
        rank.record("MpiIsendComplete", first + 1)
        rank.record("MpiIrecv", left, rank.comm(WORLD), tag, length, first)
        rank.leave("MPI_Waitall")
        if me in SOME:
            rank.enter("MPI_Bcast")
            rank.record("MpiCollectiveBegin", after=0)
            root = rank.comm(SOME_RANKS), 1, *((4096, 0) if me == SOME[1] else (0, 4096))
            rank.record("MpiCollectiveEnd", enums.CollectiveOp.BCAST, *root, after=7777)
            rank.leave("MPI_Bcast")
        rank.leave("iteration")
    rank.record("MpiSend", 0, rank.comm(SELF), 0, 0)
    rank.record("MpiRecv", 0, rank.comm(SELF), 0, 0)
    rank.record("MpiSend", me // 2, rank.comm(BETWEEN), 1, 255)
    rank.record("MpiIrecvRequest", 2**64 - 1)
    rank.record("MpiRequestCancelled", 2**64 - 1)
    rank.record("NonBlockingCollectiveRequest", 256)
    done = enums.CollectiveOp.ALLREDUCE, rank.comm(WORLD), UNDEFINED, 2**40, 2**40, 256
    rank.record("NonBlockingCollectiveComplete", *done)
    between = rank.comm(BETWEEN), UNDEFINED - 1 - me % 2, 8, 8
    rank.record("MpiCollectiveBegin")
    rank.record("MpiCollectiveEnd", enums.CollectiveOp.GATHERV, *between)
    rank.record("MpiProbe", left, rank.comm(WORLD), 9, 77)
    rank.record("MpiMrecv", 77, 65536)
    rank.record("MpiProbe", right, rank.comm(WORLD), 9, 78)
    rank.record("MpiImrecvRequest", 78, 257)
    rank.record("MpiImrecv", 257, 65537)
    rank.record("BufferFlush", rank.time + 5000)
    rank.time += 5000
    rank.record("ThreadFork", enums.Paradigm.OPENMP, 2)
    rank.enter("step")  # is never left
    rank.leave("main")
    rank.enter("iteration")  # the recording ends here
    rank.record("MeasurementOnOff", enums.MeasurementMode.OFF)


TABLES = {
    # A dense table numbers from zero without a gap.
    0: {
        "region": dict(enumerate(REGIONS[name][0] for name in REGIONS)),
        "comm": {0: BETWEEN, 1: SOME_RANKS, 2: SELF, 3: WORLD},
        "parameter": {0: 700, 1: 6, 2: 5},
        "string": {0: 1000},
    },
    1: {"region": {9: 300, 2**25: 301, 4: 2**32 - 2}, "comm": {500: BETWEEN, 65536: WORLD}},
    2: {"parameter": {1: 5, 2**31: 6}, "string": {7: 1000}},
    3: {},
}
MAPPINGS = {"string": 0, "region": 3, "comm": 6, "parameter": 7}
OFFSETS = {
    0: [],
    1: [(900_000, -250), (1_000_000, 750), (1_020_000, 751), (1_090_000, -20_000)],
    2: [(0, 2**40), (3_000_000_000_000, 2**40 + 3)],
    3: [(1_000_000, 12_345)],
}
STARTS = {0: 1_000_000, 1: 1_000_000, 2: 17, 3: 987_654}


def write_local(archive, location):
    """Writes the mapping tables and clock offsets of a location."""
    writer = otf2.Archive_GetDefWriter(archive, location)
    offsets = list(OFFSETS.get(location, []))
    if offsets:
        otf2.DefWriter_WriteClockOffset(writer, *offsets[0], 0.5)
    for kind, table in TABLES.get(location, {}).items():
        dense = list(table) == list(range(len(table)))
        if dense:
            ids = otf2.IdMap_CreateFromUint64Array(list(table.values()), False)
        else:
            ids = otf2.IdMap_Create(otf2.ID_MAP_SPARSE, len(table))
            for local, global_id in table.items():
                otf2.IdMap_AddIdPair(ids, local, global_id)
        otf2.DefWriter_WriteMappingTable(writer, otf2.MappingType(MAPPINGS[kind]), ids)
        otf2.IdMap_Free(ids)
    for offset in offsets[1:]:
        otf2.DefWriter_WriteClockOffset(writer, *offset, 0.25)
    otf2.Archive_CloseDefWriter(archive, writer)


def write_global(archive, counts):
    """Writes the global definitions."""
    writer = otf2.Archive_GetGlobalDefWriter(archive)
    strings = {}

    def string(text, ref=None):
        if text not in strings:
            strings[text] = len(strings) if ref is None else ref
            otf2.GlobalDefWriter_WriteString(writer, strings[text], text)
        return strings[text]

    def define(what, *fields):
        getattr(otf2, f"GlobalDefWriter_Write{what}")(writer, *fields)

    define("ClockProperties", 1_500_000_000, 900_000, 2**41, 1_700_000_000_000_000_000)
    string("")
    string("a value whose length takes more than one byte to say: " + "long, " * 50, 1000)
    define("SystemTreeNode", 0, string("machine"), string("node"), UNDEFINED)
    for attribute in range(40):
        define("Attribute", attribute, string(f"attribute {attribute}"), 0, enums.Type.UINT64)
    for rank in range(4):
        kind = enums.LocationGroupType.PROCESS
        define("LocationGroup", rank, string(f"MPI Rank {rank}"), kind, 0, UNDEFINED)
    for location, count in counts.items():
        name = string("Master thread" if location < 4 else "OMP thread 1")
        process = location % 2**32
        define("Location", location, name, enums.LocationType.CPU_THREAD, count, process)
    for name, (ref, role, paradigm, flag) in REGIONS.items():
        text = string(name)
        define("Region", ref, text, text, 0, role, paradigm, flag, string("main.c"), 1, 99)
    for ref, name in ((5, "iteration number"), (6, "unsigned"), (700, "text")):
        kind = {5: "INT64", 6: "UINT64", 700: "STRING"}[ref]
        define("Parameter", ref, string(name), getattr(enums.ParameterType, kind))
    none, kinds = enums.GroupFlag.NONE, enums.GroupType
    define("Group", 3, string("all"), kinds.COMM_LOCATIONS, MPI, none, WORLD_LOCATIONS)
    define("Group", 4, string("ranks 3 and 1"), kinds.COMM_GROUP, MPI, none, SOME)
    define("Group", 5, 0, kinds.COMM_SELF, MPI, none, [])
    define("Group", 6, string("first half"), kinds.COMM_GROUP, MPI, none, [1, 3])
    define("Group", 7, string("second half"), kinds.COMM_GROUP, MPI, none, [0, 2])
    define("Group", 8, string("every rank"), kinds.COMM_GROUP, MPI, none, [0, 1, 2, 3])
    flag = enums.CommFlag.NONE
    define("Comm", WORLD, string("MPI_COMM_WORLD"), 8, UNDEFINED, flag)
    define("Comm", SOME_RANKS, string("some"), 4, WORLD, flag)
    define("Comm", SELF, string("MPI_COMM_SELF"), 5, UNDEFINED, flag)
    define("InterComm", BETWEEN, string("halves"), 6, 7, WORLD, flag)
    otf2.Archive_CloseGlobalDefWriter(archive, writer)


def main(folder):
    """Writes the archive."""
    opened = folder, "traces", enums.FileMode.WRITE, 256 * 1024, 256 * 1024
    archive = otf2.Archive_Open(*opened, enums.FileSubstrate.POSIX, enums.Compression.NONE)
    callbacks = otf2.FlushCallbacks(pre_flush=pre_flush, post_flush=None)
    otf2.Archive_SetFlushCallbacks(archive, callbacks, None)
    otf2.Archive_SetSerialCollectiveCallbacks(archive)
    otf2.Archive_SetMachineName(archive, "bench")
    otf2.Archive_SetDescription(archive, "an archive for tests")
    otf2.Archive_SetCreator(archive, "Linkwright's tests")
    otf2.Archive_SetProperty(archive, "LINKWRIGHT::TEST", "yes", False)
    otf2.Archive_OpenEvtFiles(archive)
    counts = {}
    for number in range(4):
        rank = Rank(archive, number, STARTS[number], TABLES[number])
        play(rank, WORLD_LOCATIONS.index(number))
        counts[number] = otf2.EvtWriter_GetNumberOfEvents(rank.writer)
        otf2.Archive_CloseEvtWriter(archive, rank.writer)
    thread = Rank(archive, THREAD, 1_000_000, {})
    thread.enter("step")
    thread.leave("step")
    counts[THREAD] = otf2.EvtWriter_GetNumberOfEvents(thread.writer)
    otf2.Archive_CloseEvtWriter(archive, thread.writer)
    otf2.Archive_CloseEvtFiles(archive)
    otf2.Archive_OpenDefFiles(archive)
    for location in counts:
        write_local(archive, location)
    otf2.Archive_CloseDefFiles(archive)
    write_global(archive, counts)
    otf2.Archive_Close(archive)


if __name__ == "__main__":
    main(sys.argv[1])
