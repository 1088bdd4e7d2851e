"""`linkwright collective expect`: is my bus bandwidth right?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwright import System, expect, names
from linkwright.cli import output
from linkwright.cli.options import Json, MachineName, NetworkName
from linkwright.cli.schedules import (
    COLLECTIVE,
    Factor,
    Gpus,
    LeastSize,
    MostSize,
    On,
    Plot,
    Root,
    Servers,
    gpus_of,
    job_text,
    machine_of,
    named_gpus,
    save_plot,
)
from linkwright.cli.sizes import parse_size
from linkwright.errors import printable
from linkwright.nccl_tests import LogComparison, collective_of, compare_log, load_log

__all__ = ["expected"]

# What the constants of the model are those of.
VERSION = "NCCL 2.30"

# The collective of the command; a log may say it.
if TYPE_CHECKING:
    OptionalCollective = names.CollectiveName | None
else:
    OptionalCollective = Annotated[str | None, COLLECTIVE]
LogFile = Annotated[
    Path | None,
    typer.Option(
        "--log",
        metavar="FILE",
        help="What nccl-tests printed: say what each of its sizes should have taken.",
    ),
]


def expected(
    machine: MachineName,
    collective: OptionalCollective = None,
    on: On = None,
    gpus: Gpus = None,
    root: Root = None,
    least: LeastSize = "8",
    most: MostSize = "8GiB",
    factor: Factor = 2,
    servers: Servers = 1,
    network: NetworkName = None,
    log: LogFile = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Say what nccl-tests should show on a machine, to compare with what it does show.

    The model is NCCL's own, with the constants of NCCL 2.30 and two numbers fitted to
    measurements; docs/concepts/collective-timing.md has its errors by size. With --log, the sizes
    are those of a run, each beside what it took, and a sentence says what the difference means;
    COLLECTIVE may be left out where the log names its test.
    """
    gpus = named_gpus(on, gpus)
    whole = machine_of(machine, servers, network)
    ids = gpus_of(whole, gpus)
    if log is not None:
        _print_log(log, whole, ids, collective, root, json=json, plot=plot)
        return
    if collective is None:
        raise typer.BadParameter("Name the collective, or give the --log of a run.")
    sizes = _sizes(parse_size(least), parse_size(most), factor)
    rows = _rows(whole, ids, collective, sizes, root)
    if json:
        fields = {"machine": whole.name, "collective": collective, "gpus": ids, "nccl": VERSION}
        output.print_json(fields | {"sweep": rows})
    else:
        titles = ["size\nB", "time\nus", "algbw\nGB/s", "busbw\nGB/s", "algorithm", "protocol"]
        made = output.table(titles)
        for row in rows:
            made.add_row(
                str(row["size"]),
                f"{row['time'] * 1e6:.1f}",
                f"{row['algorithm_bandwidth']:.2f}",
                f"{row['bus_bandwidth']:.2f}",
                row["algorithm"],
                row["protocol"],
            )
        console = output.console()
        console.print(_title(collective, ids, whole), style="bold")
        output.print_table(made)
    if plot is not None:
        from linkwright.collective_plot import bandwidth_by_size

        title = f"{collective} on {job_text(ids, whole)}"
        save_plot(bandwidth_by_size({f"{VERSION}'s cost model": rows}, title), plot)


def _print_log(
    path: Path,
    machine: System,
    gpus: list[int],
    collective: names.CollectiveName | None,
    root: int | None,
    *,
    json: bool,
    plot: Path | None,
) -> None:
    log = load_log(path)
    collective = collective or collective_of(log)
    if collective is None:
        raise typer.BadParameter(
            f"{printable(str(path))} does not say which collective it is of; name it."
        )
    compared = compare_log(log, machine, gpus, collective, root=root)
    notes = [f"{printable(str(path))}:{line}: {text}" for line, text in log.notes]
    if json:
        fields = {"machine": machine.name, "collective": collective, "gpus": gpus, "nccl": VERSION}
        found = {"log": str(path), "measured_nccl": log.version, "meaning": compared.meaning}
        rows = [vars(row) | {"ratio": row.ratio} for row in compared.rows]
        output.print_json(fields | found | {"notes": notes, "sweep": rows})
    else:
        _print_comparison(compared, _title(collective, gpus, machine))
        output.notes("Notes on the log", notes, stderr=True)
    if plot is not None:
        from linkwright.collective_plot import bandwidth_by_size

        curves = {"measured": "measured", f"{VERSION}'s cost model": "expected"}
        series = {
            name: [
                {
                    "size": row.size,
                    "bus_bandwidth": getattr(row, f"{which}_bus_bandwidth"),
                    "time": getattr(row, f"{which}_time"),
                }
                for row in compared.rows
            ]
            for name, which in curves.items()
        }
        save_plot(bandwidth_by_size(series, f"{collective} on {job_text(gpus, machine)}"), plot)


def _print_comparison(compared: LogComparison, title: str) -> None:
    titles = ["size\nB", "measured\nus", "expected\nus", "ratio"]
    titles += ["measured\nbusbw GB/s", "expected\nbusbw GB/s", "algorithm", "protocol"]
    made = output.table(titles)
    for row in compared.rows:
        made.add_row(
            str(row.size),
            f"{row.measured_time * 1e6:.1f}",
            f"{row.expected_time * 1e6:.1f}",
            f"{row.ratio:.2f}",
            f"{row.measured_bus_bandwidth:.2f}",
            f"{row.expected_bus_bandwidth:.2f}",
            row.algorithm,
            row.protocol,
        )
    console = output.console()
    console.print(title, style="bold")
    output.print_table(made)
    output.say(compared.meaning)


def _title(collective: str, gpus: list[int], machine: System) -> str:
    return f"{collective} on {job_text(gpus, machine)}, by the cost model of {VERSION}"


def _sizes(least: int, most: int, factor: int) -> list[int]:
    sizes, size = [], least
    while size <= most:
        sizes.append(size)
        size *= factor
    if not sizes:
        raise typer.BadParameter("--min-bytes is above --max-bytes; swap them.")
    return sizes


def _rows(
    machine: System,
    gpus: list[int],
    collective: names.CollectiveName,
    sizes: list[int],
    root: int | None,
) -> list[dict[str, Any]]:
    return list(expect(machine, gpus, collective, sizes, root=root))
