"""Has `linkwright collective tune`, which writes files that a job's own NCCL loads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkwright.collectives import nccl_graph_file
from linkwright.cli import output
from linkwright.cli.options import Json, MachineName, NetworkName, Servers
from linkwright.cli.schedules import Gpus, On, gpus_of, job_text, named_gpus, network_notes
from linkwright.cli.sizes import size_text
from linkwright.cli.standard_input import machine_of
from linkwright.nccl_tuner import LARGEST
from linkwright.nccl_tuning import TunedRow, Tuning, tune_nccl

__all__ = ["tune"]

Nccl = Annotated[
    str | None,
    typer.Option(
        "--nccl",
        metavar="VERSION",
        help="The job's version of NCCL, 2.27 or later, such as 2.28.9; the newest that is known "
        "if absent.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write the tuner's file here."),
]
GraphFile = Annotated[
    Path | None,
    typer.Option(
        "--graph",
        metavar="FILE",
        help="Write the job's rings and trees here, for NCCL_GRAPH_FILE.",
    ),
]


def tune(
    machine: MachineName,
    on: On = None,
    gpus: Gpus = None,
    servers: Servers = 1,
    network: NetworkName = None,
    nccl: Nccl = None,
    output_file: Output = None,
    graph: GraphFile = None,
    json: Json = False,
) -> None:
    """Write the file that tunes a job's NCCL for each collective and size.

    NCCL's example tuner plugin reads it (NCCL_TUNER_PLUGIN, NCCL_TUNER_CONFIG_FILE). The file names
    another of NCCL's algorithms and protocols where it is faster by more than the error bar.
    Everywhere else it names NCCL's own, since the plugin runs a size without a row on one channel.
    The file holds for communicators of just these GPUs.
    """
    gpus = named_gpus(on, gpus)
    whole = machine_of(machine, servers, network)
    ids = gpus_of(whole, gpus)
    # Errors come before the long part.
    graphs = None if graph is None else nccl_graph_file(whole, ids, nccl=nccl)
    with output.working("Timing NCCL's algorithms and protocols"):
        tuning = tune_nccl(whole, ids, nccl=nccl)
    text = tuning.text(whole.name)
    notes = tuning.notes + network_notes(whole, ids, network)
    if output_file is not None:
        output.save(output_file, text)
    if graph is not None and graphs is not None:
        output.save(graph, graphs)
    if json:
        fields = {"machine": whole.name, "gpus": ids, "nccl": tuning.library}
        shape = {"nodes": tuning.nodes, "ranks": tuning.ranks, "notes": notes}
        output.print_json(fields | shape | {"rows": [_fields(tuned) for tuned in tuning.rows]})
        return
    if output_file is None:
        output.document(text)
    else:
        console = output.console()
        title = f"{tuning.library} on {job_text(ids, whole)}"
        console.print(
            f"{title}: {_count(tuning.nodes, 'node')}, {tuning.ranks} ranks", style="bold"
        )
        _print_gains(tuning)
        output.say(f"wrote {output_file}: {_count(len(tuning.rows), 'row')}", stderr=True)
    if graph is not None:
        output.say(f"wrote {graph}", stderr=True)
    output.notes("Notes", notes, stderr=True)


def _print_gains(tuning: Tuning) -> None:
    gained = [tuned for tuned in tuning.rows if tuned.reason == "gain"]
    if not gained:
        output.say("Nothing is faster than NCCL's own choice by more than the error bar.")
        return
    titles = ["collective", "from", "to", "NCCL's choice", "named", "channels", "gain", "\u00b1"]
    made = output.table(titles, kept=["gain", "\u00b1"])
    for tuned in gained:
        row = tuned.row
        made.add_row(
            row.collective,
            size_text(row.first),
            "the largest" if row.last == LARGEST else size_text(row.last),
            " ".join(tuned.instead or ()),
            " ".join(row.cell),
            str(row.channels),
            f"{tuned.gain:.0%}",
            f"{tuned.bar:.0%}",
        )
    output.print_table(made)


def _fields(tuned: TunedRow) -> dict[str, object]:
    row = tuned.row
    return {
        "collective": row.collective,
        "first": row.first,
        "last": row.last,
        "algorithm": row.algorithm,
        "protocol": row.protocol,
        "channels": row.channels,
        "reason": tuned.reason,
        "instead": None if tuned.instead is None else dict(zip(NAMES, tuned.instead, strict=True)),
        "gain": tuned.gain,
        "bar": tuned.bar,
    }


# A cell has these two parts.
NAMES = ("algorithm", "protocol")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
