"""`linkwright state`: who holds which GPU of a server, kept in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from linkwright import Allocator, FileError
from linkwright.cli import output, server
from linkwright.cli.options import MOST_GPUS, Json, MachineName, StateFile
from linkwright.cli.standard_input import given_machine
from linkwright.errors import printable

app = typer.Typer(
    help="Show and change who holds which GPU (see allocate --state).", no_args_is_help=True
)

Gpus = Annotated[list[int], typer.Argument(metavar="GPU...", help="GPU ids.", min=0, max=MOST_GPUS)]


@app.command()
def show(machine: MachineName, state: StateFile, json: Json = False) -> None:
    """Show which GPUs are free, held and unhealthy."""
    _shown(server.open_state(state, given_machine(machine)), json)()


@app.command()
def release(
    job: Annotated[str, typer.Argument(help="The job that has ended.")],
    machine: MachineName,
    state: StateFile,
    json: Json = False,
) -> None:
    """Take a job's GPUs back."""
    with server.stored(_existing(state), given_machine(machine)) as stored:
        gpus = stored.allocator.release(job)
        stored.commit()
        described = {"job": job, "released": gpus, **server.describe(stored.allocator)}
        line = f"job {printable(job)} released {_ids(gpus)}"
        server.tell(lambda: _answer(described, line, json), stored.undo)


@app.command("mark-unhealthy")
def mark_unhealthy(gpus: Gpus, machine: MachineName, state: StateFile, json: Json = False) -> None:
    """Keep GPUs from new jobs; a job that holds one goes on."""
    with server.stored(state, given_machine(machine)) as stored:
        for gpu in gpus:
            stored.allocator.mark_unhealthy(gpu)
        stored.commit()
        server.tell(lambda: _shown(stored.allocator, json), stored.undo)


@app.command("mark-healthy")
def mark_healthy(gpus: Gpus, machine: MachineName, state: StateFile, json: Json = False) -> None:
    """Let GPUs be given out again."""
    with server.stored(_existing(state), given_machine(machine)) as stored:
        for gpu in gpus:
            stored.allocator.mark_healthy(gpu)
        stored.commit()
        server.tell(lambda: _shown(stored.allocator, json), stored.undo)


def _existing(state: Path) -> Path:
    if not state.exists():
        raise FileError(f"there is no state `{state}`; `allocate --state` makes one")
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
    made = output.table(["", "GPUs"], left=["", "GPUs"])
    made.show_header = False
    made.add_row("free", _ids(allocator.free))
    made.add_row("unhealthy", _ids(allocator.unhealthy))
    for job, gpus in allocator.held.items():
        made.add_row(f"job {printable(job)}", _ids(gpus))
    return lambda: output.print_table(made)


def _ids(gpus: list[int]) -> str:
    return ",".join(str(gpu) for gpu in gpus) or "none"
