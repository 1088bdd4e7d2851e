"""Has `linkwright study`: the tables and figures of published papers, reproduced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkwright.cli import output
from linkwright.cli.keys import Keys, named, number
from linkwright.cli.options import Json, WorkerCount, workers_of, written
from linkwright.cli.panels import described_by

if TYPE_CHECKING:
    from linkwright.studies.study import Study
    from linkwright.sweeps import Workers

Quick = Annotated[bool, typer.Option("--quick", help="Play fewer jobs, sizes and repeats.")]
Directory = Annotated[Path | None, written("report.html, figures and study.json", "DIRECTORY")]

Only = Annotated[
    str | None,
    typer.Option("--only", metavar="SECTION", help="Make one section; study list has their names."),
]

app = typer.Typer(help="Reproduce the tables and figures of papers.", no_args_is_help=True)


@app.callback()
def _root() -> None:
    """Reproduce the tables and figures of papers."""


MAPA_KEYS = Keys(
    named(
        "reading",
        "Read the mix of jobs as the text says, or as fitted to the printed seconds",
        ("text", "published-fit"),
        "text",
    )
)
PCIE_KEYS = Keys(
    number(
        "window",
        "MILLISECONDS",
        "The time in which iterations are counted",
        "0.3",
        kind=float,
        least=0.05,
        most=1000.0,
    ),
    number(
        "batch",
        "IMAGES",
        "A step of ResNet-50, where eight tasks train on eight GPUs",
        "32",
        least=1,
        most=1024,
    ),
)


@app.command()
@described_by(MAPA_KEYS)
def mapa(
    quick: Quick = False,
    to: Directory = None,
    json: Json = False,
    only: Only = None,
    setting: Annotated[list[str] | None, MAPA_KEYS.option()] = None,
) -> None:
    """Repeat MAPA's evaluation (SC'21): its tables, published beside reproduced."""
    from linkwright.studies.mapa import run

    _show(
        partial(run, reading=MAPA_KEYS.read(setting).get("reading", "text")),
        "mapa",
        quick,
        to,
        json,
        only,
    )


@app.command()
def blink(
    quick: Quick = False, to: Directory = None, json: Json = False, only: Only = None
) -> None:
    """Repeat Blink's evaluation (MLSys'20): collectives against two NCCLs."""
    from linkwright.studies.blink import run

    _show(run, "blink", quick, to, json, only)


@app.command()
def network(
    quick: Quick = False,
    to: Directory = None,
    json: Json = False,
    only: Only = None,
    workers: WorkerCount = None,
) -> None:
    """Repeat a study of networks (IPCCC'21): GPUs per node, bandwidth, NIC policies.

    The full study takes about 100 minutes of processor time. With --output, finished
    runs are kept there, and the same command goes on where it was stopped.
    """
    from linkwright.studies.network import run

    _show(partial(run, workers=_where(workers), directory=to), "network", quick, to, json, only)


@app.command()
@described_by(PCIE_KEYS)
def pcie(
    quick: Quick = False,
    to: Directory = None,
    json: Json = False,
    only: Only = None,
    setting: Annotated[list[str] | None, PCIE_KEYS.option()] = None,
) -> None:
    """Repeat a study of PCIe scheduling (IEEE CAL 2019): who goes first on a shared bus."""
    from linkwright.studies.pcie import run

    settings = PCIE_KEYS.read(setting)
    if "window" in settings:
        settings["window"] *= 1e-3
    _show(partial(run, **settings), "pcie", quick, to, json, only)


@app.command()
def memory(
    quick: Quick = False,
    to: Directory = None,
    json: Json = False,
    only: Only = None,
    workers: WorkerCount = None,
) -> None:
    """Repeat the MGPU-TSM dissertation: truly shared memory of GPUs, and its coherence.

    The full study takes hours of processor time, most of it for the largest footprints. With
    --output, finished runs are kept there, and the same command goes on where it was stopped.
    """
    from linkwright.studies.memory import run

    _show(partial(run, workers=_where(workers), directory=to), "memory", quick, to, json, only)


def _where(workers: str | None) -> Workers:
    """Where a study's runs are performed."""
    from linkwright.sweeps import local_processes

    return workers_of(workers) or local_processes(None)


@app.command()
def thermal(
    quick: Quick = False, to: Directory = None, json: Json = False, only: Only = None
) -> None:
    """Repeat the thermal check of MGPU-TSM: how hot its package becomes."""
    from linkwright.studies.thermal import run

    _show(run, "thermal", quick, to, json, only)


@app.command()
def training(
    quick: Quick = False, to: Directory = None, json: Json = False, only: Only = None
) -> None:
    """Repeat the MGPU-TSM dissertation's training: networks on four systems of GPUs."""
    from linkwright.studies.training import run

    _show(run, "training", quick, to, json, only)


@app.command("list")
def listed(json: Json = False) -> None:
    """List the sections of every study, and how long each takes alone.

    Times are of one processor, measured once on one computer.
    """
    from linkwright.studies.parts import STUDIES, costs

    rows = [each for study in STUDIES for each in costs(study)]
    if json:
        output.print_json({"sections": [asdict(each) for each in rows]})
        return
    made = output.table(("study", "section", "full", "quick"), left=("study", "section"))
    for each in rows:
        made.add_row(each.study, each.section, _time(each.full), _time(each.quick))
    output.print_table(made)


def _time(seconds: float | None) -> str:
    """Tells a time of a processor; nothing where nobody measured it."""
    if seconds is None:
        return ""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _say_time(study: str, only: str, quick: bool) -> None:
    """Says what a section took when it was measured, before it is made."""
    from linkwright.studies.parts import costs

    for each in costs(study):
        if each.section == only:
            seconds = each.quick if quick else each.full
            told = "an unknown time" if seconds is None else f"about {_time(seconds)}"
            output.say(f"{only} takes {told} of one processor", stderr=True)


def _show(
    run: Callable[..., Study],
    study: str,
    quick: bool,
    to: Path | None,
    json: bool,
    only: str | None,
) -> None:
    if to is not None:
        output.check_writable(to)
    if only is not None:
        _say_time(study, only, quick)
    with output.progress_bar() as progress:
        found = run(quick=quick, progress=progress, only=only)
    if to is not None:
        with output.working("drawing the figures"):
            found.write(to)
    if json:
        output.print_json(found.fields())
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
        output.say(f"wrote {to}", stderr=True)
