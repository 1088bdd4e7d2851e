"""One rank at work in its own process: its blocks take turns."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import time
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.processes.layout import SLOTS, Block, Layout, Task

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier, Semaphore

    from numpy.typing import NDArray

# How long a rank sleeps at most before it looks whether its parent is still there, in seconds.
NAP = 1.0

# These are the states of a rank, as the parent reads them: the words at the start of the shared
# memory.
STARTING, WORKING, WAITING, DONE = range(4)

REDUCTIONS: dict[str, np.ufunc] = {
    "sum": np.add,
    "product": np.multiply,
    "min": np.fmin,
    "max": np.fmax,
}


@dataclass(frozen=True)
class Signals:
    """Holds the signals between ranks; a bell is rung when anything happens to its rank."""

    messages: list[Semaphore]
    room: list[Semaphore]
    bells: list[Semaphore]
    start: Barrier


def work_as_rank(
    name: str,
    layout: Layout,
    rank: int,
    blocks: list[Block],
    connections: list[tuple[int, int]],
    signals: Signals,
    reduction: str,
) -> None:
    """Runs the process of a rank."""
    # Ctrl-C reaches all processes of a terminal; the parent alone answers it, and ends the ranks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    shared = SharedMemory(name)
    try:
        worker = _Worker(shared, layout, rank, blocks, connections, signals, REDUCTIONS[reduction])
        with np.errstate(all="ignore"):
            worker.run()
        del worker
    finally:
        with contextlib.suppress(BufferError):
            shared.close()


class _Worker:
    """One rank at work: its blocks take turns."""

    def __init__(
        self,
        shared: SharedMemory,
        layout: Layout,
        rank: int,
        blocks: list[Block],
        connections: list[tuple[int, int]],
        signals: Signals,
        reduce: np.ufunc,
    ) -> None:
        self.layout, self.rank, self.blocks = layout, rank, blocks
        self.connections, self.signals, self.reduce = connections, signals, reduce
        self.states, self.clock = layout.states(shared), layout.clock(shared)
        self.memory, self.slots = layout.rank(shared, rank), layout.slots(shared)
        self.done = [0] * len(blocks)
        # These say which semaphores a block has taken for the step that it has not begun.
        self.has_message = [False] * len(blocks)
        self.has_room = [False] * len(blocks)
        self.taken = [0] * len(connections)
        self.sent = [0] * len(connections)

    def run(self) -> None:
        bell, parent = self.signals.bells[self.rank], multiprocessing.parent_process()
        self.states[self.rank] = WAITING
        self.signals.start.wait()
        self.clock[self.rank, 0] = time.monotonic()
        pieces = -(-self.layout.width // self.layout.piece)
        ends = [len(block.tasks) * pieces for block in self.blocks]
        while self.done != ends:
            self.states[self.rank] = WORKING
            # The sleep below sees a bell that rings later; this turn sees a bell that rang before.
            while bell.acquire(False):
                pass
            moved = False
            for index, end in enumerate(ends):
                while self.done[index] < end and self._is_ready(index):
                    self._go_on(index)
                    moved = True
            if moved or self.done == ends:
                continue
            self.states[self.rank] = WAITING
            while not bell.acquire(True, NAP):
                if parent is not None and not parent.is_alive():
                    raise SystemExit(1)
        self.clock[self.rank, 1] = time.monotonic()
        self.states[self.rank] = DONE

    def _is_ready(self, index: int) -> bool:
        block = self.blocks[index]
        piece, step = divmod(self.done[index], len(block.tasks))
        task = block.tasks[step]
        for other, earlier in task.after:
            if self.done[other] <= piece * len(self.blocks[other].tasks) + earlier:
                return False
        if task.receives and not self.has_message[index] and block.receive is not None:
            self.has_message[index] = self.signals.messages[block.receive].acquire(False)
        if task.sends and not self.has_room[index] and block.send is not None:
            self.has_room[index] = self.signals.room[block.send].acquire(False)
        return (self.has_message[index] or not task.receives) and (
            self.has_room[index] or not task.sends
        )

    def _go_on(self, index: int) -> None:
        block = self.blocks[index]
        piece, step = divmod(self.done[index], len(block.tasks))
        task = block.tasks[step]
        start = piece * self.layout.piece
        end = min(start + self.layout.piece, self.layout.width)

        def run_at(chunk: int) -> NDArray[Any]:
            return self.memory[chunk : chunk + task.count, start:end]

        def slot(connection: int, number: int) -> NDArray[Any]:
            flat: NDArray[Any] = self.slots[connection, number % SLOTS]
            return flat[: task.count * (end - start)].reshape(task.count, end - start)

        source = None if task.source is None else run_at(task.source)
        target = None if task.destination is None else run_at(task.destination)
        sent = None
        if task.sends and block.send is not None:
            sent = slot(block.send, self.sent[block.send])
        if task.receives and block.receive is not None:
            value: NDArray[Any] | None = slot(block.receive, self.taken[block.receive])
            if source is not None and task.reduces:
                into = target if target is not None else sent
                value = self.reduce(value, source, out=into)
        elif task.reduces and source is not None and target is not None:
            value = self.reduce(target, source, out=target)
        else:
            value = source
        for place in (target, sent):
            if place is not None and value is not None and place is not value:
                np.copyto(place, value)
        self._tell(index, task)
        self.done[index] += 1

    def _tell(self, index: int, task: Task) -> None:
        """Sends what was written and frees the slot that was read."""
        block = self.blocks[index]
        if task.sends and block.send is not None:
            self.sent[block.send] += 1
            self.has_room[index] = False
            self.signals.messages[block.send].release()
            self.signals.bells[self.connections[block.send][1]].release()
        if task.receives and block.receive is not None:
            self.taken[block.receive] += 1
            self.has_message[index] = False
            self.signals.room[block.receive].release()
            self.signals.bells[self.connections[block.receive][0]].release()
