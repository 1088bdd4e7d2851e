"""Fits MAPA's Eq. 2 to one's own machine: `linkwright fit`."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Annotated

import typer

from linkwright import Allocator, Pattern, System, expect
from linkwright.allocation import BandwidthFit
from linkwright.cli import output
from linkwright.cli.cluster import one_for
from linkwright.cli.options import Json, MachineName, gpu_ids
from linkwright.cli.sizes import parse_size
from linkwright.cli.standard_input import given_machine
from linkwright.errors import printable
from linkwright.nccl_tests import read_nccl_log
from linkwright.texts import counted

__all__ = ["fit"]

# The paper's: sets of two to five GPUs.
SIZES = range(2, 6)

Sample = tuple[tuple[int, int, int], float]


def fit(
    machine: MachineName,
    log: Annotated[
        list[str] | None,
        typer.Option(
            metavar="IDS=FILE",
            help="A log of all_reduce_perf on these GPUs, such as 0,3=a.txt; repeatable. "
            "Without any, the time that is expected of NCCL is taken on each mix of links.",
        ),
    ] = None,
    size: Annotated[
        str, typer.Option(metavar="SIZE", help="Of the buffer that is reduced without a log.")
    ] = "1GiB",
    out: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the fit, which --bandwidth-model takes."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Fit MAPA's effective bandwidth by links to measurements of a machine.

    Equation 2 of the paper has fourteen terms. A sample is the mix of links of the best ring on a
    set of GPUs, with the bus bandwidth that an all-reduce reaches there. It is the largest of a
    log. Without one it is expected of NCCL, on one set for each mix of two to five GPUs.
    """
    # Equation 2 is of the links within a server; any of those that are alike stands for all.
    system = one_for(given_machine(machine), 1, "fit")
    allocator = Allocator(system)
    with output.working("fitting"):
        samples = (
            [_of_log(allocator, text) for text in log]
            if log
            else _expected(system, allocator, parse_size(size))
        )
        found = BandwidthFit(samples)
    if out is not None:
        output.save(out, found.to_toml())
    if json:
        output.print_json(
            {
                "machine": system.name,
                "coefficients": found.coefficients,
                "samples": found.samples,
                "terms": found.terms,
                "root_mean_square_error": found.root_mean_square_error,
                "mean_absolute_error": found.mean_absolute_error,
                "left_out_error": found.left_out_error,
                "deciding": found.deciding,
            }
        )
        return
    left_out = found.left_out_error
    output.say(f"{counted(found.samples, 'sample')} tell {found.terms} of 14 terms apart")
    output.say(f"root mean square error  {found.root_mean_square_error:.2f} GB/s")
    output.say(f"mean absolute error     {found.mean_absolute_error:.2f} GB/s")
    if left_out is not None:
        alone = f"; {found.deciding} decide a term alone" if found.deciding else ""
        output.say(f"left-out error          {left_out:.2f} GB/s{alone}")


def _of_log(allocator: Allocator, text: str) -> Sample:
    """Gives the sample of a log with the GPUs that it ran on.

    Raises:
        typer.BadParameter: If the GPUs are missing, or the log has no rows.
    """
    ids, equals, name = text.partition("=")
    if not (ids and equals and name):
        raise typer.BadParameter(f"`{text}` names no GPUs; write --log 0,3=FILE.")
    gpus = gpu_ids(ids)
    rows = list(read_nccl_log(Path(name)).rows())
    if len(gpus) < 2 or not rows:
        raise typer.BadParameter(f"`{printable(name)}` is of no all-reduce of two GPUs or more.")
    match = allocator.best_placement(Pattern("ring", len(gpus)), gpus)
    return match.links, max(row["bus_bandwidth"] for row in rows)


def _expected(system: System, allocator: Allocator, size: int) -> list[Sample]:
    """A sample for each mix of links, on the first set of GPUs that has it."""
    found: dict[tuple[int, int, int, int], Sample] = {}
    for count in SIZES:
        for gpus in combinations(range(system.gpu_count), count):
            match = allocator.best_placement(Pattern("ring", count), gpus)
            key = (count, *match.links)
            if key not in found:
                (row,) = expect(system, gpus, "all-reduce", [size])
                found[key] = (match.links, row["bus_bandwidth"])
    return list(found.values())
