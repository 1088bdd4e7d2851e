"""Writes a file, or a folder of files, whole or not at all.

New content stands aside until it is whole and on the disk. Its name is one that nobody can guess or
have laid as a link before. Its writer holds a lock on it. The system takes the lock back when the
writer dies, however it dies. So the next writer can tell which files were left behind, and sweeps
them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from linkwright.errors import FileError
from linkwright.files import cause_of

__all__ = ["LAST_OF_SET", "UnsyncedError", "replace_file", "resolved", "staged", "turn"]

# How long a turn is waited for without a word, and between two looks, in seconds.
PATIENCE, LOOK = 1.0, 0.02

# How file systems say that they put no folders on the disk, and never have to.
NEVER_SYNCED = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}

# A folder's files are a whole set if this one is there: it goes first and comes last.
LAST_OF_SET = "manifest.json"

# An earlier set may hold these files and a later one may not. They must not pass for the later
# set's.
OF_ANY_SET = [
    "jobs.parquet",
    "latencies.parquet",
    "links.parquet",
    "ranks.parquet",
    "report.html",
    "summary.json",
    "timeline.json",
]


class UnsyncedError(FileError):
    """A file that is replaced, and may be the old one again once the computer has crashed."""


def resolved(path: Path) -> Path:
    """Returns the path behind symbolic links, whether it exists or not.

    Raises:
        FileError: If the links lead in a circle.
    """
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise FileError(f"cannot follow `{path}`: {cause_of(error)}") from error


def replace_file(path: Path, content: bytes) -> None:
    """Writes the content beside the file and renames it, so that no reader sees half of it.

    A symbolic link stays, and its target is replaced. The target keeps its mode and, where the
    system allows it, its owner. When this returns, the content is on the disk.

    Raises:
        UnsyncedError: If it is replaced, and the disk does not take its folder.
        OSError: If the folder does not exist or cannot be written to; the file is as it was.
    """
    target, before = resolved(path), _status(path)
    if before is not None and not stat.S_ISREG(before.st_mode):
        # A device or a pipe is written to where it stands.
        path.write_bytes(content)
        return
    _sweep(target.parent, _aside_of(target.name))
    descriptor, aside = _create_aside(target, before)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
            # The file is still open, and so still locked: a file that is closed and not renamed is
            # swept.
            aside.replace(target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    try:
        _sync_folder(target.parent)
    except OSError as error:
        raise UnsyncedError(
            f"cannot put the folder of `{path}` on the disk: {cause_of(error)}",
            "the file may be the new one or the old one; look at it once the disk is mended",
        ) from error


@contextmanager
def staged(directory: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Makes a folder to write into. Its files become the directory's set of files if all goes well.

    A directory that is new appears whole. Into one that exists the files move one by one. Its
    `manifest.json` is gone before the first and there again after the last, so that half a set is
    never seen with one. Files of an earlier set that the new one lacks are removed with it.

    The list holds the files when the block has ended.

    Raises:
        FileError: If the directory cannot be written to.
    """
    written: list[Path] = []
    try:
        target = resolved(directory)
        if target.exists():
            if not target.is_dir():
                raise FileError(f"cannot write into `{directory}`: it is no directory")
            folder, name = target, ""
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            folder, name = target.parent, target.name
        _sweep(folder, _aside_of(name))
        descriptor, aside = _make_aside(folder, name)
        try:
            yield aside, written
            names = sorted(file.name for file in aside.iterdir())
            _sync_tree(aside)
            _publish(aside, target)
            written += [directory / name for name in names]
        finally:
            shutil.rmtree(aside, ignore_errors=True)
            if descriptor is not None:
                os.close(descriptor)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot write into `{directory}`: {cause_of(error)}") from error


@contextmanager
def turn(
    folder: Path, wait: float | None = None, remark: Callable[[], None] | None = None
) -> Iterator[None]:
    """Keeps other programs that ask for a turn in this folder waiting until the block has ended.

    Args:
        folder: The folder.
        wait: The most seconds to wait; None for no end.
        remark: Called once, when a second has been waited for.

    Raises:
        TimeoutError: If the wait was too short.
        OSError: If the folder cannot be opened or its file system has no locks.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    # The folder itself is locked: its files are replaced, and a lock file would stay.
    handle = os.open(folder, os.O_RDONLY)
    begun = time.monotonic()
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                waited = time.monotonic() - begun
                if wait is not None and waited >= wait:
                    raise TimeoutError("another program keeps it locked") from error
            if remark is not None and waited >= PATIENCE:
                remark()
                remark = None
            time.sleep(LOOK if wait is None else min(LOOK, wait - waited))
        yield
    finally:
        os.close(handle)


def _publish(aside: Path, target: Path) -> None:
    """Makes the files in a folder aside those of the target."""
    if not target.is_dir():
        # Where somebody else has made the directory meanwhile, the files move into it.
        with contextlib.suppress(OSError):
            aside.rename(target)
        if not aside.exists():
            _sync_folder(target.parent)
            return
    names = sorted(file.name for file in aside.iterdir())
    for name in names:
        if (target / name).is_dir():
            raise FileError(f"cannot write `{target / name}`: it is a directory", "move it away")
    with turn(target), _uninterrupted():
        # Every set has these two; a writer that was killed may have left the one alone.
        if any((target / name).exists() for name in (LAST_OF_SET, "summary.json")):
            (target / LAST_OF_SET).unlink(missing_ok=True)
            for name in OF_ANY_SET:
                if name not in names:
                    (target / name).unlink(missing_ok=True)
        for name in sorted(names, key=lambda name: name == LAST_OF_SET):
            if name == LAST_OF_SET:
                _sync_folder(target)
            (aside / name).replace(target / name)
        _sync_folder(target)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Holds Ctrl-C and SIGTERM back for the moment that a few renames take."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _aside_of(name: str) -> re.Pattern[str]:
    """The names under which a file or a new folder stands aside; of none, what is put in one."""
    return re.compile(rf"\.{re.escape(name)}\.[0-9a-f]+\.part" if name else r"\.part-[0-9a-z_]+")


def _unguessable(name: str) -> str:
    token = os.urandom(16).hex()
    return f".{name}.{token}.part" if name else f".part-{token}"


def _create_aside(target: Path, before: os.stat_result | None) -> tuple[int, Path]:
    """A new file beside the target, open and locked, with the mode of what it will replace."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, flag, 0)
    while True:
        aside = target.with_name(_unguessable(target.name))
        descriptor = os.open(aside, flags, 0o666 if before is None else 0o600)
        try:
            if _hold(descriptor):
                if before is not None:
                    _make_alike(descriptor, aside, before)
                return descriptor, aside
        except BaseException:
            os.close(descriptor)
            aside.unlink(missing_ok=True)
            raise
        os.close(descriptor)


def _make_aside(folder: Path, name: str) -> tuple[int | None, Path]:
    """A new folder in this one, locked where the system can."""
    while True:
        aside = folder / _unguessable(name)
        aside.mkdir()
        if os.name == "nt":
            return None, aside
        descriptor = os.open(aside, os.O_RDONLY)
        if _hold(descriptor):
            return descriptor, aside
        os.close(descriptor)


def _make_alike(descriptor: int, aside: Path, before: os.stat_result) -> None:
    """Gives a file the owner, where the system allows it, and the mode of another."""
    if os.name == "nt":
        aside.chmod(stat.S_IMODE(before.st_mode))
        return
    now = os.fstat(descriptor)
    # A change of owner may take mode bits away, so that the mode comes after it.
    if now.st_uid != before.st_uid:
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, before.st_uid, -1)
    if now.st_gid != before.st_gid:
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, -1, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def _hold(descriptor: int) -> bool:
    """Locks what this process has just made; false if a sweeper was quicker and took it."""
    if sys.platform == "win32":
        return True
    import fcntl

    with contextlib.suppress(OSError):
        # Where a file system has no locks, nothing is swept either.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return os.fstat(descriptor).st_nlink > 0


def _sweep(folder: Path, names: re.Pattern[str]) -> None:
    """Removes from the folder what dead writers left in it under such names."""
    if sys.platform == "win32":
        return
    import fcntl

    # A file that cannot be read or removed is left: it is litter and no mistake of this writer.
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not names.fullmatch(entry.name) or entry.is_symlink():
                continue
            with contextlib.suppress(OSError):
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                descriptor = os.open(entry.path, flags)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        Path(entry.path).unlink()
                finally:
                    os.close(descriptor)


def _sync_tree(folder: Path) -> None:
    """Has the system put the folder's files on the disk."""
    for file in folder.iterdir():
        descriptor = os.open(file, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    """Has the system put the folder's names on the disk, where it ever does.

    Raises:
        OSError: If the disk fails.
    """
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot, and keep the order of renames anyway.
        if error.errno not in NEVER_SYNCED:
            raise
    finally:
        os.close(descriptor)
