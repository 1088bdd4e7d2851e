"""Reads, changes and rewrites the state of servers in a file as one step, and tells it after that.

A change is on the disk before anybody hears of it. A program that is killed in between leaves GPUs
held that nobody knows of: `state show` lists them, and they can be released. The other way round
two jobs would get the same GPUs, which nothing shows.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from linkwright import Allocator, LinkwrightError, System
from linkwright.allocation import BandwidthFit
from linkwright.cli import output
from linkwright.cli.program import BusyError
from linkwright.errors import FileError, printable
from linkwright.files import LARGEST_TEXT, cause_of, decode, read_bytes
from linkwright.texts import counted, span
from linkwright.writing import UnsyncedError, resolved, turn

__all__ = [
    "LONGEST_WAIT",
    "Stored",
    "describe",
    "gpus_on",
    "lost_on",
    "open_state",
    "stored",
    "tell",
]

# Seconds for which others may keep the state, where nobody says for how many.
LONGEST_WAIT = 60.0


@dataclass
class Stored:
    """A server's state while no other program may change it.

    Attributes:
        allocator: The state, to be changed.
        name: Its file as given.
        file: Where that leads.
        wait: Seconds that others may keep it locked.
    """

    allocator: Allocator
    name: Path
    file: Path
    wait: float
    _before: bytes | None
    _after: bytes | None = field(default=None)

    def commit(self) -> None:
        """Saves the state; it is on the disk when this returns.

        Raises:
            FileError: If the file cannot be written; then it is as it was. If the disk fails
                once it is written, nobody knows, and the error says so.
        """
        self._after = self.allocator.save().encode()
        try:
            output.save(self.file, self._after.decode())
        except UnsyncedError as error:
            # Another write of such a disk would prove nothing.
            raise FileError(
                error.problem,
                "the state may or may not hold the job, or the mark, of this command; look at "
                "`state show` once the disk is mended",
            ) from error
        except BaseException:
            self.undo()
            raise

    def undo(self) -> None:
        """Takes the change back, as long as it is the last one.

        Raises:
            FileError: If the file cannot be read or written.
        """
        if self._after is None or not self.file.exists() or read_bytes(self.file) != self._after:
            return
        if self._before is not None:
            output.save(self.file, self._before.decode())
            return
        try:
            self.file.unlink()
        except OSError as error:
            raise FileError(f"cannot remove `{self.name}`: {cause_of(error)}") from error

    def withdraw(self, job: str, machine: System) -> None:
        """Takes back what was given to the job, after others may have changed the state, too.

        Raises:
            BusyError: If another program keeps the state locked for too long.
            FileError: If the file cannot be read or written.
        """
        with _locked(self.name, self.wait) as (file, before):
            if before is None:
                return
            if before == self._after:
                self.undo()
                return
            now = _restored(self.name, before, machine)
            # Its own time tells a job from another that has got its name since.
            mine = (self.allocator.held[job], self.allocator.owners.get(job))
            if (now.held.get(job), now.owners.get(job)) == mine:
                now.release(job)
                output.save(file, now.save())


def tell(prepare: Callable[[], Callable[[], None]], undo: Callable[[], None]) -> None:
    """Prints what a saved change answers, or takes the change back if nobody can have read it.

    The prepared function prints the answer. An interruption meanwhile leaves the change: the reader
    may have the answer already.

    Raises:
        FileError: If the answer cannot be printed.
        ReaderLeftError: If nobody reads it.
    """
    try:
        show = prepare()
    except BaseException as error:
        _take_back(undo, error)
        raise
    try:
        show()
    except Exception as error:
        _take_back(undo, error)
        raise


def _take_back(undo: Callable[[], None], error: BaseException) -> None:
    try:
        undo()
    except LinkwrightError as another:
        why = str(error) or "interrupted"
        raise FileError(f"{why}, and the change may stay: {another.problem}") from error


@contextmanager
def stored(
    file: Path,
    machine: System,
    *,
    policy: str = "preserve",
    servers: str = "first-fit",
    bandwidth_model: str = "sound",
    bandwidth_profile: str | None = None,
    bandwidth_fit: BandwidthFit | None = None,
    ties: str = "nearest",
    lost: Sequence[int] = (),
    wait: float | None = None,
) -> Iterator[Stored]:
    """The allocator in the file's state, or idle if there is no file, to be changed in the block.

    Two programs that do this at once take turns; `wait` says for how many seconds, a minute
    where it is absent.

    Raises:
        BusyError: If another program keeps the state locked for longer.
        FileError: If the file cannot be read or locked.
        InputError: If it is not a saved state.
        AllocationError: If it is the state of another machine.
    """
    wait = LONGEST_WAIT if wait is None else wait
    with _locked(file, wait) as (target, before):
        choices: dict[str, Any] = {
            "policy": policy,
            "servers": servers,
            "bandwidth_model": bandwidth_model,
            "bandwidth_profile": bandwidth_profile,
            "bandwidth_fit": bandwidth_fit,
            "ties": ties,
        }
        allocator = _restored(file, before, machine, lost, **choices)
        yield Stored(allocator, file, target, wait, before)


def open_state(file: Path, machine: System) -> Allocator:
    """The allocator in the file's state, to be looked at.

    Raises:
        FileError: If there is no such file, or it cannot be read.
        InputError: If it is not a saved state.
        AllocationError: If it is the state of another machine.
    """
    target = resolved(file)
    content = _content(file, target)
    if content is None:
        raise FileError(f"there is no state `{file}`", "`allocate --state` makes one")
    return _restored(file, content, machine)


def _restored(
    name: Path,
    content: bytes | None,
    machine: System,
    lost: Sequence[int] = (),
    **choices: Any,
) -> Allocator:
    text = None if content is None else decode(str(name), content)
    allocator = Allocator(
        machine, state=text, state_file=printable(str(name)), lost=lost, **choices
    )
    _warn_of_lost(allocator)
    return allocator


def _warn_of_lost(allocator: Allocator) -> None:
    """Says which GPUs are lost, and that those that are left may have other ids now."""
    system = allocator.system
    for number, (lost, before) in enumerate(_losses(allocator)):
        if not lost:
            continue
        gpus = ",".join(map(str, lost))
        are = f"GPU {gpus} is" if len(lost) == 1 else f"GPUs {gpus} are"
        moved = [f"{old} is {new}" for new, old in enumerate(before) if new != old]
        now = f"; by the ids of now, {', '.join(moved)}" if moved else ""
        who = "the machine" if system.fabric is None else f"node{number}"
        typer.echo(
            f"warning: {who} has lost {counted(len(lost), 'GPU')}: {are} gone by the ids "
            f"of the state, and marked unhealthy{now}",
            err=True,
        )


def _losses(allocator: Allocator) -> list[tuple[list[int], list[int]]]:
    """Of each server the GPUs that it has lost, and those that it has, by its ids before."""
    lost, before = allocator.lost, allocator.ids_before_loss
    losses, first, at = [], 0, 0
    for count in allocator.system.gpus_per_server:
        here = before[at : at + count]
        end = first + count
        while any(first <= gpu < end for gpu in lost) and end - first < count + sum(
            first <= gpu < end for gpu in lost
        ):
            end += 1
        gone = [gpu - first for gpu in lost if first <= gpu < end]
        losses.append((gone, [gpu - first for gpu in here]))
        first, at = end, at + count
    return losses


def gpus_on(system: System, gpus: list[int] | None, number: int | None) -> list[int]:
    """Gives GPUs by their ids in the system: those named, or all of a server.

    Raises:
        typer.BadParameter: If neither is named, or there is no such server or GPU of it.
    """
    if number is None:
        if not gpus:
            raise typer.BadParameter("name GPUs by their ids, or --server for all of one.")
        return gpus
    each = system.gpus_per_server
    if number >= len(each):
        raise typer.BadParameter(
            f"there is no server {number}; `{system.name}` has servers 0 to {len(each) - 1}."
        )
    for gpu in gpus or []:
        if gpu >= each[number]:
            raise typer.BadParameter(
                f"node{number} has no GPU {gpu}; it has GPUs 0 to {each[number] - 1}."
            )
    first = sum(each[:number])
    return [first + gpu for gpu in (gpus or range(each[number]))]


def lost_on(file: Path, gpus: list[int], number: int | None) -> list[int]:
    """Lost GPUs by their ids in the state, where the ids are those of one of its servers.

    Raises:
        typer.BadParameter: If the state has no such server.
        FileError: If the file cannot be read.
    """
    if number is None:
        return gpus
    text = decode(str(file), read_bytes(resolved(file), LARGEST_TEXT))
    try:
        servers = json.loads(text)["servers"]
        each = [int(servers[str(server)]["gpus"]) for server in range(number + 1)]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise typer.BadParameter(f"`{file}` has no server {number}.") from error
    return [sum(each[:number]) + gpu for gpu in gpus]


def describe(allocator: Allocator) -> dict[str, object]:
    """Gives the state as data."""
    from linkwright.cli.owners import owner_fields

    whole: dict[str, object] = {
        "free": allocator.free,
        "unhealthy": allocator.unhealthy,
        "held": allocator.held,
        "owners": {job: owner_fields(owner) for job, owner in allocator.owners.items()},
        "lost": allocator.lost,
    }
    if allocator.system.fabric is None:
        return whole
    from linkwright.cli.cluster import described

    return {**whole, "exclusive": allocator.exclusive, "servers": described(allocator)}


@contextmanager
def _locked(name: Path, wait: float) -> Iterator[tuple[Path, bytes | None]]:
    """Gives the file that a name leads to and its content, while no other program may change it.

    Another program may keep it locked for `wait` seconds before that.

    Symbolic links are followed first, so that a state is one state by whatever name.
    """
    file = resolved(name)
    if not file.parent.is_dir():
        raise FileError(f"there is no directory `{name.parent}`", "make it first")
    with ExitStack() as stack:
        try:
            stack.enter_context(turn(file.parent, wait, lambda: _say_waiting(name, wait)))
        except TimeoutError as error:
            raise BusyError(
                f"another program has kept `{name}` locked for {span(wait)}",
                "nothing is changed; try again, or wait longer with --wait",
            ) from error
        except OSError as error:
            raise FileError(
                f"cannot lock `{file.parent}`: {cause_of(error)}",
                "keep the state in a folder of this computer that you may read and write",
            ) from error
        if resolved(name) != file:
            raise FileError(f"`{name}` was led elsewhere meanwhile", "try again")
        yield file, _content(name, file)


def _say_waiting(name: Path, wait: float) -> None:
    output.say(
        f"waiting for `{name}`, which another program keeps locked; --wait gives up after "
        f"{span(wait)}",
        stderr=True,
    )


def _content(name: Path, file: Path) -> bytes | None:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"cannot read `{name}`: {cause_of(error)}") from error
    if stat.S_ISDIR(status.st_mode):
        raise FileError(f"`{name}` is a directory", "name a file in it")
    if not stat.S_ISREG(status.st_mode):
        raise FileError(f"`{name}` is no plain file", "name one for the state")
    if status.st_nlink > 1:
        # Only one of the names would lead to what is written next.
        raise FileError(
            f"`{name}` has {status.st_nlink} names (hard links), which would become different "
            "states",
            "keep one of them, and make the others symbolic links",
        )
    return read_bytes(file, LARGEST_TEXT)
