"""What a recorder would write down for a rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from linkwright.network import Program
from linkwright.errors import SimulationError

__all__ = ["LOOPS", "NO_ROOT", "Record", "records_of"]

# What readers take for the region of a main loop, the first that is there; TraceR knows one.
LOOPS = ("TRACER_Loop", "main_loop")
# OTF2's number for a collective without a root.
NO_ROOT = 2**32 - 1

# OTF2's name of each collective, and the call that makes it.
COLLECTIVES = {
    "barrier": ("BARRIER", "MPI_Barrier"),
    "broadcast": ("BCAST", "MPI_Bcast"),
    "reduce": ("REDUCE", "MPI_Reduce"),
    "all-reduce": ("ALLREDUCE", "MPI_Allreduce"),
    "gather": ("GATHER", "MPI_Gather"),
    "scatter": ("SCATTER", "MPI_Scatter"),
    "all-gather": ("ALLGATHER", "MPI_Allgather"),
    "reduce-scatter": ("REDUCE_SCATTER", "MPI_Reduce_scatter"),
    "all-to-all": ("ALLTOALL", "MPI_Alltoall"),
    "scan": ("SCAN", "MPI_Scan"),
}

Row = Mapping[str, Any]


class Record(NamedTuple):
    """An event: its time in picoseconds, its name in OTF2's library, and its fields.

    The region of an entry or an exit, a collective, and a state are given by name.
    """

    time: int
    kind: str
    fields: tuple[Any, ...]


def bytes_of(collective: str, size: int, ranks: int, place: int, root: bool) -> tuple[int, int]:
    """What Score-P records as sent and received: bytes to and from each peer, itself included."""
    everything = size * ranks
    at_root = everything if root else 0
    match collective:
        case "barrier":
            return 0, 0
        case "broadcast" | "scatter":
            return at_root, size
        case "reduce" | "gather":
            return size, at_root
        case "reduce-scatter":
            return size, size // ranks * ranks
        case "scan":
            return size * (ranks - place - 1), size * (place + 1)
        case _:
            return everything, everything


class RankRecords:
    """Writes down what a rank does, operation by operation."""

    def __init__(self, program: Program, rank: int) -> None:
        self.rank = rank
        self.regions = program.regions
        self.places = [
            {member: place for place, member in enumerate(members)}
            for members in program.communicators
        ]
        self.rows: Sequence[Row] = pa.table(program.operations_of(rank)).to_pylist()
        self.records: list[Record] = []
        self.time = 0
        # The request of each operation that is open.
        self.requests: dict[int, int] = {}
        self.next_request = 1

    def add(self, kind: str, *fields: Any) -> None:
        """Writes an event."""
        self.records.append(Record(self.time, kind, fields))

    def write(self) -> list[Record]:
        """Writes all events."""
        # Time counts from the first event to the last.
        self.add("MeasurementOnOff", "ON")
        loop = [index for index, row in enumerate(self.rows) if row["in_loop"]]
        marked = bool(loop) and self.enters_loop(self.rows[loop[0]])
        for index, row in enumerate(self.rows):
            if loop and index == loop[0] and not marked:
                self.add("Enter", LOOPS[0])
            self.operation(index, row)
            if loop and index == loop[-1] and not marked:
                self.add("Leave", LOOPS[0])
        self.wait(list(self.requests))
        self.add("MeasurementOnOff", "OFF")
        return self.records

    def enters_loop(self, row: Row) -> bool:
        """Whether an operation enters the region that a reader takes for the main loop."""
        known = next((name for name in LOOPS if name in self.regions), None)
        return row["kind"] == "enter" and self.regions[row["region"]] == known

    def operation(self, index: int, row: Row) -> None:
        """Writes the events of an operation, behind the wait for what it needs."""
        self.wait([needed for needed in row["completed"] if needed in self.requests])
        match row["kind"]:
            case "compute":
                self.time += row["duration"]
            case "enter":
                self.add("Enter", self.regions[row["region"]])
            case "leave":
                self.add("Leave", self.regions[row["region"]])
            case "join":
                pass
            case _ if self.blocks(index):
                self.blocking(index, row)
            case _:
                self.start(index, row)

    def blocks(self, index: int) -> bool:
        """Whether the next operation waits for this one as for a blocking call."""
        if index + 1 == len(self.rows):
            return True
        following = self.rows[index + 1]
        return index in following["completed"] and index not in following["started"]

    def blocking(self, index: int, row: Row) -> None:
        """Writes a blocking call."""
        if row["kind"] == "collective":
            kind, call = COLLECTIVES[row["collective"]]
            self.add("Enter", call)
            self.add("MpiCollectiveBegin")
            self.add("MpiCollectiveEnd", kind, *self.part(row))
        else:
            call, kind = {"send": ("MPI_Send", "MpiSend"), "receive": ("MPI_Recv", "MpiRecv")}[
                row["kind"]
            ]
            self.add("Enter", call)
            self.add(kind, *self.message(index, row))
        self.add("Leave", call)

    def start(self, index: int, row: Row) -> None:
        """Writes a non-blocking call."""
        request, self.next_request = self.next_request, self.next_request + 1
        self.requests[index] = request
        match row["kind"]:
            case "send":
                call = "MPI_Isend"
                self.add("Enter", call)
                self.add("MpiIsend", *self.message(index, row), request)
            case "receive":
                call = "MPI_Irecv"
                self.message(index, row)
                self.add("Enter", call)
                self.add("MpiIrecvRequest", request)
            case _:
                blocking = COLLECTIVES[row["collective"]][1]
                call = f"MPI_I{blocking.removeprefix('MPI_').lower()}"
                self.add("Enter", call)
                self.add("NonBlockingCollectiveRequest", request)
        self.add("Leave", call)

    def wait(self, operations: Sequence[int]) -> None:
        """Writes the call that waits for operations."""
        if not operations:
            return
        self.add("Enter", "MPI_Waitall")
        for index in dict.fromkeys(operations):
            row, request = self.rows[index], self.requests.pop(index)
            match row["kind"]:
                case "send":
                    self.add("MpiIsendComplete", request)
                case "receive":
                    self.add("MpiIrecv", *self.message(index, row), request)
                case _:
                    kind = COLLECTIVES[row["collective"]][0]
                    self.add("NonBlockingCollectiveComplete", kind, *self.part(row), request)
        self.add("Leave", "MPI_Waitall")

    def message(self, index: int, row: Row) -> tuple[int, int, int, int]:
        """The other end, the communicator, the tag and the length."""
        if row["peer"] is None or row["tag"] is None:
            raise SimulationError(
                f"operation {index} of rank {self.rank} receives from any sender or with any tag, "
                "but a trace records what came",
                "name the sender and the tag",
            )
        communicator = row["communicator"]
        peer = self.places[communicator][row["peer"]]
        return peer, communicator, row["tag"], row["size"]

    def part(self, row: Row) -> tuple[int, int, int, int]:
        """The communicator, the root, and what is sent and received."""
        communicator = row["communicator"]
        places = self.places[communicator]
        root = NO_ROOT if row["peer"] is None else places[row["peer"]]
        place = places[self.rank]
        moved = bytes_of(row["collective"], row["size"], len(places), place, root == place)
        return communicator, root, *moved


def records_of(program: Program, rank: int) -> list[Record]:
    """The events of a rank, by rising time.

    Raises:
        SimulationError: If the rank receives from any sender, or with any tag.
    """
    return RankRecords(program, rank).write()
