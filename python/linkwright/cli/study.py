"""`linkwright study`: the tables and figures of published papers, reproduced."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkwright.cli import output
from linkwright.cli.options import Json

app = typer.Typer(help="Reproduce the tables and figures of papers.", no_args_is_help=True)


@app.callback()
def _root() -> None:
    """Reproduce the tables and figures of papers."""


@app.command()
def mapa(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer jobs and repeats; looser figures.")
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIRECTORY",
            help="Write report.html, the figures and study.json here.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Repeat MAPA's evaluation (SC'21): its tables, published beside reproduced."""
    from linkwright.studies import mapa as study

    if to is not None:
        output.check_writable(to)
    with output.progress_bar() as progress:
        found = study.run(quick=quick, progress=progress)
    if to is not None:
        found.write(to)
    if json:
        output.print_json(found.to_json())
        return
    console = output.console()
    for table in found.tables:
        words = [c for at, c in enumerate(table.columns) if not table.is_number(at)]
        made = output.table(table.columns, left=words)
        for row in table.printed():
            made.add_row(*row)
        console.print(table.title, style="bold")
        output.print_table(made)
        if table.note:
            console.print(table.note, style="dim")
        console.print()
    if to is not None:
        typer.echo(f"wrote {to}", err=True)
