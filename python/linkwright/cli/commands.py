"""All commands in one program, each loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import linkwright
from linkwright.cli import streams
from linkwright.cli.panels import Panelled
from linkwright.cli.program import EPILOG, Program
from linkwright.cli.values import HELP, read_values

__all__ = ["app"]

# Where each command is, in the order in which the help lists them: a command or a group of them.
COMMANDS = {
    "machine": "linkwright.cli.machine:app",
    "jobs": "linkwright.cli.jobs:app",
    "allocate": "linkwright.cli.allocate:allocate",
    "fit": "linkwright.cli.fit:fit",
    "state": "linkwright.cli.state:app",
    "collective": "linkwright.cli.collective:app",
    "replay": "linkwright.cli.replay:replay",
    "traffic": "linkwright.cli.traffic:traffic",
    "run": "linkwright.cli.run:run",
    "compare": "linkwright.cli.run:compare",
    "size": "linkwright.cli.size:size",
    "train": "linkwright.cli.train:train_command",
    "gpu": "linkwright.cli.gpu:app",
    "thermal": "linkwright.cli.thermal:thermal",
    "study": "linkwright.cli.study:app",
    "examples": "linkwright.cli.examples:examples",
}

SETTINGS: dict[str, Any] = {"pretty_exceptions_enable": False, "rich_markup_mode": None}


class _Commands(Mapping[str, Any]):
    """The commands by their names: no command's module is imported before that command is run.

    A batch system's prolog runs one decision per process, which takes microseconds; what the
    other commands import would be most of its time.
    """

    def __init__(self, options: list[Any]) -> None:
        self._options = options
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _load(name, *COMMANDS[name].split(":"))
            self._finish(self._loaded[name])
        return self._loaded[name]

    def _finish(self, command: Any) -> None:
        command.params.extend(self._options)
        read_values(command)
        if isinstance(command, TyperGroup):
            for inner in command.commands.values():
                self._finish(inner)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Root(Program):
    """The root command, whose options that hold for every command are taken by each of them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        shared = [parameter for parameter in self.params if parameter.name in ("quiet", "wide")]
        self.commands: Any = _Commands(shared)

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Begins to read a command line, by when Typer has added its own options."""
        read_values(self)
        return super().make_context(*arguments, **settings)


def _load(name: str, module: str, attribute: str) -> Any:
    found = getattr(import_module(module), attribute)
    holder = typer.Typer(**SETTINGS)
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name)
    else:
        holder.command(name, cls=Panelled)(found)
    return typer.main.get_group(holder).commands[name]


app = typer.Typer(
    cls=_Root,
    name="linkwright",
    epilog=EPILOG,
    no_args_is_help=True,
    context_settings={"help_option_names": HELP},
    **SETTINGS,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"linkwright {linkwright.__version__}")
        raise typer.Exit


def _keep_quiet(wanted: bool) -> None:
    if wanted:
        streams.keep_quiet()


def _print_wide(wanted: bool) -> None:
    if wanted:
        streams.print_wide()


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            callback=_keep_quiet,
            is_eager=True,
            expose_value=False,
            help="Say nothing on standard error but errors.",
        ),
    ] = False,
    wide: Annotated[
        bool,
        typer.Option(
            "--wide",
            callback=_print_wide,
            is_eager=True,
            expose_value=False,
            help="Print tables whole, however wide.",
        ),
    ] = False,
) -> None:
    """One model of a multi-GPU system: which GPUs a job should get, and what a mix of jobs costs.

    A machine is a preset's name (see machine list) or a file: Linkwright's TOML,
    nvidia-smi topo -m, rocm-smi --showtopo, amd-smi topology, or NCCL's XML.
    """
    del version, quiet, wide
