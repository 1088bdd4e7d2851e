"""Runs a schedule on real buffers with one process per rank, over one block of shared memory.

It does the work that `Schedule.execute` does with threads. The blocks of a rank take turns, and
connections hold two messages each. Data is cut into pieces that follow each other through all
steps. Every reduction has the same operands in the same order, since the check proves that a
chunk's content depends on the schedule alone. So integers equal those of `Schedule.execute`, and
floats do bit for bit. Two things are left open, there as here. They are the sign of a zero, where
`min` or `max` chooses between 0 and -0, and the bits inside a NaN.

A connection has two semaphores, for messages and for free slots. Plain counters in shared memory
would do on x86, where stores become visible in order, but not on ARM. Python has no fence, and a
semaphore orders the data before it everywhere.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.collectives import Schedule
from linkwright.errors import CollectiveError
from linkwright.names import ReductionName
from linkwright.processes.layout import (
    SLOTS,
    Block,
    Layout,
    fill,
    lay_out,
    rank_buffers,
    rank_programs,
    read,
)
from linkwright.processes.worker import DONE, WAITING, Signals, work_as_rank

if TYPE_CHECKING:
    from multiprocessing.context import SpawnContext, SpawnProcess

    from numpy.typing import NDArray
    from typing_extensions import Buffer

__all__ = ["execute_in_processes", "execute_in_processes_timed"]

# The most ranks and the most bytes, as for threads.
MOST_RANKS = 256
MOST_MEMORY = 16 << 30

# Where Linux keeps shared memory: writing past what is free there ends a process with SIGBUS.
SHARED_MEMORY = Path("/dev/shm")


def execute_in_processes(
    schedule: Schedule,
    arrays: Sequence[NDArray[Any] | Buffer | None],
    reduction: ReductionName = "sum",
    *,
    in_place: bool = False,
    timeout: float = 60.0,
) -> list[NDArray[Any]]:
    """Runs a schedule on real data, with a process for each rank, over shared memory.

    The processes are spawned: a script that calls this must guard its own start with
    `if __name__ == "__main__":`.

    Args:
        schedule: The schedule to run.
        arrays: The input of each rank, as for `Schedule.execute`.
        reduction: `sum`, `product`, `min` or `max`.
        in_place: Whether input and output share memory while it runs. The arrays that are given
            never change.
        timeout: How long the processes may take in all, in seconds, with their start.

    Returns:
        The output of each rank, equal to that of `Schedule.execute`.

    Raises:
        ScheduleError: If the schedule does not check.
        CollectiveError: If the arrays do not fit it or the memory, or a process dies or hangs.
    """
    return execute_in_processes_timed(
        schedule, arrays, reduction, in_place=in_place, timeout=timeout
    )[0]


def execute_in_processes_timed(
    schedule: Schedule,
    arrays: Sequence[NDArray[Any] | Buffer | None],
    reduction: ReductionName = "sum",
    *,
    in_place: bool = False,
    timeout: float = 60.0,
) -> tuple[list[NDArray[Any]], float]:
    """As `execute_in_processes`, with the seconds from when all processes were there to the end.

    Raises:
        ScheduleError: If the schedule does not check.
        CollectiveError: If the arrays do not fit it or the memory, or a process dies or hangs.
    """
    placements = schedule.check().placements
    placement = "in place" if in_place else placements[0]
    if placement not in placements:
        raise CollectiveError(f"schedule `{schedule.name}` does not run {placement}")
    if not timeout > 0:
        raise CollectiveError(f"the timeout is {timeout}", "give seconds above 0")
    ranks = len(schedule.gpus)
    if len(arrays) != ranks:
        raise CollectiveError(
            f"the schedule has {ranks} ranks, but {len(arrays)} inputs were given",
            "give one input for each rank",
        )
    if ranks > MOST_RANKS:
        raise CollectiveError(
            f"the schedule has {ranks} ranks", f"execute at most {MOST_RANKS} ranks"
        )
    # The reference refuses whatever does not fit the collective, in the words of `execute`, and
    # tells the type and the lengths of the outputs.
    expected = schedule.reference(arrays, reduction)
    # Signals may be heard of more than once, as in `execute`.
    reduction = "max" if schedule.collective == "barrier" else reduction
    dtype = expected[0].dtype
    inputs = [np.asarray([] if one is None else one, dtype).reshape(-1) for one in arrays]
    output_lengths = [len(output) for output in expected]
    del expected
    # Each rank's process imports this module, too, and reads no table.
    import pyarrow as pa

    rows = pa.table(schedule.steps()).to_pylist()
    buffers = rank_buffers(schedule, rows, inputs, output_lengths, placement == "in place")
    programs, connections = rank_programs(rows, buffers)
    layout = lay_out(schedule, dtype, buffers, programs, len(connections))
    _refuse_too_much(layout.size)
    # Whoever looks at what is there sees whose it is; macOS allows 30 characters.
    name = f"linkwright-{os.getpid()}-{secrets.token_hex(4)}"
    shared = SharedMemory(name, create=True, size=layout.size)
    try:
        for rank, buffer in enumerate(buffers):
            fill(layout.rank(shared, rank), inputs[rank], buffer, layout.chunks)
        _run(shared, layout, programs, connections, reduction, time.monotonic() + timeout)
        clock = layout.clock(shared)
        seconds = float(clock[:, 1].max() - clock[:, 0].min())
        del clock
        outputs = [
            read(layout.rank(shared, rank), buffer, layout.chunks)
            for rank, buffer in enumerate(buffers)
        ]
    finally:
        shared.unlink()
        # The frames of an error may still look at the memory, which then goes with them.
        with contextlib.suppress(BufferError):
            shared.close()
    return outputs, seconds


def _refuse_too_much(size: int) -> None:
    allowed = MOST_MEMORY
    if SHARED_MEMORY.is_dir():
        allowed = min(allowed, shutil.disk_usage(SHARED_MEMORY).free)
    if size > allowed:
        raise CollectiveError(
            f"running the schedule takes {size} bytes of shared memory; there are {allowed}",
            "give less data or run it with threads",
        )


def _run(
    shared: SharedMemory,
    layout: Layout,
    programs: list[list[Block]],
    connections: list[tuple[int, int]],
    reduction: str,
    deadline: float,
) -> None:
    """Starts a process for each rank and waits for all; none of them is left behind."""
    context = multiprocessing.get_context("spawn")
    signals = _signals(context, layout.ranks, len(connections))
    processes = []
    try:
        for rank, blocks in enumerate(programs):
            arguments = (shared.name, layout, rank, blocks, connections, signals, reduction)
            process = context.Process(
                target=work_as_rank, args=arguments, name=f"rank {rank}", daemon=True
            )
            processes.append(process)
            process.start()
        _join(processes, lambda rank: int(layout.states(shared)[rank]), deadline)
    finally:
        for process in processes:
            if process.pid is not None:
                process.kill()
                process.join()
                process.close()


def _signals(context: SpawnContext, ranks: int, connections: int) -> Signals:
    return Signals(
        messages=[context.Semaphore(0) for _ in range(connections)],
        room=[context.Semaphore(SLOTS) for _ in range(connections)],
        bells=[context.Semaphore(0) for _ in range(ranks)],
        start=context.Barrier(ranks),
    )


def _join(processes: list[SpawnProcess], state: Callable[[int], int], deadline: float) -> None:
    left = dict(enumerate(processes))
    while left:
        sentinels = [process.sentinel for process in left.values()]
        if not wait(sentinels, max(deadline - time.monotonic(), 0)):
            # Whoever waits does so for the one that hangs.
            rank = min(left, key=lambda rank: (state(rank) == WAITING, rank))
            raise CollectiveError(
                f"the process of rank {rank} did not end in time", "give a longer timeout"
            )
        for rank, process in list(left.items()):
            code = process.exitcode
            if code is None:
                continue
            if code != 0 or state(rank) != DONE:
                how = f"was ended by signal {-code}" if code < 0 else f"failed with code {code}"
                raise CollectiveError(f"the process of rank {rank} {how}")
            del left[rank]
