"""Records `stencil4d-32`: a four-dimensional stencil on 32 MPI ranks, as an OTF2 archive.

Call it as python record_stencil4d.py [--check], with the package `otf2` of PyPI (3.2) installed.

The program runs here, in simulated time, four ranks to a node and each node on its own clock. A
rank posts a receive for each of its eight neighbours and sends each of them a face. Then it waits
for theirs, updates its block, and meets all others at a barrier. The same bytes come out each time;
`--check` compares them with those of the archive.
"""

import random
import sys
import tempfile
from pathlib import Path

import _otf2 as otf2
from otf2 import enums

FOLDER = Path(__file__).resolve().parent / "stencil4d-32"
NAME = "traces"
DESCRIPTION = "a four-dimensional stencil, 2 iterations on a grid of 2 x 2 x 2 x 4 ranks"

# The program.
GRID = (2, 2, 2, 4)
RANKS = 32
ITERATIONS = 2
# A block of 16^4 cells of four doubles has faces of 16^3.
CELL = 4 * 8
FACE = 16**3 * CELL
BLOCK = 16**4 * CELL
WORLD = 0

# The machine. Times are in ticks of a clock of 2.4 GHz, rates in bytes per tick.
TICKS_PER_SECOND = 2_400_000_000
MICROSECOND = TICKS_PER_SECOND // 1_000_000
RANKS_PER_NODE = 4
WITHIN_A_NODE, BETWEEN_NODES = 20 / 2.4, 3 / 2.4
# Reads and writes each cell once, in memory of 400 GB/s.
UPDATE = 2 * BLOCK / (400 / 2.4)
CALL = MICROSECOND // 4
LATENCY = 3 * MICROSECOND // 2
SWITCHED_ON = 3 * 10**12
# Each node's clock is behind that of the node before, and slower.
BEHIND = 5_000_000
SLOWER = 2e-6

UNDEFINED = 2**32 - 1
MPI, USER = enums.Paradigm.MPI, enums.Paradigm.USER
ROLE = enums.RegionRole
REGIONS = {
    "MPI_Barrier": (ROLE.BARRIER, MPI),
    "MPI_Init": (ROLE.FUNCTION, MPI),
    "MPI_Irecv": (ROLE.POINT2POINT, MPI),
    "MPI_Send": (ROLE.POINT2POINT, MPI),
    "MPI_Waitall": (ROLE.FUNCTION, MPI),
    "main_loop": (ROLE.LOOP, USER),
    "iteration": (ROLE.LOOP, USER),
    "report": (ROLE.CODE, USER),
}
REGION_IDS = {name: number for number, name in enumerate(REGIONS)}


class Rank:
    """A rank: its neighbours, and its time, which its events are recorded at."""

    def __init__(self, archive, rank, luck):
        self.writer = otf2.Archive_GetEvtWriter(archive, rank)
        self.rank = rank
        self.luck = luck
        self.time = SWITCHED_ON + luck.randrange(50 * MICROSECOND)
        self.requests = 0

    def neighbour(self, dimension, step):
        """Finds the rank one step further in a dimension, around the grid."""
        stride, place = 1, self.rank
        for size in GRID[:dimension]:
            stride, place = stride * size, place // size
        there = (place + step) % GRID[dimension]
        return self.rank + (there - place % GRID[dimension]) * stride

    def faces(self):
        """The tag of each face, to whom it goes, and from whom its like comes."""
        for dimension in range(len(GRID)):
            for side, step in enumerate((1, -1)):
                tag = 2 * dimension + side + 1
                yield tag, self.neighbour(dimension, step), self.neighbour(dimension, -step)

    def spend(self, ticks):
        """Lets time pass: about this number of ticks."""
        self.time += max(1, round(ticks * self.luck.uniform(0.9, 1.15)))

    def record(self, kind, *fields):
        """Records an event at the time on the clock of this rank's node."""
        time = local_time(self.rank, self.time)
        getattr(otf2, f"EvtWriter_{kind}")(self.writer, None, time, *fields)

    def enter(self, region, ticks=CALL):
        """Enters a region, in which some time passes."""
        self.record("Enter", REGION_IDS[region])
        self.spend(ticks)

    def leave(self, region):
        """Leaves a region, with some time behind it."""
        self.spend(CALL)
        self.record("Leave", REGION_IDS[region])
        self.spend(CALL / 4)

    def start(self):
        """Comes to the loop; the recording pauses on the way."""
        self.enter("MPI_Init", 2_000 * MICROSECOND)
        self.leave("MPI_Init")
        self.record("MeasurementOnOff", enums.MeasurementMode.OFF)
        self.spend(100 * MICROSECOND)
        self.record("MeasurementOnOff", enums.MeasurementMode.ON)
        self.spend(2 * MICROSECOND)
        self.enter("main_loop")

    def exchange(self):
        """Posts the receives and sends the faces: when each arrives, by receiver and tag."""
        self.enter("iteration")
        for _ in self.faces():
            self.requests += 1
            self.enter("MPI_Irecv")
            self.record("MpiIrecvRequest", self.requests)
            self.leave("MPI_Irecv")
        arrivals = {}
        for tag, receiver, _ in self.faces():
            self.enter("MPI_Send")
            self.record("MpiSend", receiver, WORLD, tag, FACE)
            same = node_of(receiver) == node_of(self.rank)
            self.spend(FACE / (WITHIN_A_NODE if same else BETWEEN_NODES))
            arrivals[receiver, tag] = self.time + LATENCY
            self.leave("MPI_Send")
        return arrivals

    def update(self, arrivals):
        """Waits for the neighbours' faces, and updates the block."""
        self.enter("MPI_Waitall")
        first = self.requests - 2 * len(GRID) + 1
        for request, (tag, _, sender) in enumerate(self.faces(), first):
            self.time = max(self.time, arrivals[self.rank, tag]) + 1
            self.record("MpiIrecv", sender, WORLD, tag, FACE, request)
        self.leave("MPI_Waitall")
        self.spend(UPDATE)
        self.record("Leave", REGION_IDS["iteration"])
        self.spend(CALL / 4)

    def arrive(self):
        """Comes to a barrier."""
        self.record("Enter", REGION_IDS["MPI_Barrier"])
        self.record("MpiCollectiveBegin")

    def go_on(self, time):
        """Leaves a barrier that opens at a time."""
        self.time = time
        self.spend(CALL)
        nobody = WORLD, UNDEFINED, 0, 0
        self.record("MpiCollectiveEnd", enums.CollectiveOp.BARRIER, *nobody)
        self.leave("MPI_Barrier")

    def finish(self):
        """Ends behind the loop; the first rank reports how long it took."""
        if self.rank == 0:
            self.enter("report", 5 * MICROSECOND)
            self.leave("report")
        self.record("MeasurementOnOff", enums.MeasurementMode.OFF)


def node_of(rank):
    """The node that a rank runs on."""
    return rank // RANKS_PER_NODE


def local_time(rank, time):
    """The time that the clock of a rank's node shows."""
    node = node_of(rank)
    return time - node * BEHIND - round((time - SWITCHED_ON) * SLOWER * node)


def barrier(ranks):
    """Lets every rank wait for the last."""
    for rank in ranks:
        rank.arrive()
    opens = max(rank.time for rank in ranks) + 2 * LATENCY
    for rank in ranks:
        rank.go_on(opens)


def run(archive):
    """Runs the program: the ranks, as they are at its end."""
    luck = random.Random(32)
    ranks = [Rank(archive, rank, luck) for rank in range(RANKS)]
    for rank in ranks:
        rank.start()
    for _ in range(ITERATIONS):
        arrivals = {}
        for rank in ranks:
            arrivals |= rank.exchange()
        for rank in ranks:
            rank.update(arrivals)
        barrier(ranks)
    for rank in ranks:
        rank.leave("main_loop")
    barrier(ranks)
    for rank in ranks:
        rank.finish()
    return ranks


def write_clocks(archive, end):
    """Writes how far each rank's clock is behind, at the start and at the end."""
    for rank in range(RANKS):
        writer = otf2.Archive_GetDefWriter(archive, rank)
        for time in (SWITCHED_ON, end):
            shown = local_time(rank, time)
            otf2.DefWriter_WriteClockOffset(writer, shown, time - shown, 0.0)
        otf2.Archive_CloseDefWriter(archive, writer)


def write_definitions(archive, counts, end):
    """Writes the global definitions."""
    writer = otf2.Archive_GetGlobalDefWriter(archive)
    strings = {}

    def define(what, *fields):
        getattr(otf2, f"GlobalDefWriter_Write{what}")(writer, *fields)

    def string(text):
        if text not in strings:
            strings[text] = len(strings)
            define("String", strings[text], text)
        return strings[text]

    define("ClockProperties", TICKS_PER_SECOND, SWITCHED_ON, end - SWITCHED_ON, UNDEFINED)
    none = string("")
    machine, node, process = string("cluster"), string("node"), enums.LocationGroupType.PROCESS
    define("SystemTreeNode", 0, machine, string("machine"), UNDEFINED)
    for number in range(RANKS // RANKS_PER_NODE):
        define("SystemTreeNode", 1 + number, string(f"node{number}"), node, 0)
    for rank, count in enumerate(counts):
        name = string(f"MPI Rank {rank}")
        define("LocationGroup", rank, name, process, 1 + node_of(rank), UNDEFINED)
        thread = string("Master thread"), enums.LocationType.CPU_THREAD
        define("Location", rank, *thread, count, rank)
    for region, (name, (role, paradigm)) in enumerate(REGIONS.items()):
        text, flag = string(name), enums.RegionFlag.NONE
        define("Region", region, text, text, none, role, paradigm, flag, none, 0, 0)
    everyone = list(range(RANKS))
    for group, kind in enumerate((enums.GroupType.COMM_LOCATIONS, enums.GroupType.COMM_GROUP)):
        define("Group", group, none, kind, MPI, enums.GroupFlag.NONE, everyone)
    world = string("MPI_COMM_WORLD")
    define("Comm", WORLD, world, 1, UNDEFINED, enums.CommFlag.NONE)
    otf2.Archive_CloseGlobalDefWriter(archive, writer)


def flush(*_):
    """Lets the library write whenever it likes to."""
    return enums.FlushType.FLUSH


def write(folder):
    """Writes the archive into a folder."""
    opened = str(folder), NAME, enums.FileMode.WRITE, 256 * 1024, 256 * 1024
    archive = otf2.Archive_Open(*opened, enums.FileSubstrate.POSIX, enums.Compression.NONE)
    # The library does not keep the callbacks alive.
    callbacks = otf2.FlushCallbacks(pre_flush=flush, post_flush=None)
    otf2.Archive_SetFlushCallbacks(archive, callbacks, None)
    otf2.Archive_SetSerialCollectiveCallbacks(archive)
    otf2.Archive_SetMachineName(archive, "cluster")
    otf2.Archive_SetDescription(archive, DESCRIPTION)
    otf2.Archive_SetCreator(archive, "Linkwright's examples")
    otf2.Archive_OpenEvtFiles(archive)
    ranks = run(archive)
    counts = [otf2.EvtWriter_GetNumberOfEvents(rank.writer) for rank in ranks]
    for rank in ranks:
        otf2.Archive_CloseEvtWriter(archive, rank.writer)
    otf2.Archive_CloseEvtFiles(archive)
    end = max(rank.time for rank in ranks)
    otf2.Archive_OpenDefFiles(archive)
    write_clocks(archive, end)
    otf2.Archive_CloseDefFiles(archive)
    write_definitions(archive, counts, end)
    otf2.Archive_Close(archive)
    number_trace(folder / f"{NAME}.otf2")


def number_trace(anchor):
    """Gives the trace the number 0: the library takes another each time."""
    data = bytearray(anchor.read_bytes())
    described = DESCRIPTION.encode() + b"\0"
    # Behind the description stand the number of properties, which is 0, and the trace's number.
    start = data.index(described) + len(described) + 4
    data[start : start + 8] = bytes(8)
    anchor.write_bytes(data)


def files_of(folder):
    """Reads every file in a folder."""
    names = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder): path.read_bytes() for path in names}


def check():
    """Compares the archive with one that is recorded anew."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        new, old = files_of(Path(folder)), files_of(FOLDER)
    if new != old:
        different = sorted(str(name) for name in old.keys() | new if old.get(name) != new.get(name))
        sys.exit(f"{FOLDER.name} differs from what this script records: {', '.join(different)}")


if __name__ == "__main__":
    check() if sys.argv[1:] == ["--check"] else write(FOLDER)
