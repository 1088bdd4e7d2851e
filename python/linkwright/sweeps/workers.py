"""Where the runs of a sweep are performed: processes or threads here, or a Dask cluster.

Each is a `concurrent.futures.Executor` that can be opened anew when its workers are lost.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from linkwright.errors import ArgumentError, SweepError, given
from linkwright.plug_ins import check_for_workers

__all__ = [
    "Pool",
    "Workers",
    "dask_cluster",
    "given_executor",
    "is_lost_worker",
    "local_processes",
    "local_threads",
    "workers_of",
]

# A scheduler that has not answered by then is not there; in seconds.
PATIENCE = 10


@dataclass(frozen=True)
class Pool:
    """Is an open executor.

    Attributes:
        executor: It.
        room: How many runs it should have at a time, those that wait in it among them. Raises
            BrokenExecutor if it will perform none any more.
        stays_open: Whether it is not closed with the sweep.
    """

    executor: Executor
    room: Callable[[], int]
    stays_open: bool = False


@dataclass(frozen=True)
class Workers:
    """Performs the runs of a sweep.

    Attributes:
        open: Opens an executor, and closes it when its block ends. If the block ends well, it
            closes after the runs under way, else as soon as it can.
        check: Raises SweepError if the workers could not call this function.
        check_plug_ins: Raises SweepError if they could not import these classes.
    """

    open: Callable[[], AbstractContextManager[Pool]]
    check: Callable[[Callable[..., Any]], None]
    check_plug_ins: Callable[[Iterable[str]], None] = check_for_workers


def local_processes(count: int | None = None) -> Workers:
    """Processes on this computer, which end with this one even if it is killed.

    They are spawned: a script must guard its own start with `if __name__ == "__main__":`, and the
    runs' function must stand at the top level of a module.

    Args:
        count: How many; one for each processor where absent.

    Raises:
        SweepError: If the count is below one.
    """
    count = _counted(count)

    @contextmanager
    def opened() -> Iterator[Pool]:
        context = get_context("spawn")
        # Only this process holds the writing end. When it is closed or dies, the workers read an
        # end of file and leave, even from the midst of a run.
        reader, writer = context.Pipe(duplex=False)
        executor = ProcessPoolExecutor(
            count, mp_context=context, initializer=_begin_worker, initargs=(reader,)
        )
        try:
            yield Pool(executor, lambda: count + 1)
            executor.shutdown()
        finally:
            writer.close()
            executor.shutdown(cancel_futures=True)
            reader.close()

    return Workers(opened, _check_pickles)


def local_threads(count: int | None = None) -> Workers:
    """Threads of this process: they begin at once, and Linkwright's core runs beside Python.

    Ctrl-C waits for the runs under way, which no thread can leave.

    Args:
        count: How many; one for each processor where absent.

    Raises:
        SweepError: If the count is below one.
    """
    count = _counted(count)

    @contextmanager
    def opened() -> Iterator[Pool]:
        executor = ThreadPoolExecutor(count)
        try:
            yield Pool(executor, lambda: count + 1)
        finally:
            executor.shutdown(cancel_futures=True)

    return Workers(opened, _check_nothing, _check_nothing)


def dask_cluster(address: str) -> Workers:
    """The workers of a Dask cluster, on which the same version of Linkwright must be installed.

    Workers may come and go; while there is none, the sweep waits.

    Args:
        address: The scheduler's, such as `tcp://node1:8786`.

    Raises:
        SweepError: If `distributed` is not installed.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise SweepError(
            "a Dask cluster needs the package `distributed`",
            "pip install 'linkwright[dask]'",
        ) from error

    @contextmanager
    def opened() -> Iterator[Pool]:
        try:
            client = Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise SweepError(
                f"no Dask scheduler answers at `{address}`",
                "start one with `dask scheduler`, or look at the address",
            ) from error
        known = 1

        def room() -> int:
            nonlocal known
            # A client whose scheduler stays away closes itself, and its futures never end.
            if client.status in ("closing", "closed"):
                raise BrokenExecutor("the Dask scheduler is gone")
            # The cluster may have grown; a scheduler that is away for a moment changes nothing.
            with contextlib.suppress(OSError, RuntimeError):
                known = max(sum(client.nthreads().values()), 1)
            return 2 * known

        try:
            # Runs are pure, but a run that is tried again must not be answered from the first try.
            yield Pool(client.get_executor(pure=False), room)
        finally:
            client.close()

    return Workers(opened, _check_nothing)


def workers_of(argument: str, value: object) -> Any:
    """Reads `Workers`, or an executor.

    Raises:
        ArgumentError: If it is neither.
    """
    if isinstance(value, Workers) or callable(getattr(value, "submit", None)):
        return value
    raise ArgumentError(given(value), "give `Workers` or an executor", argument)


def given_executor(executor: Executor, count: int | None = None) -> Workers:
    """Any executor, which stays open and is its owner's to close.

    Args:
        executor: It.
        count: How many runs it performs at a time; the number of processors where absent.

    Raises:
        SweepError: If the count is below one.
    """
    count = _counted(count)

    def opened() -> AbstractContextManager[Pool]:
        return contextlib.nullcontext(Pool(executor, lambda: 2 * count, stays_open=True))

    processes = isinstance(executor, ProcessPoolExecutor)
    if processes:
        return Workers(opened, _check_pickles)
    return Workers(opened, _check_nothing, _check_nothing)


def is_lost_worker(error: BaseException) -> bool:
    """Whether this says that a worker was lost, and nothing about the run."""
    if isinstance(error, BrokenExecutor | CancelledError):
        return True
    # Only a program that has imported Dask can have an error of it.
    scheduler = sys.modules.get("distributed.scheduler")
    return scheduler is not None and isinstance(error, scheduler.KilledWorker)


def _counted(count: int | None) -> int:
    if count is None:
        able = getattr(os, "sched_getaffinity", None)
        return len(able(0)) if able is not None else os.cpu_count() or 1
    if count < 1:
        raise SweepError(f"there are {count} workers", "give at least 1")
    return count


def _check_pickles(function: Callable[..., Any]) -> None:
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise SweepError(
            f"other processes cannot find the function `{function.__qualname__}`",
            "put it at the top level of a module, or use threads",
        ) from error


def _check_nothing(asked: object) -> None:
    del asked


def _begin_worker(parent: Connection) -> None:
    """Makes a worker deaf to Ctrl-C, which is the parent's to hear, and end with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        parent.recv_bytes()
    os._exit(1)
