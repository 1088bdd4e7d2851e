"""`linkwright collective expect`: is my bus bandwidth right?"""

from __future__ import annotations

from typing import Any

import typer

from linkwright import System, expect
from linkwright.cli import output
from linkwright.cli.options import Json, MachineName, NetworkName
from linkwright.cli.schedules import (
    CollectiveName,
    Factor,
    Gpus,
    LeastSize,
    MostSize,
    Plot,
    Root,
    Servers,
    gpus_of,
    job_text,
    machine_of,
    save_plot,
)
from linkwright.cli.sizes import parse_size

__all__ = ["expected"]

# What the constants of the model are those of.
VERSION = "NCCL 2.30"


def expected(
    collective: CollectiveName,
    machine: MachineName,
    gpus: Gpus = None,
    root: Root = None,
    least: LeastSize = "8",
    most: MostSize = "8GiB",
    factor: Factor = 2,
    servers: Servers = 1,
    network: NetworkName = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Say what nccl-tests should show on a machine, to compare with what it does show.

    The model is NCCL's own, with the constants of NCCL 2.30 and two numbers fitted to
    measurements; docs/concepts/collective-timing.md has its errors by size.
    """
    whole = machine_of(machine, servers, network)
    ids = gpus_of(whole, gpus)
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
    machine: System, gpus: list[int], collective: str, sizes: list[int], root: int | None
) -> list[dict[str, Any]]:
    return list(expect(machine, gpus, collective, sizes, root=root))
