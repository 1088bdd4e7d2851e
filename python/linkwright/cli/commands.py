"""All commands in one program."""

from __future__ import annotations

from typing import Annotated

import typer

import linkwright
from linkwright.cli import allocate, collective, jobs, machine, replay, run, state, study
from linkwright.cli.program import EPILOG, Program

__all__ = ["app"]

app = typer.Typer(
    cls=Program,
    name="linkwright",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"linkwright {linkwright.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """One model of a multi-GPU system: which GPUs a job should get, and what a mix of jobs costs.

    A machine is a preset's name (see machine list) or a file: Linkwright's TOML,
    nvidia-smi topo -m, rocm-smi --showtopo, or NCCL's XML.
    """
    del version


app.add_typer(machine.app, name="machine")
app.add_typer(jobs.app, name="jobs")
app.command("allocate")(allocate.allocate)
app.add_typer(state.app, name="state")
app.add_typer(collective.app, name="collective")
app.command("replay")(replay.replay)
app.command("run")(run.run)
app.command("compare")(run.compare)
app.add_typer(study.app, name="study")
