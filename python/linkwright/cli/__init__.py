"""The command line: it parses, calls the public API and prints; it models nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import linkwright

__all__ = ["app", "main"]

app = typer.Typer(
    name="linkwright",
    help="One model of a multi-GPU system.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"linkwright {linkwright.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print it."),
    ] = False,
) -> None:
    del version


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(help="Machine files in TOML.")],
) -> None:
    """Read machine files and say whether they are sound."""
    sound = True
    for file in files:
        try:
            machine = linkwright.Machine.from_toml(file.read_text(encoding="utf-8"), str(file))
        except (linkwright.LinkwrightError, OSError, UnicodeDecodeError) as error:
            typer.echo(f"error: {error}", err=True)
            sound = False
        else:
            typer.echo(f"{file}: {machine!r}")
    if not sound:
        raise typer.Exit(1)


def main() -> None:
    """The program `linkwright`."""
    app()
