"""`linkwright state`: who holds which GPU of a server, or of several, kept in a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Container
from pathlib import Path
from typing import Annotated

import typer

from linkwright import Allocator
from linkwright.allocation import Owner
from linkwright.errors import FileError, InputError
from linkwright.cli import cluster, output, server
from linkwright.cli.durations import parse_duration
from linkwright.cli.options import (
    MOST_GPUS,
    Json,
    LockWait,
    MachineName,
    NetworkName,
    Servers,
    StateFile,
)
from linkwright.cli.owners import owner_text
from linkwright.cli.standard_input import DASH, machine_of, standard_input
from linkwright.cli.tables import Table
from linkwright.errors import printable

app = typer.Typer(
    help="Show and change who holds which GPU (see allocate --state).", no_args_is_help=True
)

# The most characters that are shown of a line that is no job's name.
MOST_SHOWN = 60

Gpus = Annotated[
    list[int] | None,
    typer.Argument(metavar="GPU...", help="GPU ids.", min=0, max=MOST_GPUS),
]
ServerNumber = Annotated[
    int | None,
    typer.Option(
        "--server",
        metavar="N",
        min=0,
        help="The server of these GPUs, which counts them; all of its GPUs if none is named.",
    ),
]


@app.command()
def show(
    machine: MachineName,
    state: StateFile,
    servers: Servers = 1,
    network: NetworkName = None,
    json: Json = False,
) -> None:
    """Show which GPUs are free, held and unhealthy."""
    _shown(server.open_state(state, machine_of(machine, servers, network)), json)()


@app.command()
def release(
    job: Annotated[str, typer.Argument(help="The job that has ended.")],
    machine: MachineName,
    state: StateFile,
    servers: Servers = 1,
    network: NetworkName = None,
    wait: LockWait = None,
    json: Json = False,
) -> None:
    """Take a job's GPUs back."""
    with server.stored(
        _existing(state), machine_of(machine, servers, network), wait=wait
    ) as stored:
        gpus = stored.allocator.release(job)
        stored.commit()
        described = {"job": job, "released": gpus, **server.describe(stored.allocator)}
        where = cluster.gpus_text(stored.allocator.system, gpus)
        line = f"job {printable(job)} released {where}"
        server.tell(lambda: _answer(described, line, json), stored.undo)


@app.command()
def reconcile(
    machine: MachineName,
    state: StateFile,
    servers: Servers = 1,
    network: NetworkName = None,
    grace: Annotated[
        str,
        typer.Option(metavar="TIME", help="Keep jobs that got their GPUs so shortly before."),
    ] = "0s",
    none: Annotated[
        bool, typer.Option("--none", help="No job lives; standard input is not read.")
    ] = False,
    expired: Annotated[
        bool, typer.Option("--expired", help="Release by leases instead of a list.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be released; change nothing.")
    ] = False,
    wait: LockWait = None,
    json: Json = False,
) -> None:
    """Take back the GPUs of jobs that have ended without a release.

    Standard input names the living jobs, one a line, as allocate --job named them; all
    others are released. Names of other servers' jobs do no harm. A living job stays also
    where its lease is over, and so does a job that got its GPUs after this command began,
    or within --grace before: the list may be older than it is. An empty list is refused,
    since a scheduler that does not answer prints one: say --none where no job lives. So is
    a line with blanks in it that names no job of the state, such as a scheduler's error.

    With --expired the jobs are released whose lease is over, whatever else is known.
    """
    begun = time.time()
    if none and expired:
        raise typer.BadParameter("--none and --expired both say what has ended; give one.")
    kept_for = parse_duration(grace) or 0.0
    # The list comes first: nobody waits for it with the state locked.
    listed = {} if none or expired else _listed(machine)
    with server.stored(
        _existing(state), machine_of(machine, servers, network), wait=wait
    ) as stored:
        owners = stored.allocator.owners
        if expired:
            released = stored.allocator.release_overdue(time.time())
        else:
            _check_names(listed, known=stored.allocator.held)
            released = stored.allocator.reconcile(list(listed), since=max(0.0, begun - kept_for))
        if released and not dry_run:
            stored.commit()
        document = {"released": released, "dry_run": dry_run, **server.describe(stored.allocator)}
        verb = "would release" if dry_run else "released"
        lines = [
            f"{verb} job {printable(job)}: {cluster.gpus_text(stored.allocator.system, gpus)}"
            f"{_owned(owners.get(job))}"
            for job, gpus in released.items()
        ]
        server.tell(
            lambda: _answer(document, "\n".join(lines or [f"{verb} nothing"]), json),
            stored.undo,
        )
    overdue = {job: owner for job, owner in stored.allocator.owners.items() if owner.is_over(begun)}
    for job, owner in overdue.items():
        typer.echo(f"warning: job {printable(job)} lives on{_owned(owner)}", err=True)


@app.command("mark-lost")
def mark_lost(
    gpus: Annotated[
        list[int], typer.Argument(metavar="GPU...", help="GPU ids.", min=0, max=MOST_GPUS)
    ],
    machine: MachineName,
    state: StateFile,
    on: ServerNumber = None,
    servers: Servers = 1,
    network: NetworkName = None,
    wait: LockWait = None,
    json: Json = False,
) -> None:
    """Say which GPUs a machine has lost, by their ids before.

    The machine is the one that is left, with fewer GPUs. Where it alone tells which GPUs are
    gone, nobody need say it.
    """
    whole = machine_of(machine, servers, network)
    lost = server.lost_on(_existing(state), gpus, on)
    with server.stored(state, whole, lost=lost, wait=wait) as stored:
        stored.commit()
        server.tell(lambda: _shown(stored.allocator, json), stored.undo)


@app.command("mark-unhealthy")
def mark_unhealthy(
    machine: MachineName,
    state: StateFile,
    gpus: Gpus = None,
    on: ServerNumber = None,
    servers: Servers = 1,
    network: NetworkName = None,
    wait: LockWait = None,
    json: Json = False,
) -> None:
    """Keep GPUs from new jobs; a job that holds one goes on."""
    with server.stored(state, machine_of(machine, servers, network), wait=wait) as stored:
        for gpu in server.gpus_on(stored.allocator.system, gpus, on):
            stored.allocator.mark_unhealthy(gpu)
        stored.commit()
        server.tell(lambda: _shown(stored.allocator, json), stored.undo)


@app.command("mark-healthy")
def mark_healthy(
    machine: MachineName,
    state: StateFile,
    gpus: Gpus = None,
    on: ServerNumber = None,
    servers: Servers = 1,
    network: NetworkName = None,
    wait: LockWait = None,
    json: Json = False,
) -> None:
    """Let GPUs be given out again."""
    with server.stored(
        _existing(state), machine_of(machine, servers, network), wait=wait
    ) as stored:
        for gpu in server.gpus_on(stored.allocator.system, gpus, on):
            stored.allocator.mark_healthy(gpu)
        stored.commit()
        server.tell(lambda: _shown(stored.allocator, json), stored.undo)


def _listed(machine: str) -> dict[str, int]:
    """The names of living jobs on standard input, each with its line."""
    if machine == DASH:
        raise typer.BadParameter("standard input names the living jobs; name the machine's file.")
    lines = (line.strip() for line in standard_input().splitlines())
    listed = {line: number for number, line in enumerate(lines, 1) if line}
    if not listed:
        raise FileError(
            "standard input names no job",
            "where the scheduler has answered, and none lives, say --none",
        )
    return listed


def _check_names(listed: dict[str, int], known: Container[str]) -> None:
    """Refuses a list with what is no job's name: the scheduler may have failed.

    A name with blanks is taken where a job is known by it, and nowhere else.
    """
    for name, number in listed.items():
        if name not in known and (len(name.split()) > 1 or not name.isprintable()):
            raise InputError(
                "<stdin>",
                number,
                1,
                "this is no job's name",
                printable(name[:MOST_SHOWN]),
                "nothing is released; give the names of living jobs, one a line, or --none",
            )


def _owned(owner: Owner | None) -> str:
    known = owner_text(owner, time.time())
    return f" ({known})" if known else ""


def _existing(state: Path) -> Path:
    if not state.exists():
        raise FileError(f"there is no state `{state}`", "`allocate --state` makes one")
    return state


def _answer(document: dict[str, object], line: str, json: bool) -> Callable[[], None]:
    """What prints the document as JSON, or the line."""
    if json:
        return lambda: output.print_json(document)
    return lambda: output.say(line)


def _shown(allocator: Allocator, json: bool) -> Callable[[], None]:
    """What prints the state."""
    if json:
        described = server.describe(allocator)
        return lambda: output.print_json(described)
    owners, now = allocator.owners, time.time()
    if allocator.system.fabric is not None:
        tables = cluster.state_tables(allocator, lambda job: owner_text(owners.get(job), now))
        return lambda: _print(tables)
    made = output.table(["", "GPUs", "owner"], left=["", "GPUs", "owner"])
    made.show_header = False
    made.add_row("free", _ids(allocator.free), "")
    made.add_row("unhealthy", _ids(allocator.unhealthy), "")
    for job, gpus in allocator.held.items():
        made.add_row(f"job {printable(job)}", _ids(gpus), owner_text(owners.get(job), now))
    return lambda: output.print_table(made)


def _print(tables: list[Table]) -> None:
    for at, made in enumerate(tables):
        if at:
            output.say("")
        output.print_table(made)


def _ids(gpus: list[int]) -> str:
    return ",".join(str(gpu) for gpu in gpus) or "none"
