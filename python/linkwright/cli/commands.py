"""All commands in one program, each loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import linkwright
from linkwright.cli import streams
from linkwright.cli.panels import (
    OUTPUT,
    Grouped,
    Panelled,
    first_sentence,
    has_more,
    is_whole,
    print_help_all,
)
from linkwright.cli.program import EPILOG, Program
from linkwright.cli.values import HELP, read_values

__all__ = ["app"]


@dataclass(frozen=True)
class _Place:
    """Where a command is, and the question that it answers."""

    place: str
    question: str


# The commands below their headings, in the order in which the help lists them.
PANELS: dict[str, dict[str, _Place]] = {
    "Machines and jobs": {
        "machine": _Place(
            "machine:app", "Which machines are there, and how are their GPUs joined?"
        ),
        "allocate": _Place("allocate:allocate", "Which GPUs should this job get?"),
        "state": _Place("state:app", "Who holds which GPU now?"),
        "fit": _Place("fit:fit", "Which bandwidth do the links of my machine give?"),
    },
    "Collectives": {
        "collective": _Place(
            "collective:app", "How long should an all-reduce take here, and why is mine slow?"
        ),
    },
    "Clusters": {
        "run": _Place("run:run", "How do a day's jobs go on this cluster?"),
        "compare": _Place("run:compare", "Which policy or machine serves these jobs best?"),
        "size": _Place("size:size", "What is the least hardware that these jobs need?"),
        "replay": _Place("replay:replay", "How long would my trace take on another cluster?"),
        "traffic": _Place("traffic:traffic", "How much load does this network carry?"),
        "jobs": _Place("jobs:app", "Which jobs can I try a cluster with?"),
    },
    "Training and GPUs": {
        "train": _Place("train:train_command", "How long does a step of training take here?"),
        "gpu": _Place("gpu:app", "How fast is this kernel, and is its memory coherent?"),
        "thermal": _Place("thermal:thermal", "How hot does this package get?"),
    },
    "Learning": {
        "study": _Place("study:app", "Does Linkwright give the results of published papers?"),
        "examples": _Place("examples:examples", "Where are the files that the guides use?"),
    },
}
COMMANDS = {name: place for panel in PANELS.values() for name, place in panel.items()}

SETTINGS: dict[str, Any] = {"pretty_exceptions_enable": False, "rich_markup_mode": None}


class _Commands(Mapping[str, Any]):
    """The commands by their names: no command's module is imported before that command is run.

    A batch system's prolog runs one decision per process, which takes microseconds; the
    imports of other commands would be most of its time.
    """

    def __init__(self, options: list[Any]) -> None:
        self._options = options
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            module, attribute = COMMANDS[name].place.split(":")
            self._loaded[name] = _load(name, f"linkwright.cli.{module}", attribute)
            self._finish(self._loaded[name])
        return self._loaded[name]

    def _finish(self, command: Any) -> None:
        whole = isinstance(command, TyperGroup) or has_more(command)
        command.params.extend(it for it in self._options if whole or it.name != "help_all")
        read_values(command)
        if isinstance(command, TyperGroup):
            for inner in command.commands.values():
                self._finish(inner)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Root(Program, Grouped):
    """The root command, whose options that hold for every command are taken by each of them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        names = ("quiet", "wide", "help_all")
        shared = [parameter for parameter in self.params if parameter.name in names]
        self.commands: Any = _Commands(shared)

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Begins to read a command line, by when Typer has added its own options."""
        read_values(self)
        return super().make_context(*arguments, **settings)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes the exit codes where all is wanted."""
        if is_whole(ctx):
            super().format_epilog(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the question that each command answers; all commands where all is wanted."""
        for heading, panel in PANELS.items():
            rows = []
            for name, place in panel.items():
                rows.append((name, place.question))
                if is_whole(ctx) and isinstance(command := self.commands[name], TyperGroup):
                    rows += [
                        (f"{name} {inner}", first_sentence(each))
                        for inner, each in command.commands.items()
                    ]
            with formatter.section(heading):
                formatter.write_dl(rows)


def _load(name: str, module: str, attribute: str) -> Any:
    found = getattr(import_module(module), attribute)
    holder = typer.Typer(**SETTINGS)
    if isinstance(found, typer.Typer):
        for each in found.registered_commands:
            each.cls = Panelled
        holder.add_typer(found, name=name, cls=Grouped)
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
            rich_help_panel=OUTPUT,
            help="Print only errors on standard error.",
        ),
    ] = False,
    wide: Annotated[
        bool,
        typer.Option(
            "--wide",
            callback=_print_wide,
            is_eager=True,
            expose_value=False,
            rich_help_panel=OUTPUT,
            help="Print tables whole, however wide they are.",
        ),
    ] = False,
    help_all: Annotated[
        bool,
        typer.Option(
            "--help-all",
            callback=print_help_all,
            is_eager=True,
            expose_value=False,
            rich_help_panel=OUTPUT,
            help="Show rare options, settings, names and exit codes, too.",
        ),
    ] = False,
) -> None:
    """Simulate systems of several GPUs: links, allocation, collectives, training and jobs.

    A machine is a preset's name (see machine list) or a file: Linkwright's TOML,
    nvidia-smi topo -m, rocm-smi --showtopo, amd-smi topology, or NCCL's XML.
    """
    del version, quiet, wide, help_all
