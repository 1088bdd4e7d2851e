"""Limits of this computer that a program runs into: each named, with what raises it.

They are nobody's mistake: a shell, a container or a scheduler sets them (`ulimit -a` shows them).
"""

from __future__ import annotations

import errno
import mmap
import os
import re
import sys
from collections.abc import Sequence
from threading import Event, Thread

from linkwright.errors import LinkwrightError

# Where no other file may be opened, it could not be loaded.
if sys.platform != "win32":
    import resource

__all__ = ["check_before_numpy", "check_room", "limit_of"]

# Bytes of addresses that numpy takes when it is loaded (81 MiB), with some to spare.
NUMPY = 128 * 2**20

# How programs of others say that they ran into a limit, where they raise no error of the system's.
MEMORY = re.compile(r"failed to map segment|annot allocate memory|annot apply additional memory")
FILES = re.compile(r"[Tt]oo many open files")
THREADS = re.compile(r"can't start new thread|kind: WouldBlock|Resource temporarily unavailable")


def limit_of(error: BaseException) -> LinkwrightError | None:
    """The limit that an error, or one of its causes, tells of; None where it tells of none."""
    # A file that is not ready gives the same number as a process that may not be made.
    if isinstance(error, BlockingIOError) and error.errno == errno.EAGAIN:
        return _threads()
    cause: BaseException | None = error
    seen: set[int] = set()
    # An error can be its own cause, as what is raised from itself.
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        number = cause.errno if isinstance(cause, OSError) else None
        text = "" if isinstance(cause, OSError | LinkwrightError) else str(cause)
        # So the interpreter calls what failed and gives no reason, as libraries do out of memory.
        forgotten = isinstance(cause, SystemError) and _soft("RLIMIT_AS") is not None
        if (
            isinstance(cause, MemoryError)
            or number == errno.ENOMEM
            or MEMORY.search(text)
            or forgotten
        ):
            return _memory()
        if number in (errno.EMFILE, errno.ENFILE) or FILES.search(text):
            return _files()
        if THREADS.search(text):
            return _threads()
        cause = cause.__cause__
    return None


def check_room(*, files: int, threads: int, space: int) -> None:
    """Refuses, before it is half done, what needs more of the computer than is left.

    Args:
        files: How many it opens at once.
        threads: How many it starts.
        space: How many bytes of addresses it reserves, beside them.

    Raises:
        LinkwrightError: If a limit leaves fewer, with its name.
    """
    opened: list[int] = []
    started: list[Thread] = []
    enough = Event()
    try:
        if sys.platform != "win32":
            # Read-only and private, it is reserved and takes nothing.
            kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            mmap.mmap(-1, space, flags=kind, prot=mmap.PROT_READ).close()
        for _ in range(files):
            opened.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(threads):
            thread = Thread(target=enough.wait)
            thread.start()
            started.append(thread)
    except (OSError, RuntimeError) as error:
        limit = limit_of(error)
        if limit is None:
            raise
        raise limit from error
    finally:
        enough.set()
        for descriptor in opened:
            os.close(descriptor)
        for thread in started:
            thread.join()


def check_before_numpy() -> None:
    """Looks for room before numpy is loaded, where addresses are limited.

    Its library of linear algebra ends the process by itself where it gets none.
    """
    if _soft("RLIMIT_AS") is not None and _NumpyFinder not in sys.meta_path:
        sys.meta_path.insert(0, _NumpyFinder)


class _NumpyFinder:
    """Is asked for every module, and finds none."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        """Refuses numpy where there is no room for it."""
        del path, target
        if name == "numpy":
            check_room(files=0, threads=0, space=NUMPY)


def _memory() -> LinkwrightError:
    limit = _soft("RLIMIT_AS")
    held = "" if limit is None else f": its address space is limited to {limit / 2**20:,.0f} MiB"
    return LinkwrightError(
        f"this computer has too little memory for it{held}",
        "use a smaller size, or raise the limit (ulimit -v, a container's memory)",
    )


def _files() -> LinkwrightError:
    limit = _soft("RLIMIT_NOFILE")
    counted = "too many files are open" if limit is None else f"only {limit} files may be open"
    return LinkwrightError(f"{counted} at once", "raise the limit, such as by `ulimit -n 1024`")


def _threads() -> LinkwrightError:
    limit = _soft("RLIMIT_NPROC")
    held = "" if limit is None else f": this user may have {limit}"
    # Every thread has a stack among the addresses.
    more = "" if _soft("RLIMIT_AS") is None else ", or that of addresses, ulimit -v"
    return LinkwrightError(
        f"the system allows no more threads or processes{held}",
        f"raise the limit (ulimit -u, a container's pids{more})",
    )


def _soft(name: str) -> int | None:
    """A limit of this process; None where there is none."""
    if sys.platform == "win32":
        return None
    limit = resource.getrlimit(getattr(resource, name))[0]
    return None if limit == resource.RLIM_INFINITY else limit
