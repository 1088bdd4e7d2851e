"""A schedule as the ranks' processes read it, and where all of it lies in shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.collectives import Schedule

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Messages that a connection holds: as many as the check assumes.
SLOTS = 2

# The most bytes that a step moves at once. Each piece costs a few system calls, which take about
# as long as copying a tenth of this.
PIECE = 1 << 20


@dataclass(frozen=True)
class Task:
    """One step: the addresses of its runs in chunks, where it has them."""

    source: int | None
    destination: int | None
    count: int
    reduces: bool
    receives: bool
    sends: bool
    after: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Block:
    """Steps in order, and the connections that they use."""

    send: int | None
    receive: int | None
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Layout:
    """Where everything lies in the shared memory, in elements behind the ranks' words.

    Chunks have equal width. Where they differ by an element, the rest is padding that travels
    along, so that every run of chunks is as long as any other of that count.
    """

    ranks: int
    dtype: str
    chunks: int
    width: int
    piece: int
    message: int
    memory: tuple[int, ...]
    connections: int

    @property
    def head(self) -> int:
        """Bytes of the ranks' words: what each is doing, and when it began and ended."""
        return self.ranks * 3 * 8

    @property
    def size(self) -> int:
        """Bytes of the whole."""
        elements = sum(self.memory) * self.width + self.connections * SLOTS * self.message
        return self.head + elements * np.dtype(self.dtype).itemsize

    def states(self, shared: SharedMemory) -> NDArray[np.int64]:
        """What each rank is doing."""
        return np.ndarray(self.ranks, np.int64, shared.buf)

    def clock(self, shared: SharedMemory) -> NDArray[np.float64]:
        """When each rank began and ended, in seconds of the system's monotonic clock."""
        return np.ndarray((self.ranks, 2), np.float64, shared.buf, self.ranks * 8)

    def rank(self, shared: SharedMemory, rank: int) -> NDArray[Any]:
        """The chunks of a rank's buffers."""
        first = sum(self.memory[:rank]) * self.width
        shape = (self.memory[rank], self.width)
        return np.ndarray(shape, self.dtype, shared.buf, self._byte(first))

    def slots(self, shared: SharedMemory) -> NDArray[Any]:
        """The slots of all connections."""
        shape = (self.connections, SLOTS, self.message)
        first = sum(self.memory) * self.width
        return np.ndarray(shape, self.dtype, shared.buf, self._byte(first))

    def _byte(self, element: int) -> int:
        return self.head + element * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class RankBuffers:
    """A rank's buffers in chunks from its memory's start, and their shards' lengths."""

    input: int
    output: int
    scratch: int
    end: int
    input_shards: list[int]
    output_shards: list[int]


def rank_buffers(
    schedule: Schedule,
    rows: list[dict[str, Any]],
    inputs: list[NDArray[Any]],
    outputs: list[int],
    in_place: bool,
) -> list[RankBuffers]:
    """Where the buffers of each rank lie."""
    ranks, chunks, collective = len(inputs), schedule.chunks, schedule.collective
    root = None if schedule.root is None else schedule.gpus.index(schedule.root)
    scratch = [0] * ranks
    for row in rows:
        for buffer, offset in (
            place.split() for place in (row["source"], row["destination"]) if place
        ):
            if buffer == "scratch":
                scratch[row["rank"]] = max(scratch[row["rank"]], int(offset) + row["count"])
    found = []
    for rank in range(ranks):
        count = schedule.input_shards[rank]
        shards = [len(inputs[rank]) // count] * count if count else []
        if collective in ("gather", "all-gather"):
            out = [len(one) for one in inputs] if collective != "gather" or rank == root else []
        elif collective == "reduce" and rank != root:
            out = []
        else:
            parts = ranks if collective == "all-to-all" else 1
            out = [outputs[rank] // parts] * parts
        first_in, first_out = 0, len(shards)
        # In place, the shorter buffer is the rank's own shard of the longer one.
        if in_place and collective != "all-to-all" and shards and out:
            first_in = rank if len(out) > 1 else 0
            first_out = rank if len(shards) > 1 else 0
        after = max(first_in + len(shards), first_out + len(out)) * chunks
        first_in, first_out, end = first_in * chunks, first_out * chunks, after + scratch[rank]
        found.append(RankBuffers(first_in, first_out, after, end, shards, out))
    return found


def rank_programs(
    rows: list[dict[str, Any]], buffers: list[RankBuffers]
) -> tuple[list[list[Block]], list[tuple[int, int]]]:
    """The blocks of each rank, and the sender and the receiver of each connection."""
    made: dict[tuple[int, int, int], int] = {}

    def connection(sender: int, receiver: int, channel: int) -> int:
        return made.setdefault((sender, receiver, channel), len(made))

    steps: dict[tuple[int, int], list[Task]] = {}
    sends: dict[tuple[int, int], int] = {}
    receives: dict[tuple[int, int], int] = {}
    for row in rows:
        rank = row["rank"]
        key = (rank, row["block"])
        if row["send_to"]:
            sends[key] = connection(rank, int(row["send_to"]), row["channel"])
        if row["receive_from"]:
            receives[key] = connection(int(row["receive_from"]), rank, row["channel"])
        steps.setdefault(key, []).append(_task(row, buffers[rank]))
    programs: list[list[Block]] = []
    for rank in range(len(buffers)):
        # A block without steps has no row, but counts where others name one behind it.
        count = 1 + max((block for owner, block in steps if owner == rank), default=-1)
        keys = [(rank, block) for block in range(count)]
        programs.append(
            [Block(sends.get(key), receives.get(key), tuple(steps.get(key, ()))) for key in keys]
        )
    return programs, [(sender, receiver) for sender, receiver, _ in made]


def _task(row: dict[str, Any], buffers: RankBuffers) -> Task:
    operation = row["operation"]
    words = operation.split("-")

    def address(place: str) -> int | None:
        if not place:
            return None
        buffer, offset = place.split()
        return int(getattr(buffers, buffer)) + int(offset)

    after = [tuple(map(int, one.split("."))) for one in row["after"].split()]
    reads = operation not in ("receive", "receive-copy-send", "nop")
    writes = operation not in ("send", "receive-reduce-send", "nop")
    return Task(
        source=address(row["source"]) if reads else None,
        destination=address(row["destination"]) if writes else None,
        count=row["count"],
        reduces="reduce" in words,
        receives="receive" in words,
        sends="send" in words,
        after=tuple((block, step) for block, step in after),
    )


def lay_out(
    schedule: Schedule,
    dtype: np.dtype[Any],
    buffers: list[RankBuffers],
    programs: list[list[Block]],
    connections: int,
) -> Layout:
    """What the shared memory of all ranks and connections looks like."""
    tasks = [task for blocks in programs for block in blocks for task in block.tasks]
    longest_shard = max(max(one.input_shards + one.output_shards, default=0) for one in buffers)
    longest_run = max((task.count for task in tasks), default=1) or 1
    width = -(-longest_shard // schedule.chunks)
    piece = min(max(PIECE // (longest_run * dtype.itemsize), 1), max(width, 1))
    return Layout(
        ranks=len(buffers),
        dtype=dtype.str,
        chunks=schedule.chunks,
        width=width,
        piece=piece,
        message=longest_run * piece,
        memory=tuple(buffer.end for buffer in buffers),
        connections=connections,
    )


def _parts(shards: list[int], chunks: int) -> Iterator[int]:
    """The length of each chunk: chunk `i` of `n` elements starts at `i * n // chunks`."""
    for length in shards:
        for chunk in range(chunks):
            yield (chunk + 1) * length // chunks - chunk * length // chunks


def fill(memory: NDArray[Any], array: NDArray[Any], buffers: RankBuffers, chunks: int) -> None:
    """Cuts an input into the chunks of a rank's memory."""
    start = 0
    for chunk, length in enumerate(_parts(buffers.input_shards, chunks), buffers.input):
        memory[chunk, :length] = array[start : start + length]
        start += length


def read(memory: NDArray[Any], buffers: RankBuffers, chunks: int) -> NDArray[Any]:
    """Joins the chunks of a rank's output."""
    output = np.empty(sum(buffers.output_shards), memory.dtype)
    start = 0
    for chunk, length in enumerate(_parts(buffers.output_shards, chunks), buffers.output):
        output[start : start + length] = memory[chunk, :length]
        start += length
    return output
