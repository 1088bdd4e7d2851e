"""`linkwright collective doctor`: my bus bandwidth is too low; why?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from linkwright import names
from linkwright.cli import output
from linkwright.cli.nccl_options import Nccl
from linkwright.cli.options import Json, NetworkName, Without, among, gpu_ids, machine_option
from linkwright.cli.panels import SYSTEM
from linkwright.cli.program import FAILED, NO_VERDICT
from linkwright.cli.schedules import Gpus, On, named_gpus
from linkwright.cli.sizes import size_text
from linkwright.cli.standard_input import standard_input
from linkwright.cli.verdicts import print_look, print_verdict
from linkwright.collectives import collective_names
from linkwright.doctor import Diagnosed, LogFiles, Question

__all__ = ["diagnosed", "print_diagnosis"]

DASH = "-"
# From here on bandwidth alone counts; of a table these rows are printed.
LARGE = 1 << 20

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...|-",
        help="Outputs of nccl-tests, logs of NCCL_DEBUG=INFO, NCCL's topology, nvidia-smi topo -m, "
        "NCCL Inspector's files; - is the input.",
    ),
]
Machine = Annotated[str | None, machine_option("The server, where the files do not give it.")]
ServerCount = Annotated[
    int | None,
    typer.Option(
        "--servers",
        metavar="N",
        min=1,
        max=16384,
        rich_help_panel=SYSTEM,
        help="Join N of the machine.  [default: the run's hosts]",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        min=0.01,
        max=1.0,
        help="The share of the expected bandwidth that is healthy.  [default: by the error bars]",
    ),
]
CollectiveOption = Annotated[
    names.CollectiveName | None,
    typer.Option(
        "--collective",
        metavar="NAME",
        help="The collective that ran, where the log names no test.",
        callback=among("collective", collective_names()),
        autocompletion=collective_names,
    ),
]


def diagnosed(
    files: Files,
    machine: Machine = None,
    collective: CollectiveOption = None,
    on: On = None,
    gpus: Gpus = None,
    servers: ServerCount = None,
    network: NetworkName = None,
    without: Without = None,
    nccl: Nccl = None,
    threshold: Threshold = None,
    json: Json = False,
) -> None:
    """Find why the collectives of a log are slow: the first cause, its proof, and where to look.

    It shows measured and expected times, and the first cause that explains the gap with the log's
    own line. It says the cost of each cause, and names the setting or cable to look at. The exit
    code is 0 for a healthy run, 1 where a cause is found, and 4 where there is no verdict.
    """
    read = LogFiles()
    for name in files:
        if name == DASH:
            read.read_text(standard_input(), "<stdin>")
        else:
            read.read(name)
    chosen = gpu_ids(named_gpus(on, gpus)) or None
    question = Question(
        machine=machine,
        servers=servers,
        network=network,
        gpus=chosen,
        collective=collective,
        without=without or (),
        threshold=threshold,
        options={"nccl": nccl} if nccl else None,
    )
    found = read.diagnose(question)
    if json:
        output.print_json([asdict(one) for one in found])
    else:
        for one in found:
            print_diagnosis(one)
    kinds = {one.kind for one in found}
    if "cause" in kinds:
        raise typer.Exit(FAILED)
    if kinds != {"healthy"}:
        raise typer.Exit(NO_VERDICT)


def print_diagnosis(found: Diagnosed) -> None:
    """Prints what was measured, the cause, what each cause would cost, and where to look."""
    console = output.console()
    title = found.collective or "no collective"
    where = "" if found.machine is None else f" of {found.machine}"
    library = f", {found.library}" if found.library else ""
    console.print(f"{title} on {found.ranks} GPUs{where}{library}", style="bold")
    _print_rows(found)
    print_verdict(found)
    if found.causes:
        _print_costs(found)
    print_look(found)
    output.notes("Notes", list(found.notes), stderr=True)


def _print_rows(found: Diagnosed) -> None:
    measured = [row for row in found.rows if row.measured is not None]
    if not measured:
        return
    large = [row for row in measured if row.size >= LARGE] or measured
    titles = [
        "size",
        "measured\nus",
        "expected\nus",
        "measured\nbusbw GB/s",
        "expected\nbusbw GB/s",
    ]
    made = output.table([*titles, "±", ""])
    for row in large:
        assert row.measured is not None
        assert row.measured_bus_bandwidth is not None
        made.add_row(
            size_text(row.size),
            f"{row.measured * 1e6:,.1f}",
            f"{row.expected * 1e6:,.1f}",
            f"{row.measured_bus_bandwidth:.2f}",
            f"{row.expected_bus_bandwidth:.2f}",
            f"{row.error:.0%}",
            "" if row.fits else ("slow" if row.measured > row.expected else "fast"),
        )
    output.print_table(made)


def _print_costs(found: Diagnosed) -> None:
    largest = max((row.size for row in found.rows), default=0)
    made = output.table(
        ["cause", f"busbw GB/s\nat {size_text(largest)}", "times\nas long", "explains"]
    )
    for cause in found.causes:
        unknown = "not modelled"
        made.add_row(
            cause.cause,
            unknown if cause.bus_bandwidth is None else f"{cause.bus_bandwidth:.2f}",
            "" if cause.cost is None else f"{cause.cost:.2f}",
            "" if cause.explains is None else f"{cause.explains:.0%}",
        )
    output.print_table(made)
